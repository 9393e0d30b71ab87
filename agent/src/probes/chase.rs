//! What the probes of memory have in common: buffers in pages of one size, random rings of
//! pointers in them, and following these.

use std::fs;
use std::ptr;

use rand_pcg::rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

/// Loads in one step of a chase, so that the loop itself hides behind them.
pub const STEP: u64 = 16;
/// Of every machine that tare has met, where nobody says.
const USUAL_LINE: usize = 64;
const USUAL_HUGE_PAGE: usize = 2 << 20;
const THP: &str = "/sys/kernel/mm/transparent_hugepage";

/// Sizes of a CPU's data caches in bytes, nearest first, as the system says, and of their lines.
pub struct Caches {
    pub line: usize,
    pub sizes: Vec<usize>,
}

impl Caches {
    pub fn of(cpu: u32) -> Self {
        let file = |index: u32, name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{name}");
            fs::read_to_string(path).map(|text| text.trim().to_string())
        };
        let mut levels: Vec<(u32, usize)> = (0..16)
            .filter(|index| file(*index, "type").is_ok_and(|kind| kind != "Instruction"))
            .filter_map(|index| {
                let level = file(index, "level").ok()?.parse().ok()?;
                Some((level, size(&file(index, "size").ok()?)?))
            })
            .collect();
        levels.sort_unstable();
        let line = file(0, "coherency_line_size").ok();
        Self {
            line: line
                .and_then(|text| text.parse().ok())
                .filter(|line: &usize| line.is_power_of_two() && *line >= 16)
                .unwrap_or(USUAL_LINE),
            sizes: levels.into_iter().map(|(_, size)| size).collect(),
        }
    }

    /// The last and largest; absent: nobody says.
    pub fn last(&self) -> Option<usize> {
        self.sizes.iter().copied().max()
    }

    /// A size that no cache holds much of: several times the last.
    pub fn beyond(&self, times: usize) -> usize {
        (times * self.last().unwrap_or(0)).max(64 << 20)
    }
}

/// `32768K` in bytes.
fn size(text: &str) -> Option<usize> {
    let (number, unit) = match text.strip_suffix('M') {
        Some(number) => (number, 1 << 20),
        None => (text.strip_suffix('K')?, 1 << 10),
    };
    number
        .parse::<usize>()
        .ok()
        .map(|number| number * unit)
        .filter(|size| *size > 0)
}

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

    /// Makes one ring of pointers through these places, multiples of `unit` bytes, in random
    /// order.
    pub fn ring<'a>(
        &'a self,
        places: &'a mut [u32],
        unit: usize,
        random: &mut Pcg64Mcg,
    ) -> Ring<'a> {
        assert!(unit.is_power_of_two() && unit >= size_of::<*const u8>());
        let largest = places.iter().max().expect("a ring has a place");
        assert!(*largest as usize * unit + size_of::<*const u8>() <= self.length);
        shuffle(places, random);
        let ring = Ring {
            buffer: self,
            places,
            unit,
        };
        // In the order of the chase, so that caches are left as a chase would leave them.
        for index in 0..ring.places.len() {
            let next = ring.at((index + 1) % ring.places.len());
            // SAFETY: inside the mapping, as was just looked at, and aligned.
            unsafe { ring.at(index).cast::<*const u8>().cast_mut().write(next) };
        }
        ring
    }
}

/// A ring of pointers.
pub struct Ring<'a> {
    buffer: &'a Buffer,
    /// In their order.
    places: &'a [u32],
    unit: usize,
}

impl Ring<'_> {
    pub fn length(&self) -> usize {
        self.places.len()
    }

    /// One of its places, in their order.
    pub fn at(&self, index: usize) -> *const u8 {
        // SAFETY: places were looked at when the ring was made.
        unsafe {
            self.buffer
                .start
                .add(self.places[index] as usize * self.unit)
        }
    }

    /// Touches all of it in its order, once around, as fast as lines come: the caches are then
    /// as a chase would have left them, had nobody else used them meanwhile.
    pub fn sweep(&self, from: usize) {
        for index in (from..self.places.len()).chain(0..from) {
            // SAFETY: inside the mapping, aligned.
            unsafe { self.at(index).cast::<u64>().read_volatile() };
        }
    }

    /// Throws all of it out of every cache, where programs may do that.
    pub fn flush(&self) {
        for index in 0..self.places.len() {
            // SAFETY: inside the mapping; contents stay as they are.
            unsafe { flush_line(self.at(index)) };
        }
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(target_arch = "x86_64")]
unsafe fn flush_line(place: *const u8) {
    std::arch::x86_64::_mm_clflush(place);
}

#[cfg(target_arch = "aarch64")]
unsafe fn flush_line(place: *const u8) {
    std::arch::asm!("dc civac, {}", in(reg) place, options(nostack));
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

/// Any order of them, each as likely (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], random: &mut Pcg64Mcg) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, random) as usize);
    }
}

/// A random number below `limit`; the bias is below one in 2³² for what fits a memory.
pub fn below(limit: u64, random: &mut Pcg64Mcg) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u64
}

/// Follows pointers, each load waiting for the one before.
///
/// # Safety
/// `at` must be in a ring of pointers.
#[inline(never)]
pub unsafe fn follow(mut at: *const u8, steps: u64) -> *const u8 {
    for _ in 0..steps {
        for _ in 0..STEP {
            at = *at.cast::<*const u8>();
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::rand_core::SeedableRng;

    #[test]
    fn a_ring_meets_every_place_once() {
        let buffer = Buffer::new(100 * 64, Pages::Small).unwrap();
        assert_eq!(buffer.length() % buffer.page(), 0);
        for count in [1, 2, 16, 100] {
            let mut places: Vec<u32> = (0..count).collect();
            let ring = buffer.ring(&mut places, 64, &mut Pcg64Mcg::seed_from_u64(7));
            ring.sweep(ring.length() - 1);
            ring.flush();
            let mut at = ring.at(0);
            for index in 0..ring.length() {
                assert_eq!(at, ring.at(index));
                // SAFETY: in the ring.
                at = unsafe { *at.cast::<*const u8>() };
            }
            assert_eq!(at, ring.at(0));
            places.sort_unstable();
            assert_eq!(places, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn following_goes_as_far_as_it_is_told() {
        let buffer = Buffer::new(4096, Pages::Small).unwrap();
        let mut places: Vec<u32> = (0..33).collect();
        let ring = buffer.ring(&mut places, 64, &mut Pcg64Mcg::seed_from_u64(1));
        // SAFETY: a ring.
        let end = unsafe { follow(ring.at(0), 3) };
        assert_eq!(end, ring.at(3 * STEP as usize % 33));
    }

    #[test]
    fn seeds_decide_the_order() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..64).collect();
            shuffle(&mut items, &mut Pcg64Mcg::seed_from_u64(seed));
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

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
    fn sizes_are_read_as_sysfs_writes_them() {
        assert_eq!(size("48K"), Some(48 << 10));
        assert_eq!(size("32M"), Some(32 << 20));
        for text in ["", "K", "48", "0K", "-1K"] {
            assert_eq!(size(text), None, "{text}");
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
