//! Loops that go through memory in order, as wide as the processor allows.

/// What a loop does; `a` to `c` are its streams of `bytes` each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Sum of a.
    Read,
    /// a = s
    Write,
    /// a = b
    Copy,
    /// a = b + s c
    Triad,
}

impl Kind {
    /// Streams, each of which counts (as STREAM has it); what the cache fetches before it is
    /// written does not.
    pub fn streams(self) -> usize {
        match self {
            Self::Read | Self::Write => 1,
            Self::Copy => 2,
            Self::Triad => 3,
        }
    }
}

/// Streams in memory, in whole blocks, that do not overlap.
#[derive(Clone, Copy)]
pub struct Streams {
    pub a: *mut u8,
    pub b: *const u8,
    pub c: *const u8,
    pub bytes: usize,
}

/// Streams begin at, and are as long as, a multiple of it.
pub const BLOCK: usize = 512;
const DOUBLES: usize = BLOCK / size_of::<f64>();
const FACTOR: f64 = 3.0;

/// Loops of one kind: with ordinary stores, and with such as go past the caches, where there are
/// any.
pub fn loops(kind: Kind) -> Vec<unsafe fn(Streams)> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return match kind {
            Kind::Read => vec![avx2::read],
            Kind::Write => vec![avx2::write::<false>, avx2::write::<true>],
            Kind::Copy => vec![avx2::copy::<false>, avx2::copy::<true>],
            Kind::Triad => vec![avx2::triad::<false>, avx2::triad::<true>],
        };
    }
    match kind {
        Kind::Read => vec![read],
        Kind::Write => vec![write],
        Kind::Copy => vec![copy],
        Kind::Triad => vec![triad],
    }
}

unsafe fn read(streams: Streams) {
    let mut sums = [0_u64; DOUBLES];
    for block in blocks(streams.a.cast::<[u64; DOUBLES]>(), streams.bytes) {
        for (sum, value) in sums.iter_mut().zip(&*block) {
            *sum = sum.wrapping_add(*value);
        }
    }
    std::hint::black_box(sums);
}

unsafe fn write(streams: Streams) {
    for block in blocks(streams.a.cast::<[f64; DOUBLES]>(), streams.bytes) {
        *block = [FACTOR; DOUBLES];
    }
}

unsafe fn copy(streams: Streams) {
    let from = streams.b.cast::<[f64; DOUBLES]>();
    for (index, block) in blocks(streams.a.cast(), streams.bytes).enumerate() {
        *block = *from.add(index);
    }
}

unsafe fn triad(streams: Streams) {
    let b = streams.b.cast::<[f64; DOUBLES]>();
    let c = streams.c.cast::<[f64; DOUBLES]>();
    let a = streams.a.cast::<[f64; DOUBLES]>();
    for (index, block) in blocks(a, streams.bytes).enumerate() {
        let (block, b, c) = (&mut *block, &*b.add(index), &*c.add(index));
        for place in 0..DOUBLES {
            block[place] = b[place] + FACTOR * c[place];
        }
    }
}

