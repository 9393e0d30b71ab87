//! Memory whose pages are fresh until they are touched, one fault a page.

use std::io;
use std::ptr;

/// Bytes of the machine's smallest page.
pub fn page_bytes() -> usize {
    // SAFETY: asks for a constant.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

/// A private mapping without huge pages; unmapped when dropped.
pub struct Fresh {
    start: *mut u8,
    length: usize,
}

impl Fresh {
    pub fn new(pages: usize) -> Result<Self, String> {
        Self::map(pages, libc::MAP_PRIVATE)
    }

    /// The same, shared with children.
    pub fn shared(pages: usize) -> Result<Self, String> {
        Self::map(pages, libc::MAP_SHARED)
    }

    fn map(pages: usize, kind: libc::c_int) -> Result<Self, String> {
        let length = pages.max(1).checked_mul(page_bytes()).ok_or("too much")?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, of nothing that exists.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                access,
                kind | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(format!("cannot map memory: {}", io::Error::last_os_error()));
        }
        // SAFETY: of the mapping just made. A kernel without huge pages refuses, and has none.
        unsafe { libc::madvise(start, length, libc::MADV_NOHUGEPAGE) };
        Ok(Self {
            start: start.cast(),
            length,
        })
    }

    /// Writes to every page.
    pub fn touch(&self) {
        for place in (0..self.length).step_by(page_bytes()) {
            // SAFETY: inside the mapping; nobody else has it.
            unsafe { self.start.add(place).write_volatile(1) };
        }
    }

    /// A number at the beginning, for who shares it.
    pub fn number(&self) -> &std::sync::atomic::AtomicI64 {
        // SAFETY: mappings begin at a page, are zeroed, and live as long as this.
        unsafe { &*self.start.cast() }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: as it was mapped.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}
