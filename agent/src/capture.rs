//! Standard output and error of a launched process, drained as they come and kept up to a limit.
//!
//! What is drained goes to the file at once: keeping it in memory first would cost the same
//! while the process runs (a page for every page), and more memory than anybody has asked for.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::record;

/// What is kept of standard error as evidence.
const EVIDENCE: usize = 2048;

/// Both streams of one iteration.
pub struct Capture {
    pub output: Stream,
    pub error: Stream,
}

impl Capture {
    /// Opens `DIRECTORY/STEM.out` and `.err` and a pipe for each.
    pub fn new(given: &record::Capture, stem: &str) -> Result<Self, String> {
        let open = |ending: &str| {
            let path = format!("{}/{stem}.{ending}", given.directory);
            Stream::new(&path, given.limit_bytes)
                .map_err(|error| format!("cannot keep the output in {path}: {error}"))
        };
        Ok(Self {
            output: open("out")?,
            error: open("err")?,
        })
    }

    /// What the child writes to.
    pub fn writers(&self) -> [BorrowedFd<'_>; 2] {
        [&self.output, &self.error].map(|stream| {
            let writer = stream.writer.as_ref();
            writer.expect("nothing is launched yet").as_fd()
        })
    }

    pub fn drain(&mut self) {
        self.output.drain();
        self.error.drain();
    }

    /// The child has its own ends now; without ours the streams can end.
    pub fn launched(&mut self) {
        self.output.writer = None;
        self.error.writer = None;
    }

    /// Why something that there was room for is not kept.
    pub fn failure(&self) -> Option<String> {
        let failures = [&self.output, &self.error].map(|stream| stream.failure.as_ref());
        let error = failures.into_iter().flatten().next()?;
        Some(format!("its output is not kept whole: {error}"))
    }

    pub fn evidence(&self) -> Option<String> {
        let evidence = String::from_utf8_lossy(&self.error.evidence);
        Some(evidence.trim_end().to_string()).filter(|text| !text.is_empty())
    }
}

pub struct Stream {
    reader: Option<File>,
    writer: Option<OwnedFd>,
    file: File,
    room: u64,
    evidence: Vec<u8>,
    failure: Option<io::Error>,
}

impl Stream {
    fn new(path: &str, limit: u64) -> io::Result<Self> {
        let file = File::create(path)?;
        let mut ends = [0; 2];
        // SAFETY: two descriptors are written; both are new.
        let (reader, writer) = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
                return Err(io::Error::last_os_error());
            }
            // Ours alone: the launched process shall not see a pipe that does not block.
            libc::fcntl(ends[0], libc::F_SETFL, libc::O_NONBLOCK);
            (File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        Ok(Self {
            reader: Some(reader),
            writer: Some(writer),
            file,
            room: limit,
            evidence: Vec::with_capacity(2 * EVIDENCE),
            failure: None,
        })
    }

    /// What to poll; negative once it has ended.
    pub fn readable(&self) -> RawFd {
        self.reader.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    fn drain(&mut self) {
        // Small: the stack is copied into every launched process.
        let mut chunk = [0; 8192];
        while let Some(reader) = &mut self.reader {
            match reader.read(&mut chunk) {
                Ok(0) => self.reader = None,
                Ok(length) => self.keep(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn keep(&mut self, chunk: &[u8]) {
        let kept = &chunk[..chunk.len().min(self.room as usize)];
        self.room -= kept.len() as u64;
        if let Err(error) = self.file.write_all(kept) {
            self.room = 0;
            self.failure.get_or_insert(error);
        }
        let last = &chunk[chunk.len().saturating_sub(EVIDENCE)..];
        let excess = (self.evidence.len() + last.len()).saturating_sub(EVIDENCE);
        self.evidence.drain(..excess.min(self.evidence.len()));
        self.evidence.extend_from_slice(last);
    }
}
