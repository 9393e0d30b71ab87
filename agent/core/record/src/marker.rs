//! The name that a launcher takes just before its exec, by which an observer finds it.
//!
//! `T` and 14 characters of base 64, most significant first: nonce (4), trial (4), worker (2),
//! iteration (4). The two highest bits of the iteration hold its phase. No pid is involved, so
//! that it means the same in every namespace.

use crate::Phase;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Number of iterations that a marker can tell apart; the last stands for all of them.
pub const ITERATIONS: u32 = (1 << 22) - 1;

/// Whose process it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    pub nonce: u32,
    pub trial: u32,
    pub worker: u32,
    /// Absent: one process for all iterations.
    pub iteration: Option<u32>,
    pub phase: Phase,
}

impl Marker {
    /// As a name for PR_SET_NAME, ended by a zero.
    pub fn name(&self) -> [u8; 16] {
        let iteration = self.iteration.unwrap_or(ITERATIONS) | (self.phase as u32) << 22;
        let mut name = [0; 16];
        name[0] = b'T';
        for (field, width, value) in [
            (1, 4, self.nonce),
            (5, 4, self.trial),
            (9, 2, self.worker),
            (11, 4, iteration),
        ] {
            for place in 0..width {
                let digit = value >> (6 * (width - 1 - place)) & 63;
                name[field + place as usize] = DIGITS[digit as usize];
            }
        }
        name
    }

    /// Reads a name back; nothing where it is an ordinary one.
    pub fn read(name: &[u8]) -> Option<Self> {
        let name = name.split(|byte| *byte == 0).next()?;
        if name.len() != 15 || name[0] != b'T' {
            return None;
        }
        let iteration = number(&name[11..])?;
        Some(Self {
            nonce: number(&name[1..5])?,
            trial: number(&name[5..9])?,
            worker: number(&name[9..11])?,
            iteration: Some(iteration & ITERATIONS).filter(|i| *i != ITERATIONS),
            phase: [Phase::Warmup, Phase::Measured, Phase::Tail]
                .into_iter()
                .find(|phase| *phase as u32 == iteration >> 22)?,
        })
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        let value = DIGITS.iter().position(|known| known == digit)?;
        Some(number << 6 | value as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_back() {
        for iteration in [None, Some(0), Some(ITERATIONS - 1)] {
            for phase in [Phase::Warmup, Phase::Measured, Phase::Tail] {
                let marker = Marker {
                    nonce: 0xab_cdef,
                    trial: 16_777_215,
                    worker: 4095,
                    iteration,
                    phase,
                };
                assert_eq!(Marker::read(&marker.name()), Some(marker));
            }
        }
    }

    #[test]
    fn the_order_of_fields_is_as_documented() {
        let marker = Marker {
            nonce: 1,
            trial: 2,
            worker: 3,
            iteration: Some(4),
            phase: Phase::Warmup,
        };
        assert_eq!(&marker.name(), b"TAAABAAACADAAAE\0");
    }

    #[test]
    fn ordinary_names_are_no_markers() {
        for name in ["bash", "", "TAAAA", "TAAAAAAAAAAA AA", "XAAAAAAAAAAAAAA"] {
            assert_eq!(Marker::read(name.as_bytes()), None, "{name}");
        }
        // Phase 3 does not exist.
        assert_eq!(Marker::read(b"TAAAAAAAAAA____\0"), None);
    }
}
