//! The agent's end of the stream: jobs in on standard input, records out on standard output.

pub mod clocks;
mod jobs;

use std::io::{self, Write};
use std::os::fd::RawFd;

use record::{Done, Fact, Fault, FaultKind, Hello, Record, Value, SCHEMA};
use sys::clock;

pub use jobs::Jobs;

pub const STDIN: RawFd = 0;

/// Records, one answer after the other.
#[derive(Default)]
pub struct Records {
    text: Vec<u8>,
    count: u64,
}

impl Records {
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
        outlived: None,
    })
}
