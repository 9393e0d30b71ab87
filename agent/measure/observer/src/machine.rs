//! What is counted of the whole machine over a trial: steal, pressure, heat, frequency.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use sys::cgroup::Counter;

use super::host::Figure;

/// Reading a frequency may interrupt its CPU, so it is done seldom.
const EVERY: Duration = Duration::from_millis(100);

/// Counters of the machine, found once.
pub struct Machine {
    totals: Vec<Total>,
    /// One for each CPU; none where there is no driver.
    frequencies: Arc<Vec<Counter>>,
}

/// Counters of which the sum is told.
struct Total {
    metric: &'static str,
    source: &'static str,
    counters: Vec<Counter>,
}

/// The machine as it was at a trial's start.
pub struct Watched {
    before: Vec<Option<i64>>,
    frequency: Option<Sampler>,
}

impl Machine {
    /// As the kernel tells of it below these directories, mostly /proc and /sys.
    pub fn of(proc: &Path, sys: &Path) -> Self {
        // SAFETY: no preconditions.
        let tick = 1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
        // The eighth number of the first line.
        let steal = Counter::nth(proc.join("stat"), "cpu ", 7, tick);
        let pressure = Counter::open(proc.join("pressure/cpu"), "total=", 1000);
        let total = |metric, source, counters| Total {
            metric,
            source,
            counters,
        };
        let disks = DISKS.iter().map(|(metric, places, unit)| {
            total(*metric, "diskstats", of_disks(sys, places, *unit))
        });
        let mut totals = vec![
            total("steal_ns", "stat", steal.into_iter().collect()),
            total("cpu_pressure_ns", "system", pressure.into_iter().collect()),
            total(
                "thermal_throttles",
                "sysfs",
                of_cpus(sys, "thermal_throttle/core_throttle_count", 1),
            ),
        ];
        totals.extend(disks);
        Self {
            totals,
            frequencies: Arc::new(of_cpus(sys, "cpufreq/scaling_cur_freq", 1000)),
        }
    }

    pub fn watch(&self) -> Watched {
        let some = !self.frequencies.is_empty();
        Watched {
            before: self.totals.iter().map(Total::read).collect(),
            frequency: some
                .then(|| Sampler::start(self.frequencies.clone(), EVERY))
                .flatten(),
        }
    }

    /// What has been counted since.
    pub fn collect(&self, watched: Watched) -> Vec<Figure> {
        let counted = self.totals.iter().zip(&watched.before);
        let counted = counted.filter_map(|(total, before)| {
            let value = total.read()? - (*before)?;
            Some((None, total.metric, total.source, value))
        });
        let mut figures: Vec<_> = counted.collect();
        let hz = watched.frequency.and_then(Sampler::stop);
        figures.extend(hz.map(|hz| (None, "frequency_hz", "cpufreq", hz)));
        figures
    }
}

impl Total {
    fn read(&self) -> Option<i64> {
        let read = self.counters.iter().filter_map(Counter::read);
        read.reduce(|sum, one| sum + one)
    }
}

