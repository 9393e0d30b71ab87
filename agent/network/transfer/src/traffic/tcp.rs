//! What the kernel says of a TCP connection, and what it is asked to do with it.

use std::io;
use std::mem::{offset_of, size_of};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A connection to which nothing comes through for so long is lost.
pub const SILENCE: Duration = Duration::from_secs(20);
/// Longest name of a congestion control (TCP_CA_NAME_MAX).
const NAME_MOST: usize = 16;

/// TCP_INFO, as far as this kernel tells it.
pub struct Info {
    all: libc::tcp_info,
    length: usize,
}

/// A field, unless the kernel is too old for it.
macro_rules! field {
    ($info:expr, $name:ident) => {
        $info.told(
            offset_of!(libc::tcp_info, $name) + size_of_val(&$info.all.$name),
            $info.all.$name,
        )
    };
}

impl Info {
    pub fn read(stream: &TcpStream) -> io::Result<Self> {
        // SAFETY: a structure of numbers; the kernel writes no more than it is told there is room.
        unsafe {
            let mut all: libc::tcp_info = std::mem::zeroed();
            let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
            let read = libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut all).cast(),
                &mut length,
            );
            match read {
                0 => Ok(Self {
                    all,
                    length: length as usize,
                }),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// From a complete structure, as a kernel returns that has all fields.
    #[cfg(test)]
    pub fn of(all: libc::tcp_info) -> Self {
        let length = size_of::<libc::tcp_info>();
        Self { all, length }
    }

    fn told<T>(&self, end: usize, value: T) -> Option<T> {
        (end <= self.length).then_some(value)
    }

    pub fn rtt_us(&self) -> u32 {
        self.all.tcpi_rtt
    }

    pub fn variation_us(&self) -> u32 {
        self.all.tcpi_rttvar
    }

    pub fn window_segments(&self) -> u32 {
        self.all.tcpi_snd_cwnd
    }

    pub fn unacked_segments(&self) -> u32 {
        self.all.tcpi_unacked
    }

    /// Payload of a full segment.
    pub fn segment_bytes(&self) -> u32 {
        self.all.tcpi_snd_mss
    }

    /// Counts to 2^32 and then from 0 again, like the segments.
    pub fn retransmits(&self) -> u32 {
        self.all.tcpi_total_retrans
    }

    pub fn segments(&self) -> Option<u32> {
        field!(self, tcpi_data_segs_out)
    }

    pub fn acked_bytes(&self) -> Option<u64> {
        field!(self, tcpi_bytes_acked)
    }

    pub fn min_rtt_us(&self) -> Option<u32> {
        // None was seen yet.
        field!(self, tcpi_min_rtt).filter(|rtt| *rtt != u32::MAX && *rtt > 0)
    }

    pub fn busy_us(&self) -> Option<u64> {
        field!(self, tcpi_busy_time)
    }

    pub fn receiver_limited_us(&self) -> Option<u64> {
        field!(self, tcpi_rwnd_limited)
    }

    pub fn buffer_limited_us(&self) -> Option<u64> {
        field!(self, tcpi_sndbuf_limited)
    }
}

/// Bytes that were written and are not acknowledged.
pub fn outstanding_bytes(stream: &TcpStream) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: writes one number.
    unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) };
    u64::try_from(bytes).unwrap_or(0)
}

/// Sets the congestion control, and returns which is in force.
pub fn control_congestion(stream: &impl AsRawFd, name: Option<&str>) -> io::Result<String> {
    let file = stream.as_raw_fd();
    if let Some(name) = name {
        let length = name.len() as libc::socklen_t;
        let name = name.as_ptr().cast();
        // SAFETY: reads so many bytes.
        let set = unsafe {
            libc::setsockopt(file, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name, length)
        };
        if set != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let mut name = [0_u8; NAME_MOST];
    let mut length = NAME_MOST as libc::socklen_t;
    let room = name.as_mut_ptr().cast();
    // SAFETY: writes at most so many bytes.
    let got = unsafe {
        libc::getsockopt(
            file,
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            room,
            &mut length,
        )
    };
    if got != 0 {
        return Err(io::Error::last_os_error());
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_MOST);
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// The kernel's own choice of congestion control, in this network namespace.
pub fn default_congestion() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok()?;
    Some(text.trim().to_string())
}

/// Has the kernel give the connection up where the other end is silent, also while nothing is sent.
pub fn give_up_in_silence(stream: &TcpStream) -> io::Result<()> {
    let seconds = SILENCE.as_secs() as libc::c_int;
    for (level, option, value) in [
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, seconds * 1000),
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, seconds / 4),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, seconds / 4),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 3),
    ] {
        set(stream, level, option, value)?;
    }
    Ok(())
}

/// Has the kernel wake a reader only for so many bytes, or when it has waited long enough.
pub fn wake_for(stream: &TcpStream, bytes: libc::c_int) -> io::Result<()> {
    set(stream, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

fn set(
    stream: &TcpStream,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    let value = (&raw const value).cast();
    // SAFETY: reads one number.
    match unsafe { libc::setsockopt(stream.as_raw_fd(), level, option, value, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
