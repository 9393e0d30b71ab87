//! What is told to the front, without ever waiting for it: a front that does not read must not
//! keep buckets from being looked after.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use record::network::EmulateRecord;

/// So many records may wait for the front; beyond, what is told by itself is left out.
const WAITING: usize = 4096;
/// So long the front may take to read the rest at the end.
const PATIENCE: Duration = Duration::from_secs(1);

pub struct Reporter {
    /// None: written at once, for as long as there may be no other thread.
    lines: Option<Sender<Vec<u8>>>,
    done: Option<Receiver<()>>,
    waiting: Arc<AtomicUsize>,
    /// Nobody reads any more.
    lost: Arc<AtomicBool>,
}

impl Reporter {
    pub fn new() -> Self {
        Self {
            lines: None,
            done: None,
            waiting: Arc::default(),
            lost: Arc::default(),
        }
    }

    /// From now on does not wait for the front.
    pub fn detach(&mut self) {
        let (lines, queue) = channel::<Vec<u8>>();
        let (over, done) = channel();
        let (waiting, lost) = (Arc::clone(&self.waiting), Arc::clone(&self.lost));
        thread::spawn(move || {
            for line in queue {
                waiting.fetch_sub(1, Relaxed);
                if write(&line).is_err() {
                    lost.store(true, Relaxed);
                    return;
                }
            }
            let _ = over.send(());
        });
        (self.lines, self.done) = (Some(lines), Some(done));
    }

    /// Whether nobody reads any more.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Relaxed)
    }

    pub fn tell(&mut self, record: &EmulateRecord) {
        let mut line = serde_json::to_vec(record).expect("a record is JSON");
        line.push(b'\n');
        let Some(lines) = &self.lines else {
            self.lost.store(write(&line).is_err(), Relaxed);
            return;
        };
        self.waiting.fetch_add(1, Relaxed);
        if lines.send(line).is_err() {
            self.lost.store(true, Relaxed);
        }
    }

    /// Tells what may be left out.
    pub fn mention(&mut self, record: &EmulateRecord) {
        if self.waiting.load(Relaxed) < WAITING {
            self.tell(record);
        }
    }

    /// Waits a moment until all is told.
    pub fn finish(mut self) {
        drop(self.lines.take());
        if let Some(done) = self.done {
            let _ = done.recv_timeout(PATIENCE);
        }
    }
}

fn write(line: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line)?;
    out.flush()
}
