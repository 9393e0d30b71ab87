//! What a worker notes of its iterations: numbers in memory that was reserved beforehand, turned
//! into records when the trial is over.

use std::io;

use record::{Phase, Quantity, Record, Sample};
use sys::mapping::Mapping;

/// Every figure that a worker can have, with its metric and source.
macro_rules! figures {
    ($($figure:ident = $metric:literal $source:literal $($number:ident)?,)*) => {
        #[derive(Debug, Clone, Copy)]
        #[repr(usize)]
        pub enum Figure { $($figure),* }
        pub const NAMES: &[(&str, &str)] = &[$(($metric, $source)),*];
        /// Which of them are no whole numbers.
        const NUMBERS: &[bool] = &[$(!matches!(stringify!($($number)?).as_bytes(), [])),*];
    };
}

figures! {
    WallAround = "wall_ns" "around",
    StartAround = "start_ns" "around",
    EndAround = "end_ns" "around",
    WallTask = "wall_ns" "perf_task",
    StartTask = "start_ns" "perf_task",
    EndTask = "end_ns" "perf_task",
    TeardownWait = "teardown_ns" "wait",
    TreeWallReaped = "tree_wall_ns" "reaped",
    CpuRusage = "cpu_ns" "rusage",
    CpuReaped = "cpu_ns" "reaped",
    CpuGroup = "cpu_ns" "cgroup",
    UserRusage = "user_ns" "rusage",
    SystemRusage = "system_ns" "rusage",
    MemoryRusage = "memory_bytes" "rusage",
    MemoryGroup = "memory_bytes" "cgroup",
    Wait = "wait_ns" "schedstat",
    Migrations = "migrations" "sched",
    Written = "written_bytes" "io",
    VoluntarySwitches = "voluntary_switches" "rusage",
    InvoluntarySwitches = "involuntary_switches" "rusage",
    MinorFaults = "minor_faults" "rusage",
    MajorFaults = "major_faults" "rusage",
    Throttled = "throttled_ns" "cgroup",
    PressureGroup = "cpu_pressure_ns" "group",
    ExitCode = "exit_code" "wait",
    Signal = "signal" "wait",
    TimedOut = "timed_out" "wait",
    OomKilled = "oom_killed" "wait",
    StartSkew = "start_skew_ns" "rendezvous",
    KernelCpu = "kernel_cpu_ns" "self",
    KernelWall = "kernel_wall_ns" "self",
    KernelRealtime = "kernel_realtime_ns" "self",
    WallSelf = "wall_ns" "self",
    CpuSelf = "cpu_ns" "self",
    StartSelf = "start_ns" "self",
    EndSelf = "end_ns" "self",
    Throughput = "throughput" "self" number,
    ThroughputAround = "throughput" "around" number,
    Window = "window_ns" "self",
    WindowAround = "window_ns" "around",
    WindowCpu = "window_cpu_ns" "self",
    WindowCpuAround = "window_cpu_ns" "around",
    WindowExecutions = "window_executions" "self",
    WindowExecutionsAround = "window_executions" "around",
    Residual = "residual" "self" number,
    ClockChain = "clock_hz" "chain" number,
}

/// What no quantity is; as a number it is the zero below zero.
const ABSENT: i64 = i64::MIN;

/// Everything that is known of one iteration.
#[derive(Clone)]
pub struct Entry {
    pub iteration: Option<u32>,
    pub phase: Phase,
    values: [i64; NAMES.len()],
}

impl Entry {
    pub fn new(iteration: Option<u32>, phase: Phase) -> Self {
        Self {
            iteration,
            phase,
            values: [ABSENT; NAMES.len()],
        }
    }

    pub fn set(&mut self, figure: Figure, value: impl Into<Option<i64>>) {
        self.values[figure as usize] = value.into().unwrap_or(ABSENT);
    }

    /// The same for those that are no whole numbers.
    pub fn set_number(&mut self, figure: Figure, value: impl Into<Option<f64>>) {
        debug_assert!(NUMBERS[figure as usize]);
        self.set(figure, value.into().map(|value| value.to_bits() as i64));
    }

    pub fn get(&self, figure: Figure) -> Option<i64> {
        Some(self.values[figure as usize]).filter(|value| *value != ABSENT)
    }

    /// As the records that the front gets.
    pub fn samples(&self, id: u64, trial: u64, worker: u32) -> impl Iterator<Item = Record> + '_ {
        let known = self.values.iter().zip(NAMES).zip(NUMBERS);
        let known = known.filter(|((value, _), _)| **value != ABSENT);
        known.map(move |((value, (metric, source)), is_number)| {
            Record::Sample(Sample {
                id,
                trial,
                worker: Some(worker),
                iteration: self.iteration,
                phase: self.phase,
                metric: (*metric).to_string(),
                source: (*source).to_string(),
                value: if *is_number {
                    Quantity::Number(f64::from_bits(*value as u64))
                } else {
                    Quantity::Integer(*value)
                },
            })
        })
    }
}

/// Entries of one trial, in memory that launched processes do not inherit.
pub struct SampleBuffer {
    room: Mapping,
    capacity: usize,
    length: usize,
}

impl SampleBuffer {
    /// Room for so many entries; pages are only used up as they are written.
    pub fn new(capacity: usize) -> io::Result<Self> {
        let room = Mapping::own(capacity.max(1) * std::mem::size_of::<Entry>())?;
        Ok(Self {
            room,
            capacity,
            length: 0,
        })
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Keeps an entry; whether there was room.
    pub fn push(&mut self, entry: Entry) -> bool {
        if self.length == self.capacity {
            return false;
        }
        // SAFETY: within the mapping, aligned (page start, size a multiple of the alignment).
        unsafe { self.start().add(self.length).write(entry) };
        self.length += 1;
        true
    }

    pub fn entries(&self) -> &[Entry] {
        // SAFETY: so many were written.
        unsafe { std::slice::from_raw_parts(self.start(), self.length) }
    }

    fn start(&self) -> *mut Entry {
        self.room.start().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_figures_are_not_sent() {
        let mut entry = Entry::new(Some(3), Phase::Measured);
        entry.set(Figure::Wait, 0);
        entry.set(Figure::Migrations, None);
        entry.set_number(Figure::Residual, None);
        let records: Vec<_> = entry.samples(1, 2, 4).collect();
        let [Record::Sample(sample)] = &records[..] else {
            panic!("{records:?}")
        };
        assert_eq!(
            (sample.metric.as_str(), sample.source.as_str()),
            ("wait_ns", "schedstat")
        );
        assert_eq!(sample.value, Quantity::Integer(0));
    }

    #[test]
    fn numbers_are_sent_as_they_are() {
        let mut entry = Entry::new(None, Phase::Measured);
        entry.set_number(Figure::Throughput, 0.25);
        let records: Vec<_> = entry.samples(1, 2, 4).collect();
        let [Record::Sample(sample)] = &records[..] else {
            panic!("{records:?}")
        };
        assert_eq!(sample.value, Quantity::Number(0.25));
    }

    #[test]
    fn a_buffer_keeps_what_it_has_room_for() {
        let mut buffer = SampleBuffer::new(2).unwrap();
        let entry = |i| Entry::new(Some(i), Phase::Tail);
        assert!(buffer.push(entry(0)) && buffer.push(entry(1)) && !buffer.push(entry(2)));
        assert_eq!(buffer.entries()[1].iteration, Some(1));
        buffer.clear();
        assert!(buffer.entries().is_empty());
    }
}
