//! One host: what leaves it, at which rate, and what has been counted of it.

use std::net::Ipv4Addr;

use netlink::traffic::{self, Counted, COUNTING, SHAPING};
use netlink::{Refusal, Socket};
use record::network::{BuiltHost, HostShape, HostState};
use sys::clock;

use super::shaping::{self, Shaping};

/// Of a host that is not shaped: never the limit.
const UNSHAPED_BYTES: u32 = 1 << 28;

pub struct Host {
    pub built: BuiltHost,
    socket: Socket,
    index: u32,
    /// Of the discipline at the root that is ours; None: the interface is as it was found.
    root: Option<u32>,
    /// When it is not shaped, a discipline of ours counts.
    counts: bool,
    shaping: Shaping,
    queue_bytes: Option<u64>,
    /// That the kernel has, and, of steps, until when.
    rate_bps: Option<u64>,
    until_ns: i64,
    /// Of the discipline at the root, when it was read last, and of all since the beginning.
    last: Counted,
    sent_bytes: u64,
    dropped_packets: u64,
    /// That it fails has been told.
    pub failed: bool,
}

/// How a host was before it was shaped anew.
pub struct Before {
    shaping: Shaping,
    queue_bytes: Option<u64>,
}

impl Host {
    /// A host of a network of our own.
    pub fn built(
        number: u32,
        mut socket: Socket,
        index: u32,
        interface: &str,
        namespace: String,
        address: Ipv4Addr,
    ) -> Result<Self, Refusal> {
        traffic::count(&mut socket, index, UNSHAPED_BYTES)?;
        let built = BuiltHost {
            host: number,
            namespace: Some(namespace),
            address: Some(address.to_string()),
            interface: interface.to_string(),
        };
        Ok(Self::new(built, socket, index, Some(COUNTING)))
    }

    /// This machine, as far as one interface goes.
    pub fn taken(socket: Socket, index: u32, interface: &str) -> Result<Self, Refusal> {
        let built = BuiltHost {
            host: 1,
            namespace: None,
            address: None,
            interface: interface.to_string(),
        };
        let mut host = Self::new(built, socket, index, None);
        host.read()?;
        // What left before is nobody's.
        (host.sent_bytes, host.dropped_packets) = (0, 0);
        Ok(host)
    }

    fn new(built: BuiltHost, socket: Socket, index: u32, root: Option<u32>) -> Self {
        Self {
            built,
            socket,
            index,
            root,
            counts: root.is_some(),
            shaping: Shaping::Unshaped,
            queue_bytes: None,
            rate_bps: None,
            until_ns: i64::MAX,
            last: Counted::default(),
            sent_bytes: 0,
            dropped_packets: 0,
            failed: false,
        }
    }

    /// How it is shaped now, to come back to.
    pub fn before(&self) -> Before {
        Before {
            shaping: self.shaping.clone(),
            queue_bytes: self.queue_bytes,
        }
    }

    /// Shapes it as it was.
    pub fn restore(&mut self, before: Before) -> Result<(), Refusal> {
        self.take(before.shaping, before.queue_bytes)
    }

    /// Shapes it as is asked.
    pub fn shape(&mut self, asked: &HostShape) -> Result<(), Refusal> {
        let (now, sent) = self.read()?;
        if let Shaping::Bucket(bucket) = &mut self.shaping {
            bucket.settle(now, sent);
        }
        let shaping = self.shaping.followed_by(&asked.shape, now);
        self.take(shaping, asked.queue_bytes)
    }

    fn take(&mut self, shaping: Shaping, queue_bytes: Option<u64>) -> Result<(), Refusal> {
        let Some((lowest, highest)) = shaping.range() else {
            self.unshape()?;
            self.shaping = shaping;
            return Ok(());
        };
        let limit = shaping::limit(queue_bytes, lowest);
        // What the kernel is owed for after a rate of zero would take up to a minute to be paid.
        if self
            .shaping
            .range()
            .is_some_and(|(_, highest)| highest == 0)
        {
            self.unshape()?;
        }
        if self.root != Some(SHAPING) {
            traffic::shape(&mut self.socket, self.index, highest.max(8), limit)?;
            self.root = Some(SHAPING);
            self.last = Counted::default();
        } else {
            traffic::set_limit(&mut self.socket, self.index, limit)?;
        }
        // What the kernel does not take is better known now than when the rate changes.
        for rate in [lowest.max(8), highest.max(8)] {
            traffic::set_rate(&mut self.socket, self.index, rate)?;
        }
        (self.shaping, self.queue_bytes) = (shaping, queue_bytes);
        self.rate_bps = None;
        self.follow(clock::monotonic())
    }

