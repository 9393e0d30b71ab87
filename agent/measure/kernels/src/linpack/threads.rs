//! Threads that share one solve, piece by piece.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use sys::futex;

/// Turns that a thread waits for the others before it sleeps: about as long as a piece takes, so
/// that under a quota it does not use up the others' time.
const PATIENCE: u32 = 10_000;
/// Should a call to wake up be missed.
const NAP_NS: i64 = 10_000_000;

pub struct Threads {
    shared: Arc<Shared>,
    others: Vec<JoinHandle<()>>,
}

type Work = *const (dyn Fn() + Sync);

struct Shared {
    round: AtomicU32,
    /// Threads that are not through with this round.
    busy: AtomicU32,
    sleeping: AtomicUsize,
    work: UnsafeCell<Option<Work>>,
}

// SAFETY: the work is set before a round begins, and read only while it lasts.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Threads {
    /// So many, the calling one included.
    pub fn new(count: usize) -> Result<Self, String> {
        let shared = Arc::new(Shared {
            round: AtomicU32::new(0),
            busy: AtomicU32::new(0),
            sleeping: AtomicUsize::new(0),
            work: UnsafeCell::new(None),
        });
        let mut threads = Self {
            shared,
            others: Vec::new(),
        };
        for _ in 1..count {
            let shared = threads.shared.clone();
            let other = thread::Builder::new()
                .spawn(move || shared.attend())
                .map_err(|why| format!("cannot start {count} threads: {why}"))?;
            threads.others.push(other);
        }
        Ok(threads)
    }

    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// Does something for each item; a thread that is done with one takes the next.
    pub fn each(
        &self,
        items: impl Iterator<Item = usize> + Clone + Sync,
        work: impl Fn(usize) + Sync,
    ) {
        if self.others.is_empty() {
            return items.for_each(work);
        }
        let taken = AtomicUsize::new(0);
        let share = || {
            while let Some(item) = items.clone().nth(taken.fetch_add(1, SeqCst)) {
                work(item);
            }
        };
        self.shared.begin(self.others.len() as u32, Some(&share));
        share();
        self.shared.wait(&self.shared.busy, |busy| busy == 0);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.begin(0, None);
        for other in self.others.drain(..) {
            let _ = other.join();
        }
    }
}

impl Shared {
    fn begin(&self, busy: u32, work: Option<&(dyn Fn() + Sync)>) {
        // SAFETY: nobody is in a round. The work outlives this one: its caller waits for its end.
        unsafe {
            *self.work.get() = work.map(|work| std::mem::transmute::<_, Work>(work));
        }
        self.busy.store(busy, SeqCst);
        self.round.fetch_add(1, SeqCst);
        self.call(&self.round);
    }

    fn attend(&self) {
        for round in 0.. {
            self.wait(&self.round, |now| now != round);
            // SAFETY: the round has begun and is not over before this thread says so.
            match unsafe { *self.work.get() } {
                Some(work) => unsafe { (*work)() },
                None => return,
            }
            if self.busy.fetch_sub(1, SeqCst) == 1 {
                self.call(&self.busy);
            }
        }
    }

    fn wait(&self, word: &AtomicU32, reached: impl Fn(u32) -> bool) {
        for _ in 0..PATIENCE {
            if reached(word.load(SeqCst)) {
                return;
            }
            spin_loop();
        }
        self.sleeping.fetch_add(1, SeqCst);
        loop {
            let value = word.load(SeqCst);
            if reached(value) {
                break;
            }
            futex::wait(word, value, NAP_NS);
        }
        self.sleeping.fetch_sub(1, SeqCst);
    }

    /// Wakes those who sleep until a word changes.
    fn call(&self, word: &AtomicU32) {
        if self.sleeping.load(SeqCst) > 0 {
            futex::wake(word);
        }
    }
}
