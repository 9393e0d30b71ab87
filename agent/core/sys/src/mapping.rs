//! Memory that is mapped, not allocated: shared between processes, or kept from being copied
//! into launched ones.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// A mapping, unmapped when dropped.
pub struct Mapping {
    start: *mut u8,
    length: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Shared pages of a file.
    pub fn shared(file: BorrowedFd, length: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        Self::new(length, protection, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// Zeroed pages of this process alone: a child does not inherit them, so that they are
    /// neither copied by fork nor counted as the child's memory.
    pub fn own(length: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let mapping = Self::new(length, protection, flags, -1)?;
        // SAFETY: the range is ours.
        match unsafe { libc::madvise(mapping.start.cast(), length, libc::MADV_DONTFORK) } {
            0 => Ok(mapping),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn new(length: usize, protection: i32, flags: i32, file: RawFd) -> io::Result<Self> {
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, file, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            length,
        })
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// A view of what lies at an offset.
    ///
    /// # Safety
    /// `T` must be valid for any bytes, and shared parts of it must be atomic.
    pub unsafe fn at<T>(&self, offset: usize) -> &T {
        assert!(offset + std::mem::size_of::<T>() <= self.length);
        let place = self.start.add(offset).cast::<T>();
        assert!(place.is_aligned());
        &*place
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is ours and nobody borrows it any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

/// An anonymous file in memory, closed on exec.
pub fn memory_file(length: usize) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string; the descriptor is new.
    let file = unsafe {
        let file = libc::memfd_create(c"tare".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(file)
    };
    resize(&file, length)?;
    Ok(file)
}

/// Gives a file another length; what is added is zero.
pub fn resize(file: &OwnedFd, length: usize) -> io::Result<()> {
    // SAFETY: no memory is involved.
    match unsafe { libc::ftruncate(file.as_raw_fd(), length as libc::off_t) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
