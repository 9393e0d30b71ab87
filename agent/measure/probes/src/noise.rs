//! What takes a CPU away from a program that wants it all the time: "selfish detour".
//!
//! Every usable CPU spins on the clock at once, and whenever two readings lie far apart, it has
//! been elsewhere in between. At once, since whatever the machine has to do must then be done on
//! one of them: one after the other, it would be done on those that nobody looks at. (Where a
//! control group's quota is below the number of CPUs, this shows as long detours, which is what
//! any program with as many threads would meet.)

use sys::clock;

use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};
use crate::timing::at_once;

const CPU: Axis = Axis {
    name: "cpu",
    unit: "1",
    meaning: "the CPU that was to spin",
};
const LENGTH: Axis = Axis {
    name: "length_ns",
    unit: "ns",
    meaning: "from this length up to its double; the last bin holds all that is longer",
};

const fn figure(
    name: &'static str,
    unit: &'static str,
    axes: &'static [Axis],
    meaning: &'static str,
) -> Metric {
    Metric {
        name,
        unit,
        meaning,
        axes,
        listed: false,
        better: Better::Lower,
        // Counts of what comes at random: from one minute to the next they double.
        margin: 1.0,
    }
}

pub const PROBE: Probe = Probe {
    name: "noise",
    title: "noise of the operating system",
    question: "How much of a CPU does something else take, how often and for how long?",
    source: Some("Beckman et al. 2006, selfish detour; the kernel's osnoise tracer"),
    metrics: &[
        figure(
            "noise.lost",
            "1",
            &[],
            "share of the time that all CPUs together spent in detours: times of at least 500 ns \
             (or twenty readings of the clock) in which a program that only reads the clock did \
             not run",
        ),
        figure(
            "noise.worst",
            "ns",
            &[],
            "longest detour of any CPU; absent: there was none",
        ),
        figure(
            "noise.share",
            "1",
            &[CPU],
            "share of a CPU's time that was spent in detours",
        ),
        figure("noise.rate", "Hz", &[CPU], "detours a second"),
        figure(
            "noise.typical",
            "ns",
            &[CPU],
            "median length of a detour; absent: there was none",
        ),
        figure(
            "noise.longest",
            "ns",
            &[CPU],
            "longest detour; absent: there was none",
        ),
        Metric {
            better: Better::Neither,
            ..figure(
                "noise.period",
                "ns",
                &[CPU],
                "time after which detours come again and again, such as the timer's tick; absent: \
                 none is regular",
            )
        },
        figure(
            "noise.length",
            "Hz",
            &[CPU, LENGTH],
            "detours a second of some length",
        ),
    ],
    seconds: Seconds {
        brief: None,
        quick: Some(0.5),
        whole: Some(1.0),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// Above all that a program does to itself (a miss in every cache is some 100 ns), below the
/// shortest interrupt (about 1 µs).
const SHORTEST_NS: i64 = 500;
/// So many readings of the clock in a row are a detour, however slow it is.
const READINGS: i64 = 20;
/// Lengths that are told apart, each the double of the one before: up to 64 ms.
const BINS: usize = 18;
/// Detours that are kept; a round that has met as many ends early.
const MOST: usize = 1 << 16;

fn perform(round: &Round) -> Result<(), String> {
    let mut cpus = round.cpus.clone();
    cpus.sort_unstable();
    let budget = round.budget_ns();
    let courses = at_once(&cpus, |_| Course::watch(budget))?;
    for (cpu, course) in cpus.iter().zip(&courses) {
        course.tell(round, i64::from(*cpu));
    }
    let lost: i64 = courses.iter().map(Course::lost_ns).sum();
    let elapsed: i64 = courses.iter().map(|course| course.elapsed_ns).sum();
    round.read("noise.lost", lost as f64 / elapsed as f64);
    if let Some(worst) = courses.iter().filter_map(Course::longest_ns).max() {
        round.read("noise.worst", worst as f64);
    }
    Ok(())
}

/// When a CPU was elsewhere, since the round began.
#[derive(Clone, Copy)]
struct Detour {
    start_ns: i64,
    length_ns: i64,
}

/// What one CPU met.
struct Course {
    elapsed_ns: i64,
    detours: Vec<Detour>,
}

impl Course {
    fn watch(budget_ns: i64) -> Self {
        let nothing = Detour {
            start_ns: 0,
            length_ns: 0,
        };
        // Touched before, so that no page is missing when the first detour is noted.
        let mut detours = vec![nothing; MOST];
        detours.clear();
        let least = SHORTEST_NS.max(READINGS * reading_ns());
        let start = clock::monotonic();
        let mut last = start;
        while last - start < budget_ns && detours.len() < MOST {
            let now = clock::monotonic();
            if now - last >= least {
                detours.push(Detour {
                    start_ns: last - start,
                    length_ns: now - last,
                });
            }
            last = now;
        }
        Self {
            elapsed_ns: last - start,
            detours,
        }
    }

    fn tell(&self, round: &Round, cpu: i64) {
        let seconds = self.elapsed_ns as f64 / 1e9;
        let share = self.lost_ns() as f64 / self.elapsed_ns as f64;
        round.read_at("noise.share", &[cpu], share);
        round.read_at("noise.rate", &[cpu], self.detours.len() as f64 / seconds);
        for (metric, value) in [
            ("noise.typical", self.typical_ns()),
            ("noise.longest", self.longest_ns()),
            ("noise.period", period_ns(&self.detours, self.elapsed_ns)),
        ] {
            if let Some(value) = value {
                round.read_at(metric, &[cpu], value as f64);
            }
        }
        for (bin, count) in self.lengths().into_iter().enumerate() {
            let at = [cpu, SHORTEST_NS << bin];
            round.read_at("noise.length", &at, count as f64 / seconds);
        }
    }

    fn lost_ns(&self) -> i64 {
        self.detours.iter().map(|detour| detour.length_ns).sum()
    }

    fn longest_ns(&self) -> Option<i64> {
        self.detours.iter().map(|detour| detour.length_ns).max()
    }

    fn typical_ns(&self) -> Option<i64> {
        let mut lengths: Vec<_> = self.detours.iter().map(|detour| detour.length_ns).collect();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).copied()
    }

    fn lengths(&self) -> [u64; BINS] {
        let mut counts = [0; BINS];
        for detour in &self.detours {
            let doubled = (detour.length_ns / SHORTEST_NS).max(1).ilog2() as usize;
            counts[doubled.min(BINS - 1)] += 1;
        }
        counts
    }
}

/// What a reading of the clock takes that nothing disturbs.
fn reading_ns() -> i64 {
    const ROW: i64 = 100;
    let rows = (0..50).map(|_| {
        let start = clock::monotonic();
        for _ in 1..ROW {
            clock::monotonic();
        }
        (clock::monotonic() - start) / ROW
    });
    rows.min().expect("some rows")
}

/// Detours that are looked at for what is regular, and of each the next ones.
const LOOKED_AT: usize = 8192;
const NEXT: usize = 64;
/// Distances are the same when they differ by so much of themselves: a tick is late at times.
const JITTER: f64 = 0.02;
/// Of the times at which something regular would come, so many must be seen; never fewer than
/// `FEWEST`, and `BEYOND_CHANCE` times as many as detours at random would give.
const SEEN: f64 = 0.5;
const FEWEST: usize = 10;
const BEYOND_CHANCE: f64 = 3.0;

/// The shortest distance at which detours follow each other again and again.
fn period_ns(detours: &[Detour], elapsed_ns: i64) -> Option<i64> {
    let detours = &detours[..detours.len().min(LOOKED_AT)];
    let elapsed = match detours.last() {
        Some(last) if detours.len() == LOOKED_AT => last.start_ns,
        _ => elapsed_ns,
    };
    let distances = distances(detours, elapsed / FEWEST as i64);
    let near = |index: usize| {
        let least = distances[index];
        let beyond = (least as f64 * (1.0 + JITTER)) as i64;
        &distances[index..distances.partition_point(|distance| *distance <= beyond)]
    };
    let chance = (detours.len() as f64).powi(2) / elapsed as f64;
    let regular = |index: &usize| {
        let distance = distances[*index] as f64;
        let count = near(*index).len();
        count >= FEWEST
            && count as f64 >= SEEN * elapsed as f64 / distance
            && count as f64 >= BEYOND_CHANCE * chance * JITTER * distance
    };
    let first = (0..distances.len()).find(regular)?;
    // That is where the peak begins; it is highest a little later.
    let peak = (first..first + near(first).len()).max_by_key(|index| near(*index).len())?;
    let peak = near(peak);
    Some(peak[peak.len() / 2])
}

/// From each detour's beginning to that of the next ones, sorted.
fn distances(detours: &[Detour], longest: i64) -> Vec<i64> {
    let mut distances: Vec<_> = (0..detours.len())
        .flat_map(|first| {
            let next = detours[first + 1..].iter().take(NEXT);
            next.map(move |detour| detour.start_ns - detours[first].start_ns)
        })
        .filter(|distance| *distance <= longest)
        .collect();
    distances.sort_unstable();
    distances
}

#[cfg(test)]
mod tests;
