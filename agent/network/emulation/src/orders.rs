//! The front's orders: whether each can be meant.

use std::collections::HashSet;
use std::fmt::Display;

use netlink::traffic::{FASTEST_BPS, LARGEST_BYTES};
use record::network::{HostShape, Shape, Step};

/// Longer than any order: a week's trace for each of many hosts.
pub const LINE_LIMIT: usize = 1 << 28;
pub const HOSTS: u32 = 64;
/// Bits of an address that name the network: three bytes.
pub const PREFIX: u8 = 24;
/// What is a name of a namespace's file, and stays one with a number behind it.
const NAME_LIMIT: usize = 64;
/// The kernel's timers and TCP follow nothing shorter.
const SHORTEST_STEP_NS: u64 = 1_000_000;

/// A refused order: the reason, and a hint (a command, or `sudo` to repeat the typed one as root).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub message: String,
    pub hint: Option<String>,
}

impl Refused {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// The kernel cannot make something, perhaps since a module is not loaded.
    pub fn unsupported(what: &str, module: &str, error: &dyn Display) -> Self {
        Self::new(
            format!("the kernel makes no {what}: {error}"),
            format!("sudo modprobe {module}"),
        )
    }
}

impl From<String> for Refused {
    fn from(message: String) -> Self {
        Self {
            message,
            hint: None,
        }
    }
}

/// Whether a name can be that of files and namespaces.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    let begins = name.starts_with(|one: char| one.is_ascii_alphanumeric());
    match begins && name.chars().all(plain) && name.len() <= NAME_LIMIT {
        true => Ok(()),
        false => Err(format!(
            "{name:?} is no name for a network: at most {NAME_LIMIT} letters, digits, dots, \
             underscores and hyphens, the first a letter or a digit"
        )),
    }
}

/// The first three bytes of addresses.
pub fn subnet(text: &str) -> Result<[u8; 3], String> {
    let bytes: Option<Vec<u8>> = text.split('.').map(|part| part.parse().ok()).collect();
    let bytes = bytes.and_then(|bytes| <[u8; 3]>::try_from(bytes).ok());
    // What a host may have as its own: neither loopback nor for many at once.
    bytes
        .filter(|[first, ..]| (1..224).contains(first) && *first != 127)
        .ok_or_else(|| {
            format!("{text:?} is no subnet: three numbers from 0 to 255 with dots, as in 10.77.0")
        })
}

/// Whether hosts can be shaped so; `count`: how many there are.
pub fn check_shapes(shapes: &[HostShape], count: usize) -> Result<(), String> {
    let mut named = HashSet::new();
    for shape in shapes {
        let host = shape.host;
        if host < 1 || host as usize > count {
            return Err(format!(
                "there is no host {host}: they count from 1 to {count}"
            ));
        }
        if !named.insert(host) {
            return Err(format!("host {host} is named twice"));
        }
        check(shape).map_err(|why| format!("host {host}: {why}"))?;
    }
    Ok(())
}

fn check(shape: &HostShape) -> Result<(), String> {
    match shape.queue_bytes {
        Some(queue) if queue < LARGEST_BYTES => {
            return Err(format!(
                "a queue of {queue} B does not hold the largest packet, and would drop it every \
                 time: at least {LARGEST_BYTES} B"
            ))
        }
        Some(queue) if queue > u32::MAX.into() => {
            return Err(format!(
                "a queue of {queue} B is more than the kernel's 4 GiB"
            ))
        }
        _ => {}
    }
    match &shape.shape {
        Shape::Unshaped => Ok(()),
        Shape::Bucket {
            high_bps,
            low_bps,
            refill_bps,
            capacity_bits,
            tokens_bits,
        } => {
            check_rate("high", *high_bps)?;
            check_rate("low", *low_bps)?;
            if *refill_bps == 0 || *capacity_bits == 0 {
                return Err("a bucket needs a capacity and a refill above zero".to_string());
            }
            if high_bps < low_bps {
                return Err(format!(
                    "high ({high_bps} bit/s) is below low ({low_bps} bit/s)"
                ));
            }
            match tokens_bits {
                Some(tokens) if tokens > capacity_bits => Err(format!(
                    "{tokens} tokens do not fit into a bucket of {capacity_bits} bits"
                )),
                _ => Ok(()),
            }
        }
        Shape::Steps { steps } => check_steps(steps),
    }
}

fn check_steps(steps: &[Step]) -> Result<(), String> {
    if steps.is_empty() {
        return Err("there is no step".to_string());
    }
    let mut whole = 0u64;
    for (number, step) in (1..).zip(steps) {
        if step.rate_bps > 0 {
            check_rate("the rate", step.rate_bps).map_err(|why| format!("step {number}: {why}"))?;
        }
        if step.duration_ns < SHORTEST_STEP_NS {
            let ns = step.duration_ns;
            return Err(format!(
                "step {number} lasts {ns} ns: at least 1 ms can be followed"
            ));
        }
        whole = whole.saturating_add(step.duration_ns);
    }
    match i64::try_from(whole) {
        // The clock's own beginning is added to it.
        Ok(whole) if whole <= i64::MAX / 4 => Ok(()),
        _ => Err("the steps last longer than 73 years".to_string()),
    }
}

fn check_rate(what: &str, rate_bps: u64) -> Result<(), String> {
    match rate_bps {
        0..=7 => Err(format!(
            "{what} is {rate_bps} bit/s: less than one byte a second"
        )),
        8..=FASTEST_BPS => Ok(()),
        _ => Err(format!(
            "{what} is {rate_bps} bit/s: beyond {} Tbit/s the kernel's rates are not exact",
            FASTEST_BPS / 1_000_000_000_000
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_subnets_are_plain() {
        for good in ["tare-1a2b3c", "a", "A.b_c-9"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(NAME_LIMIT + 1);
        for bad in ["", ".", "..", "../x", "-x", "a/b", "a b", "ä", &long] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        assert_eq!(subnet("10.77.0"), Ok([10, 77, 0]));
        for bad in [
            "",
            "10.77",
            "10.77.0.1",
            "10.77.256",
            "a.b.c",
            "127.0.0",
            "0.1.2",
            "224.0.0",
        ] {
            assert!(subnet(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn steps_that_last_too_long_together_are_refused() {
        let step = |duration_ns| Step {
            duration_ns,
            rate_bps: 8,
        };
        assert!(check_steps(&[step(1_000_000), step(2_000_000)]).is_ok());
        assert!(check_steps(&[step(u64::MAX), step(u64::MAX)]).is_err());
        assert!(check_steps(&[step(i64::MAX as u64)]).is_err());
        assert!(check_steps(&[step(999_999)]).is_err());
    }
}