    fn unshape(&mut self) -> Result<(), Refusal> {
        if self.root == Some(SHAPING) {
            match self.counts {
                true => traffic::count(&mut self.socket, self.index, UNSHAPED_BYTES)?,
                false => traffic::remove(&mut self.socket, self.index, SHAPING)?,
            }
            self.root = self.counts.then_some(COUNTING);
            self.last = Counted::default();
            self.rate_bps = None;
        }
        Ok(())
    }

    /// Brings its rate up to date.
    pub fn tick(&mut self) -> Result<(), Refusal> {
        if let Shaping::Bucket(_) = &self.shaping {
            let (now, sent) = self.read()?;
            let Shaping::Bucket(bucket) = &mut self.shaping else {
                return Ok(());
            };
            bucket.settle(now, sent);
            if bucket.is_due() {
                return self.turn();
            }
        }
        self.follow(clock::monotonic())
    }

    /// Goes to the bucket's other rate. What leaves until the kernel has it counts for the rate
    /// before.
    fn turn(&mut self) -> Result<(), Refusal> {
        let Shaping::Bucket(bucket) = &self.shaping else {
            return Ok(());
        };
        let rate = match bucket.dry {
            Some(_) => bucket.high_bps,
            None => bucket.low_bps,
        };
        self.set_rate(rate)?;
        let (now, sent) = self.read()?;
        if let Shaping::Bucket(bucket) = &mut self.shaping {
            bucket.settle(now, sent);
            bucket.turn(now);
        }
        Ok(())
    }

    /// Gives the kernel the rate of a moment.
    fn follow(&mut self, now_ns: i64) -> Result<(), Refusal> {
        let Some((rate, until_ns)) = self.shaping.at(now_ns) else {
            return Ok(());
        };
        self.until_ns = until_ns;
        self.set_rate(rate)
    }

    fn set_rate(&mut self, rate_bps: u64) -> Result<(), Refusal> {
        if self.rate_bps != Some(rate_bps) {
            traffic::set_rate(&mut self.socket, self.index, rate_bps)?;
            self.rate_bps = Some(rate_bps);
        }
        Ok(())
    }

    /// When it is to be looked at next.
    pub fn look_ns(&self) -> i64 {
        match &self.shaping {
            _ if self.failed => i64::MAX,
            Shaping::Unshaped => i64::MAX,
            Shaping::Bucket(bucket) => bucket.look_ns(),
            Shaping::Steps(_) => self.until_ns,
        }
    }

    /// Reads what was counted; returns when that was, and what was sent since the last time.
    fn read(&mut self) -> Result<(i64, u64), Refusal> {
        let root = self.root.unwrap_or(0);
        let counted = match traffic::counted(&mut self.socket, self.index, root) {
            // An interface that has no discipline at all counts nothing.
            Err(refusal) if root == 0 && refusal.errno == libc::EINVAL => Counted::default(),
            Err(Refusal {
                errno: libc::EINVAL | libc::ENOENT,
                ..
            }) => {
                return Err(Refusal {
                    errno: libc::EBUSY,
                    said: Some("somebody else replaced its queueing discipline".to_string()),
                })
            }
            outcome => outcome?,
        };
        let now = clock::monotonic();
        let sent = counted.sent_bytes.wrapping_sub(self.last.sent_bytes);
        let dropped = counted.dropped.wrapping_sub(self.last.dropped);
        self.sent_bytes += sent;
        self.dropped_packets += u64::from(dropped);
        self.last = counted;
        Ok((now, sent))
    }

    /// How it is.
    pub fn state(&mut self) -> Result<HostState, Refusal> {
        self.tick()?;
        let (now, sent) = self.read()?;
        let (mut tokens_bits, mut past) = (None, super::bucket::Past::default());
        if let Shaping::Bucket(bucket) = &mut self.shaping {
            bucket.settle(now, sent);
            tokens_bits = Some(bucket.tokens_bits());
            past = bucket.past(now);
        }
        Ok(HostState {
            host: self.built.host,
            tokens_bits,
            rate_bps: self.asked_bps(now),
            sent_bytes: self.sent_bytes,
            dropped_packets: self.dropped_packets,
            waiting_bytes: self.last.waiting_bytes.into(),
            times_dry: past.times,
            dry_ns: past.dry_ns.max(0) as u64,
            first_dry_ns: past.first_ns.map(|ns| ns.max(0) as u64),
        })
    }

    fn asked_bps(&self, now_ns: i64) -> Option<u64> {
        match &self.shaping {
            Shaping::Steps(steps) => Some(steps.at(now_ns).0),
            _ => self.rate_bps,
        }
    }
}
