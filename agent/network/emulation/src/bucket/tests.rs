//! A bucket beside one that is counted otherwise, with a clock of our own.

use super::*;

const SECOND: i64 = 1_000_000_000;
const GBIT: u64 = 1_000_000_000;

/// Numbers that look random, and are the same every time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// A host that always has something to send, looked at as the controller does, with delays.
struct Host {
    bucket: Bucket,
    now: i64,
    sent_bytes: u64,
    noise: Noise,
    /// The latest that a look can be.
    late_ns: u64,
}

impl Host {
    fn new(bucket: Bucket, late_ns: u64) -> Self {
        Self {
            now: bucket.at_ns,
            bucket,
            sent_bytes: 0,
            noise: Noise(7),
            late_ns,
        }
    }

    /// Sends for a while at a part of what it may; returns how many bits.
    fn send(&mut self, until: i64, part: f64) -> u64 {
        let before = self.sent_bytes;
        while self.now < until {
            let late = self.noise.below(self.late_ns + 1) as i64;
            let next = (self.bucket.look_ns() + late).min(until);
            let bits = self.bucket.rate_bps() as f64 * part * (next - self.now) as f64 / 1e9;
            // Whole packets.
            let bytes = (bits / 8.0 / 1514.0).round() as u64 * 1514;
            self.sent_bytes += bytes;
            self.now = next;
            self.bucket.settle(next, bytes);
            if self.bucket.is_due() {
                self.bucket.turn(next);
            }
            assert!(self.bucket.tokens <= self.bucket.capacity);
        }
        (self.sent_bytes - before) * 8
    }
}

fn near(found: f64, expected: f64, part: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off <= part, "{found} instead of {expected}");
}

#[test]
fn a_full_one_gives_its_budget_then_the_low_rate() {
    let rates = [2 * GBIT, GBIT / 5, GBIT / 5];
    let mut host = Host::new(Bucket::new(rates, 10 * GBIT, 10 * GBIT, 0), 1_000_000);
    host.send(30 * SECOND, 1.0);
    let past = host.bucket.past(host.now);
    // 10 Gbit less what comes back meanwhile: 10 / (2 - 0.2) s.
    near(past.first_ns.unwrap() as f64, 10.0 / 1.8 * 1e9, 0.002);
    assert_eq!(
        past.times, 1,
        "sending at the refill's rate brings nothing back"
    );
    near(host.sent_bytes as f64 * 8.0, 10e9 + 0.2e9 * 30.0, 0.002);
    // A rest brings back what it takes, and no more than that.
    host.send(45 * SECOND, 0.0);
    near(host.bucket.tokens_bits() as f64, 3e9, 0.01);
    let burst = host.send(50 * SECOND, 1.0);
    near(burst as f64, 3e9 + 0.2e9 * 5.0, 0.01);
    host.send(500 * SECOND, 0.0);
    assert_eq!(host.bucket.tokens_bits(), 10 * GBIT, "full is full");
}

#[test]
fn nothing_wraps_at_the_largest_numbers() {
    let week = 7 * 86_400 * SECOND;
    let mut full = Bucket::new([u64::MAX; 3], u64::MAX, u64::MAX, 0);
    full.settle(week, 0);
    assert_eq!(full.tokens_bits(), u64::MAX);
    // As many bytes as a counter holds.
    full.settle(2 * week, u64::MAX);
    full.settle(2 * week + 1, u64::MAX);
    assert!(full.tokens < i128::from(u64::MAX) * PARTS);
    let terabit = [1_000 * GBIT, GBIT, GBIT];
    let bucket = Bucket::new(terabit, 5_400 * GBIT, 3 * GBIT, 0);
    assert_eq!(bucket.tokens_bits(), 3 * GBIT);
    let mut host = Host::new(bucket, 0);
    host.send(SECOND, 1.0);
    near(host.bucket.past.first_ns.unwrap() as f64, 3e6, 0.35);
    let mut host = Host::new(Bucket::new(terabit, 5_400 * GBIT, 5_400 * GBIT, 0), 0);
    host.send(20 * SECOND, 1.0);
    near(
        host.bucket.past.first_ns.unwrap() as f64,
        5400.0 / 999.0 * 1e9,
        0.001,
    );
}

