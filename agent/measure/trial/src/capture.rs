//! Standard output and error of launched processes, drained as they come and kept up to a limit
//! until the trial is over and they are sent.
//!
//! What is drained goes to a file in memory that nobody else can reach, whatever the process
//! does: no path leads to it. It costs what reading it into this process would cost, a page for
//! every page, but a launched process is not a copy of it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use base64::prelude::{Engine, BASE64_STANDARD};
use record::{Output, Record, Trial};
use sys::mapping;

/// What is kept of standard error as evidence.
const EVIDENCE: usize = 2048;
/// Kept of each stream over all iterations of a worker in a trial.
const TRIAL_LIMIT: u64 = 64 << 20;
/// Iterations of which something is kept: a window may launch millions.
const ITERATIONS: usize = 10_000;
/// Read in one go: more than the largest pipe holds, but not for ever from one that is filled as
/// fast as it is drained, since time-outs are looked at in between.
const CHUNKS: usize = 256;
/// Of one record; in base 64 far below what the front takes as a line.
const PIECE: u64 = 48 << 10;

/// What a worker's processes wrote in one trial.
pub struct Captured {
    limit: u64,
    reads_output: bool,
    output: Kept,
    error: Kept,
    iterations: Vec<u32>,
}

/// One stream of all iterations, one after the other.
struct Kept {
    file: File,
    /// Where the part of each iteration ends.
    ends: Vec<u64>,
}

impl Captured {
    pub fn new(given: &record::Capture) -> io::Result<Self> {
        Ok(Self {
            limit: given.limit_bytes,
            reads_output: given.reads_output || given.limit_bytes > 0,
            output: Kept::new()?,
            error: Kept::new()?,
            iterations: Vec::new(),
        })
    }

    /// Makes the pipes of one iteration; `counted`: what it writes has a limit.
    pub fn begin(&self, counted: bool) -> io::Result<Capture> {
        Ok(Capture {
            reads_output: self.reads_output || counted,
            output: self.output.begin(self.limit)?,
            error: self.error.begin(self.limit)?,
        })
    }

    /// Takes note of what was kept of an iteration.
    pub fn end(&mut self, iteration: u32, capture: &Capture) {
        if self.iterations.len() == ITERATIONS {
            return;
        }
        self.iterations.push(iteration);
        self.output.end(&capture.output);
        self.error.end(&capture.error);
    }

    /// What was kept, in order of iterations, in pieces. A stream that nobody wrote to has one
    /// that is empty.
    pub fn records<'a>(
        &'a self,
        trial: &'a Trial,
        worker: u32,
    ) -> impl Iterator<Item = Record> + 'a {
        let streams = [
            (record::Stream::Out, &self.output),
            (record::Stream::Err, &self.error),
        ];
        self.iterations
            .iter()
            .filter(|_| self.limit > 0)
            .enumerate()
            .flat_map(move |(place, iteration)| {
                streams.into_iter().flat_map(move |(stream, kept)| {
                    kept.pieces(place).map(move |data| {
                        Record::Output(Output {
                            id: trial.id,
                            trial: trial.trial,
                            worker,
                            iteration: *iteration,
                            stream,
                            data: BASE64_STANDARD.encode(data),
                        })
                    })
                })
            })
    }
}

impl Kept {
    fn new() -> io::Result<Self> {
        Ok(Self {
            file: mapping::memory_file(0)?.into(),
            ends: Vec::new(),
        })
    }

    fn length(&self) -> u64 {
        self.ends.last().copied().unwrap_or_default()
    }

    fn begin(&self, limit: u64) -> io::Result<Stream> {
        Stream::new(self.file.try_clone()?, self.length(), limit)
    }

    fn end(&mut self, stream: &Stream) {
        self.ends.push(self.length() + stream.kept);
    }

    fn pieces(&self, place: usize) -> impl Iterator<Item = Vec<u8>> + '_ {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        let end = self.ends[place];
        let starts = (start..end.max(start + 1)).step_by(PIECE as usize);
        starts.map(move |at| {
            let mut data = vec![0; PIECE.min(end - at) as usize];
            match self.file.read_exact_at(&mut data, at) {
                Ok(()) => data,
                Err(_) => Vec::new(),
            }
        })
    }
}

/// Both streams of one iteration.
pub struct Capture {
    reads_output: bool,
    pub output: Stream,
    pub error: Stream,
}

impl Capture {
    /// Returns what the child writes to. Output that is not read goes to /dev/null, since some
    /// programs do less where it does.
    pub fn writers<'a>(&'a self, null: BorrowedFd<'a>) -> [BorrowedFd<'a>; 2] {
        let [output, error] = [&self.output, &self.error].map(|stream| {
            let writer = stream.writer.as_ref();
            writer.expect("nothing is launched yet").as_fd()
        });
        [if self.reads_output { output } else { null }, error]
    }

    /// Bytes of both streams by now, kept or not.
    pub fn written(&self) -> u64 {
        self.output.seen + self.error.seen
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
    /// Where this iteration begins in the file, and how much of it is there.
    start: u64,
    kept: u64,
    seen: u64,
    limit: u64,
    evidence: Vec<u8>,
    failure: Option<String>,
}

impl Stream {
    fn new(file: File, start: u64, limit: u64) -> io::Result<Self> {
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
            start,
            kept: 0,
            seen: 0,
            limit,
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
        for _ in 0..CHUNKS {
            let Some(reader) = &mut self.reader else {
                return;
            };
            match reader.read(&mut chunk) {
                Ok(0) => self.reader = None,
                Ok(length) => {
                    self.seen += length as u64;
                    self.keep(&chunk[..length]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn keep(&mut self, chunk: &[u8]) {
        let wanted = self.room(chunk, self.limit);
        let kept = self.room(wanted, TRIAL_LIMIT - self.start);
        if kept.len() < wanted.len() {
            let most = TRIAL_LIMIT >> 20;
            self.fail(|| format!("more than {most} MiB in one trial"));
        }
        match self.file.write_all_at(kept, self.start + self.kept) {
            Ok(()) => self.kept += kept.len() as u64,
            Err(error) => {
                self.fail(|| error.to_string());
                self.limit = 0;
            }
        }
        let last = &chunk[chunk.len().saturating_sub(EVIDENCE)..];
        let excess = (self.evidence.len() + last.len()).saturating_sub(EVIDENCE);
        self.evidence.drain(..excess.min(self.evidence.len()));
        self.evidence.extend_from_slice(last);
    }

    /// As much of a chunk as a limit leaves room for.
    fn room<'a>(&self, chunk: &'a [u8], limit: u64) -> &'a [u8] {
        let room = limit.saturating_sub(self.kept);
        &chunk[..chunk.len().min(usize::try_from(room).unwrap_or(usize::MAX))]
    }

    fn fail(&mut self, why: impl FnOnce() -> String) {
        self.failure.get_or_insert_with(why);
    }
}
