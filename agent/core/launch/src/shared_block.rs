//! The block of memory that a worker shares with what it launches: the gate before the exec, what
//! the child noted of itself until then, and, for a kernel, its script and its results.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicU8};

use sys::futex;
use sys::mapping::{self, Mapping};

const SCRIPT: usize = 4096;
const SLOTS: usize = 8192;
const MESSAGE: usize = 512;

/// What a child does between clone and exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Step {
    Group = 1,
    Streams,
    Affinity,
    Limit,
    User,
    Input,
    Directory,
    Gate,
    Exec,
}

impl Step {
    /// The step with this number, if one has it.
    pub fn numbered(number: u32) -> Option<Self> {
        [
            Self::Group,
            Self::Streams,
            Self::Affinity,
            Self::Limit,
            Self::User,
            Self::Input,
            Self::Directory,
            Self::Gate,
            Self::Exec,
        ]
        .into_iter()
        .find(|step| *step as u32 == number)
    }
}

/// What is at the start of the block. All of it is atomic, since two processes see it.
#[repr(C)]
#[derive(Default)]
pub struct Head {
    /// 1: the child may go on to the barrier and its exec.
    gate: AtomicU32,
    /// A [`Step`] that failed, and why.
    pub failed_step: AtomicU32,
    pub failed_errno: AtomicU32,
    pub failed_candidate: AtomicU32,
    /// Just before the exec.
    pub before: Before,
    /// Kernel: first and last stamp of its process.
    pub first: Stamp,
    pub last: Stamp,
    /// Kernel: slots that hold a whole execution.
    pub executions: AtomicU32,
    /// Kernel: what it did in its window.
    pub window: Window,
    /// Kernel: 1: what it complains of is a wrong result.
    pub wrong: AtomicU32,
    script_length: AtomicU32,
    message_length: AtomicU32,
}

/// What the launched process had used up when it was still the launcher's copy.
#[repr(C)]
#[derive(Default)]
pub struct Before {
    pub monotonic_ns: AtomicI64,
    pub cpu_ns: AtomicI64,
    pub user_ns: AtomicI64,
    pub system_ns: AtomicI64,
    pub wait_ns: AtomicI64,
    pub minor_faults: AtomicI64,
    pub major_faults: AtomicI64,
    pub voluntary_switches: AtomicI64,
    pub involuntary_switches: AtomicI64,
}

#[repr(C)]
#[derive(Default)]
pub struct Stamp {
    pub monotonic_ns: AtomicI64,
    pub realtime_ns: AtomicI64,
    pub cpu_ns: AtomicI64,
}

impl Stamp {
    /// Monotonic, real and CPU time between two stamps, in nanoseconds; None where the process was
    /// ended before it wrote one of them.
    pub fn difference(start: &Self, end: &Self) -> Option<[i64; 3]> {
        // Each stamp's monotonic time is written last.
        let begun = start.monotonic_ns.load(Acquire);
        let ended = end.monotonic_ns.load(Acquire);
        (begun > 0 && ended > 0).then(|| {
            [
                ended - begun,
                end.realtime_ns.load(Acquire) - start.realtime_ns.load(Acquire),
                end.cpu_ns.load(Acquire) - start.cpu_ns.load(Acquire),
            ]
        })
    }
}

/// One timed region of a kernel.
#[repr(C)]
#[derive(Default)]
pub struct Slot {
    pub start: Stamp,
    pub end: Stamp,
    /// Taking it in is what makes the results needed.
    pub digest: AtomicI64,
    /// Largest scaled residual so far.
    pub residual: Number,
    pub skew_ns: AtomicI64,
}

/// A kernel's window of time.
#[repr(C)]
#[derive(Default)]
pub struct Window {
    /// 1: it is over, and the rest is known.
    ended: AtomicU32,
    begin_ns: AtomicI64,
    end_ns: AtomicI64,
    cpu_ns: AtomicI64,
    executions: AtomicI64,
    work: Number,
    pub clock_hz: Number,
    pub residual: Number,
}

/// What was done from one moment to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    pub begin_ns: i64,
    pub end_ns: i64,
    /// CPU time that the worker got in it.
    pub cpu_ns: i64,
    pub work: f64,
    /// Executions that ended in it.
    pub executions: i64,
}

impl Stretch {
    pub fn wall_ns(&self) -> i64 {
        self.end_ns - self.begin_ns
    }

    /// Units of work a second.
    pub fn throughput(&self) -> f64 {
        self.work * 1e9 / self.wall_ns() as f64
    }
}

/// A number, if there is one: stored inverted, so that what is zeroed holds none.
#[repr(transparent)]
#[derive(Default)]
pub struct Number(AtomicU64);

pub struct SharedBlock {
    file: OwnedFd,
    map: Mapping,
}

impl SharedBlock {
    /// A zeroed block with room for so many slots.
    pub fn new(slots: usize) -> io::Result<Self> {
        let length = SLOTS + slots * std::mem::size_of::<Slot>();
        Self::of(mapping::memory_file(length.next_multiple_of(4096))?)
    }

