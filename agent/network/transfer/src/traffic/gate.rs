//! Whether threads are to send, and how much at a time: one word that they look at between writes.

use std::sync::atomic::{AtomicU32, Ordering};

use sys::futex;

const CLOSED: u32 = 0;
const OVER: u32 = u32::MAX;
/// Who waits looks again after so long, whether woken or not.
const LOOK_NS: i64 = 1_000_000_000;

/// Bytes of a write while it is open.
#[derive(Default)]
pub struct Gate(AtomicU32);

impl Gate {
    pub fn open(&self, write_bytes: u32) {
        self.turn(write_bytes);
    }

    pub fn close(&self) {
        self.turn(CLOSED);
    }

    /// For good: whoever waits is let go.
    pub fn end(&self) {
        self.turn(OVER);
    }

    fn turn(&self, word: u32) {
        if self.0.swap(word, Ordering::Release) != word {
            futex::wake(&self.0);
        }
    }

    /// How many bytes a write has, once it is open; None: over.
    pub fn wait(&self) -> Option<u32> {
        loop {
            match self.0.load(Ordering::Acquire) {
                CLOSED => futex::wait(&self.0, CLOSED, LOOK_NS),
                OVER => return None,
                write_bytes => return Some(write_bytes),
            }
        }
    }

    /// How many bytes a write has while it is open; none while it is closed or over.
    #[inline]
    pub fn write_bytes(&self) -> u32 {
        match self.0.load(Ordering::Relaxed) {
            OVER => CLOSED,
            word => word,
        }
    }

    /// Whether it still is as it was when `wait` returned.
    #[inline]
    pub fn is_open_for(&self, write_bytes: u32) -> bool {
        self.0.load(Ordering::Relaxed) == write_bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{mpsc, Arc};

    use super::*;

    #[test]
    fn who_waits_is_told_the_size_and_let_go_at_the_end() {
        let gate = Arc::new(Gate::default());
        let waiting = Arc::clone(&gate);
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while let Some(size) = waiting.wait() {
                tell.send(size).unwrap();
                while waiting.is_open_for(size) {
                    std::thread::yield_now();
                }
            }
        });
        gate.open(7);
        assert_eq!(told.recv(), Ok(7));
        gate.open(9);
        assert_eq!(told.recv(), Ok(9));
        assert_eq!(gate.write_bytes(), 9);
        gate.close();
        assert_eq!(gate.write_bytes(), 0);
        gate.end();
        assert_eq!(gate.write_bytes(), 0);
        thread.join().unwrap();
        assert_eq!(gate.wait(), None);
    }
}
