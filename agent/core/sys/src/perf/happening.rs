//! What the kernel writes into the pages of an event.

use super::waits::{self, Wait};

/// Something that the kernel stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Happening {
    pub time_ns: i64,
    pub pid: i32,
    pub tid: i32,
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Named {
        name: [u8; 16],
        by_exec: bool,
    },
    /// Of the new task; `parent` is the process that made it.
    Forked {
        parent: i32,
    },
    Ended,
    SwitchedIn,
    /// `preempted`: it could have gone on, but another was chosen or its quota was used up.
    SwitchedOut {
        preempted: bool,
    },
    /// What a thread that is about to leave its CPU waits for, if it is not preempted.
    Waits(Wait),
    /// So many records found no room.
    Lost(u64),
}

/// Longer than any record of these kinds.
pub const RECORD: usize = 40 + 8 * STACK;
/// Innermost functions of the kernel in a record: those of a wait and its system call.
pub const STACK: usize = 14;

/// Reads a record; nothing where it is of no interest.
pub fn parse(record: &[u8]) -> Option<Happening> {
    let word = |at: usize| -> Option<[u8; 4]> { record.get(at..at + 4)?.try_into().ok() };
    let number = |at| word(at).map(i32::from_ne_bytes);
    let long = |at: usize| Some(u64::from_ne_bytes(record.get(at..at + 8)?.try_into().ok()?));
    let misc = u16::from_ne_bytes([record[4], record[5]]);
    if number(0)? == SAMPLED {
        let depth = long(24)? as usize;
        // The first entry is a marker (PERF_CONTEXT_KERNEL), not an address.
        let chain = (1..depth.min(STACK + 1)).filter_map(|at| long(32 + 8 * at));
        return Some(Happening {
            time_ns: long(16)? as i64,
            pid: number(8)?,
            tid: number(12)?,
            what: What::Waits(waits::of(chain)),
        });
    }
    // Every record ends with pid, tid and time of the task that it happened to.
    let end = record.len().checked_sub(16)?;
    let (pid, tid) = (number(end)?, number(end + 4)?);
    let stamped = |pid, tid, what| {
        Some(Happening {
            time_ns: long(end + 8)? as i64,
            pid,
            tid,
            what,
        })
    };
    match number(0)? {
        LOST => stamped(pid, tid, What::Lost(long(16)?)),
        NAMED => {
            let mut name = [0; 16];
            let text = &record[16..end];
            name[..text.len().min(16)].copy_from_slice(&text[..text.len().min(16)]);
            let by_exec = misc & BY_EXEC != 0;
            stamped(number(8)?, number(12)?, What::Named { name, by_exec })
        }
        ENDED => stamped(number(8)?, number(16)?, What::Ended),
        FORKED => stamped(
            number(8)?,
            number(16)?,
            What::Forked {
                parent: number(12)?,
            },
        ),
        SWITCHED if misc & OUT != 0 => {
            let preempted = misc & PREEMPTED != 0;
            stamped(pid, tid, What::SwitchedOut { preempted })
        }
        SWITCHED => stamped(pid, tid, What::SwitchedIn),
        _ => None,
    }
}

const LOST: i32 = 2;
const NAMED: i32 = 3;
const ENDED: i32 = 4;
const FORKED: i32 = 7;
const SAMPLED: i32 = 9;
const SWITCHED: i32 = 15;
const BY_EXEC: u16 = 1 << 13;
const OUT: u16 = 1 << 13;
/// Since Linux 4.17.
const PREEMPTED: u16 = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: i32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        let trailer = [11_i32.to_ne_bytes(), 12_i32.to_ne_bytes()].concat();
        let size = (8 + body.len() + 16) as u16;
        bytes.extend(misc.to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(body);
        bytes.extend(trailer);
        bytes.extend(777_u64.to_ne_bytes());
        bytes
    }

    #[test]
    fn records_are_understood() {
        let ids = [7_i32.to_ne_bytes(), 8_i32.to_ne_bytes()].concat();
        let named = record(NAMED, BY_EXEC, &[ids.as_slice(), b"sleep\0\0\0"].concat());
        let got = parse(&named).unwrap();
        assert_eq!((got.pid, got.tid, got.time_ns), (7, 8, 777));
        assert!(
            matches!(got.what, What::Named { by_exec: true, name } if name.starts_with(b"sleep\0"))
        );
        let body: Vec<u8> = [7, 5, 8, 5]
            .iter()
            .flat_map(|n: &i32| n.to_ne_bytes())
            .collect();
        let body = [body, 776_u64.to_ne_bytes().to_vec()].concat();
        let got = parse(&record(FORKED, 0, &body)).unwrap();
        assert_eq!(
            (got.pid, got.tid, got.what),
            (7, 8, What::Forked { parent: 5 })
        );
        assert_eq!(parse(&record(ENDED, 0, &body)).unwrap().what, What::Ended);
        let got = parse(&record(SWITCHED, OUT, &ids)).unwrap();
        let blocked = What::SwitchedOut { preempted: false };
        assert_eq!((got.pid, got.what), (11, blocked));
        let got = parse(&record(SWITCHED, OUT | PREEMPTED, &ids)).unwrap();
        assert_eq!(got.what, What::SwitchedOut { preempted: true });
        let mut sampled = SAMPLED.to_ne_bytes().to_vec();
        sampled.extend([0, 0, 48, 0]);
        sampled.extend(ids.iter());
        for number in [776_u64, 1, u64::MAX - 127] {
            sampled.extend(number.to_ne_bytes());
        }
        let got = parse(&sampled).unwrap();
        assert_eq!((got.pid, got.tid, got.time_ns), (7, 8, 776));
        assert_eq!(got.what, What::Waits(Wait::Other));
        let lost = [1_u64.to_ne_bytes(), 9_u64.to_ne_bytes()].concat();
        assert_eq!(parse(&record(LOST, 0, &lost)).unwrap().what, What::Lost(9));
    }
}
