//! The one schema between the agent and the front. Everything that crosses the stream is
//! defined here and nowhere else: `tare-agent schema` prints it as JSON Schema, and the
//! front's structs are generated from that.
//!
//! One JSON object a line. The front writes [`Job`]s; the agent answers each with any number
//! of [`Record`]s and then exactly one `done` that counts them. A stream that ends without
//! its `done` is a failed trial. Metrics, kernels and their parameters are data
//! (`tare-agent describe`), not part of the schema.

pub mod marker;
pub mod network;
pub mod schema;
pub mod services;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of this schema; front and agent refuse each other when it differs.
pub const SCHEMA: u32 = 6;

/// What the front asks of a resident agent.
// One job is held at a time, so boxing the largest would save nothing.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "job", rename_all = "snake_case", deny_unknown_fields)]
pub enum Job {
    /// Execute one trial for the workers of this instance.
    Trial(Trial),
    /// Measure the instrument itself: clocks and launch overhead, answered by facts.
    MeasureSelf { id: u64 },
    /// Observer only: a trial is about to start; read counters and reset peaks.
    Watch(Watch),
    /// Observer only: the trial is over; answer with what the kernel stamped meanwhile.
    Collect { id: u64, trial: u64 },
    /// Observer only: the load on the trial's services begins, or it has ended. `Collect`
    /// reports the services' CPU and wait times between the two separately.
    Load { id: u64, under_load: bool },
    /// Measure the machine: one round of one probe, in a process of its own, answered by readings.
    Probe(Probe),
    /// Read the clocks, once and at once, answered by their stamps.
    ReadClocks { id: u64 },
    /// Reach a host of an emulated network that runs `tare-agent meet`, and be reached by it;
    /// answered by the fact of the own address.
    MeetHost {
        id: u64,
        /// ADDRESS:PORT
        host: String,
    },
}

/// One trial: a workload executed by some workers, a number of iterations each.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Echoed by every record that answers this job.
    pub id: u64,
    /// Number of the trial in the experiment.
    pub trial: u64,
    /// Names the session in the launcher's marker (24 bits).
    pub nonce: u32,
    pub workload: Workload,
    /// The workers that run in this instance.
    pub workers: Vec<Worker>,
    /// Measured iterations of each worker.
    pub iterations: u32,
    /// Unmeasured iterations of each worker before them.
    pub warmup: u32,
    pub process: Process,
    pub tail: Tail,
    /// Where workers of all instances meet; absent: every worker goes on by itself.
    pub rendezvous: Option<Rendezvous>,
    /// Wall-clock limit of one iteration; what exceeds it is killed and stored as timed out.
    pub timeout_ns: Option<u64>,
    /// What else one iteration may take; commands only.
    pub limits: Option<Limits>,
    /// How long descendants that outlive the root process may go on before they are killed.
    pub linger_ns: u64,
    /// Open a per-task kernel event on each launched process (where no observer watches the CPUs).
    pub observe: bool,
    /// Identity of the launched process, where it is not the agent's own.
    pub user: Option<User>,
    /// Over and over through a window of time, instead of a number of iterations.
    pub window: Option<Window>,
}

/// What one execution of a command may take, all of its processes together; what takes more is
/// killed. Absent: no limit.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub cpu_ns: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Standard output and error together, and each file that it writes.
    pub output_bytes: Option<u64>,
    /// Processes and threads at a time.
    pub processes: Option<u64>,
}

/// A stretch of whole periods of a CPU quota in which a workload is executed over and over:
/// what counts is how much is done in it. It lasts until it holds a whole execution, too.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Least number of periods that it spans.
    pub periods: u32,
    /// Period of the quota, after which the kernel hands out CPU time anew.
    pub period_ns: u64,
    /// Whether the quota is less than the workers can use, so that the window is to begin where
    /// the kernel has stopped them once; otherwise it begins at once.
    pub throttled: bool,
}