    /// The block behind a descriptor that another process made.
    pub fn of(file: OwnedFd) -> io::Result<Self> {
        let file = File::from(file);
        let length = file.metadata()?.len() as usize;
        let map = Mapping::shared(file.as_fd(), length)?;
        let file = OwnedFd::from(file);
        Ok(Self { file, map })
    }

    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    pub fn slots(&self) -> usize {
        (self.map.length() - SLOTS) / std::mem::size_of::<Slot>()
    }

    /// Zeroes what was noted, in so many slots, and writes the script of a kernel's process.
    pub fn prepare(&self, script: &[u8], slots: usize) -> Result<(), String> {
        if script.len() > SLOTS - SCRIPT {
            return Err(format!("the kernel's script has {} bytes", script.len()));
        }
        // SAFETY: the range is mapped, and nobody else has the block between launches.
        unsafe {
            let used = SLOTS + slots * std::mem::size_of::<Slot>();
            std::ptr::write_bytes(self.map.start(), 0, used.min(self.map.length()));
            let place = self.map.start().add(SCRIPT);
            std::ptr::copy_nonoverlapping(script.as_ptr(), place, script.len());
        }
        self.head()
            .script_length
            .store(script.len() as u32, Release);
        Ok(())
    }

    pub fn script(&self) -> Vec<u8> {
        let length = self.head().script_length.load(Acquire) as usize;
        self.bytes(SCRIPT, length.min(SLOTS - SCRIPT))
    }

    pub fn head(&self) -> &Head {
        // SAFETY: atomic, valid for any bytes.
        unsafe { self.map.at(0) }
    }

    pub fn slot(&self, slot: usize) -> &Slot {
        // SAFETY: atomic, valid for any bytes.
        unsafe { self.map.at(SLOTS + slot * std::mem::size_of::<Slot>()) }
    }

    /// A kernel's process says why it cannot go on.
    pub fn complain(&self, message: &str) {
        let length = message.len().min(MESSAGE);
        for (offset, byte) in message.as_bytes()[..length].iter().enumerate() {
            // SAFETY: atomic, valid for any bytes.
            let place: &AtomicU8 = unsafe { self.map.at(SCRIPT - MESSAGE + offset) };
            place.store(*byte, Relaxed);
        }
        self.head().message_length.store(length as u32, Release);
    }

    pub fn complaint(&self) -> Option<String> {
        let length = self.head().message_length.load(Acquire) as usize;
        let bytes = self.bytes(SCRIPT - MESSAGE, length.min(MESSAGE));
        (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        (0..length)
            // SAFETY: atomic, valid for any bytes.
            .map(|place| unsafe { self.map.at::<AtomicU8>(offset + place) }.load(Relaxed))
            .collect()
    }
}

const _: () = assert!(std::mem::size_of::<Head>() <= SCRIPT - MESSAGE);

impl Window {
    /// It is over, and this was done in it.
    pub fn end(&self, stretch: &Stretch) {
        self.begin_ns.store(stretch.begin_ns, Relaxed);
        self.end_ns.store(stretch.end_ns, Relaxed);
        self.cpu_ns.store(stretch.cpu_ns, Relaxed);
        self.executions.store(stretch.executions, Relaxed);
        self.work.set(stretch.work);
        self.ended.store(1, Release);
    }

    /// What was done in it, if it is over.
    pub fn stretch(&self) -> Option<Stretch> {
        (self.ended.load(Acquire) == 1).then(|| Stretch {
            begin_ns: self.begin_ns.load(Acquire),
            end_ns: self.end_ns.load(Acquire),
            cpu_ns: self.cpu_ns.load(Acquire),
            work: self.work.get().unwrap_or_default(),
            executions: self.executions.load(Acquire),
        })
    }
}

impl Number {
    pub fn set(&self, value: f64) {
        self.0.store(!value.to_bits(), Relaxed);
    }

    pub fn get(&self) -> Option<f64> {
        Some(self.0.load(Relaxed))
            .filter(|bits| *bits != 0)
            .map(|bits| f64::from_bits(!bits))
    }
}

impl Head {
    pub fn open_gate(&self) {
        self.gate.store(1, Release);
        futex::wake(&self.gate);
    }

    /// Whether the gate was opened in time; callable between fork and exec.
    pub fn pass_gate(&self, nanoseconds: i64) -> bool {
        futex::wait(&self.gate, 0, nanoseconds);
        self.gate.load(Acquire) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(ns: i64) -> Stamp {
        let stamp = Stamp::default();
        stamp.realtime_ns.store(2 * ns, Relaxed);
        stamp.cpu_ns.store(3 * ns, Relaxed);
        stamp.monotonic_ns.store(ns, Relaxed);
        stamp
    }

    #[test]
    fn a_process_that_was_ended_before_its_last_stamp_has_no_times() {
        assert_eq!(Stamp::difference(&stamp(5), &stamp(7)), Some([2, 4, 6]));
        assert_eq!(Stamp::difference(&stamp(5), &Stamp::default()), None);
        assert_eq!(Stamp::difference(&Stamp::default(), &stamp(7)), None);
    }
}
