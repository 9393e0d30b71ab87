//! The kernel's own stamps: perf software events, which need no hardware counters. A dummy event
//! counts nothing, but brings records of names taken, forks, ends and switches.

mod happening;
pub mod waits;

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mapping::Mapping;
use happening::{parse, RECORD, STACK};
pub use happening::{Happening, What};

const PAGE: usize = 4096;

/// struct perf_event_attr as of its fifth version; zero what is not named.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    bp_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

const SOFTWARE: u32 = 1;
const CONTEXT_SWITCHES: u64 = 3;
const DUMMY: u64 = 9;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;

const FORMAT_LOST: u64 = 1 << 4;

const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const COMM: u64 = 1 << 9;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCKID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;
const INHERIT_THREAD: u64 = 1 << 35;

/// What is followed.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// Everything on one CPU.
    Cpu { cpu: u32, switches: bool },
    /// In which functions of the kernel tasks leave one CPU: [`What::Waits`] before each
    /// [`What::SwitchedOut`] of another event.
    Waits { cpu: u32 },
    /// A process and its threads, while they are on one CPU.
    Task { pid: libc::pid_t, cpu: u32 },
}

/// An event with the pages into which the kernel writes.
pub struct Event {
    file: OwnedFd,
    map: Mapping,
    counts_lost: bool,
}

impl Event {
    /// Opens it; the kernel records from here on into so many pages (a power of two).
    pub fn open(target: Target, pages: usize) -> io::Result<Self> {
        let (pid, cpu, flags) = match target {
            Target::Cpu { cpu, switches } => (-1, cpu, if switches { CONTEXT_SWITCH } else { 0 }),
            Target::Waits { cpu } => (-1, cpu, 0),
            // An inherited event needs a CPU, and is cloned only for threads, not for children.
            Target::Task { pid, cpu } => (pid, cpu, INHERIT | INHERIT_THREAD),
        };
        let mut attributes = Attributes {
            kind: SOFTWARE,
            size: std::mem::size_of::<Attributes>() as u32,
            config: DUMMY,
            sample_type: SAMPLE_TID | SAMPLE_TIME,
            read_format: FORMAT_LOST,
            flags: flags
                | EXCLUDE_KERNEL
                | EXCLUDE_HYPERVISOR
                | COMM
                | TASK
                | WATERMARK
                | SAMPLE_ID_ALL
                | COMM_EXEC
                | USE_CLOCKID,
            wakeup_watermark: (pages * PAGE / 4) as u32,
            clockid: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        if matches!(target, Target::Waits { .. }) {
            attributes.config = CONTEXT_SWITCHES;
            attributes.sample_period = 1;
            attributes.sample_type |= SAMPLE_CALLCHAIN;
            attributes.sample_max_stack = STACK as u16;
            attributes.flags &= !(EXCLUDE_KERNEL | COMM | TASK | COMM_EXEC);
            attributes.flags |= EXCLUDE_CALLCHAIN_USER;
        }
        let file = open(&mut attributes, pid, cpu)?;
        let counts_lost = attributes.read_format != 0;
        let map = Mapping::shared(file.as_fd(), (1 + pages) * PAGE)?;
        Ok(Self {
            file,
            map,
            counts_lost,
        })
    }

    /// Records that found no room so far; nothing where the kernel does not count them.
    pub fn lost(&self) -> Option<u64> {
        let mut counts = [0_u64; 2];
        let size = std::mem::size_of_val(&counts);
        // SAFETY: reads at most two numbers into room for two.
        let read = unsafe { libc::read(self.file.as_raw_fd(), counts.as_mut_ptr().cast(), size) };
        (self.counts_lost && read == size as isize).then_some(counts[1])
    }

    /// Hands over everything that was recorded since the last time.
    pub fn drain(&self, mut take: impl FnMut(Happening)) {
        let head = self.position(HEAD).load(Ordering::Acquire);
        let mut tail = self.position(TAIL).load(Ordering::Relaxed);
        let mut record = [0; RECORD];
        while tail < head {
            self.copy(tail, &mut record[..8]);
            let size = usize::from(u16::from_ne_bytes([record[6], record[7]]));
            if size < 8 {
                break;
            }
            let kept = size.min(RECORD);
            self.copy(tail, &mut record[..kept]);
            if let Some(happening) = parse(&record[..kept]) {
                take(happening);
            }
            tail += size as u64;
        }
        self.position(TAIL).store(head, Ordering::Release);
    }

    fn copy(&self, from: u64, to: &mut [u8]) {
        let size = self.map.length() - PAGE;
        for (offset, byte) in to.iter_mut().enumerate() {
            let place = (from as usize + offset) % size;
            // SAFETY: within the mapping; the kernel does not touch what lies before its head.
            *byte = unsafe { self.map.start().add(PAGE + place).read() };
        }
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: fields of struct perf_event_mmap_page.
        unsafe { self.map.at(offset) }
    }
}

impl AsRawFd for Event {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// Opens an event, without what an older kernel does not know: before Linux 6.0 records that are
/// lost are not counted, before 5.13 events are inherited by threads and children alike.
fn open(attributes: &mut Attributes, pid: libc::pid_t, cpu: u32) -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    loop {
        let number = libc::SYS_perf_event_open;
        let known = std::ptr::from_ref(attributes);
        // SAFETY: the attributes are as long as they say; the descriptor is new.
        let file = unsafe { libc::syscall(number, known, pid, cpu, -1, CLOSE_ON_EXEC) };
        if file >= 0 {
            // SAFETY: the kernel just made it.
            return Ok(unsafe { OwnedFd::from_raw_fd(file as RawFd) });
        }
        let error = io::Error::last_os_error();
        let unknown = error.raw_os_error() == Some(libc::EINVAL);
        if unknown && attributes.read_format != 0 {
            attributes.read_format = 0;
        } else if unknown && attributes.flags & INHERIT_THREAD != 0 {
            attributes.flags &= !INHERIT_THREAD;
        } else {
            return Err(error);
        }
    }
}

/// Offsets of the ring's ends.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// Why events are refused.
pub fn refusal(error: &io::Error) -> String {
    let refused = matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    // SAFETY: no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let level = level.map_or("unknown".to_string(), |level| level.trim().to_string());
    match (refused, root) {
        (true, false) => format!("refused ({error}; perf_event_paranoid is {level})"),
        (true, true) => format!("refused to root as well, as containers do ({error})"),
        _ => format!("no perf events here: {error}"),
    }
}

/// Numbers that CPUs can have; where one is offline, no event can be opened on it.
pub fn cpus() -> std::ops::Range<u32> {
    // SAFETY: no preconditions.
    0..unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }.max(1) as u32
}
