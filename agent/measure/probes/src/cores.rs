//! How long a word takes from one CPU to another.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use sys::clock;

use crate::affinity::pin;
use crate::chase::shuffle;
use crate::probe::{Axis, Better, Metric, Need, Probe, Round, Seconds};
use crate::processes::refusal;

pub const PROBE: Probe = Probe {
    name: "cores",
    title: "from core to core",
    question: "How long does a changed cache line take from one CPU to another?",
    source: Some("core-to-core-latency; multichase pingpong"),
    metrics: &[Metric {
        name: "cores.latency",
        unit: "ns",
        meaning: "One way: half a round trip of a cache line between two threads, each bound to \
                  its CPU, that take turns to compare and swap it; least of windows. The same in \
                  both directions, so `from` is the lower number. Of very many pairs, each round \
                  takes others at random",
        axes: &[
            Axis {
                name: "from",
                unit: "1",
                meaning: "Number of a CPU",
            },
            Axis {
                name: "to",
                unit: "1",
                meaning: "Number of another",
            },
        ],
        listed: false,
        better: Better::Lower,
        margin: 0.1,
    }],
    seconds: Seconds {
        brief: None,
        quick: Some(0.1),
        whole: Some(1.0),
    },
    repeats: true,
    needs: &[Need::SeveralCpus],
    perform,
};

/// Of one pair: two threads that are made and moved, and some windows.
const LEAST_SHARE_NS: i64 = 3_000_000;
/// So long a thread may take to get its CPU from somebody else's.
const PATIENCE_NS: i64 = 30_000_000;
/// Some 20 microseconds: few enough that both CPUs run all along, now and then.
const TRIPS: u32 = 100;

fn perform(round: &Round) -> Result<(), String> {
    let budget = round.budget_ns();
    let end = clock::monotonic() + 3 * budget;
    let mut pairs = pairs(&round.cpus);
    shuffle(&mut pairs, &mut round.random());
    pairs.truncate((budget / LEAST_SHARE_NS) as usize);
    if pairs.is_empty() {
        return Err("there is only one CPU to be used here".to_string());
    }
    let share = budget / pairs.len() as i64;
    let mut failures = Vec::new();
    for (from, to) in &pairs {
        if clock::monotonic() > end {
            failures.push(format!("CPU {from} and {to}: no time was left"));
            continue;
        }
        match latency(*from, *to, share) {
            Ok(latency) => {
                round.read_at(
                    "cores.latency",
                    &[i64::from(*from), i64::from(*to)],
                    latency,
                );
            }
            Err(why) => failures.push(format!("CPU {from} and {to}: {why}")),
        }
    }
    match failures.as_slice() {
        [] => {}
        [only] => round.unavailable("cores.latency", only),
        [first, ..] => {
            let (failed, all) = (failures.len(), pairs.len());
            let why = format!("{failed} of {all} pairs could not be measured; {first}");
            round.unavailable("cores.latency", why);
        }
    }
    Ok(())
}

/// All pairs of some CPUs, the lower number first.
fn pairs(cpus: &[u32]) -> Vec<(u32, u32)> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    let below = |to: usize| (0..to).map(move |from| (from, to));
    let places = (0..cpus.len()).flat_map(below);
    places.map(|(from, to)| (cpus[from], cpus[to])).collect()
}

/// A word on lines of its own: some CPUs fetch lines by twos.
#[repr(align(256))]
struct Line(AtomicU32);

const PING: u32 = 0;
const PONG: u32 = 1;
const STOP: u32 = 2;

/// Least time one way.
fn latency(from: u32, to: u32, share_ns: i64) -> Result<f64, String> {
    let line = Line(AtomicU32::new(PING));
    thread::scope(|scope| {
        let partner = thread::Builder::new()
            .spawn_scoped(scope, || pin(to).map(|()| answer(&line)))
            .map_err(|error| format!("no second thread: {}", refusal(error)))?;
        let least = pin(from).map(|()| bounce(&line, share_ns));
        line.0.store(STOP, Ordering::Release);
        partner.join().expect("it does not panic")?;
        least?.ok_or_else(|| {
            let waited = (PATIENCE_NS + share_ns) / 1_000_000;
            format!("they were not to be had at the same time for {waited} ms")
        })
    })
}

/// Windows of round trips; nothing where the partner is not there.
fn bounce(line: &Line, share_ns: i64) -> Option<f64> {
    if !trips(line, 1, clock::monotonic() + PATIENCE_NS) {
        return None;
    }
    let end = clock::monotonic() + share_ns;
    let mut least: Option<i64> = None;
    loop {
        let start = clock::monotonic();
        if start >= end || !trips(line, TRIPS, end) {
            break;
        }
        let taken = clock::monotonic() - start;
        least = Some(least.map_or(taken, |least| least.min(taken)));
    }
    least.map(one_way)
}

/// Nanoseconds of one way, where `TRIPS` there and back took so long.
fn one_way(taken_ns: i64) -> f64 {
    taken_ns as f64 / f64::from(2 * TRIPS)
}

/// Takes the line, each time that it has come back, and sends it there again, so many times;
/// whether that was done in time.
fn trips(line: &Line, count: u32, end: i64) -> bool {
    const BETWEEN_LOOKS: u32 = 1 << 12;
    for _ in 0..count {
        let mut attempts = 0_u32;
        while swap(line, PING, PONG).is_err() {
            attempts += 1;
            if attempts % BETWEEN_LOOKS == 0 && clock::monotonic() > end {
                return false;
            }
        }
    }
    true
}

/// The partner's part. To look before the swap would fetch the line twice: to read, to write.
fn answer(line: &Line) {
    while swap(line, PONG, PING) != Err(STOP) {}
}

fn swap(line: &Line, from: u32, to: u32) -> Result<u32, u32> {
    line.0
        .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_one_way() {
        assert_eq!(one_way(2000), 10.0);
    }

    #[test]
    fn the_line_goes_to_and_fro() {
        let line = Line(AtomicU32::new(PING));
        thread::scope(|scope| {
            scope.spawn(|| answer(&line));
            assert!(trips(&line, 50, i64::MAX));
            line.0.store(STOP, Ordering::Release);
        });
        assert_eq!(line.0.into_inner(), STOP);
    }

    #[test]
    fn a_partner_that_never_answers_is_given_up() {
        let line = Line(AtomicU32::new(PONG));
        assert!(!trips(&line, 1, clock::monotonic()));
        assert_eq!(line.0.load(Ordering::Relaxed), PONG);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_told() {
        let here = sys::topology::usable().unwrap()[0];
        assert!(latency(here, 16000, 0).unwrap_err().contains("16000"));
        assert!(latency(16000, here, 0).unwrap_err().contains("16000"));
    }

    #[test]
    fn each_pair_is_taken_once() {
        let all = pairs(&[3, 1, 0, 2]);
        assert_eq!(all, [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]);
        assert!(pairs(&[7]).is_empty());
    }
}
