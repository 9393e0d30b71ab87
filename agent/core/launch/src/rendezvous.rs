//! Where the workers of all instances of a trial meet: zeroed shared memory, which no path leads
//! to. The front hands it out to the agents of a trial, each agent to its workers, before anything
//! is launched, so that what is launched can neither open nor forge it.
//!
//! Every party has a word of its own in which it writes the number of the round that it has
//! arrived at; whoever sees all others there releases the round. A party that has failed marks
//! its word as left, so that nobody waits for it. A party that dies without a word is found out:
//! each holds a lock on its byte of the file, which the kernel drops with its last process.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};
use std::time::Duration;

use sys::mapping::{self, Mapping};
use sys::{clock, descriptors, futex};

/// The front makes it of this size.
pub const SIZE: usize = 4096;
/// The front hands it out at once.
const FRONT: Duration = Duration::from_secs(10);
/// Parties that fit into it.
pub const PARTIES: usize = 990;

/// A party's word: the round that it has arrived at, and these.
const JOINED: u32 = 1 << 29;
const FINISHED: u32 = 1 << 30;
const LEFT: u32 = 1 << 31;
const ROUND: u32 = JOINED - 1;
/// How often those who wait look whether the others still live.
const PATIENCE_NS: i64 = 250_000_000;

#[repr(C)]
struct Layout {
    /// The last round that everybody has arrived at; rounds count from 1.
    released: AtomicU32,
    /// Changes when a party finishes or leaves.
    changes: AtomicU32,
    /// Stamps of the last rounds, by number modulo their count.
    passages: [Passage; 4],
    /// What the parties agree on: zero until one has said something.
    agreed: AtomicI64,
    parties: [AtomicU32; PARTIES],
}

/// When the first and the last party went through a round.
#[repr(C)]
struct Passage {
    /// All bits but of the earliest stamp, so that zero means none and the maximum wins.
    inverted_first: AtomicU64,
    last: AtomicU64,
    through: AtomicU32,
    _unused: u32,
}

const _: () = assert!(std::mem::size_of::<Layout>() <= SIZE);

/// The memory of a meeting: what the front hands out for a token, or, where all parties are in
/// this instance, new.
pub fn memory(meeting: &record::Rendezvous) -> io::Result<OwnedFd> {
    match &meeting.handout {
        Some(handout) => fetch(handout),
        None => mapping::memory_file(SIZE),
    }
}

/// Asks the front for the memory.
fn fetch(handout: &record::Handout) -> io::Result<OwnedFd> {
    let mut front = UnixStream::connect(&handout.socket)?;
    front.set_read_timeout(Some(FRONT))?;
    front.set_write_timeout(Some(FRONT))?;
    front.write_all(format!("{}\n", handout.token).as_bytes())?;
    let mut byte = [0];
    match descriptors::receive(&front, &mut byte)? {
        (1.., Some(memory)) => Ok(memory),
        _ => Err(io::Error::other("the front does not hand it out")),
    }
}

/// One party's view of the meeting.
pub struct Rendezvous {
    file: OwnedFd,
    map: Mapping,
    party: usize,
    parties: usize,
}

impl Rendezvous {
    /// Takes a party's place in the memory of a meeting.
    pub fn join(memory: OwnedFd, party: u32, parties: u32) -> Result<Self, String> {
        // Locks belong to an opening of the file, so each party needs one of its own.
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        let own = OpenOptions::new().read(true).write(true).open(path);
        let alone = own.is_ok();
        let meeting = Self::of(own.map_or(memory, OwnedFd::from), party, parties)?;
        // Where there are no such locks, only time-outs tell that a party has died.
        if alone && meeting.lock() {
            meeting.place(meeting.party).fetch_or(JOINED, AcqRel);
        }
        Ok(meeting)
    }

    /// The same party's place in another process of it, which got the file from it.
    pub fn of(file: impl Into<OwnedFd>, party: u32, parties: u32) -> Result<Self, String> {
        if parties as usize > PARTIES || party >= parties {
            return Err(format!(
                "worker {party} of {parties} cannot meet the others: at most {PARTIES} can"
            ));
        }
        let file = File::from(file.into());
        let length = file.metadata().map_or(0, |meta| meta.len());
        if length < SIZE as u64 {
            return Err(format!(
                "the memory of the rendezvous has {length} bytes instead of {SIZE}"
            ));
        }
        let file = OwnedFd::from(file);
        let map = Mapping::shared(file.as_fd(), SIZE)
            .map_err(|error| format!("cannot map the rendezvous: {error}"))?;
        Ok(Self {
            file,
            map,
            party: party as usize,
            parties: parties as usize,
        })
    }

    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    pub fn party(&self) -> u32 {
        self.party as u32
    }

    pub fn parties(&self) -> u32 {
        self.parties as u32
    }

