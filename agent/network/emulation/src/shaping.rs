//! How a host is shaped: the rate of a moment, and how much may wait.

use netlink::traffic::LARGEST_BYTES;
use record::network::Shape;

use super::bucket::Bucket;
use super::steps::Steps;

/// So long a queue may be at the lowest rate, where nothing else is asked: this part of a second.
const QUEUE_PARTS_OF_SECOND: u64 = 20;
/// And no less than this.
const QUEUE_BYTES: u64 = 4 * LARGEST_BYTES;
/// How often the rate at which nothing passes is brought up to date.
const TRICKLE_NS: i64 = 20_000_000;

#[derive(Debug, Clone)]
pub enum Shaping {
    Unshaped,
    Bucket(Bucket),
    Steps(Steps),
}

impl Shaping {
    /// What is asked for after this one, whose bucket is up to date.
    pub fn followed_by(&self, asked: &Shape, now_ns: i64) -> Self {
        match asked {
            Shape::Unshaped => Self::Unshaped,
            Shape::Steps { steps } => Self::Steps(Steps::new(steps, now_ns)),
            Shape::Bucket {
                high_bps,
                low_bps,
                refill_bps,
                capacity_bits,
                tokens_bits,
            } => {
                let left = match self {
                    Self::Bucket(bucket) => bucket.tokens_bits(),
                    _ => *capacity_bits,
                };
                let rates = [*high_bps, *low_bps, *refill_bps];
                let tokens = tokens_bits.unwrap_or(left);
                Self::Bucket(Bucket::new(rates, *capacity_bits, tokens, now_ns))
            }
        }
    }

    /// The lowest and the highest rate.
    pub fn range(&self) -> Option<(u64, u64)> {
        match self {
            Self::Unshaped => None,
            Self::Bucket(bucket) => Some((bucket.low_bps, bucket.high_bps)),
            Self::Steps(steps) => Some(steps.range()),
        }
    }

    /// The rate for the kernel at a moment, and until when; of a bucket, as long as it lasts.
    pub fn at(&self, now_ns: i64) -> Option<(u64, i64)> {
        match self {
            Self::Unshaped => None,
            Self::Bucket(bucket) => Some((bucket.rate_bps(), i64::MAX)),
            Self::Steps(steps) => Some(match steps.at(now_ns) {
                (0, until_ns) => {
                    let left = until_ns - now_ns;
                    let while_ns = (left / 20).max(TRICKLE_NS).min(left);
                    (trickle(left), now_ns + while_ns)
                }
                rate_until => rate_until,
            }),
        }
    }
}

/// How much may wait.
pub fn limit(queue_bytes: Option<u64>, lowest_bps: u64) -> u32 {
    let usual = (lowest_bps / 8 / QUEUE_PARTS_OF_SECOND).max(QUEUE_BYTES);
    u32::try_from(queue_bytes.unwrap_or(usual)).unwrap_or(u32::MAX)
}

/// The rate at which nothing passes for a while: htb has none of zero. What passes now and then, a
/// largest packet at most, is paid for when the while is over, so that the next step begins at once.
fn trickle(left_ns: i64) -> u64 {
    let bits = u128::from(LARGEST_BYTES) * 8 * 1_000_000_000;
    let rate = bits / left_ns.max(TRICKLE_NS) as u128;
    u64::try_from(rate).unwrap_or(u64::MAX).max(8)
}

#[cfg(test)]
mod tests {
    use record::network::Step;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn next_to_nothing_passes_at_a_rate_of_zero_and_is_paid_for_at_its_end() {
        let steps = [(SECOND as u64, 0), (SECOND as u64, 8_000)];
        let steps = steps.map(|(duration_ns, rate_bps)| Step {
            duration_ns,
            rate_bps,
        });
        let shaping = Shaping::Unshaped.followed_by(
            &Shape::Steps {
                steps: steps.into(),
            },
            0,
        );
        // Whenever it owes nothing the kernel lets a largest packet go, which it owes for then.
        let (mut now, mut free, mut packets) = (0, 0, 0);
        while now < SECOND {
            let (rate, until) = shaping.at(now).unwrap();
            assert!(until > now && until <= SECOND);
            if free <= now {
                packets += 1;
                free = now + (LARGEST_BYTES as i128 * 8 * SECOND as i128 / rate as i128) as i64;
            }
            now = until.min(if free > now { free } else { until });
        }
        assert!(packets <= 5, "{packets}");
        assert!(free <= SECOND + TRICKLE_NS, "{free}");
        assert_eq!(shaping.at(SECOND), Some((8_000, 2 * SECOND)));
    }

    #[test]
    fn a_bucket_keeps_what_was_left() {
        let bucket = |capacity_bits, tokens_bits| Shape::Bucket {
            high_bps: 1000,
            low_bps: 100,
            refill_bps: 100,
            capacity_bits,
            tokens_bits,
        };
        let left = |shaping: &Shaping| match shaping {
            Shaping::Bucket(bucket) => bucket.tokens_bits(),
            _ => panic!("no bucket"),
        };
        let full = Shaping::Unshaped.followed_by(&bucket(500, None), 0);
        assert_eq!(left(&full), 500);
        let part = full.followed_by(&bucket(800, Some(300)), 0);
        assert_eq!(left(&part.followed_by(&bucket(900, None), 0)), 300);
        assert_eq!(left(&part.followed_by(&bucket(200, None), 0)), 200);
    }

    #[test]
    fn queues_are_bounded() {
        assert_eq!(limit(None, 200_000_000), 1_250_000);
        assert_eq!(limit(None, 0) as u64, QUEUE_BYTES);
        assert_eq!(limit(None, u64::MAX), u32::MAX);
        assert_eq!(limit(Some(72_000), 200_000_000), 72_000);
    }
}
