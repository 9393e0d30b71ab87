//! Definitions of all metrics: unit, meaning, sources, and when a value is absent.

use serde::Serialize;

/// A quantity; the same name is the same quantity, whatever its source.
#[derive(Serialize)]
pub struct Metric {
    pub name: &'static str,
    /// Absent for flags and codes.
    pub unit: Option<&'static str>,
    pub meaning: &'static str,
    /// What it means that a trial has no such sample.
    pub absence: &'static str,
    pub sources: &'static [Source],
}

/// Where a metric's value was had from.
#[derive(Clone, Copy, Serialize)]
pub struct Source {
    pub name: &'static str,
    pub meaning: &'static str,
}

/// Of the number of stretches of one length.
const NO_STRETCHES: &str = "there was none of this length; the session has a single platform; \
                            switches between threads are not watched; or a descendant outlived the \
                            trial";

const EMULATED: &str = "the queueing disciplines that shape what leaves each host";

/// Every metric, in order of name.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "clock_hz",
        unit: Some("Hz"),
        meaning: "speed at which the CPU really ran in a window: dependent additions a second, \
                  which are cycles, felt every 10 ms between two steps of a kernel; median of the \
                  faster half",
        absence: "the trial is no window, or the workload is a command",
        sources: &[source(
            "chain",
            "the worker's own chain of 65,536 additions, some 20 µs",
        )],
    },
    Metric {
        name: "cpu_ns",
        unit: Some("ns"),
        meaning: "CPU time in user and kernel mode",
        absence: "the source cannot be had here",
        sources: &[
            source(
                "cgroup",
                "the worker's control group: the whole tree, also children that nobody waited for",
            ),
            source(
                "host_cgroup",
                "the same, read by the observer from the host",
            ),
            source(
                "reaped",
                "rusage of the root process and of every descendant, orphans included",
            ),
            source(
                "rusage",
                "rusage of the root process and the children that it waited for",
            ),
            source(
                "self",
                "the process's own clock, from its first to its last stamp",
            ),
        ],
    },
    Metric {
        name: "cpu_pressure_ns",
        unit: Some("ns"),
        meaning: "time in which some task waited for a CPU (PSI, some)",
        absence: "the kernel keeps no pressure figures, or not for the group",
        sources: &[
            source("group", "the worker's control group"),
            source("system", "the whole machine: others' waiting is in it"),
        ],
    },
    Metric {
        name: "disk_busy_ns",
        unit: Some("ns"),
        meaning: "time in which a disk of the machine had something to do, over all disks; iostat's %util is its share of the time",
        absence: "there is no disk of the machine's own to be seen, or nobody observes",
        sources: DISKS,
    },
    Metric {
        name: "disk_read_bytes",
        unit: Some("bytes"),
        meaning: "bytes that the machine's disks read in the trial, whoever asked for them",
        absence: "there is no disk of the machine's own to be seen, or nobody observes",
        sources: DISKS,
    },
    Metric {
        name: "disk_reads",
        unit: Some("1"),
        meaning: "reads that the machine's disks finished in the trial, whoever asked for them",
        absence: "there is no disk of the machine's own to be seen, or nobody observes",
        sources: DISKS,
    },
    Metric {
        name: "disk_wait_ns",
        unit: Some("ns"),
        meaning: "time that finished reads and writes of the machine's disks took, queues included; iostat's await is this by their number",
        absence: "there is no disk of the machine's own to be seen, or nobody observes",
        sources: DISKS,
    },
    Metric {
        name: "disk_write_bytes",
        unit: Some("bytes"),
        meaning: "bytes that the machine's disks wrote in the trial, whoever asked for it",
        absence: "there is no disk of the machine's own to be seen, or nobody observes",
        sources: DISKS,
    },
    Metric {
        name: "disk_writes",
        unit: Some("1"),
        meaning: "writes that the machine's disks finished in the trial, whoever asked for them",
        absence: "there is no disk of the machine's own to be seen, or nobody observes",
        sources: DISKS,
    },
    Metric {
        name: "driver_cpus",
        unit: Some("1"),
        meaning: "CPUs that the load generator of a service used: its CPU time by its wall time",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "driver_own_cpus",
        unit: Some("1"),
        meaning: "CPUs that only the load generator could use; 0: it shared those of the services",
        absence: "as for driver_cpus, or an older tare measured",
        sources: DRIVEN,
    },
    Metric {
        name: "end_ns",
        unit: Some("ns"),
        meaning: "CLOCK_MONOTONIC when the root process ended",
        absence: "as for wall_ns",
        sources: STAMPS,
    },
    Metric {
        name: "exit_code",
        unit: None,
        meaning: "exit code of the root process",
        absence: "a signal ended it, or it could not be started",
        sources: WAIT,
    },
    Metric {
        name: "frequency_hz",
        unit: Some("Hz"),
        meaning: "frequency of the machine's CPUs, mean over all of them and over the trial",
        absence: "no driver of the frequency is to be seen, as in most VMs, or the trial was over \
                  within a tenth of a second",
        sources: &[source(
            "cpufreq",
            "scaling_cur_freq, read by the observer every 100 ms",
        )],
    },
    Metric {
        name: "hosts_cpu_ns",
        unit: Some("ns"),
        meaning: "CPU time of the services on all hosts, during the trial",
        absence: "the workload is no application with services on each host, or their processes \
                  are not seen from here",
        sources: HOSTS,
    },
    Metric {
        name: "instance_cpu_ns",
        unit: Some("ns"),
        meaning: "CPU time of all that ran in the instance of the platform, the agent included",
        absence: "the platform has no isolate, or it tells no such figure",
        sources: ISOLATE,
    },
    Metric {
        name: "instance_memory_bytes",
        unit: Some("bytes"),
        meaning: "peak of the memory of all in the instance of the platform, the agent included",
        absence: "the platform has no isolate, or it tells no such figure",
        sources: ISOLATE,
    },
    Metric {
        name: "instance_process_memory_bytes",
        unit: Some("bytes"),
        meaning: "largest resident set of a process in the instance of the platform, the agent's included",
        absence: "the platform has no isolate, or it tells no such figure",
        sources: ISOLATE,
    },
    Metric {
        name: "instance_wall_ns",
        unit: Some("ns"),
        meaning: "lifetime of the instance of the platform",
        absence: "the platform has no isolate, or it tells no such figure",
        sources: ISOLATE,
    },
    Metric {
        name: "involuntary_switches",
        unit: Some("1"),
        meaning: "times that the CPU was taken away",
        absence: "rusage cannot be had",
        sources: RUSAGE,
    },
    Metric {
        name: "kernel_cpu_ns",
        unit: Some("ns"),
        meaning: "CPU time of a kernel's timed region",
        absence: "the workload is a command",
        sources: &[source("self", "CLOCK_PROCESS_CPUTIME_ID")],
    },
    Metric {
        name: "kernel_realtime_ns",
        unit: Some("ns"),
        meaning: "wall-clock time of a kernel's timed region, clock adjustments included",
        absence: "the workload is a command",
        sources: &[source("self", "CLOCK_REALTIME, as STABILITY had it")],
    },
    Metric {
        name: "kernel_wall_ns",
        unit: Some("ns"),
        meaning: "wall-clock time of a kernel's timed region",
        absence: "the workload is a command",
        sources: &[source("self", "CLOCK_MONOTONIC")],
    },
    Metric {
        name: "lost_records",
        unit: None,
        meaning: "the kernel's records that the observer lost: nothing of the trial is stamped by \
                  the kernel",
        absence: "none was lost, or the kernel does not permit them",
        sources: &[source("perf_buffer", "what perf counts as lost on all CPUs")],
    },
    Metric {
        name: "major_faults",
        unit: Some("1"),
        meaning: "page faults that needed the disk",
        absence: "rusage cannot be had",
        sources: RUSAGE,
    },
    Metric {
        name: "memory_bytes",
        unit: Some("bytes"),
        meaning: "peak of the memory in use",
        absence: "the peak cannot be reset per trial, or the launcher was larger than the command",
        sources: &[
            source(
                "cgroup",
                "the worker's control group: all processes, page cache included",
            ),
            source(
                "host_cgroup",
                "the same, read by the observer from the host",
            ),
            source(
                "rusage",
                "resident set of the largest process among root and its children",
            ),
        ],
    },
    Metric {
        name: "migrations",
        unit: Some("1"),
        meaning: "moves of the root process's first thread from CPU to CPU",
        absence: "the kernel keeps no such count",
        sources: &[source("sched", "/proc/PID/sched")],
    },
    Metric {
        name: "minor_faults",
        unit: Some("1"),
        meaning: "page faults that needed no disk",
        absence: "rusage cannot be had",
        sources: RUSAGE,
    },
    Metric {
        name: "network_dry_ns",
        unit: Some("ns"),
        meaning: "how long the buckets of an emulated network's hosts were empty in the trial, \
                  added up over the hosts",
        absence: "no host has a bucket, or the network is the machine's own",
        sources: &[source("qdisc", EMULATED)],
    },
    Metric {
        name: "network_sent_bytes",
        unit: Some("bytes"),
        meaning: "sent in the trial by all hosts of an emulated network, headers included",
        absence: "the network is the machine's own",
        sources: &[source("qdisc", EMULATED)],
    },
    Metric {
        name: "off_cpu_blocked_ns",
        unit: Some("ns"),
        meaning: "time in which threads of the tree had given up their CPU to wait for something, until they had one again: the wait for a CPU after that is in it",
        absence: "switches between threads are not watched, or a descendant outlived the trial",
        sources: SWITCHES,
    },
    Metric {
        name: "off_cpu_blocked_stretches_K",
        unit: Some("1"),
        meaning: "number of uninterrupted stretches in which threads waited for something, by length: 2^K ns to less than 2^(K+1) ns. The first and the last K also count all shorter and longer ones",
        absence: NO_STRETCHES,
        sources: SWITCHES,
    },
    Metric {
        name: "off_cpu_preempted_ns",
        unit: Some("ns"),
        meaning: "time in which threads of the tree could have run but were off their CPU: taken away for others, held back by a quota, or not yet given one",
        absence: "switches between threads are not watched, or a descendant outlived the trial",
        sources: SWITCHES,
    },
    Metric {
        name: "off_cpu_preempted_stretches_K",
        unit: Some("1"),
        meaning: "number of uninterrupted stretches in which threads could have run but were off their CPU, by length: 2^K ns to less than 2^(K+1) ns. The first and the last K also count all shorter and longer ones",
        absence: NO_STRETCHES,
        sources: SWITCHES,
    },
    Metric {
        name: "on_cpu_ns",
        unit: Some("ns"),
        meaning: "time in which threads of the tree were on a CPU",
        absence: "switches between threads are not watched, or a descendant outlived the trial",
        sources: SWITCHES,
    },
    Metric {
        name: "on_cpu_stretches_K",
        unit: Some("1"),
        meaning: "number of uninterrupted stretches on a CPU, by length: 2^K ns to less than 2^(K+1) ns, as BCC's cpudist reports them. The first and the last K also count all shorter and longer ones",
        absence: NO_STRETCHES,
        sources: SWITCHES,
    },
    Metric {
        name: "oom_killed",
        unit: None,
        meaning: "1: the kernel killed it for want of memory",
        absence: "it cannot be told here whether the kernel did",
        sources: &[source(
            "wait",
            "killed, and the control group counted a process killed for it",
        )],
    },
    Metric {
        name: "periods",
        unit: Some("1"),
        meaning: "periods of a CPU quota in which the group had something to do",
        absence: "the group has no quota, or it cannot be seen from the host",
        sources: HOST_GROUP,
    },
    Metric {
        name: "request_error_share",
        unit: Some("1"),
        meaning: "share of the requests that failed",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "request_late_ns",
        unit: Some("ns"),
        meaning: "from the intended start: 99 % of the trial's requests started no later, whether \
                  the load generator was busy or waited for answers",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "request_rate",
        unit: Some("1/s"),
        meaning: "requests that were started a second, from the first to the last",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "request_throughput",
        unit: Some("1/s"),
        meaning: "requests that were answered without an error a second, from the first intended start to the last end",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "requests",
        unit: Some("1"),
        meaning: "requests that the load generator made, failed ones included",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "requests_at_once",
        unit: Some("1"),
        meaning: "most requests of the trial that were under way at the same time",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "residual",
        unit: Some("1"),
        meaning: "largest scaled residual of the systems of equations that were solved in the \
                  trial",
        absence: "the workload does not check its own results",
        sources: &[source("self", "the kernel's own check of each execution")],
    },
    Metric {
        name: "response_max_ns",
        unit: Some("ns"),
        meaning: "longest response time of the trial's requests, from the intended start",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "response_mean_ns",
        unit: Some("ns"),
        meaning: "mean response time of the trial's requests, failed ones included, from the intended start",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "response_p50_ns",
        unit: Some("ns"),
        meaning: "median of the trial's response times, from the intended start",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "response_p95_ns",
        unit: Some("ns"),
        meaning: "95 % of the trial's response times are not above it",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "response_p999_ns",
        unit: Some("ns"),
        meaning: "99.9 % of the trial's response times are not above it",
        absence: "the workload is no application that serves; or the trial is of an earlier version",
        sources: DRIVEN,
    },
    Metric {
        name: "response_p99_ns",
        unit: Some("ns"),
        meaning: "99 % of the trial's response times are not above it",
        absence: "the workload is no application that serves",
        sources: DRIVEN,
    },
    Metric {
        name: "service_blocked_ns",
        unit: Some("ns"),
        meaning: "time in which threads of the services waited for something while they were under load, until they had a CPU again; threads that have nothing to do are in it",
        absence: UNWATCHED,
        sources: LOADED,
    },
    Metric {
        name: "service_cpu_ns",
        unit: Some("ns"),
        meaning: "CPU time of the services while they were under load",
        absence: UNWATCHED,
        sources: &[
            source(
                "host_cgroup",
                "the instance's group, read by the observer from the host",
            ),
            LOADED[0],
        ],
    },
    Metric {
        name: "service_disk_ns",
        unit: Some("ns"),
        meaning: "part of service_blocked_ns: waits for a block device, and for a file system to reach it",
        absence: "as for service_blocked_ns; the kernel hides the addresses of its functions (CAP_SYSLOG), or refuses memory for the records (kernel.perf_event_mlock_kb); or some records were lost",
        sources: LOADED,
    },
    Metric {
        name: "service_network_ns",
        unit: Some("ns"),
        meaning: "part of service_blocked_ns: waits for sockets, and for one of several descriptors: for answers, and idly for requests",
        absence: "as for service_disk_ns",
        sources: LOADED,
    },
    Metric {
        name: "service_preempted_ns",
        unit: Some("ns"),
        meaning: "time in which threads of the services could have run but were off their CPU while they were under load; time in which a quota held them back is in it",
        absence: UNWATCHED,
        sources: LOADED,
    },
    Metric {
        name: "service_throttled_ns",
        unit: Some("ns"),
        meaning: "time in which a CPU quota held the services back while they were under load, added up over CPUs where the kernel does so",
        absence: "the group cannot be seen from the host, or the workload is no application that serves",
        sources: HOST_GROUP,
    },
    Metric {
        name: "services_ready_ns",
        unit: Some("ns"),
        meaning: "from the start of the first service until all are ready",
        absence: "the workload is no application that serves",
        sources: SUPERVISED,
    },
    Metric {
        name: "signal",
        unit: None,
        meaning: "number of the signal that ended the root process",
        absence: "no signal ended it",
        sources: WAIT,
    },
    Metric {
        name: "start_ns",
        unit: Some("ns"),
        meaning: "CLOCK_MONOTONIC at the root process's exec",
        absence: "as for wall_ns",
        sources: STAMPS,
    },
    Metric {
        name: "start_skew_ns",
        unit: Some("ns"),
        meaning: "time between the first and the last worker through the barrier",
        absence: "there was one worker, or no barrier",
        sources: &[source(
            "rendezvous",
            "stamps of all workers in their shared file",
        )],
    },
    Metric {
        name: "steal_ns",
        unit: Some("ns"),
        meaning: "time that the hypervisor gave to others, in steps of 10 ms",
        absence: "the machine tells of none",
        sources: &[source(
            "stat",
            "/proc/stat, over all CPUs that the worker may use",
        )],
    },
    Metric {
        name: "switches_blocked",
        unit: Some("1"),
        meaning: "times that a thread of the tree gave up its CPU to wait for something",
        absence: "switches between threads are not watched, or a descendant outlived the trial",
        sources: SWITCHES,
    },
    Metric {
        name: "switches_preempted",
        unit: Some("1"),
        meaning: "times that a thread of the tree was taken off its CPU though it could have gone on",
        absence: "switches between threads are not watched, or a descendant outlived the trial",
        sources: SWITCHES,
    },
    Metric {
        name: "system_ns",
        unit: Some("ns"),
        meaning: "CPU time in kernel mode",
        absence: "rusage cannot be had",
        sources: RUSAGE,
    },
    Metric {
        name: "teardown_ns",
        unit: Some("ns"),
        meaning: "from the root process's end until its memory is given back",
        absence: "the end was not stamped by the kernel",
        sources: &[
            source("switch", "the task's last switch from its CPU"),
            source("wait", "return of wait: an upper bound"),
        ],
    },
    Metric {
        name: "thermal_throttles",
        unit: Some("1"),
        meaning: "times that a core was slowed down because it was too hot, over all cores",
        absence: "the CPUs tell of none, as in VMs",
        sources: &[source(
            "sysfs",
            "core_throttle_count, read by the observer on the host",
        )],
    },
    Metric {
        name: "throttled_ns",
        unit: Some("ns"),
        meaning: "time that the group was held back by its CPU quota",
        absence: "there is no control group with a CPU controller",
        sources: &[
            source("cgroup", "cpu.stat of the worker's control group"),
            source(
                "host_cgroup",
                "the same, read by the observer from the host",
            ),
        ],
    },
    Metric {
        name: "throttled_periods",
        unit: Some("1"),
        meaning: "periods of a CPU quota in which the group was held back",
        absence: "the group has no quota, or it cannot be seen from the host",
        sources: HOST_GROUP,
    },
    Metric {
        name: "throughput",
        unit: Some("1/s"),
        meaning: "work of a worker in its window by the window's wall time; what a unit of work \
                  is, the kernel says (flop, byte, execution), and a command's are executions",
        absence: "the trial is no window",
        sources: WINDOW,
    },
    Metric {
        name: "time_ns",
        unit: Some("ns"),
        meaning: "what whoever uses a workload waits for: wall_ns of a command, response_mean_ns \
                  of an application that serves",
        absence: "all workloads of the experiment are of one kind",
        sources: &[source("workload", "the best one of each workload's own")],
    },
    Metric {
        name: "timed_out",
        unit: None,
        meaning: "1: it exceeded its time and was killed",
        absence: "it could not be started",
        sources: WAIT,
    },
    Metric {
        name: "tree_wall_ns",
        unit: Some("ns"),
        meaning: "from the root process's exec to the end of the last descendant",
        absence: "the last descendant's end was not seen",
        sources: &[
            source(
                "perf_cpu",
                "stamped by the kernel, seen by events on all CPUs",
            ),
            source("reaped", "the last orphan was waited for: an upper bound"),
        ],
    },
    Metric {
        name: "user_ns",
        unit: Some("ns"),
        meaning: "CPU time in user mode",
        absence: "rusage cannot be had",
        sources: RUSAGE,
    },
    Metric {
        name: "voluntary_switches",
        unit: Some("1"),
        meaning: "times that the CPU was given up to wait for something",
        absence: "rusage cannot be had",
        sources: RUSAGE,
    },
    Metric {
        name: "wait_ns",
        unit: Some("ns"),
        meaning: "time in which the root process's first thread was ready but had no CPU",
        absence: "the kernel keeps no schedstat",
        sources: &[source("schedstat", "/proc/PID/schedstat")],
    },
    Metric {
        name: "wall_ns",
        unit: Some("ns"),
        meaning: "from the root process's exec to its end",
        absence: "the source cannot be had here; `around` always can",
        sources: WALL,
    },
    Metric {
        name: "window_cpu_ns",
        unit: Some("ns"),
        meaning: "CPU time that the worker got in its window, with what launching a command took",
        absence: "the trial is no window",
        sources: WINDOW,
    },
    Metric {
        name: "window_executions",
        unit: Some("1"),
        meaning: "executions that ended in the window, of a command also the one that its end cuts",
        absence: "the trial is no window",
        sources: WINDOW,
    },
    Metric {
        name: "window_ns",
        unit: Some("ns"),
        meaning: "length of the worker's window, a whole number of periods of the quota",
        absence: "the trial is no window",
        sources: WINDOW,
    },
    Metric {
        name: "written_bytes",
        unit: Some("bytes"),
        meaning: "bytes that the command wrote by system calls to standard output, files, pipes \
                  and sockets, whatever of it reached a disk",
        absence: "the kernel keeps no such count, or there is no /proc",
        sources: &[source(
            "io",
            "growth of wchar in the agent's /proc/self/io when it waits for the command, with the \
             children that this waited for",
        )],
    },
];

