//! Records in their order: an interval is told when both ends have told their halves, or when the
//! other end's does not come.

use std::collections::VecDeque;
use std::io::{self, Write};

use crate::measure::half::{self, Half};
use crate::record::network::MeasureRecord;

/// How long the other end's half is waited for: longer than a queue of the network holds it up.
const PATIENCE_NS: i64 = 1_000_000_000;

pub struct Telling {
    began_ns: i64,
    waiting: VecDeque<Item>,
    theirs: VecDeque<Half>,
    ready: Vec<u8>,
}

enum Item {
    Record(MeasureRecord),
    /// A half of this end, when its phase began, and until when it waits.
    Half(Box<Half>, u64, i64),
}

impl Telling {
    /// Of a measurement that began then.
    pub fn new(began_ns: i64) -> Self {
        Self {
            began_ns,
            waiting: VecDeque::new(),
            theirs: VecDeque::new(),
            ready: Vec::new(),
        }
    }

    /// Of the measurement, not of the clock.
    pub fn since(&self, at_ns: i64) -> u64 {
        u64::try_from(at_ns - self.began_ns).unwrap_or(0)
    }

    /// Tells a record after what waits.
    pub fn record(&mut self, record: MeasureRecord) {
        self.waiting.push_back(Item::Record(record));
    }

    /// Takes this end's half of an interval, of a phase that began then.
    pub fn ours(&mut self, half: Half, began_ns: i64, now_ns: i64) {
        let began_ns = self.since(began_ns);
        let item = Item::Half(Box::new(half), began_ns, now_ns + PATIENCE_NS);
        self.waiting.push_back(item);
    }

    pub fn theirs(&mut self, half: Half) {
        self.theirs.push_back(half);
    }

    /// The other end is lost: nothing more comes of it.
    pub fn give_up(&mut self) {
        self.settle(i64::MAX);
        self.theirs.clear();
    }

    /// When to call `settle` again at the latest.
    pub fn next_ns(&self) -> Option<i64> {
        match self.waiting.front()? {
            Item::Record(_) => Some(i64::MIN),
            Item::Half(_, _, until_ns) => Some(*until_ns),
        }
    }

    /// Readies what is complete, or has waited long enough.
    pub fn settle(&mut self, now_ns: i64) {
        while let Some(item) = self.waiting.pop_front() {
            match item {
                Item::Record(record) => self.ready(&record),
                Item::Half(mut ours, began_ns, until_ns) => {
                    let theirs = self.partner(&mut ours);
                    if theirs.is_none() && now_ns < until_ns && self.may_come(&ours) {
                        self.waiting
                            .push_front(Item::Half(ours, began_ns, until_ns));
                        return;
                    }
                    for interval in half::intervals(*ours, theirs, began_ns) {
                        self.ready(&MeasureRecord::Interval(Box::new(interval)));
                    }
                }
            }
        }
    }

    /// The other end's half of the same time. Where one end was late and passed a boundary over,
    /// the other's halves become one.
    fn partner(&mut self, ours: &mut Half) -> Option<Half> {
        loop {
            let first = self.theirs.front_mut()?;
            if first.id < ours.id {
                // Of a phase that was told of already.
                self.theirs.pop_front();
            } else if first.id > ours.id {
                return None;
            } else if first.boundary == ours.boundary {
                return self.theirs.pop_front();
            } else if first.boundary < ours.boundary {
                if self.theirs.get(1)?.id != ours.id {
                    return None;
                }
                let next = self.theirs.remove(1)?;
                self.theirs.front_mut()?.absorb(next);
            } else {
                let Some(Item::Half(next, ..)) = self.waiting.front() else {
                    return None;
                };
                if next.id != ours.id {
                    return None;
                }
                if let Some(Item::Half(next, ..)) = self.waiting.pop_front() {
                    ours.absorb(*next);
                }
            }
        }
    }

    /// Whether the other end has not told of a later phase yet.
    fn may_come(&self, ours: &Half) -> bool {
        self.theirs.back().is_none_or(|last| last.id <= ours.id)
    }

    fn ready(&mut self, record: &MeasureRecord) {
        serde_json::to_writer(&mut self.ready, record).expect("a record is JSON");
        self.ready.push(b'\n');
    }

    /// Writes what is ready.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.ready.is_empty() {
            let mut out = io::stdout().lock();
            out.write_all(&self.ready)?;
            out.flush()?;
            self.ready.clear();
        }
        Ok(())
    }
}
