//! The kernel's routing socket (rtnetlink), as far as networks are made and shaped by it.
//!
//! A socket belongs to the network namespace in which it was opened, wherever it is used later.

pub mod interface;
pub mod links;
mod message;
pub mod traffic;

use std::fmt;
use std::fs;
use std::io;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use message::{attributes, Message, Reply};

/// No answer to one of our questions is longer; what is longer is refused, not cut.
const ANSWER: usize = 1 << 16;
/// The kernel answers while it is asked; this bounds only what should not happen.
const PATIENCE_S: libc::time_t = 10;

/// What the kernel would not do, and what it says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub errno: i32,
    /// Words of the kernel's own, where it has any.
    pub said: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, form: &mut fmt::Formatter) -> fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);
        match &self.said {
            Some(said) => write!(form, "{} ({error})", said.trim_end_matches('.')),
            None => write!(form, "{error}"),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self {
            errno: error.raw_os_error().unwrap_or(libc::EIO),
            said: None,
        }
    }
}

pub struct Socket {
    file: OwnedFd,
    sequence: u32,
}

impl Socket {
    /// Opens one in the network namespace of this thread.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: a new descriptor.
        let file = match unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) } {
            -1 => return Err(io::Error::last_os_error()),
            // SAFETY: nobody else has it.
            file => unsafe { OwnedFd::from_raw_fd(file) },
        };
        let socket = Self { file, sequence: 0 };
        // Words beside error numbers, and without the request in front of them. An old kernel has
        // neither, and refuses by number alone.
        let _ = socket.set(libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, &1i32);
        let _ = socket.set(libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, &1i32);
        let patience = libc::timeval {
            tv_sec: PATIENCE_S,
            tv_usec: 0,
        };
        socket.set(libc::SOL_SOCKET, libc::SO_RCVTIMEO, &patience)?;
        Ok(socket)
    }

    fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        let size = size_of_val(value) as libc::socklen_t;
        let start = std::ptr::from_ref(value).cast();
        // SAFETY: as many bytes as are said.
        match unsafe { libc::setsockopt(self.file.as_raw_fd(), level, name, start, size) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Has something done, and waits until it is.
    pub fn order(&mut self, message: Message) -> Result<(), Refusal> {
        self.send(message, libc::NLM_F_ACK as u16)?;
        self.receive().map(|_| ())
    }

    /// Asks for one thing.
    pub fn ask(&mut self, message: Message) -> Result<Reply, Refusal> {
        // Without it the kernel tells of disciplines and classes only those who listen for changes.
        self.send(message, libc::NLM_F_ECHO as u16)?;
        self.receive()?.ok_or(Refusal {
            errno: libc::EPROTO,
            said: Some("an acknowledgement where an answer was expected".to_string()),
        })
    }

    fn send(&mut self, message: Message, flags: u16) -> Result<(), Refusal> {
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = message.finish(libc::NLM_F_REQUEST as u16 | flags, self.sequence);
        let (start, size) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: as many bytes as are said.
        match unsafe { libc::send(self.file.as_raw_fd(), start, size, 0) } {
            -1 => Err(io::Error::last_os_error().into()),
            _ => Ok(()),
        }
    }

    /// The answer to the last request; None: it is acknowledged.
    fn receive(&mut self) -> Result<Option<Reply>, Refusal> {
        let mut room = vec![0; ANSWER];
        loop {
            let (start, size) = (room.as_mut_ptr().cast(), room.len());
            // SAFETY: as much room as is said.
            let got = unsafe { libc::recv(self.file.as_raw_fd(), start, size, libc::MSG_TRUNC) };
            if got < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(error.into());
            }
            if got as usize > room.len() {
                return Err(io::Error::from_raw_os_error(libc::EMSGSIZE).into());
            }
            for reply in message::replies(&room[..got as usize]) {
                // What is left of a question that was given up is not this one's answer.
                if reply.sequence == self.sequence {
                    return judged(reply);
                }
            }
        }
    }
}

fn judged(reply: Reply) -> Result<Option<Reply>, Refusal> {
    if reply.kind != libc::NLMSG_ERROR as u16 {
        return Ok(Some(reply));
    }
    let errno = reply.i32_at(0).unwrap_or(-libc::EPROTO);
    if errno == 0 {
        return Ok(None);
    }
    /// The header of our own request comes back, its body does not (NETLINK_CAP_ACK).
    const SKIPPED: usize = 4 + 16;
    /// NLMSGERR_ATTR_MSG
    const WORDS: u16 = 1;
    let words = attributes(reply.after(SKIPPED))
        .find(|(kind, _)| *kind == WORDS)
        .map(|(_, text)| message::text(text));
    Err(Refusal {
        errno: -errno,
        said: words.filter(|said| !said.is_empty()),
    })
}

/// Lets the network namespace of this thread send nothing by itself, and forget what a
/// connection learned of the way: that would slow the next one down, shaped otherwise by then.
pub fn quieten() {
    // A kernel without IPv6 has no such file.
    for which in ["all", "default"] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
    }
    let _ = fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_words_of_the_kernel() {
        // As the kernel answered `tc qdisc add dev lo root netem`.
        let mut body = (-libc::ENOENT).to_ne_bytes().to_vec();
        body.extend([0; 16]);
        let words = b"Specified qdisc kind is unknown\0";
        body.extend((4 + words.len() as u16).to_ne_bytes());
        body.extend(1u16.to_ne_bytes());
        body.extend(words);
        let reply = Reply {
            kind: libc::NLMSG_ERROR as u16,
            sequence: 1,
            body,
        };
        let refusal = judged(reply).unwrap_err();
        assert_eq!(refusal.errno, libc::ENOENT);
        let told = refusal.to_string();
        assert!(
            told.starts_with("Specified qdisc kind is unknown (No such file"),
            "{told}"
        );
    }

    #[test]
    fn what_is_cut_short_is_refused_without_words() {
        for body in [vec![], vec![255], (-libc::EPERM).to_ne_bytes().to_vec()] {
            let reply = Reply {
                kind: libc::NLMSG_ERROR as u16,
                sequence: 1,
                body,
            };
            assert_eq!(judged(reply).unwrap_err().said, None);
        }
    }

    #[test]
    fn loopback_is_there() {
        let mut socket = Socket::open().unwrap();
        assert_eq!(links::index(&mut socket, "lo").unwrap(), 1);
        let refusal = links::index(&mut socket, "nosuch0").unwrap_err();
        assert_eq!(refusal.errno, libc::ENODEV, "{refusal}");
    }
}