const WINDOW: &[Source] = &[
    source(
        "around",
        "ends of launched executions, the last one's in part where it outlasts the window",
    ),
    source(
        "self",
        "a kernel's own stamps after each step; CPU time cuts the steps at the window's edges",
    ),
];

const SWITCHES: &[Source] = &[source(
    "perf_cpu",
    "the kernel's records of switches on all CPUs, of every thread from the root's exec to its end",
)];

const UNWATCHED: &str = "the workload is no application that serves, or switches between its threads are not watched: a VM and gVisor have kernels of their own";

const LOADED: &[Source] = &[source(
    "perf_cpu",
    "the kernel's records of switches on all CPUs, from when services are ready until the load generator has ended, without the process that starts them",
)];

const DISKS: &[Source] = &[source(
    "diskstats",
    "the numbers of /proc/diskstats, of disks that are things of their own",
)];

const HOST_GROUP: &[Source] = &[source(
    "host_cgroup",
    "cpu.stat of the instance's group, read by the observer from the host",
)];

const WALL: &[Source] = &[
    source(
        "around",
        "clock read around launch and wait: the launcher's scheduling is in it",
    ),
    source(
        "perf_cpu",
        "stamped by the kernel, seen by events on all CPUs",
    ),
    source(
        "perf_task",
        "stamped by the kernel, seen by an event on the process",
    ),
    source(
        "self",
        "a kernel's own first and last stamp: generating its input is in it",
    ),
    source(
        "switch",
        "exec to the task's last switch from its CPU, stamped by the kernel: teardown is in it",
    ),
];