/// What is executed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Workload {
    Kernel {
        name: String,
        parameters: BTreeMap<String, u64>,
        /// Executions of the kernel inside one timed region.
        repetitions: u64,
        /// Seed of the generated input.
        seed: u64,
    },
    Command {
        argv: Vec<String>,
        /// Complete environment of the command.
        environment: BTreeMap<String, String>,
        directory: Option<String>,
        /// File to read as standard input; absent: /dev/null.
        input: Option<String>,
        /// Answer with standard output and error as well; absent: dropped.
        capture: Option<Capture>,
        /// Exit codes that are no failure besides 0; empty: all, and signals; absent: none.
        ignored_exits: Option<Vec<i32>>,
    },
}

/// Standard output and error of each iteration, sent as [`Output`] when the trial is over.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Bytes kept of each stream; the rest is read and dropped. 0: only the end of standard error,
    /// which stands by a fault.
    pub limit_bytes: u64,
    /// Standard output is a pipe that is read, even if nothing of it is kept; otherwise it is
    /// /dev/null then.
    #[serde(default)]
    pub reads_output: bool,
}

/// One of several instances of the workload that run side by side.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    /// Number of the worker in the trial, over all instances.
    pub worker: u32,
    /// CPUs that the worker may use; absent: whatever it inherits.
    pub cpus: Option<Vec<u32>>,
}

/// Whether every iteration is a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    Fresh,
    /// All iterations in one process; kernels only.
    Same,
}

/// What a worker does after its last measured iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tail {
    /// Keep the load on with unmeasured iterations until all workers have finished.
    Loaded,
    /// Stop, as STABILITY's scripts did.
    Stop,
}

/// Shared memory in which the workers of all instances meet.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rendezvous {
    /// Where the front hands it out, anew for every trial. Absent: all parties are in this
    /// instance, and the agent makes it.
    pub handout: Option<Handout>,
    /// Workers that meet.
    pub parties: u32,
}

/// A socket at which a descriptor is had for a token. Only the agent knows the token, so that
/// nothing else in the instance gets the memory.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handout {
    /// Path as the agent sees it.
    pub socket: String,
    pub token: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// One round of a probe.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Echoed by every record that answers this job.
    pub id: u64,
    /// One of those that `tare-agent describe` lists.
    pub name: String,
    pub effort: Effort,
    /// Decides random orders; each round has another.
    pub seed: u64,
    /// CPUs that it may use; absent: whatever it inherits.
    pub cpus: Option<Vec<u32>>,
    /// Where it may make files; absent: nowhere.
    pub directory: Option<String>,
    /// The same on a file system of another machine.
    pub remote: Option<String>,
    /// Most memory that it may take, and most that it may write to a file.
    pub memory_bytes: u64,
    pub file_bytes: u64,
    /// Memory that files may fill; absent: none.
    pub file_cache: Option<FileCache>,
    /// The other end of network probes; absent: this machine's loopback only.
    pub peer: Option<Peer>,
    /// What takes longer is killed.
    pub timeout_ns: u64,
}

/// Whose file cache a probe may fill, and with how much.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileCache {
    /// Directory of a control group that limits memory; absent: the whole machine's cache.
    pub group: Option<String>,
    /// Size of the file that is written and read.
    pub file_bytes: u64,
}

/// How long a probe may take, and how much it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// A few tens of milliseconds: is the machine still the same?
    Brief,
    /// The core figures, within a second.
    Quick,
    /// Everything.
    Whole,
}

/// `tare-agent peer` on another machine.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Numeric address and port: the agent resolves no names.
    pub address: String,
    /// Shared secret, hexadecimal.
    pub key: String,
}

/// What the observer keeps an eye on during a trial.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    pub id: u64,
    pub trial: u64,
    pub nonce: u32,
    /// Also answer with the number of uninterrupted stretches on and off a CPU, by their length.
    pub stretches: bool,
    /// Control groups, as the host sees them, whose counters are differenced over the trial:
    /// for platforms whose own groups are read-only to the agent inside.
    pub groups: Vec<WatchedGroup>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchedGroup {
    /// The worker that the group holds; absent where several share it.
    pub worker: Option<u32>,
    /// Host pid of a member; its groups in all hierarchies are found in /proc.
    pub pid: u32,
}