fn blocks<T>(start: *mut T, bytes: usize) -> impl Iterator<Item = *mut T> {
    // SAFETY: the caller of the loop has seen to it that so much is there.
    (0..bytes / size_of::<T>()).map(move |index| unsafe { start.add(index) })
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Streams, BLOCK, FACTOR};

    const WIDTH: usize = size_of::<__m256i>();
    const EACH: usize = BLOCK / WIDTH / 2;

    #[target_feature(enable = "avx2")]
    pub unsafe fn read(streams: Streams) {
        let mut sums = [_mm256_setzero_si256(); EACH];
        let mut at = streams.a.cast_const().cast::<__m256i>();
        for _ in 0..streams.bytes / (WIDTH * EACH) {
            for (part, sum) in sums.iter_mut().enumerate() {
                *sum = _mm256_add_epi64(*sum, _mm256_load_si256(at.add(part)));
            }
            at = at.add(EACH);
        }
        std::hint::black_box(sums);
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn write<const PAST: bool>(streams: Streams) {
        each(streams.bytes, |offset| unsafe {
            store::<PAST>(streams.a.add(offset), _mm256_set1_pd(FACTOR));
        });
        fence::<PAST>();
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn copy<const PAST: bool>(streams: Streams) {
        each(streams.bytes, |offset| unsafe {
            store::<PAST>(streams.a.add(offset), load(streams.b.add(offset)));
        });
        fence::<PAST>();
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn triad<const PAST: bool>(streams: Streams) {
        let factor = _mm256_set1_pd(FACTOR);
        each(streams.bytes, |offset| unsafe {
            let product = _mm256_mul_pd(factor, load(streams.c.add(offset)));
            let sum = _mm256_add_pd(load(streams.b.add(offset)), product);
            store::<PAST>(streams.a.add(offset), sum);
        });
        fence::<PAST>();
    }

    #[inline(always)]
    fn each(bytes: usize, mut work: impl FnMut(usize)) {
        for block in (0..bytes).step_by(WIDTH * EACH) {
            for part in 0..EACH {
                work(block + part * WIDTH);
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(place: *const u8) -> __m256d {
        _mm256_load_pd(place.cast())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store<const PAST: bool>(place: *mut u8, value: __m256d) {
        if PAST {
            _mm256_stream_pd(place.cast(), value);
        } else {
            _mm256_store_pd(place.cast(), value);
        }
    }

    /// What goes past the caches has arrived.
    #[inline]
    fn fence<const PAST: bool>() {
        if PAST {
            // SAFETY: every x86-64 has it.
            unsafe { _mm_sfence() };
        }
    }
}

#[cfg(test)]
mod tests {
    use sys::pages::{Buffer, Pages};

    use super::*;

    /// What each double of a becomes, by its index.
    type Value = fn(f64) -> f64;

    /// Three streams of doubles, the second and third filled.
    fn filled(buffer: &Buffer, bytes: usize) -> Streams {
        let part = buffer.length() / 3 / BLOCK * BLOCK;
        // SAFETY: inside the buffer.
        unsafe {
            let [a, b, c] = [0, 1, 2].map(|index| buffer.start().add(index * part));
            for index in 0..part / 8 {
                b.cast::<f64>().add(index).write(index as f64);
                c.cast::<f64>().add(index).write(2.0 * index as f64);
            }
            Streams { a, b, c, bytes }
        }
    }

    fn doubles(streams: Streams, beyond: usize) -> Vec<f64> {
        let a = streams.a.cast::<f64>();
        // SAFETY: a stream is longer than what is worked on.
        (0..streams.bytes / 8 + beyond)
            .map(|index| unsafe { a.add(index).read() })
            .collect()
    }

    #[test]
    fn every_loop_does_what_it_says_and_no_more() {
        let expected: [(Kind, Value); 3] = [
            (Kind::Write, |_| FACTOR),
            (Kind::Copy, |index| index),
            (Kind::Triad, |index| index + FACTOR * 2.0 * index),
        ];
        for (kind, value) in expected {
            let portable: unsafe fn(Streams) = match kind {
                Kind::Write => write,
                Kind::Copy => copy,
                _ => triad,
            };
            for work in loops(kind).into_iter().chain([portable]) {
                let buffer = Buffer::new(64 << 10, Pages::Small).unwrap();
                let streams = filled(&buffer, 8 * BLOCK);
                let before = doubles(streams, DOUBLES);
                // SAFETY: the streams are there.
                unsafe { work(streams) };
                let after = doubles(streams, DOUBLES);
                let count = streams.bytes / 8;
                assert_eq!(after[count..], before[count..], "{kind:?}");
                for (index, found) in after[..count].iter().enumerate() {
                    assert_eq!(*found, value(index as f64), "{kind:?} at {index}");
                }
            }
        }
    }

    #[test]
    fn reading_changes_nothing() {
        let buffer = Buffer::new(64 << 10, Pages::Small).unwrap();
        let streams = filled(&buffer, 8 * BLOCK);
        let before = doubles(streams, 0);
        for work in loops(Kind::Read).into_iter().chain([read as _]) {
            // SAFETY: the streams are there.
            unsafe { work(streams) };
        }
        assert_eq!(doubles(streams, 0), before);
    }
}
