//! How long threads were ready to run and had no CPU, as the kernel counts it of each.
//!
//! The kernel adds a wait when it ends, so that a long one is counted in the interval in which the
//! thread runs again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use sys::usage;

/// Of the thread that opens it; reading it costs about a microsecond.
const SCHEDSTAT: &str = "/proc/thread-self/schedstat";
/// What a kernel says that does not count.
const NOT_COUNTED: &[u8] = b"0 0 0\n";
/// Three numbers of up to 20 digits.
const ROOM: usize = 64;

/// The threads of one end of a measurement, by what they do.
#[derive(Default)]
pub struct Roles {
    pub sending: Threads,
    pub receiving: Threads,
    /// Those that send the small messages, or return them.
    pub pinging: Threads,
    /// For which those that send them waited while none was on its way.
    left_out_ns: AtomicU64,
}

impl Roles {
    pub fn waited(&self) -> Waited {
        Waited {
            sending_ns: self.sending.waited_ns(),
            receiving_ns: self.receiving.waited_ns(),
            pinging_ns: (self.pinging.waited_ns())
                .map(|ns| ns.saturating_sub(self.left_out_ns.load(Relaxed))),
        }
    }

    /// Counts a wait of a thread that sends small messages as none of theirs.
    pub fn leave_out(&self, ns: u64) {
        self.left_out_ns.fetch_add(ns, Relaxed);
    }
}

/// What the calling thread itself waits.
pub struct Own(Option<File>);

impl Own {
    pub fn open() -> Self {
        Self(File::open(SCHEDSTAT).ok())
    }

    /// Since it began; None: it cannot be looked at.
    pub fn waited_ns(&self) -> Option<u64> {
        read(self.0.as_ref()?)
    }
}

/// Threads that have joined. None: one of them cannot be looked at.
pub struct Threads(Mutex<Option<Vec<File>>>);

impl Default for Threads {
    fn default() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }
}

impl Threads {
    /// Counts the calling thread from now on, until it ends.
    pub fn join(&self) {
        let mut threads = self.lock();
        match (File::open(SCHEDSTAT), threads.as_mut()) {
            (Ok(file), Some(threads)) => threads.push(file),
            _ => *threads = None,
        }
    }

    /// Since each began, of all together.
    fn waited_ns(&self) -> Option<u64> {
        self.lock().as_ref()?.iter().map(read).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<File>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(file: &File) -> Option<u64> {
    let mut room = [0; ROOM];
    let length = file.read_at(&mut room, 0).ok()?;
    let text = &room[..length];
    if text == NOT_COUNTED {
        return None;
    }
    u64::try_from(usage::run_queue_wait(text)?).ok()
}

/// How long the threads of one end waited for a CPU; absent where the kernel does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Waited {
    pub sending_ns: Option<u64>,
    pub receiving_ns: Option<u64>,
    pub pinging_ns: Option<u64>,
}

impl Waited {
    pub fn since(self, before: Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    pub fn and(self, next: Self) -> Self {
        self.with(next, u64::saturating_add)
    }

    /// Without what is longer than so many threads can have waited in such a time.
    pub fn within(self, time_ns: u64, threads: u32) -> Self {
        let most = |threads: u32| time_ns.saturating_mul(threads.into());
        Self {
            sending_ns: self.sending_ns.filter(|ns| *ns <= most(threads)),
            receiving_ns: self.receiving_ns.filter(|ns| *ns <= most(threads)),
            pinging_ns: self.pinging_ns.filter(|ns| *ns <= most(1)),
        }
    }

    fn with(self, other: Self, of: fn(u64, u64) -> u64) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| Some(of(a?, b?));
        Self {
            sending_ns: both(self.sending_ns, other.sending_ns),
            receiving_ns: both(self.receiving_ns, other.receiving_ns),
            pinging_ns: both(self.pinging_ns, other.pinging_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{mpsc, Arc};

    use super::*;

    #[test]
    fn threads_are_counted_while_they_live() {
        let roles = Arc::<Roles>::default();
        assert_eq!(roles.waited().sending_ns, Some(0));
        let (end, ended) = mpsc::channel::<()>();
        let (joined, has_joined) = mpsc::channel();
        let thread = {
            let roles = Arc::clone(&roles);
            std::thread::spawn(move || {
                roles.sending.join();
                joined.send(()).unwrap();
                let _ = ended.recv();
            })
        };
        has_joined.recv().unwrap();
        // A kernel that does not count says nothing of anybody.
        let counts = std::fs::read(SCHEDSTAT).is_ok_and(|text| text != NOT_COUNTED);
        assert_eq!(roles.waited().sending_ns.is_some(), counts);
        drop(end);
        thread.join().unwrap();
        assert_eq!(roles.waited().sending_ns, None);
        assert_eq!(roles.waited().receiving_ns, Some(0));
    }

    #[test]
    fn a_wait_that_delays_no_message_is_left_out() {
        let roles = Arc::<Roles>::default();
        std::thread::spawn(move || {
            roles.pinging.join();
            let own = Own::open();
            let Some(mut idle) = own.waited_ns() else {
                return; // This kernel does not count.
            };
            // More threads that never rest than CPUs, until this one has waited.
            let busy = Arc::new(());
            for _ in 0..=std::thread::available_parallelism().map_or(1, usize::from) {
                let busy = Arc::downgrade(&busy);
                std::thread::spawn(move || while busy.strong_count() > 0 {});
            }
            while idle == 0 {
                idle = own.waited_ns().unwrap();
            }
            assert!(roles.waited().pinging_ns.unwrap() >= idle);
            roles.leave_out(idle);
            drop(busy);
            let told = roles.waited().pinging_ns.unwrap();
            assert!(told <= own.waited_ns().unwrap() - idle);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_wait_longer_than_all_the_time_is_absent() {
        let waited = Waited {
            sending_ns: Some(20),
            receiving_ns: Some(21),
            pinging_ns: Some(11),
        };
        let within = waited.within(10, 2);
        assert_eq!(within.sending_ns, Some(20));
        assert_eq!((within.receiving_ns, within.pinging_ns), (None, None));
    }

    #[test]
    fn what_one_of_them_does_not_tell_is_absent() {
        let some = |sending_ns| Waited {
            sending_ns,
            receiving_ns: Some(5),
            pinging_ns: None,
        };
        let since = some(Some(9)).since(some(Some(4)));
        assert_eq!(since.sending_ns, Some(5));
        assert_eq!(since.receiving_ns, Some(0));
        assert_eq!(since.pinging_ns, None);
        assert_eq!(some(Some(9)).and(some(None)).sending_ns, None);
    }
}
