//! One event per CPU for the whole session, drained as they fill up and before every answer.

use std::collections::HashSet;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sys::clock;
use sys::perf::{self, waits, Event, Happening, Target, What};

use super::tracker::{Course, Tracker};

/// Pages of each ring: as many as the kernel lets an ordinary user lock for each CPU.
const PAGES: usize = 128;
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
    /// Not yet in order with what other CPUs recorded.
    pending: Vec<(u32, Happening)>,
    tracker: Tracker,
    /// Lost so far: before this trial, and as recorded in the rings.
    lost_before: u64,
    lost_recorded: u64,
}

/// Agents with what they have forked so far; none where that is not known of all of them, or
/// there are none that are seen here.
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
            pending: Vec::new(),
            tracker: Tracker::default(),
            lost_before: 0,
            lost_recorded: 0,
        }));
        let shared = Arc::clone(&recorder);
        let drainer = thread::Builder::new().name("tare-drain".to_string());
        let drained = drainer.spawn(move || loop {
            // The events live as long as the process does.
            if sys::watch::poll_all(&files, None).is_err() {
                return;
            }
            let mut recorder = shared.lock().expect("the observer does not panic");
            recorder.drain();
        });
        drained.map_err(|error| format!("cannot start the thread that drains: {error}"))?;
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

    /// The load on the trial's services begins or has ended.
    pub fn load(&mut self, begins: bool) {
        self.drain();
        if begins && self.switches && self.tracker.sees_launchers() && waits::known() {
            let cpus = self.events.iter().map(|(cpu, _)| *cpu);
            let opened = cpus.map(|cpu| Ok((cpu, Event::open(Target::Waits { cpu }, PAGES)?)));
            // Without the right to, what threads wait for is not known.
            self.waits = opened.collect::<io::Result<_>>().unwrap_or_default();
            self.knows_waits = !self.waits.is_empty();
        }
        let now = self.drain();
        self.tracker.load(begins, now);
        if !begins {
            self.waits.clear();
        }
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

    /// Empties all rings, up to a time that is returned. What is newer than the beginning is held back: something older may
    /// have come to a ring after that was emptied.
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
