//! Connecting with a congestion control that holds from the first segment on: one that paces, such
//! as BBR, leaves its pacing to whichever follows it on the same connection.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

use sys::clock;

use crate::traffic::tcp;

/// Paces nothing, and is in every kernel.
pub const PLAIN: &str = "reno";

/// Connects; `congestion` absent: by the kernel's default.
pub fn connect(
    to: &SocketAddr,
    congestion: Option<&str>,
    patience: Duration,
) -> io::Result<TcpStream> {
    let Some(congestion) = congestion else {
        return TcpStream::connect_timeout(to, patience);
    };
    let family = if to.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: a new descriptor, which nobody else has.
    let stream = match unsafe { libc::socket(family, kind, 0) } {
        -1 => return Err(io::Error::last_os_error()),
        // SAFETY: as above.
        file => unsafe { TcpStream::from_raw_fd(file) },
    };
    tcp::control_congestion(&stream, Some(congestion))?;
    begin(&stream, to)?;
    await_answer(&stream, patience)?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn begin(stream: &TcpStream, to: &SocketAddr) -> io::Result<()> {
    // SAFETY: structures of numbers, as long as is said.
    let done = unsafe {
        match to {
            SocketAddr::V4(to) => {
                let mut name: libc::sockaddr_in = zeroed();
                name.sin_family = libc::AF_INET as libc::sa_family_t;
                name.sin_port = to.port().to_be();
                name.sin_addr.s_addr = u32::from_ne_bytes(to.ip().octets());
                let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
                libc::connect(stream.as_raw_fd(), (&raw const name).cast(), size)
            }
            SocketAddr::V6(to) => {
                let mut name: libc::sockaddr_in6 = zeroed();
                name.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                name.sin6_port = to.port().to_be();
                name.sin6_addr.s6_addr = to.ip().octets();
                name.sin6_flowinfo = to.flowinfo();
                name.sin6_scope_id = to.scope_id();
                let size = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
                libc::connect(stream.as_raw_fd(), (&raw const name).cast(), size)
            }
        }
    };
    let error = io::Error::last_os_error();
    match done {
        0 => Ok(()),
        _ if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        _ => Err(error),
    }
}

fn await_answer(stream: &TcpStream, patience: Duration) -> io::Result<()> {
    let until_ns = clock::monotonic() + patience.as_nanos() as i64;
    loop {
        let mut file = libc::pollfd {
            fd: stream.as_raw_fd(),
            events: libc::POLLOUT,
            revents: 0,
        };
        let timeout = clock::timespec(until_ns - clock::monotonic());
        // SAFETY: one record; no signal mask.
        let ready = unsafe { libc::ppoll(&mut file, 1, &timeout, std::ptr::null()) };
        let error = io::Error::last_os_error();
        match ready {
            0 => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "connection timed out",
                ))
            }
            1 => return stream.take_error()?.map_or(Ok(()), Err),
            _ if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn it_connects_with_what_was_asked_or_says_why_not() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // Not every machine speaks version 6.
            let Ok(listener) = TcpListener::bind(host) else {
                continue;
            };
            let to = listener.local_addr().unwrap();
            let stream = connect(&to, Some(PLAIN), Duration::from_secs(5)).unwrap();
            assert_eq!(tcp::control_congestion(&stream, None).unwrap(), PLAIN);
            assert_eq!(stream.peer_addr().unwrap(), to);
            let why = connect(&to, Some("nosuch"), Duration::from_secs(5)).unwrap_err();
            assert_eq!(why.raw_os_error(), Some(libc::ENOENT));
            drop(listener);
            let why = connect(&to, Some(PLAIN), Duration::from_secs(5)).unwrap_err();
            assert_eq!(why.kind(), io::ErrorKind::ConnectionRefused);
        }
    }
}
