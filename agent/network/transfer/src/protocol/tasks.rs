//! What an end does, over loopback as over a network: the same code, so that figures compare.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;

use sys::clock;

use crate::wire::{MESSAGE_LIMIT, TOKEN};

/// Sends every message back.
pub fn echo(stream: &mut TcpStream, message: &mut [u8], count: u64) -> io::Result<()> {
    for _ in 0..count {
        stream.read_exact(message)?;
        stream.write_all(message)?;
    }
    Ok(())
}

/// Reads so many bytes, and says when it has them all.
pub fn take(stream: &mut TcpStream, buffer: &mut [u8], bytes: u64) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        // What is beyond belongs to whatever comes next.
        let most = left.min(buffer.len() as u64) as usize;
        match stream.read(&mut buffer[..most])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => left -= got as u64,
        }
    }
    stream.write_all(&[1])
}

/// Sends datagrams back to whoever has shown the token, and to nobody else. An empty one of theirs
/// ends it, or the time, or that none comes for as long as the socket waits. None longer than `most`
/// is sent back, or than the token, which is shown again where it was lost.
pub fn return_datagrams(
    socket: &UdpSocket,
    token: &[u8; TOKEN],
    [most, count]: [u64; 2],
    deadline_ns: i64,
) -> io::Result<()> {
    let mut buffer = [0; 65536];
    let mut known = None;
    for _ in 0..count {
        let (length, from) = match socket.recv_from(&mut buffer) {
            Ok(got) => got,
            Err(error) if is_silence(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        if clock::monotonic() > deadline_ns {
            return Ok(());
        }
        if known.is_none() && buffer[..length] == token[..] {
            // From now on the kernel keeps others away.
            socket.connect(from)?;
            known = Some(from);
        }
        if known == Some(from) {
            if length == 0 {
                return Ok(());
            }
            if length as u64 <= most.max(TOKEN as u64) {
                socket.send(&buffer[..length])?;
            }
        }
    }
    Ok(())
}

/// Has the kernel keep more connections for us than the 128 of the standard library: where they
/// come faster than they are accepted, the next would be begun anew after a second.
pub fn lengthen_queue(listener: &TcpListener) -> io::Result<()> {
    // SAFETY: a plain call; the kernel takes less where it has to (net.core.somaxconn).
    match unsafe { libc::listen(listener.as_raw_fd(), 4096) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A buffer that holds the largest message.
pub fn buffer() -> Vec<u8> {
    vec![0x5a; MESSAGE_LIMIT as usize]
}

pub fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