const STAMPS: &[Source] = &[
    source("around", "clock read around launch and wait"),
    source(
        "perf_cpu",
        "stamped by the kernel, seen by events on all CPUs",
    ),
    source(
        "perf_task",
        "stamped by the kernel, seen by an event on the process",
    ),
    source(
        "self",
        "a kernel's timed region or its window: its own first and last reading",
    ),
];

const RUSAGE: &[Source] = &[source(
    "rusage",
    "of the root process and the children that it waited for",
)];

const ISOLATE: &[Source] = &[source(
    "isolate",
    "its meta file, in whole milliseconds and KiB, cut off",
)];

const DRIVEN: &[Source] = &[source(
    "driver",
    "the rows that the load generator left, one a request; its CPU time as any command's",
)];

const SUPERVISED: &[Source] = &[source("supervise", "who starts the services")];

const HOSTS: &[Source] = &[source(
    "hosts",
    "/proc: the processes in the hosts' instances, and those that they waited for",
)];

const WAIT: &[Source] = &[source("wait", "what wait tells of the root process")];

const fn source(name: &'static str, meaning: &'static str) -> Source {
    Source { name, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metrics_suffix_is_its_unit() {
        for metric in METRICS {
            let suffix = metric.name.rsplit('_').next().unwrap();
            match suffix {
                "ns" | "bytes" => assert_eq!(metric.unit, Some(suffix), "{}", metric.name),
                "hz" => assert_eq!(metric.unit, Some("Hz"), "{}", metric.name),
                "throughput" | "rate" => assert_eq!(metric.unit, Some("1/s")),
                _ => assert!(matches!(metric.unit, None | Some("1")), "{}", metric.name),
            }
        }
    }

    #[test]
    fn every_figure_of_a_worker_is_described() {
        for (name, from) in trial::NAMES {
            let metric = METRICS.iter().find(|metric| metric.name == *name);
            let sources = metric.expect(name).sources;
            let described = sources.iter().any(|source| source.name == *from);
            assert!(described, "{name} from {from}");
        }
    }

    #[test]
    fn names_are_unique_and_sorted() {
        assert!(METRICS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for metric in METRICS {
            assert!(!metric.sources.is_empty(), "{}", metric.name);
            assert!(metric
                .sources
                .windows(2)
                .all(|pair| pair[0].name < pair[1].name));
        }
    }
}
