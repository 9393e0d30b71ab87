//! The host's counters of the groups of platforms over a trial.

use record::Watch;
use sys::cgroup::{self, places, Counters, Peak, Place};

/// Worker, metric, source, value.
pub type Figure = (Option<u32>, &'static str, &'static str, i64);

/// The groups of a trial's platforms, as they were at its start.
pub struct Host {
    groups: Vec<Watched>,
}

struct Watched {
    worker: Option<u32>,
    counters: Counters,
    before: cgroup::Reading,
    /// As the load on services began, and what was counted until it ended.
    load: (Option<cgroup::Reading>, Option<cgroup::Reading>),
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
        Self {
            groups: groups.collect(),
        }
    }

    pub fn load(&mut self, begins: bool) {
        for group in &mut self.groups {
            let now = group.counters.read();
            if begins {
                group.load = (Some(now), None);
            } else if let (Some(before), counted) = &mut group.load {
                *counted = Some(now.since(before));
            }
        }
    }

    pub fn collect(&self) -> Vec<Figure> {
        self.groups.iter().flat_map(Watched::collect).collect()
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
            load: (None, None),
            counters,
            peak,
        }
    }

    fn collect(&self) -> Vec<Figure> {
        let counted = self.counters.read().since(&self.before);
        // Without a quota there are no periods, and none of them was cut short.
        let quota = counted.periods.filter(|periods| *periods > 0);
        let load = self.load.1.unwrap_or_default();
        let figures = [
            ("cpu_ns", counted.cpu_ns),
            ("throttled_ns", counted.throttled_ns),
            ("throttled_periods", quota.and(counted.throttled_periods)),
            ("periods", quota),
            ("memory_bytes", self.peak.as_ref().and_then(Peak::read)),
            ("service_cpu_ns", load.cpu_ns),
            ("service_throttled_ns", load.throttled_ns),
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
