//! Records in their order: an interval is told when both ends have told their halves, or when the
//! other end's does not come.

use std::collections::VecDeque;
use std::io::{self, Write};

use record::network::{Direction, Interval, MeasureRecord};

use crate::traffic::half::{self, Half};

/// How long the other end's half is waited for: longer than it waits at the end of a phase for what is
/// on its way, and a queue of the network holds it up.
const PATIENCE_NS: i64 = 2_500_000_000;

/// An order takes no longer from one end to the other, or is not told from a pause.
const WAY_NS: u64 = 10_000_000;

/// So many halves of the other end's are kept for ours; no honest one is so far ahead.
const THEIRS_MOST: usize = 4096;
const IMPOSSIBLE: &str = "the other end told times or counts that cannot be";

pub struct Report {
    began_ns: i64,
    waiting: VecDeque<Item>,
    theirs: VecDeque<Half>,
    ready: Vec<u8>,
    /// Until when it was told of what the other end has sent.
    told_in_ns: u64,
}

enum Item {
    Record(MeasureRecord),
    /// A half of this end, when its phase began, and until when it waits.
    Half(Box<Half>, u64, i64),
}

impl Report {
    /// Of a measurement that began then.
    pub fn new(began_ns: i64) -> Self {
        Self {
            began_ns,
            waiting: VecDeque::new(),
            theirs: VecDeque::new(),
            ready: Vec::new(),
            told_in_ns: 0,
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
        if self.theirs.len() == THEIRS_MOST {
            self.theirs.pop_front();
        }
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
                    if theirs
                        .as_ref()
                        .is_some_and(|half| !half.can_be_beside(&ours))
                    {
                        let [start_ns, end_ns] = [ours.start_ns, ours.end_ns];
                        self.ready(&MeasureRecord::Gap {
                            start_ns: began_ns.saturating_add(start_ns),
                            end_ns: began_ns.saturating_add(end_ns),
                            why: IMPOSSIBLE.to_string(),
                        });
                        continue;
                    }
                    for mut interval in half::intervals(*ours, theirs, began_ns) {
                        self.place(&mut interval);
                        self.ready(&MeasureRecord::Interval(Box::new(interval)));
                    }
                }
            }
        }
    }

    /// Puts an interval that the other end has timed after those before it: when a phase began here is
    /// known there but for the way there. How long it is is the other end's.
    fn place(&mut self, interval: &mut Interval) {
        if interval.direction != Direction::In {
            return;
        }
        let told_ns = &mut self.told_in_ns;
        if interval.start_ns < told_ns.saturating_add(WAY_NS) {
            let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
            interval.start_ns = *told_ns;
            interval.end_ns = told_ns.saturating_add(length_ns);
        }
        *told_ns = interval.end_ns;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::half::{Sent, LAST};

    fn ours(id: u64, boundary: u64, start_ns: u64, end_ns: u64) -> Half {
        Half {
            id,
            boundary,
            start_ns,
            end_ns,
            sent: Some(Sent {
                acked_bytes: end_ns - start_ns,
                ..Sent::default()
            }),
            ..Half::default()
        }
    }

    fn theirs(id: u64, boundary: u64, received: u64) -> Half {
        Half {
            id,
            boundary,
            received_bytes: Some(received),
            cpu_ns: 1,
            ..Half::default()
        }
    }

    /// What is told: start, end, acknowledged, received.
    fn told(report: &mut Report) -> Vec<(u64, u64, u64, Option<u64>)> {
        let text = std::mem::take(&mut report.ready);
        let records = serde_json::Deserializer::from_slice(&text).into_iter();
        let intervals = records.filter_map(|record| match record.unwrap() {
            MeasureRecord::Interval(interval) => Some(*interval),
            _ => None,
        });
        let short = |i: Interval| (i.start_ns, i.end_ns, i.acked_bytes, i.received_bytes);
        intervals.map(short).collect()
    }

    #[test]
    fn halves_of_the_same_time_become_one_interval() {
        let mut report = Report::new(1000);
        report.ours(ours(1, 1, 0, 10), 1500, 0);
        report.settle(0);
        assert!(told(&mut report).is_empty());
        report.theirs(theirs(1, 1, 8));
        report.theirs(theirs(1, LAST, 4));
        report.ours(ours(1, LAST, 10, 15), 1500, 0);
        report.record(MeasureRecord::PhaseOver {
            id: 1,
            skipped: false,
        });
        report.settle(0);
        let both = [(500, 510, 10, Some(8)), (510, 515, 5, Some(4))];
        assert_eq!(told(&mut report), both);
        assert_eq!(report.next_ns(), None);
    }

    #[test]
    fn an_end_that_passed_boundaries_over_is_waited_for() {
        let mut report = Report::new(0);
        // Ours came late for the second boundary, theirs for the third.
        for half in [ours(1, 1, 0, 10), ours(1, 3, 10, 30), ours(1, 4, 30, 40)] {
            report.ours(half, 0, 0);
        }
        for half in [theirs(1, 1, 1), theirs(1, 2, 2), theirs(1, 4, 4)] {
            report.theirs(half);
        }
        report.settle(0);
        let all = [(0, 10, 10, Some(1)), (10, 40, 30, Some(6))];
        assert_eq!(told(&mut report), all);
    }

    #[test]
    fn what_does_not_come_is_not_waited_for_long() {
        let mut report = Report::new(0);
        report.ours(ours(1, 1, 0, 10), 0, 0);
        report.settle(PATIENCE_NS - 1);
        assert!(told(&mut report).is_empty());
        report.settle(PATIENCE_NS);
        assert_eq!(told(&mut report), [(0, 10, 10, None)]);
        // It is told of a later phase by now.
        report.ours(ours(1, LAST, 10, 20), 0, 0);
        report.theirs(theirs(2, 1, 5));
        report.ours(ours(2, 1, 0, 3), 20, 0);
        report.settle(0);
        assert_eq!(
            told(&mut report),
            [(10, 20, 10, None), (20, 23, 3, Some(5))]
        );
        report.ours(ours(2, 2, 3, 9), 20, 0);
        report.give_up();
        assert_eq!(told(&mut report), [(23, 29, 6, None)]);
    }

    #[test]
    fn what_cannot_be_is_a_gap() {
        let mut report = Report::new(0);
        report.ours(ours(1, 1, 0, 10), 500, 0);
        report.theirs(theirs(1, 1, u64::MAX));
        report.settle(0);
        let text = String::from_utf8(std::mem::take(&mut report.ready)).unwrap();
        let gap = r#""record":"gap","start_ns":500,"end_ns":510"#;
        assert!(text.contains(gap) && text.lines().count() == 1, "{text}");
    }

    #[test]
    fn no_more_is_kept_than_it_takes() {
        let mut report = Report::new(0);
        for number in 0..2 * THEIRS_MOST as u64 {
            report.theirs(theirs(9, number, 1));
        }
        assert_eq!(report.theirs.len(), THEIRS_MOST);
    }
}
