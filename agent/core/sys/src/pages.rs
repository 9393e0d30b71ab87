//! Memory in pages of one size, every one of them there.

use std::fs;
use std::ptr;

const USUAL_HUGE_PAGE: usize = 2 << 20;
const THP: &str = "/sys/kernel/mm/transparent_hugepage";

/// Pages that a buffer is to be made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The smallest, and no larger ones behind their back.
    Small,
    /// Transparent huge pages.
    Huge,
}

impl Pages {
    pub fn bytes(self) -> usize {
        match self {
            // SAFETY: sysconf has no preconditions.
            Self::Small => unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize },
            Self::Huge => fs::read_to_string(format!("{THP}/hpage_pmd_size"))
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .unwrap_or(USUAL_HUGE_PAGE),
        }
    }
}

/// Memory of this process, every page of it touched; unmapped when dropped.
pub struct Buffer {
    mapped: *mut libc::c_void,
    mapped_length: usize,
    start: *mut u8,
    length: usize,
    page: usize,
}

// SAFETY: memory belongs to the process, not to a thread.
unsafe impl Send for Buffer {}
// SAFETY: all that is shared of it is where it lies.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// At least so many bytes in whole pages.
    pub fn new(bytes: usize, pages: Pages) -> Result<Self, String> {
        let page = pages.bytes();
        let length = bytes.next_multiple_of(page);
        // Room to begin at a page of that size.
        let mapped_length = length + page;
        // SAFETY: a new mapping at a place that the kernel chooses; it is reserved, so that a
        // machine that cannot afford it says so here instead of killing at the first touch.
        let mapped = unsafe {
            libc::mmap(
                ptr::null_mut(),
                mapped_length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            let why = std::io::Error::last_os_error();
            return Err(format!(
                "no {} MiB of memory to be had: {why}",
                length >> 20
            ));
        }
        let start = (mapped as usize).next_multiple_of(page) as *mut u8;
        let buffer = Self {
            mapped,
            mapped_length,
            start,
            length,
            page,
        };
        buffer.settle(pages)?;
        Ok(buffer)
    }

    /// Has its pages made, of the kind that was asked for.
    fn settle(&self, pages: Pages) -> Result<(), String> {
        let advice = match pages {
            Pages::Small => libc::MADV_NOHUGEPAGE,
            Pages::Huge => libc::MADV_HUGEPAGE,
        };
        // SAFETY: the range is ours.
        let refused = unsafe { libc::madvise(self.start.cast(), self.length, advice) } != 0;
        if pages == Pages::Huge {
            may_be_huge(refused)?;
        }
        for offset in (0..self.length).step_by(Pages::Small.bytes()) {
            // SAFETY: inside the mapping.
            unsafe { self.start.add(offset).write_volatile(1) };
        }
        if pages == Pages::Huge {
            let huge = huge_bytes(self.start as usize)?;
            if huge == 0 {
                return Err(format!(
                    "none of it came in huge pages: they are off for this process, or for this \
                     size in {THP}, or memory is in pieces"
                ));
            }
            if huge < self.length / 16 * 15 {
                return Err(format!(
                    "only {} of {} MiB came in huge pages, since memory is short or in pieces: \
                     echo 1 | sudo tee /proc/sys/vm/compact_memory",
                    huge >> 20,
                    self.length >> 20
                ));
            }
        }
        Ok(())
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// Bytes of each page.
    pub fn page(&self) -> usize {
        self.page
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the range is ours and nobody uses it any more.
        unsafe { libc::munmap(self.mapped, self.mapped_length) };
    }
}

fn may_be_huge(refused: bool) -> Result<(), String> {
    let enabled = fs::read_to_string(format!("{THP}/enabled"));
    if refused || enabled.is_err() {
        return Err("this kernel has no transparent huge pages".to_string());
    }
    if enabled.is_ok_and(|text| text.contains("[never]")) {
        return Err(format!(
            "transparent huge pages are off: echo madvise | sudo tee {THP}/enabled"
        ));
    }
    Ok(())
}

/// How much of the mapping at an address is in huge pages.
fn huge_bytes(address: usize) -> Result<usize, String> {
    let text = fs::read_to_string("/proc/self/smaps")
        .map_err(|why| format!("whether pages are huge cannot be known: {why}"))?;
    let mut inside = false;
    for line in text.lines() {
        if let Some((from, to)) = range(line) {
            inside = (from..to).contains(&address);
        } else if let Some(rest) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
            let kilobytes = rest.trim().trim_end_matches(" kB").parse::<usize>();
            return Ok(kilobytes.unwrap_or(0) << 10);
        }
    }
    Err("whether pages are huge cannot be known: /proc/self/smaps does not say".to_string())
}

/// `7f00-7f08 rw-p …`
fn range(line: &str) -> Option<(usize, usize)> {
    let (from, to) = line.split_once(' ')?.0.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some((address(from)?, address(to)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_told() {
        let Err(why) = Buffer::new(1 << 46, Pages::Small) else {
            panic!("nobody has 64 TiB");
        };
        assert!(why.contains("MiB of memory"), "{why}");
    }

    #[test]
    fn huge_pages_are_had_or_said_to_be_missing() {
        match Buffer::new(4 << 20, Pages::Huge) {
            Ok(buffer) => assert_eq!(buffer.start() as usize % buffer.page(), 0),
            Err(why) => assert!(why.contains("huge"), "{why}"),
        }
    }

    #[test]
    fn mappings_are_found_by_their_range() {
        assert_eq!(
            range("1000-2fff rw-p 00000000 00:00 0"),
            Some((0x1000, 0x2fff))
        );
        assert_eq!(range("AnonHugePages:      2048 kB"), None);
    }
}
