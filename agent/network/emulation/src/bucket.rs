//! The tokens of one host, exactly: integers of a billionth of a bit, in 128 bits, so that neither
//! a capacity of 2^64 bits nor a rate of a terabit a second wraps or is rounded.
//!
//! While there are tokens the host may send at the high rate; without, at the low one. Tokens come
//! back always, up to the capacity; what is sent takes them. What is found out late, that more was
//! sent at the high rate than there were tokens, is owed, and paid by what comes back beyond what
//! is sent. What is sent at the low rate while there are none costs nothing else: without tokens
//! at the low rate, a host that sends at `refill` or faster stays there for ever.
//!
//! Back to the high rate it goes when as much has come back as one burst at the low rate and one of
//! the largest packets may make the count waver (`BACK`): with less it would flutter between the
//! rates at `refill = low`, with more it would keep from a host what a real bucket gives it at once.

use netlink::traffic::{burst_bytes, LARGEST_BYTES};

/// Parts of a bit in which tokens are kept: a rate in bits a second times nanoseconds.
const PARTS: i128 = 1_000_000_000;
/// Looked at at least so often.
const SLOWEST_NS: i64 = 20_000_000;
/// And at most so often.
const FASTEST_NS: i64 = 500_000;

#[derive(Debug, Clone)]
pub struct Bucket {
    pub high_bps: u64,
    pub low_bps: u64,
    refill_bps: u64,
    /// Both in parts; less than none is owed.
    capacity: i128,
    tokens: i128,
    /// With so many it goes back to the high rate.
    back: i128,
    /// When it was brought up to date last.
    at_ns: i64,
    pub dry: Option<Dry>,
    pub past: Past,
}

/// That a host has no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dry {
    pub since_ns: i64,
}

/// How often and how long it had none before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Past {
    pub times: u64,
    pub dry_ns: i64,
    pub first_ns: Option<i64>,
}

impl Bucket {
    pub fn new(
        [high_bps, low_bps, refill_bps]: [u64; 3],
        capacity_bits: u64,
        tokens_bits: u64,
        now_ns: i64,
    ) -> Self {
        let capacity = i128::from(capacity_bits) * PARTS;
        let waver = 8 * 2 * u128::from(burst_bytes(low_bps) + LARGEST_BYTES);
        // Half of a small one, so that it comes back at all.
        let back = (waver as i128 * PARTS).min(capacity / 2).max(1);
        let mut bucket = Self {
            high_bps,
            low_bps,
            refill_bps,
            capacity,
            tokens: (i128::from(tokens_bits) * PARTS).min(capacity),
            back,
            at_ns: now_ns,
            dry: None,
            past: Past::default(),
        };
        if bucket.tokens == 0 {
            bucket.turn(now_ns);
        }
        bucket
    }

    /// Whole bits that are left.
    pub fn tokens_bits(&self) -> u64 {
        u64::try_from(self.tokens.max(0) / PARTS).unwrap_or(u64::MAX)
    }

    /// At which the host may send now.
    pub fn rate_bps(&self) -> u64 {
        match self.dry {
            Some(_) => self.low_bps,
            None => self.high_bps,
        }
    }

    /// Brings it up to date: so much was sent since the last time.
    pub fn settle(&mut self, now_ns: i64, sent_bytes: u64) {
        let passed = i128::from((now_ns - self.at_ns).max(0));
        self.at_ns = self.at_ns.max(now_ns);
        let back = i128::from(self.refill_bps) * passed;
        let spent = i128::from(sent_bytes) * 8 * PARTS;
        let mut tokens = self.tokens + back - spent;
        if self.dry.is_some() {
            // Without tokens, the low rate takes none; a debt of tokens remains.
            tokens = tokens.max(self.tokens.min(0));
        }
        self.tokens = tokens.min(self.capacity);
    }

    /// Whether the rate is to change.
    pub fn is_due(&self) -> bool {
        match self.dry {
            Some(_) => self.tokens >= self.back,
            None => self.tokens <= 0,
        }
    }

    /// Goes to the other rate; call when the kernel has it.
    pub fn turn(&mut self, now_ns: i64) {
        match self.dry.take() {
            Some(dry) => self.past.dry_ns += now_ns - dry.since_ns,
            None => {
                self.past.times += 1;
                self.past.first_ns.get_or_insert(now_ns);
                self.dry = Some(Dry { since_ns: now_ns });
            }
        }
    }

    /// How often and how long it had no tokens, until now.
    pub fn past(&self, now_ns: i64) -> Past {
        let under_way = self.dry.map_or(0, |dry| (now_ns - dry.since_ns).max(0));
        Past {
            dry_ns: self.past.dry_ns + under_way,
            ..self.past
        }
    }

    /// When to look again: half-way to the moment at which the rate can have to change at the
    /// earliest, so that little is sent beyond.
    pub fn look_ns(&self) -> i64 {
        let (way, speed) = match self.dry {
            Some(_) => (self.back - self.tokens, self.refill_bps),
            None => (self.tokens / 2, self.high_bps),
        };
        let soonest = way.max(0) / i128::from(speed.max(1));
        let wait = i64::try_from(soonest).unwrap_or(SLOWEST_NS);
        self.at_ns + wait.clamp(FASTEST_NS, SLOWEST_NS)
    }
}

#[cfg(test)]
mod tests;
