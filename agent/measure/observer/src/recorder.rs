//! One event per CPU for the whole session, drained as they fill up and before every answer.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sys::clock;
use sys::perf::{self, waits, Event, Happening, Target, What};

use super::tracker::{Course, Tracker};

/// Pages of each ring: as many as the kernel lets an ordinary user lock for each CPU.
const PAGES: usize = 128;
/// Pages of each ring for waits, which come on top: these records are dropped first.
const WAITS_PAGES: usize = 64;
/// Interval after which it is checked whether the load has ended.
const WAITS_CHECK_NS: i64 = 100_000_000;
/// The last switch away from a process comes after its end has been seen.
const TRIES: u32 = 20;

pub struct Recorder {
    events: Vec<(u32, Event)>,
    switches: bool,
    /// What threads wait for is recorded while services are under load: it takes some time at
    /// every switch.
    waits: Vec<(u32, Event)>,
    /// Whether none of that was lost.
    knows_waits: bool,
    /// Number of loads so far.
    loads: u64,
    /// Not yet in order with what other CPUs recorded.
    pending: Vec<(u32, Happening)>,
    tracker: Tracker,
    /// Lost so far: before this trial, and as recorded in the rings.
    lost_before: u64,
    lost_recorded: u64,
}

/// Processes of the agents and their descendants; none where the kernel does not list the children
/// of one of them, or no agent is visible here.
fn launchers(agents: impl Iterator<Item = u32>) -> Option<HashSet<i32>> {
    let mut found = HashSet::new();
    let mut asked: Vec<i32> = agents.map(|pid| pid as i32).collect();
    while let Some(pid) = asked.pop() {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let children = children.split_whitespace();
        asked.extend(children.filter_map(|child| child.parse::<i32>().ok()));
        found.insert(pid);
    }
    Some(found).filter(|found| !found.is_empty())
}

impl Recorder {
    /// Opens all events and starts the thread that drains them; or says why it may not.
    pub fn start(switches: bool) -> Result<Arc<Mutex<Self>>, String> {
        let mut events = Vec::new();
        for cpu in perf::cpus() {
            match Event::open(Target::Cpu { cpu, switches }, PAGES) {
                Ok(event) => events.push((cpu, event)),
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(perf::refusal(&error)),
            }
        }
        let files: Vec<_> = events.iter().map(|(_, event)| event.as_raw_fd()).collect();
        let recorder = Arc::new(Mutex::new(Self {
            events,
            switches,
            waits: Vec::new(),
            knows_waits: false,
            loads: 0,
            pending: Vec::new(),
            tracker: Tracker::default(),
            lost_before: 0,
            lost_recorded: 0,
        }));
        // The events live as long as the process does.
        Self::drain_in_background(&recorder, files, None, |_| true)
            .map_err(|error| format!("cannot start the thread that drains: {error}"))?;
        Ok(recorder)
    }

    /// A trial is about to start, in which these agents launch.
    pub fn begin(&mut self, nonce: u32, agents: impl Iterator<Item = u32>) {
        self.waits.clear();
        self.knows_waits = false;
        self.drain();
        self.tracker.begin(nonce, launchers(agents));
        self.lost_before = self.lost_so_far();
    }

    /// Starts a thread that empties all rings when one of these files has enough records, and at
    /// such an interval, for as long as a condition holds.
    fn drain_in_background(
        shared: &Arc<Mutex<Self>>,
        files: Vec<RawFd>,
        interval_ns: Option<i64>,
        lasts: impl Fn(&Self) -> bool + Send + 'static,
    ) -> io::Result<()> {
        let shared = Arc::clone(shared);
        let drainer = thread::Builder::new().name("tare-drain".to_string());
        let drained = drainer.spawn(move || loop {
            let deadline_ns = interval_ns.map(|interval| clock::monotonic() + interval);
            if sys::watch::poll_all(&files, deadline_ns).is_err() {
                return;
            }
            let mut recorder = shared.lock().expect("the observer does not panic");
            if !lasts(&recorder) {
                return;
            }
            recorder.drain();
        });
        drained.map(|_| ())
    }