#[test]
fn initial_tokens_capacity_and_refill_are_independent() {
    // The kernel's own buckets have none of the three: capacity beyond 32 bits, less in it at
    // first, and a refill beside the low rate.
    let rates = [2 * GBIT, GBIT / 5, GBIT / 10];
    let mut host = Host::new(Bucket::new(rates, 5_400 * GBIT, 3 * GBIT, 0), 1_000_000);
    host.send(20 * SECOND, 1.0);
    let past = host.bucket.past(host.now);
    near(past.first_ns.unwrap() as f64, 3.0 / 1.9 * 1e9, 0.005);
    assert_eq!(past.times, 1);
    assert_eq!(
        host.bucket.tokens_bits(),
        0,
        "never more from sending at low above refill"
    );
    host.send(60 * SECOND, 0.0);
    near(host.bucket.tokens_bits() as f64, 4e9, 0.01);
}

#[test]
fn a_refill_above_low_gives_the_refill_on_average() {
    let rates = [2 * GBIT, GBIT / 5, 3 * GBIT / 10];
    let mut host = Host::new(Bucket::new(rates, 10 * GBIT, 0, 0), 300_000);
    assert_eq!(host.bucket.past(0).times, 1, "empty from the start");
    host.send(SECOND, 1.0);
    let sent = host.send(21 * SECOND, 1.0);
    near(sent as f64, 0.3e9 * 20.0, 0.005);
    assert!(host.bucket.past(host.now).times > 10);
}

#[test]
fn tokens_are_conserved_whatever_is_sent_and_whenever_it_is_looked_at() {
    let mut noise = Noise(3);
    for _ in 0..200 {
        let capacity = 1 + noise.below(20 * GBIT);
        let refill = noise.below(GBIT);
        let mut bucket = Bucket::new([GBIT, GBIT / 10, refill], capacity, capacity, 0);
        let (mut now, mut sent, mut spilt) = (0, 0u64, 0i128);
        while bucket.dry.is_none() {
            let passed = noise.below(50_000_000) as i64;
            let bytes = noise.below(8_000_000);
            let before = bucket.tokens;
            now += passed;
            bucket.settle(now, bytes);
            let even =
                before + i128::from(refill) * i128::from(passed) - i128::from(bytes) * 8 * PARTS;
            spilt += even - bucket.tokens;
            sent += bytes;
            // What came in is what is there, what was sent, and what a full bucket spilt: exactly.
            let came = i128::from(capacity) * PARTS + i128::from(refill) * i128::from(now);
            assert_eq!(came - i128::from(sent) * 8 * PARTS - spilt, bucket.tokens);
            assert!(spilt >= 0 && bucket.tokens <= bucket.capacity);
            if bucket.is_due() || now > 1000 * SECOND {
                bucket.turn(now);
            }
        }
    }
}

#[test]
fn what_was_sent_beyond_the_tokens_is_owed() {
    let mut bucket = Bucket::new([GBIT, GBIT / 10, GBIT / 10], GBIT, 1000, 0);
    bucket.settle(0, 1125);
    assert!(bucket.is_due());
    bucket.turn(0);
    // 8000 bits are owed; at low nothing is added to them, and rest pays them.
    bucket.settle(SECOND, 2 * 12_500_000);
    assert_eq!(bucket.tokens, -8000 * PARTS);
    bucket.settle(SECOND + 80_000, 0);
    assert_eq!(bucket.tokens, 0);
    assert_eq!(bucket.tokens_bits(), 0);
}

#[test]
fn a_clock_that_stands_still_harms_nothing() {
    let mut bucket = Bucket::new([GBIT, GBIT / 10, GBIT / 10], GBIT, GBIT, 5 * SECOND);
    bucket.settle(4 * SECOND, 0);
    assert_eq!(bucket.tokens_bits(), GBIT);
    bucket.settle(5 * SECOND, 125);
    assert_eq!(bucket.tokens_bits(), GBIT - 1000);
}
