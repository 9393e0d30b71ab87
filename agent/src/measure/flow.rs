//! The data itself: one thread and one buffer a stream, and no more in between than the kernel's
//! call. The code is the same at both ends, so that directions compare.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::measure::gate::Gate;
use crate::peer::wire::MESSAGE_LIMIT;

/// Longest that a write waits before it looks whether it is still to be sent.
const PATIENCE: Duration = Duration::from_millis(20);
/// Of one read.
const READ: usize = 256 << 10;

/// Sends whenever the gate is open, until it is over.
pub fn send(mut stream: &TcpStream, gate: &Gate) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let buffer = vec![0x5a; MESSAGE_LIMIT as usize];
    while let Some(write_bytes) = gate.wait() {
        let message = &buffer[..(write_bytes as usize).min(buffer.len())];
        // What a write left over is written before the next.
        let mut left = message;
        while gate.is_open_for(write_bytes) {
            match stream.write(left) {
                Ok(written) if written == left.len() => left = message,
                Ok(written) => left = &left[written..],
                Err(error) if is_delay(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Reads until the other end has closed.
pub fn receive(mut stream: &TcpStream, received: &AtomicU64) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    let mut total = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(got) => {
                total += got as u64;
                // Nobody else writes it.
                received.store(total, Relaxed);
            }
            Err(error) if is_delay(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_delay(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