    /// Arrives, waits for the others, and stamps the passage; callable between fork and exec.
    pub fn meet(&self, round: u32) {
        let place = self.place(self.party);
        // Before it looks for the others: of two who arrive at once, one must see the other.
        place.store(round | place.load(Acquire) & JOINED, SeqCst);
        self.release();
        loop {
            let released = self.layout().released.load(Acquire);
            if released >= round {
                break;
            }
            futex::wait(&self.layout().released, released, PATIENCE_NS);
            if self.layout().released.load(Acquire) == released {
                self.mark_the_dead();
            }
        }
        let now = clock::monotonic() as u64;
        let passage = self.passage(round);
        passage.inverted_first.fetch_max(!now, Relaxed);
        passage.last.fetch_max(now, Relaxed);
        passage.through.fetch_add(1, AcqRel);
    }

    /// Whether this party has arrived at the round and waits for others.
    pub fn waits(&self, round: u32) -> bool {
        let arrived = self.place(self.party).load(Acquire) & ROUND;
        arrived == round && self.layout().released.load(Acquire) < round
    }

    /// Time between the first and the last party through a recent round, once all are.
    pub fn skew_ns(&self, round: u32) -> Option<i64> {
        let passage = self.passage(round);
        let through = passage.through.load(Acquire) as usize;
        let first = !passage.inverted_first.load(Relaxed);
        (through == self.parties).then(|| (passage.last.load(Relaxed) - first) as i64)
    }

    /// What the first party to propose something has proposed, once there is one.
    pub fn agree(&self, proposed: Option<i64>) -> Option<i64> {
        let word = &self.layout().agreed;
        if let Some(proposed) = proposed {
            let _ = word.compare_exchange(0, proposed, AcqRel, Relaxed);
        }
        Some(word.load(Acquire)).filter(|agreed| *agreed != 0)
    }

    /// This party has done what is measured; it may keep the load on.
    pub fn finish(&self) {
        self.mark(self.party, FINISHED);
    }

    /// Nobody waits for this party any more.
    pub fn leave(&self) {
        self.mark(self.party, LEFT);
    }

    /// Whether nobody measures any more; who has never come does not count.
    pub fn all_finished(&self) -> bool {
        self.states()
            .all(|state| state == 0 || state & (FINISHED | LEFT) != 0)
    }

    /// Sleeps until somebody finishes or leaves, at most so long.
    pub fn sleep(&self, nanoseconds: i64) {
        let changes = self.layout().changes.load(Acquire);
        if !self.all_finished() {
            futex::wait(&self.layout().changes, changes, nanoseconds);
        }
    }

    /// Marks parties that have been here and whose processes are gone.
    pub fn mark_the_dead(&self) {
        for party in 0..self.parties {
            let state = self.place(party).load(Acquire);
            if party != self.party && state & (JOINED | LEFT) == JOINED && !self.is_locked(party) {
                self.mark(party, LEFT);
            }
        }
    }

    fn mark(&self, party: usize, flag: u32) {
        self.place(party).fetch_or(flag, SeqCst);
        self.layout().changes.fetch_add(1, AcqRel);
        futex::wake(&self.layout().changes);
        self.release();
    }

    /// Releases the next round if everybody who has not left is there.
    fn release(&self) {
        let released = self.layout().released.load(Acquire);
        let next = released + 1;
        let there = |state: u32| state & LEFT != 0 || state & ROUND >= next;
        if !self.states().all(there) || self.states().all(|state| state & LEFT != 0) {
            return;
        }
        // Everybody has gone through the round before this one, so the oldest stamps are free.
        let oldest = self.passage(next + 1);
        oldest.inverted_first.store(0, Relaxed);
        oldest.last.store(0, Relaxed);
        oldest.through.store(0, Relaxed);
        let word = &self.layout().released;
        if word
            .compare_exchange(released, next, AcqRel, Relaxed)
            .is_ok()
        {
            futex::wake(word);
        }
    }

    fn is_locked(&self, party: usize) -> bool {
        let mut lock = byte(party);
        // SAFETY: reads and writes one flock.
        let result = unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
        result != 0 || i32::from(lock.l_type) != libc::F_UNLCK
    }

    fn lock(&self) -> bool {
        // SAFETY: reads one flock.
        unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLK, &byte(self.party)) == 0 }
    }

    fn states(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.parties).map(|party| self.place(party).load(SeqCst))
    }

    fn place(&self, party: usize) -> &AtomicU32 {
        &self.layout().parties[party]
    }

    fn passage(&self, round: u32) -> &Passage {
        let passages = &self.layout().passages;
        &passages[round as usize % passages.len()]
    }

    fn layout(&self) -> &Layout {
        // SAFETY: everything in it is atomic and valid for any bytes.
        unsafe { self.map.at(0) }
    }
}

/// A write lock on a party's byte.
fn byte(party: usize) -> libc::flock {
    // SAFETY: all fields are numbers.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = party as libc::off_t;
    lock.l_len = 1;
    lock
}

#[cfg(test)]
mod tests;
