//! How much of the CPUs the host keeps for others, and how much others here take, while they are
//! wanted: what nobody wants cannot be stolen.

use std::fs;

use sys::addition_chain::adds;
use sys::clock;

use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::timing::at_once;

pub const PROBE: Probe = Probe {
    name: "steal",
    title: "CPU time that others take",
    question: "Does the host give the CPUs that it has promised?",
    source: Some("CLOUDNET; proc(5), /proc/stat and /proc/PID/schedstat"),
    metrics: &[
        Metric {
            name: "steal.share",
            unit: "1",
            meaning: "share of the time in which the host ran something else while every usable \
                      CPU had work: steal of /proc/stat over the round, to 10 ms; rounds add up",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 1.0,
        },
        Metric {
            name: "steal.wait",
            unit: "1",
            meaning: "share of the time in which a thread on each CPU was ready but waited for \
                      others of this machine: the second number of its schedstat over the round",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 1.0,
        },
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.5),
        whole: Some(1.5),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// Additions between two looks at the clock: some 20 µs.
const ADDITIONS: u64 = 1 << 16;

fn perform(round: &Round) -> Result<(), String> {
    let before = stolen(&round.cpus);
    let started = clock::monotonic();
    let budget = round.budget_ns();
    let waits = at_once(&round.cpus, |_| wait_share(budget))?;
    let elapsed = clock::monotonic() - started;
    let after = stolen(&round.cpus);
    match before.and_then(|before| Ok((before, after?))) {
        Ok((before, after)) => {
            let given = elapsed * round.cpus.len() as i64;
            round.read("steal.share", (after - before) as f64 / given as f64);
        }
        Err(why) => round.unavailable("steal.share", why),
    }
    match waits.into_iter().collect::<Option<Vec<_>>>() {
        Some(shares) => {
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            round.read("steal.wait", mean);
        }
        None => round.unavailable("steal.wait", "the kernel does not count it (schedstat)"),
    }
    Ok(())
}

/// Keeps a CPU busy and returns the share of the time that it waited for a CPU; absent where the
/// kernel does not count that.
fn wait_share(budget_ns: i64) -> Option<f64> {
    let before = scheduled();
    let start = clock::monotonic();
    while clock::monotonic() - start < budget_ns {
        adds(ADDITIONS);
    }
    let elapsed = clock::monotonic() - start;
    let ((_, before), (ran, after)) = (before?, scheduled()?);
    // Kernels without that account write zeros, but this thread has run.
    (ran > 0).then_some((after - before) as f64 / elapsed as f64)
}

/// Nanoseconds that this thread has been ready without running.
pub(super) fn waited_ns() -> Option<i64> {
    scheduled().map(|(_, waited)| waited)
}

/// Nanoseconds that this thread has run and waited.
fn scheduled() -> Option<(i64, i64)> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<i64>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Nanoseconds that the host has kept from these CPUs since the kernel booted.
fn stolen(cpus: &[u32]) -> Result<i64, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let ticks = stolen_ticks(&read("/proc/stat")?, cpus)
        .ok_or("/proc/stat does not tell what was stolen from these CPUs")?;
    let virtual_machine = || read("/proc/cpuinfo").is_ok_and(|text| text.contains("hypervisor"));
    if ticks == 0 && virtual_machine() {
        return Err("this machine is a virtual one, but its host tells no steal".to_string());
    }
    // SAFETY: has no preconditions.
    let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Ok(ticks * 1_000_000_000 / hz)
}

/// The eighth number of each of these CPUs' lines, added up; absent: some line is not there, or
/// tells of no time at all, as sandboxes' do.
fn stolen_ticks(stat: &str, cpus: &[u32]) -> Option<i64> {
    let of = |cpu: &u32| {
        let name = format!("cpu{cpu}");
        let line = stat
            .lines()
            .find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '))?;
        let ticks: Vec<i64> = line
            .split_ascii_whitespace()
            .map_while(|number| number.parse().ok())
            .collect();
        let told = ticks.iter().any(|ticks| *ticks > 0);
        ticks.get(7).copied().filter(|_| told)
    };
    cpus.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  7 0 0 0 0 0 0 60 0 0\n\
                        cpu0 1 2 3 4 5 6 7 40 0 0\n\
                        cpu1 1 2 3 4 5 6 7 20 0 0\n\
                        cpu10 1 2 3 4 5 6 7 9 0 0\n\
                        cpu3 0 0 0 0 0 0 0 0 0 0\n\
                        cpu4 1 2 3\n";

    #[test]
    fn steal_is_of_the_cpus_that_are_asked_for() {
        assert_eq!(stolen_ticks(STAT, &[0, 1]), Some(60));
        assert_eq!(stolen_ticks(STAT, &[1]), Some(20));
        assert_eq!(stolen_ticks(STAT, &[10]), Some(9));
    }

    #[test]
    fn what_is_not_told_is_absent() {
        assert_eq!(stolen_ticks(STAT, &[0, 2]), None);
        assert_eq!(stolen_ticks(STAT, &[3]), None);
        assert_eq!(stolen_ticks(STAT, &[4]), None);
        assert_eq!(stolen_ticks("", &[0]), None);
    }
}