    /// The load on the trial's services begins or has ended.
    pub fn load(shared: &Arc<Mutex<Self>>, begins: bool) {
        // Read before locking: reading the kernel's symbols for the first time takes long.
        let functions_known = begins && waits::known();
        let mut recorder = shared.lock().expect("the recorder does not panic");
        recorder.drain();
        if functions_known && recorder.switches && recorder.tracker.sees_launchers() {
            // Without the right to, what threads wait for is not known.
            recorder.knows_waits = recorder.open_waits(shared).is_ok();
        }
        let now = recorder.drain();
        recorder.tracker.load(begins, now);
        if !begins {
            // Their last records may have been lost with no later one to report it.
            let lost = |(_, event): &(u32, Event)| event.lost().unwrap_or(0) > 0;
            recorder.knows_waits &= !recorder.waits.iter().any(lost);
            recorder.waits.clear();
        }
    }

    /// Starts to record what threads wait for.
    fn open_waits(&mut self, shared: &Arc<Mutex<Self>>) -> io::Result<()> {
        let cpus = self.events.iter().map(|(cpu, _)| *cpu);
        let opened = cpus.map(|cpu| Ok((cpu, Event::open(Target::Waits { cpu }, WAITS_PAGES)?)));
        let opened: Vec<_> = opened.collect::<io::Result<_>>()?;
        let files = opened.iter().map(|(_, event)| event.as_raw_fd()).collect();
        self.loads += 1;
        let load = self.loads;
        Self::drain_in_background(shared, files, Some(WAITS_CHECK_NS), move |recorder| {
            recorder.loads == load && !recorder.waits.is_empty()
        })?;
        self.waits = opened;
        Ok(())
    }

    /// Whether it is known what threads waited for under load.
    pub fn knows_waits(&self) -> bool {
        self.knows_waits
    }

    /// What became of the trial's processes.
    pub fn collect(&mut self, trial: u64) -> Vec<Course> {
        for _ in 0..TRIES {
            self.drain();
            if self.pending.is_empty() && self.tracker.is_over(trial, self.switches) {
                break;
            }
            thread::sleep(Duration::from_micros(500));
        }
        self.tracker.courses(trial)
    }

    /// Whether it is told when threads leave their CPUs.
    pub fn knows_switches(&self) -> bool {
        self.switches
    }

    /// Records lost since the trial began, if any.
    pub fn lost(&self) -> Option<u64> {
        Some(self.lost_so_far() - self.lost_before).filter(|lost| *lost > 0)
    }

    fn lost_so_far(&self) -> u64 {
        let counted: Option<u64> = self.events.iter().map(|(_, event)| event.lost()).sum();
        counted.unwrap_or(self.lost_recorded)
    }

    /// Empties all rings, up to a time that is returned. What is newer than the beginning is held
    /// back: something older may have come to a ring after that was emptied.
    fn drain(&mut self) -> i64 {
        let now = clock::monotonic();
        for (cpu, event) in &self.events {
            event.drain(|happening| {
                if let What::Lost(count) = happening.what {
                    self.lost_recorded += count;
                }
                self.pending.push((*cpu, happening));
            });
        }
        for (cpu, event) in &self.waits {
            event.drain(|happening| match happening.what {
                What::Lost(_) => self.knows_waits = false,
                _ => self.pending.push((*cpu, happening)),
            });
        }
        self.pending.sort_by_key(|(_, happening)| happening.time_ns);
        let ripe = self
            .pending
            .partition_point(|(_, happening)| happening.time_ns < now);
        for (cpu, happening) in self.pending.drain(..ripe) {
            self.tracker.take(cpu, &happening);
        }
        now
    }
}
