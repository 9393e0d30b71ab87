//! What a service writes: the last of it is kept, and a line may show that it is ready.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use regex_lite::Regex;

/// How long what was written last may be on its way; who has left it to children keeps it open.
const UNDERWAY: Duration = Duration::from_millis(300);
/// Kept of it; a line that is longer is cut.
const KEPT: usize = 4096;

/// The end of what was written, shared with the thread that reads it.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    kept: Vec<u8>,
    /// Where the last line begins that is not whole.
    line: usize,
    shown: bool,
    /// Nobody can write any more.
    whole: bool,
}

/// Copies what a service writes to standard output, line by line, each after the service's name.
pub struct LineCopy {
    name: String,
    /// How much more is copied, names included.
    left: u64,
    /// What is not a whole line yet.
    line: Vec<u8>,
}

impl LineCopy {
    /// None: nothing is to be copied.
    pub fn new(name: &str, bytes: u64) -> Option<Self> {
        (bytes > 0).then(|| Self {
            name: name.to_string(),
            left: bytes,
            line: Vec::new(),
        })
    }

    fn add(&mut self, data: &[u8], to: &mut impl Write) {
        for part in data.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") || self.line.len() > KEPT {
                self.end(to);
            }
        }
    }

    /// Writes what there is of a line.
    fn end(&mut self, to: &mut impl Write) {
        if self.line.is_empty() {
            return;
        }
        let mut whole = format!("{}| ", self.name).into_bytes();
        whole.append(&mut self.line);
        if !whole.ends_with(b"\n") {
            whole.push(b'\n');
        }
        whole.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= whole.len() as u64;
        // Whoever does not want it any more has ended.
        let _ = to.write_all(&whole);
    }
}

impl Log {
    /// A log and what is to be written to it; it ends when nobody can write any more.
    pub fn pipe(pattern: Option<Regex>, copy: Option<LineCopy>) -> io::Result<(Self, OwnedFd)> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors, which are new.
        let (reader, writer) = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
                return Err(io::Error::last_os_error());
            }
            (File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        let log = Self::default();
        let reading = log.clone();
        thread::spawn(move || reading.read(reader, pattern.as_ref(), copy));
        Ok((log, writer))
    }

    fn read(&self, mut reader: File, pattern: Option<&Regex>, mut copy: Option<LineCopy>) {
        let mut room = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut room) {
            self.inner().add(&room[..count], pattern);
            if let Some(copy) = &mut copy {
                copy.add(&room[..count], &mut io::stdout().lock());
            }
        }
        if let Some(copy) = &mut copy {
            copy.end(&mut io::stdout().lock());
        }
        self.inner().whole = true;
    }

    /// Whether a line had the expression.
    pub fn shown(&self) -> bool {
        self.inner().shown
    }

    /// Waits for what is still on its way, of what has ended.
    pub fn settle(&self) {
        let deadline = Instant::now() + UNDERWAY;
        while !self.inner().whole && Instant::now() < deadline {
            thread::sleep(UNDERWAY / 100);
        }
    }

    /// The last lines, as text, of what has ended.
    pub fn last(&self) -> String {
        self.settle();
        String::from_utf8_lossy(&self.inner().kept)
            .trim()
            .to_string()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn add(&mut self, data: &[u8], pattern: Option<&Regex>) {
        for part in data.split_inclusive(|byte| *byte == b'\n') {
            self.kept.extend_from_slice(part);
            if let (Some(pattern), false) = (pattern, self.shown) {
                let line = String::from_utf8_lossy(&self.kept[self.line..]);
                self.shown = pattern.is_match(line.trim_end());
            }
            if part.ends_with(b"\n") {
                self.line = self.kept.len();
            }
            let excess = self.kept.len().saturating_sub(KEPT);
            self.kept.drain(..excess);
            self.line = self.line.saturating_sub(excess);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_comes_in_parts_is_seen_and_the_end_is_kept() {
        let mut inner = Inner::default();
        let pattern = Regex::new("^ready to serve$").unwrap();
        inner.add(b"warming up\nready to ", Some(&pattern));
        assert!(!inner.shown);
        inner.add(b"serve\n", Some(&pattern));
        assert!(inner.shown);
        inner.add(&[b'x'; 10_000], Some(&pattern));
        assert_eq!(inner.kept.len(), KEPT);
        inner.add(b"\nlast\n", None);
        assert!(inner.kept.ends_with(b"x\nlast\n"));
    }

    #[test]
    fn a_copy_has_the_name_before_each_line_and_an_end() {
        let (mut copy, mut copied) = (LineCopy::new("web", 25).unwrap(), Vec::new());
        copy.add(b"one\ntw", &mut copied);
        assert_eq!(copied, b"web| one\n");
        copy.add(b"o\nthree, which is cut off\nfour", &mut copied);
        copy.end(&mut copied);
        assert_eq!(copied, b"web| one\nweb| two\nweb| th");
        assert!(LineCopy::new("web", 0).is_none());
    }
}
