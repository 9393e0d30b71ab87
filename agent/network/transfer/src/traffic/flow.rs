//! The data itself: one thread and one buffer a stream, and no more in between than the kernel's
//! call. The code is the same at both ends, so that directions compare.

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;
use std::time::Duration;

use crate::traffic::gate::Gate;
use crate::traffic::histogram::Counter;
use crate::traffic::segments::Segments;
use crate::traffic::tcp;
use crate::wire::MESSAGE_LIMIT;

/// Longest that a write waits before it looks whether it is still to be sent.
const PATIENCE: Duration = Duration::from_millis(20);
/// Of one read.
const READ: usize = 256 << 10;

/// Sends whenever the gate is open, until it is over. `sent`: bytes that were written; `times`: round
/// trips of some of the segments.
pub fn send(
    stream: &TcpStream,
    gate: &Gate,
    sent: &AtomicU64,
    times: &Mutex<Counter>,
) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut segments = Segments::new(stream, times);
    let buffer = vec![0x5a; MESSAGE_LIMIT as usize];
    let mut total = 0;
    while let Some(write_bytes) = gate.wait() {
        let message = &buffer[..(write_bytes as usize).min(buffer.len())];
        // What a write left over is written before the next.
        let mut left = message;
        while gate.is_open_for(write_bytes) {
            let written = match segments.write(left) {
                Ok(written) => written,
                Err(error) if is_delay(&error) => continue,
                Err(error) => return Err(error),
            };
            total += written as u64;
            // Nobody else writes it.
            sent.store(total, Relaxed);
            left = match &left[written..] {
                [] => message,
                rest => rest,
            };
        }
        segments.pause();
    }
    Ok(())
}

/// Reads until the other end has closed. `gate`: how much the other end writes at a time.
pub fn receive(mut stream: &TcpStream, gate: &Gate, received: &AtomicU64) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    let mut total = 0;
    let mut waking = Waking::default();
    waking.apply(stream)?;
    loop {
        let changed = match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(got) => {
                total += got as u64;
                // Nobody else writes it.
                received.store(total, Relaxed);
                let changed = waking.read(got, gate.write_bytes());
                if waking.is_to_rest(got) {
                    std::thread::sleep(Waking::REST);
                }
                changed
            }
            Err(error) if is_delay(&error) => waking.pause(),
            Err(error) => return Err(error),
        };
        if changed {
            waking.apply(stream)?;
        }
    }
}

/// When a reader is woken: for every byte, unless what comes is so little at a time that being
/// woken costs more than reading; then for more at once, or when it has waited.
#[derive(Default)]
struct Waking {
    is_seldom: bool,
    write_bytes: u32,
    reads: usize,
    bytes: usize,
}

impl Waking {
    /// Of so many reads, it is less on average than so many bytes.
    const LOOK: usize = 64;
    const LITTLE: usize = 8 << 10;
    const MORE: libc::c_int = 64 << 10;
    const WAIT: Duration = Duration::from_millis(4);
    /// After so many reads of more, it is looked at again.
    const LOOK_AGAIN: usize = 4096;
    /// Writes below it are for the sender's kernel to join. It does so while one is not
    /// acknowledged, and a kernel that is to wake its reader for more acknowledges each at once: so
    /// this reader rests by itself.
    const JOINED: u32 = 4 << 10;
    const REST: Duration = Duration::from_micros(100);

    /// Whether it is to be different from now on.
    fn read(&mut self, got: usize, write_bytes: u32) -> bool {
        if self.write_bytes != write_bytes {
            let was_more = self.is_for_more();
            *self = Self {
                write_bytes,
                ..Self::default()
            };
            return was_more;
        }
        self.reads += 1;
        self.bytes += got;
        let (enough, is_seldom) = if self.is_seldom {
            (Self::LOOK_AGAIN, false)
        } else {
            (Self::LOOK, self.bytes < Self::LOOK * Self::LITTLE)
        };
        self.reads >= enough && self.turn(is_seldom)
    }

    /// Nothing has come for a while.
    fn pause(&mut self) -> bool {
        self.turn(false)
    }

    fn turn(&mut self, is_seldom: bool) -> bool {
        let is_new = self.is_seldom != is_seldom;
        *self = Self {
            is_seldom,
            write_bytes: self.write_bytes,
            ..Self::default()
        };
        is_new
    }

    fn is_for_more(&self) -> bool {
        self.is_seldom && self.write_bytes >= Self::JOINED
    }

    fn is_to_rest(&self, got: usize) -> bool {
        self.is_seldom && self.write_bytes < Self::JOINED && got < Self::MORE as usize
    }

    fn apply(&self, stream: &TcpStream) -> io::Result<()> {
        let is_for_more = self.is_for_more();
        stream.set_read_timeout(is_for_more.then_some(Self::WAIT))?;
        tcp::wake_for(stream, if is_for_more { Self::MORE } else { 1 })
    }
}

fn is_delay(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::Arc;

    use super::*;

    /// How often it turns.
    fn turns(waking: &mut Waking, reads: usize, got: usize) -> usize {
        let write_bytes = waking.write_bytes;
        (0..reads).filter(|_| waking.read(got, write_bytes)).count()
    }

    #[test]
    fn who_reads_little_is_woken_seldom_and_looks_again() {
        let mut waking = Waking::default();
        assert!(!waking.read(1000, Waking::JOINED));
        assert_eq!(turns(&mut waking, 200, 64 << 10), 0);
        assert_eq!(turns(&mut waking, 128, 1000), 1);
        assert!(waking.is_seldom);
        assert_eq!(turns(&mut waking, 4096, 64 << 10), 1);
        assert!(!waking.is_seldom);
        turns(&mut waking, 128, 1000);
        assert!(waking.is_seldom && waking.pause());
        assert!(!waking.pause());
    }

    #[test]
    fn who_reads_small_writes_rests_by_itself_until_they_are_others() {
        let mut waking = Waking::default();
        assert!(!waking.read(1000, 1024));
        assert_eq!(turns(&mut waking, 128, 1000), 1);
        assert!(waking.is_to_rest(1000) && !waking.is_to_rest(64 << 10));
        assert!(!waking.is_for_more());
        assert!(!waking.read(1000, Waking::JOINED));
        assert!(!waking.is_to_rest(1000));
        assert_eq!(turns(&mut waking, 128, 1000), 1);
        assert!(waking.is_for_more() && !waking.is_to_rest(1000));
        assert!(waking.read(1000, 1024));
        assert!(!waking.is_for_more());
    }

    #[test]
    fn all_that_is_sent_is_received_whatever_comes_last() {
        all_is_received(Waking::JOINED);
        all_is_received(1024);
    }

    fn all_is_received(write_bytes: u32) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        ours.set_nodelay(true).unwrap();
        let theirs = listener.accept().unwrap().0;
        let received = Arc::<AtomicU64>::default();
        let gate = Gate::default();
        gate.open(write_bytes);
        let thread = {
            let received = Arc::clone(&received);
            std::thread::spawn(move || receive(&theirs, &gate, &received))
        };
        let mut sent = 0;
        for size in (0..400).map(|number| number % 7 * 100 + 1) {
            ours.write_all(&vec![1; size]).unwrap();
            sent += size as u64;
        }
        // Less than a reader is woken for.
        while received.load(Relaxed) < sent {
            std::thread::yield_now();
        }
        drop(ours);
        thread.join().unwrap().unwrap();
        assert_eq!(received.load(Relaxed), sent);
    }
}