/// What the agent answers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// The agent is there. First record of every stream.
    Hello(Hello),
    /// Something that holds for the instance: rights, clocks, overheads.
    Fact(Fact),
    /// One value of one metric of one worker in one iteration.
    Sample(Sample),
    /// One value of one metric of a probe in one round.
    Reading(Reading),
    /// What the clocks said.
    Clocks(Clocks),
    /// What a command wrote.
    Output(Output),
    /// Something went wrong.
    Fault(Fault),
    /// A job is answered.
    Done(Done),
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    pub schema: u32,
    pub version: String,
    pub boot_id: Option<String>,
    /// Agent's process id in its own namespace.
    pub pid: u32,
    pub uid: u32,
    /// CLOCK_MONOTONIC and CLOCK_REALTIME read back to back.
    pub monotonic_ns: i64,
    pub realtime_ns: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    pub id: Option<u64>,
    pub name: String,
    pub value: Value,
    pub unit: Option<String>,
    /// Where it was read, or how it was measured.
    pub source: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

/// Absent values are not sent: no sample means "could not be had", never zero.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    pub id: u64,
    pub trial: u64,
    /// Absent: the value belongs to the whole trial.
    pub worker: Option<u32>,
    /// Absent: the value belongs to the whole of the worker's trial. Counts from 0 over
    /// warm-up, measured and tail iterations alike.
    pub iteration: Option<u32>,
    pub phase: Phase,
    /// A name that `tare-agent describe` explains; its suffix is its unit.
    pub metric: String,
    pub source: String,
    pub value: Quantity,
}

/// Absent values are not sent; a fault says why.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    pub id: u64,
    /// A metric that the probe lists; its unit and its axes are there.
    pub metric: String,
    /// Place on each of the metric's axes, in their order.
    pub at: Vec<i64>,
    pub value: f64,
}

/// Integer where the metric is one (nanoseconds, bytes, counts).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Quantity {
    Integer(i64),
    Number(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Warmup,
    Measured,
    /// Kept the load on while others still measured; never used as a value.
    Tail,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub id: u64,
    pub trial: Option<u64>,
    pub worker: Option<u32>,
    pub iteration: Option<u32>,
    pub kind: FaultKind,
    /// What happened and why, for a person.
    pub message: String,
    /// End of the command's standard error, where it was captured.
    pub evidence: Option<String>,
    /// Processes that outlived the command, where this is about them.
    pub outlived: Option<Outlived>,
}

/// Descendants of a command that still ran when its root process had ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outlived {
    /// Names of the processes, each once, at most 5.
    pub names: Vec<String>,
    /// From the end of the root process to that of the last descendant.
    pub duration_ns: u64,
    /// Whether they were killed, since they took longer than they may.
    pub killed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The command ended with a code other than 0.
    Exit,
    /// A signal ended it.
    Signal,
    /// It exceeded its time and was killed.
    Timeout,
    /// The same of its CPU time.
    CpuTime,
    /// The kernel killed it for want of memory, or it exceeded its limit of memory.
    OutOfMemory,
    /// It wrote more than its limit.
    Output,
    /// It had more processes and threads than its limit.
    Processes,
    /// It came to a wrong result.
    Check,
    /// Processes of it are still there, whatever was done to end them.
    Survived,
    /// It could not be started: not found, not executable, bad directory.
    Launch,
    /// The job itself was wrong: unknown kernel, parameter out of range, unreadable line.
    Job,
    /// A probe cannot be had in this place: no right, no such hardware, no room.
    Unavailable,
    /// Not a failure of the trial: two sources disagree, descendants were killed, records were
    /// lost and a fallback took their place.
    Warning,
}

/// Stamps read back to back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    pub id: u64,
    pub monotonic_ns: i64,
    pub realtime_ns: i64,
}

/// A piece of what a command wrote in one iteration; pieces of a stream come in order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    pub id: u64,
    pub trial: u64,
    pub worker: u32,
    pub iteration: u32,
    pub stream: Stream,
    /// In base 64, as it need not be text.
    pub data: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Out,
    Err,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Done {
    pub id: u64,
    /// Records sent in answer to the job, this one not counted.
    pub records: u64,
}