/// A file of each CPU that has it.
fn of_cpus(sys: &Path, file: &str, unit: i64) -> Vec<Counter> {
    let folder = fs::read_dir(sys.join("devices/system/cpu"));
    let cpus = folder.into_iter().flatten().flatten().filter(|entry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    cpus.filter_map(|cpu| Counter::open(cpu.path().join(file), "", unit))
        .collect()
}

/// Of each disk: what its numbers are called, where in its line they are, and their unit.
const DISKS: [(&str, &[usize], i64); 6] = [
    ("disk_reads", &[0], 1),
    ("disk_writes", &[4], 1),
    ("disk_read_bytes", &[2], SECTOR),
    ("disk_write_bytes", &[6], SECTOR),
    ("disk_wait_ns", &[3, 7], MILLISECOND),
    ("disk_busy_ns", &[9], MILLISECOND),
];
const SECTOR: i64 = 512;
const MILLISECOND: i64 = 1_000_000;

/// Numbers of every disk that is a thing of its own: what lies above others (device mapper, RAID,
/// loop) would be counted twice.
fn of_disks(sys: &Path, places: &[usize], unit: i64) -> Vec<Counter> {
    let folder = fs::read_dir(sys.join("block"));
    let disks = folder
        .into_iter()
        .flatten()
        .flatten()
        .map(|disk| disk.path());
    let own = disks.filter(|disk| disk.join("device").exists());
    own.flat_map(|disk| {
        let numbers = places
            .iter()
            .filter_map(|place| Counter::nth(disk.join("stat"), "", *place, unit));
        numbers.collect::<Vec<_>>()
    })
    .collect()
}

/// Reads frequencies now and then, as long as a trial goes on.
struct Sampler {
    end: Sender<()>,
    thread: JoinHandle<Option<i64>>,
}

impl Sampler {
    fn start(frequencies: Arc<Vec<Counter>>, every: Duration) -> Option<Self> {
        let (end, ended) = channel();
        let sample = move || {
            let (mut sum, mut count) = (0, 0);
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                for hz in frequencies.iter().filter_map(Counter::read) {
                    sum += hz;
                    count += 1;
                }
            }
            (count > 0).then(|| sum / count)
        };
        let thread = Builder::new().spawn(sample).ok()?;
        Some(Self { end, thread })
    }

    /// Mean over all CPUs and all times.
    fn stop(self) -> Option<i64> {
        drop(self.end);
        self.thread.join().ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Files of a machine with two CPUs, one of which counts thermal throttling.
    fn made_up(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("tare-{name}-{}", std::process::id()));
        for (file, text) in [
            ("stat", "cpu  1 2 3 4 5 6 7 8 9 0\n"),
            (
                "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
                "2000000\n",
            ),
            (
                "devices/system/cpu/cpu1/cpufreq/scaling_cur_freq",
                "3000000\n",
            ),
            (
                "devices/system/cpu/cpu1/thermal_throttle/core_throttle_count",
                "5\n",
            ),
            ("devices/system/cpu/cpufreq/boost", "1\n"),
            (
                "block/vda/stat",
                "10 0 100 7 20 0 200 8 0 9 15 0 0 0 0 0 0\n",
            ),
            ("block/vda/device/vendor", "\n"),
            ("block/dm-0/stat", "1 0 1 1 1 0 1 1 0 1 1 0 0 0 0 0 0\n"),
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn what_is_counted_is_told_as_a_difference() {
        let root = made_up("heat");
        let machine = Machine::of(&root, &root);
        let watched = machine.watch();
        let count = "devices/system/cpu/cpu1/thermal_throttle/core_throttle_count";
        fs::write(root.join(count), "7\n").unwrap();
        let stat = "12 0 116 9 23 0 208 13 0 10 15 0 0 0 0 0 0\n";
        fs::write(root.join("block/vda/stat"), stat).unwrap();
        fs::write(root.join("block/dm-0/stat"), stat).unwrap();
        let figures = machine.collect(watched);
        assert!(
            figures.contains(&(None, "thermal_throttles", "sysfs", 2)),
            "{figures:?}"
        );
        assert!(
            figures.contains(&(None, "steal_ns", "stat", 0)),
            "{figures:?}"
        );
        assert!(figures.iter().all(|figure| figure.1 != "cpu_pressure_ns"));
        let disks: Vec<_> = figures
            .iter()
            .filter(|figure| figure.2 == "diskstats")
            .map(|figure| (figure.1, figure.3))
            .collect();
        assert_eq!(
            disks,
            [
                ("disk_reads", 2),
                ("disk_writes", 3),
                ("disk_read_bytes", 16 * 512),
                ("disk_write_bytes", 8 * 512),
                ("disk_wait_ns", 7 * 1_000_000),
                ("disk_busy_ns", 1_000_000),
            ]
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn frequencies_are_meant_over_cpus_and_time() {
        let root = made_up("frequency");
        let files = Arc::new(of_cpus(&root, "cpufreq/scaling_cur_freq", 1000));
        assert_eq!(files.len(), 2);
        let sampler = Sampler::start(files.clone(), Duration::from_millis(1)).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(sampler.stop(), Some(2_500_000_000));
        let at_once = Sampler::start(files, Duration::from_secs(60)).unwrap();
        assert_eq!(at_once.stop(), None);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_machine_that_tells_nothing_has_no_figures() {
        let nowhere = Path::new("/nowhere");
        let machine = Machine::of(nowhere, nowhere);
        let watched = machine.watch();
        assert!(watched.frequency.is_none());
        assert!(machine.collect(watched).is_empty());
    }
}
