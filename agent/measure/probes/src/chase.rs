//! Random rings of pointers in memory, and following them: each load waits for the one before.

use std::fs;

use rand_pcg::rand_core::RngCore;
use rand_pcg::Pcg64Mcg;
use sys::clock;
use sys::pages::Buffer;

/// Loads in one step of a chase, so that the loop itself hides behind them.
pub const STEP: u64 = 16;
/// Loads in a window, where the clock is a fast one: 2 microseconds in the first cache, so that
/// a window is met in which a sibling or the system leaves that alone; 300 in memory.
pub const LOADS: usize = 2048;
/// What reading a fast clock takes at most, in nanoseconds.
const FAST_CLOCK: i64 = 40;
const FEWEST: usize = 5;
/// Of every machine that tare has met, where nobody says.
const USUAL_LINE: usize = 64;

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
        let sizes: Vec<usize> = levels.into_iter().map(|(_, size)| size).collect();
        let line = file(0, "coherency_line_size").ok();
        Self {
            line: line
                .and_then(|text| text.parse().ok())
                .filter(|line: &usize| line.is_power_of_two() && *line >= 16)
                .unwrap_or(USUAL_LINE),
            sizes: if sizes.is_empty() { told() } else { sizes },
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

/// What the processor itself says, where sysfs is hidden.
fn told() -> Vec<usize> {
    #[cfg(target_env = "gnu")]
    const LEVELS: &[libc::c_int] = &[
        libc::_SC_LEVEL1_DCACHE_SIZE,
        libc::_SC_LEVEL2_CACHE_SIZE,
        libc::_SC_LEVEL3_CACHE_SIZE,
    ];
    #[cfg(not(target_env = "gnu"))]
    const LEVELS: &[libc::c_int] = &[];
    let sizes = LEVELS
        .iter()
        // SAFETY: sysconf has no preconditions.
        .map(|level| unsafe { libc::sysconf(*level) });
    sizes
        .filter(|size| *size > 0)
        .map(|size| size as usize)
        .collect()
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

/// A ring of pointers.
pub struct Ring<'a> {
    buffer: &'a Buffer,
    /// In their order.
    places: &'a [u32],
    unit: usize,
}

impl<'a> Ring<'a> {
    /// Links these places of a buffer, multiples of `unit` bytes, in random order.
    pub fn new(
        buffer: &'a Buffer,
        places: &'a mut [u32],
        unit: usize,
        random: &mut Pcg64Mcg,
    ) -> Self {
        shuffle(places, random);
        Self::in_order(buffer, places, unit)
    }

    /// Links these places of a buffer, multiples of `unit` bytes, in the order given.
    pub fn in_order(buffer: &'a Buffer, places: &'a [u32], unit: usize) -> Self {
        assert!(unit.is_power_of_two() && unit >= size_of::<*const u8>());
        let largest = places.iter().max().expect("a ring has a place");
        assert!(*largest as usize * unit + size_of::<*const u8>() <= buffer.length());
        let ring = Self {
            buffer,
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

    pub fn length(&self) -> usize {
        self.places.len()
    }

    /// One of its places, in their order.
    pub fn at(&self, index: usize) -> *const u8 {
        // SAFETY: places were looked at when the ring was made.
        unsafe {
            self.buffer
                .start()
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

    /// Nanoseconds a load in the best of windows. What is longer than a window can be swept before
    /// each: else neighbours would empty a shared cache of it before the chase comes around again,
    /// and the latency be theirs.
    pub fn least(&self, budget_ns: i64, sweep: bool) -> f64 {
        let loads = loads();
        let end = clock::monotonic() + budget_ns;
        let (mut index, mut least, mut count) = (0, f64::INFINITY, 0);
        while count < FEWEST || clock::monotonic() < end {
            if sweep {
                self.sweep(index);
            }
            least = self.window(index, loads).min(least);
            index = (index + loads) % self.places.len();
            count += 1;
        }
        least
    }

    /// Nanoseconds a load in one window.
    pub fn window(&self, index: usize, loads: usize) -> f64 {
        let at = self.at(index);
        let start = clock::monotonic();
        // SAFETY: in the ring.
        std::hint::black_box(unsafe { follow(at, loads as u64 / STEP) });
        let taken = clock::monotonic() - start;
        taken as f64 / loads as f64
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

/// Loads in a window: more where a slow clock would be seen in it.
fn loads() -> usize {
    let reading = (0..50).map(|_| -(clock::monotonic() - clock::monotonic()));
    let slow = reading.min().unwrap_or(0) / FAST_CLOCK;
    LOADS * (slow.clamp(0, 255) as usize + 1)
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
    use rand_pcg::rand_core::SeedableRng;
    use sys::pages::Pages;

    use super::*;

    #[test]
    fn a_ring_meets_every_place_once() {
        let buffer = Buffer::new(100 * 64, Pages::Small).unwrap();
        assert_eq!(buffer.length() % buffer.page(), 0);
        for count in [1, 2, 16, 100] {
            let mut places: Vec<u32> = (0..count).collect();
            let ring = Ring::new(&buffer, &mut places, 64, &mut Pcg64Mcg::seed_from_u64(7));
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
    fn a_ring_in_order_ascends_by_its_unit() {
        let buffer = Buffer::new(4096, Pages::Small).unwrap();
        let places: Vec<u32> = (0..8).collect();
        let ring = Ring::in_order(&buffer, &places, 512);
        for index in 0..ring.length() {
            // SAFETY: in the ring.
            let next = unsafe { *ring.at(index).cast::<*const u8>() };
            let offset = next as usize - buffer.start() as usize;
            assert_eq!(offset, (index + 1) % 8 * 512);
        }
    }

    #[test]
    fn following_goes_as_far_as_it_is_told() {
        let buffer = Buffer::new(4096, Pages::Small).unwrap();
        let mut places: Vec<u32> = (0..33).collect();
        let ring = Ring::new(&buffer, &mut places, 64, &mut Pcg64Mcg::seed_from_u64(1));
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
    fn what_the_processor_says_grows_from_level_to_level() {
        assert!(told().windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn sizes_are_read_as_sysfs_writes_them() {
        assert_eq!(size("48K"), Some(48 << 10));
        assert_eq!(size("32M"), Some(32 << 20));
        for text in ["", "K", "48", "0K", "-1K"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
