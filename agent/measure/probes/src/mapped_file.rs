//! Pages of files, mapped to be read: of this program, which is in memory, and of a file that
//! is made here and sent out of memory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::ptr;

use launch::inherited::BINARY_FD;
use rand_pcg::rand_core::RngCore;
use rand_pcg::Pcg64Mcg;
use sys::pages::Pages;

/// Pages of a file, unmapped when dropped.
pub struct MappedFile {
    start: *mut u8,
    length: usize,
    /// From one page that may be touched to the next.
    stride: usize,
}

impl MappedFile {
    /// All of its whole pages, next to each other.
    pub fn whole(file: &File) -> Result<Self, String> {
        let (page, pages) = pages_of(file)?;
        let length = pages * page;
        let start = map(ptr::null_mut(), length, libc::PROT_READ, Some((file, 0)))?;
        let stride = page;
        Ok(Self {
            start,
            length,
            stride,
        })
    }

    /// At most so many of its pages, each in a mapping of its own, beyond which the kernel does
    /// not look for neighbours.
    pub fn single(file: &File, most: usize) -> Result<Self, String> {
        let (page, pages) = pages_of(file)?;
        let stride = 2 * page;
        let count = (pages / 2).clamp(1, most);
        // What lies between is nobody's, so that the mappings stay apart.
        let start = map(ptr::null_mut(), count * stride, libc::PROT_NONE, None)?;
        let mapped = Self {
            start,
            length: count * stride,
            stride,
        };
        for index in 0..count {
            let offset = index * stride;
            let place = mapped.page(index).cast_mut();
            map(place, page, libc::PROT_READ, Some((file, offset)))?;
        }
        Ok(mapped)
    }

    /// Pages that may be touched.
    pub fn count(&self) -> usize {
        self.length / self.stride
    }

    pub fn page(&self, index: usize) -> *const u8 {
        assert!(index < self.count());
        // SAFETY: inside the mapping.
        unsafe { self.start.add(index * self.stride) }
    }

    /// Reads a byte of a page.
    pub fn touch(&self, index: usize) {
        // SAFETY: mapped, and of a file that nobody shortens.
        unsafe { self.page(index).read_volatile() };
    }

    pub fn advise(&self, advice: i32) -> Result<(), String> {
        advise(self.start, self.length, advice)
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: the range is ours and nobody borrows it any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

pub fn advise(start: *mut u8, length: usize, advice: i32) -> Result<(), String> {
    // SAFETY: the callers' own ranges.
    match unsafe { libc::madvise(start.cast(), length, advice) } {
        0 => Ok(()),
        _ => Err(format!("madvise: {}", io::Error::last_os_error())),
    }
}

/// The file that this process runs; where there is no /proc, the descriptor that its main process
/// handed it.
pub fn program() -> Result<File, String> {
    File::open("/proc/self/exe").or_else(|error| {
        // SAFETY: the copy is a descriptor of our own.
        match unsafe { libc::fcntl(BINARY_FD, libc::F_DUPFD_CLOEXEC, 10) } {
            -1 => Err(format!("/proc/self/exe: {error}")),
            copy => Ok(unsafe { File::from_raw_fd(copy) }),
        }
    })
}

/// A file without a name, of random bytes (none of which the disk can skip or squeeze), that is
/// on the disk and not in memory.
pub fn cold(directory: &str, pages: usize, random: &mut Pcg64Mcg) -> Result<File, String> {
    let told = |error: io::Error| format!("{directory}: {error}");
    let mut file = nameless(directory).map_err(told)?;
    in_memory(&file).map_err(|kind| format!("{directory} is on {kind}, which is memory itself"))?;
    let mut bytes = vec![0; pages * Pages::Small.bytes()];
    random.fill_bytes(&mut bytes);
    file.write_all(&bytes).map_err(told)?;
    // What is not yet on the disk is not dropped.
    file.sync_all().map_err(told)?;
    // SAFETY: no memory is involved.
    let result = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    match result {
        0 => Ok(file),
        error => Err(told(io::Error::from_raw_os_error(error))),
    }
}

/// A file that is gone when it is closed.
fn nameless(directory: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let without = options
        .clone()
        .custom_flags(libc::O_TMPFILE)
        .open(directory);
    without.or_else(|_| {
        // Not every file system has these.
        let path = format!("{directory}/.tare-fault-{}", std::process::id());
        let file = options.create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    })
}

/// Errs with the file system's kind where files are nowhere but in memory.
fn in_memory(file: &File) -> Result<(), &'static str> {
    const RAMFS: i64 = 0x8584_58f6;
    // SAFETY: writes one struct.
    let kind = unsafe {
        let mut found: libc::statfs = std::mem::zeroed();
        libc::fstatfs(file.as_raw_fd(), &mut found);
        found.f_type as i64
    };
    match kind {
        libc::TMPFS_MAGIC => Err("tmpfs"),
        RAMFS => Err("ramfs"),
        _ => Ok(()),
    }
}

/// Size of a page, and how many whole ones a file has.
fn pages_of(file: &File) -> Result<(usize, usize), String> {
    let page = Pages::Small.bytes();
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    match length as usize / page {
        0 => Err("the file is shorter than a page".to_string()),
        pages => Ok((page, pages)),
    }
}

/// Maps a part of a file, or nothing, at a place of the kernel's choice or over what is ours.
fn map(
    place: *mut u8,
    length: usize,
    protection: i32,
    file: Option<(&File, usize)>,
) -> Result<*mut u8, String> {
    let (descriptor, offset) = file.map_or((-1, 0), |(file, at)| (file.as_raw_fd(), at));
    let mut flags = libc::MAP_SHARED;
    if file.is_none() {
        flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    }
    if !place.is_null() {
        flags |= libc::MAP_FIXED;
    }
    // SAFETY: a new mapping, or one in the place of ours.
    let start = unsafe {
        libc::mmap(
            place.cast(),
            length,
            protection,
            flags,
            descriptor,
            offset as libc::off_t,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(format!("cannot map a file: {}", io::Error::last_os_error()));
    }
    Ok(start.cast())
}
