//! The host's counters over a trial: the groups of platforms, steal, pressure.

use crate::cgroup::{self, places, Counter, Counters, Peak, Place};
use crate::record::Watch;

/// Worker, metric, source, value.
pub type Figure = (Option<u32>, &'static str, &'static str, i64);

/// Everything that is differenced over one trial, as it was at its start.
pub struct Host {
    groups: Vec<Watched>,
    /// Steal and pressure: the counter, how it is called, and what it said.
    machine: Vec<(Counter, &'static str, &'static str, i64)>,
}

struct Watched {
    worker: Option<u32>,
    counters: Counters,
    before: cgroup::Reading,
    peak: Option<Peak>,
}

impl Host {
    pub fn watch(watch: &Watch) -> Self {
        let here = places("self");
        let groups = watch.groups.iter().map(|group| {
            let places = places(&group.pid.to_string());
            let own = places
                .into_iter()
                .filter(|place| !shared(place, &here))
                .collect();
            Watched::new(group.worker, own)
        });
        let groups = groups.collect();
        // SAFETY: no preconditions.
        let tick = 1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
        let machine = [
            (steal(tick), "steal_ns", "stat"),
            (pressure(), "cpu_pressure_ns", "system"),
        ];
        let machine = machine.into_iter().filter_map(|(counter, metric, source)| {
            let counter = counter?;
            let before = counter.read()?;
            Some((counter, metric, source, before))
        });
        Self {
            machine: machine.collect(),
            groups,
        }
    }

    pub fn collect(&self) -> Vec<Figure> {
        let machine = self
            .machine
            .iter()
            .filter_map(|(counter, metric, source, before)| {
                Some((None, *metric, *source, counter.read()? - before))
            });
        machine
            .chain(self.groups.iter().flat_map(Watched::collect))
            .collect()
    }
}

impl Watched {
    fn new(worker: Option<u32>, own: Vec<Place>) -> Self {
        let mut peak = Peak::open(&own).filter(Peak::can_begin);
        if let Some(peak) = &mut peak {
            peak.begin();
        }
        let counters = Counters::of(&own);
        Self {
            worker,
            before: counters.read(),
            counters,
            peak,
        }
    }

    fn collect(&self) -> Vec<Figure> {
        let counted = self.counters.read().since(&self.before);
        let figures = [
            ("cpu_ns", counted.cpu_ns),
            ("throttled_ns", counted.throttled_ns),
            ("memory_bytes", self.peak.as_ref().and_then(Peak::read)),
        ];
        figures
            .into_iter()
            .filter_map(|(metric, value)| Some((self.worker, metric, "host_cgroup", value?)))
            .collect()
    }
}

/// Whether the group is not the platform's: the observer lives in it, or everybody does.
fn shared(place: &Place, here: &[Place]) -> bool {
    place.directory == place.mount || here.iter().any(|own| own.directory == place.directory)
}

/// The eighth number of /proc/stat's first line.
fn steal(tick_ns: i64) -> Option<Counter> {
    Counter::nth("/proc/stat", "cpu ", 7, tick_ns)
}

fn pressure() -> Option<Counter> {
    Counter::open("/proc/pressure/cpu", "total=", 1000)
}
