//! The agent's end of the stream: jobs in on standard input, records out on standard output.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::RawFd;

use serde::de::DeserializeOwned;

use crate::clock;
use crate::record::{Done, Fact, Fault, FaultKind, Hello, Record, Value, SCHEMA};

/// Longer than any job; bounds what a peer can make us hold.
const LINE_LIMIT: usize = 1 << 22;

pub const STDIN: RawFd = 0;

/// Jobs, as far as they have come.
#[derive(Default)]
pub struct Jobs {
    partial: Vec<u8>,
    whole: VecDeque<Vec<u8>>,
    overlong: bool,
    pub ended: bool,
}

impl Jobs {
    /// Takes what has come on standard input; call when it is readable.
    pub fn feed(&mut self) {
        let mut chunk = [0; 8192];
        match io::stdin().lock().read(&mut chunk) {
            Ok(0) | Err(_) => self.ended = true,
            Ok(length) => self.take(&chunk[..length]),
        }
    }

    /// The next line that is whole: a job, or an order of another stream; or why it is none.
    pub fn next<T: DeserializeOwned>(&mut self) -> Option<Result<T, String>> {
        let line = self.whole.pop_front()?;
        Some(serde_json::from_slice(&line).map_err(|error| {
            let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
            format!("this line is no job: {error}: {shown:?}")
        }))
    }

    fn take(&mut self, data: &[u8]) {
        for piece in data.split_inclusive(|byte| *byte == b'\n') {
            if self.partial.len() + piece.len() > LINE_LIMIT {
                self.overlong = true;
                self.partial.truncate(80);
            }
            if !self.overlong {
                self.partial.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.overlong = false;
                self.whole.push_back(std::mem::take(&mut self.partial));
            }
        }
    }
}

/// Records, one answer after the other.
pub struct Records {
    text: Vec<u8>,
    count: u64,
}

impl Records {
    pub fn new() -> Self {
        Self {
            text: Vec::new(),
            count: 0,
        }
    }

    /// The first record of the stream.
    pub fn greet(&mut self) -> io::Result<()> {
        // SAFETY: both have no preconditions.
        let (pid, uid) = unsafe { (libc::getpid() as u32, libc::geteuid()) };
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        self.add(&Record::Hello(Hello {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            boot_id: boot_id.ok().map(|text| text.trim().to_string()),
            pid,
            uid,
            monotonic_ns: clock::monotonic(),
            realtime_ns: clock::realtime(),
        }));
        self.flush()
    }

    pub fn add(&mut self, record: &Record) {
        serde_json::to_writer(&mut self.text, record).expect("a record is JSON");
        self.text.push(b'\n');
        self.count += 1;
    }

    /// Adds records that are lines already.
    pub fn relay(&mut self, lines: &[u8]) {
        self.text.extend_from_slice(lines);
        self.count += lines.iter().filter(|byte| **byte == b'\n').count() as u64;
    }

    /// Ends the answer to a job and sends all of it.
    pub fn finish(&mut self, id: u64) -> io::Result<()> {
        let records = self.count;
        self.add(&Record::Done(Done { id, records }));
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(&self.text)?;
        out.flush()?;
        self.text.clear();
        self.text.shrink_to(1 << 16);
        self.count = 0;
        Ok(())
    }
}

/// A fact that answers a job.
pub fn fact(id: u64, name: &str, value: Value, unit: Option<&str>, source: &str) -> Record {
    Record::Fact(Fact {
        id: Some(id),
        name: name.to_string(),
        value,
        unit: unit.map(str::to_string),
        source: source.to_string(),
    })
}

/// Something that is wrong with a job.
pub fn refusal(id: u64, message: String) -> Record {
    Record::Fault(Fault {
        id,
        trial: None,
        worker: None,
        iteration: None,
        kind: FaultKind::Job,
        message,
        evidence: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Job;

    #[test]
    fn lines_may_come_in_pieces_and_at_once() {
        let mut jobs = Jobs::default();
        jobs.take(b"{\"job\":\"measure_");
        assert!(jobs.next::<Job>().is_none());
        jobs.take(b"self\",\"id\":7}\ngarbage\n{");
        assert!(matches!(jobs.next(), Some(Ok(Job::MeasureSelf { id: 7 }))));
        let why = jobs.next::<Job>().unwrap().unwrap_err();
        assert!(why.contains("garbage"), "{why}");
        assert!(jobs.next::<Job>().is_none());
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let mut jobs = Jobs::default();
        for _ in 0..3 * LINE_LIMIT / 65536 {
            jobs.take(&[b'x'; 65536]);
        }
        assert!(jobs.partial.len() < LINE_LIMIT);
        jobs.take(b"\n");
        assert!(jobs.next::<Job>().unwrap().is_err());
        jobs.take(b"{\"job\":\"measure_self\",\"id\":7}\n");
        assert!(jobs.next::<Job>().unwrap().is_ok());
    }
}
