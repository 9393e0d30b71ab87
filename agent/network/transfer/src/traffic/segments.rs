//! Round trips of single segments, from the kernel's time stamps of one stream that sends.
//!
//! SO_TIMESTAMPING (Documentation/networking/timestamping.rst) reports when the last byte of a write
//! is handed to the queueing discipline (TX_SCHED), and when it is acknowledged (TX_ACK). TCP_INFO
//! has a moving average of the same alone. A segment that is sent twice has two TX_SCHED stamps, and
//! it is not known which one is acknowledged: it is left out (Karn and Partridge, 1987).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem::size_of;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};

use sys::clock;

use crate::traffic::histogram::Counter;
use crate::traffic::tcp::Info;

/// Writes are stamped at most so often on average: each stamp is a message that this thread reads.
const PERIOD_NS: i64 = 100_000;
/// Writes that are stamped at once: a slow network takes seconds to send what a socket's buffer
/// takes in milliseconds.
const BURST: i64 = 512;
/// Segments under way whose first stamp is kept; a hundred milliseconds of them.
const OUT_MOST: usize = 1024;
/// Stamps that are read at a time: others send meanwhile.
const READ_MOST: usize = 4 * 1024;
/// Stamps are reported on the error queue without the data, numbered by bytes.
const OPTIONS: u32 = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;
/// Which stamps a write asks for.
const STAMPS: u32 = libc::SOF_TIMESTAMPING_TX_SCHED | libc::SOF_TIMESTAMPING_TX_ACK;
/// Kinds of stamps: SCM_TSTAMP_SCHED and SCM_TSTAMP_ACK of `linux/errqueue.h`.
const SCHEDULED: u32 = 1;
const ACKNOWLEDGED: u32 = 2;
/// Room for the control messages of one stamp.
const CONTROL: usize = 256;

/// Has the kernel report stamps of this stream. Err: it does not, and why.
pub fn enable(stream: &impl AsRawFd) -> io::Result<()> {
    set(stream.as_raw_fd(), OPTIONS)
}

/// Says why this kernel reports no stamps; None: it does.
pub fn refusal(stream: &TcpStream) -> Option<String> {
    let refused = enable(stream).err().map(|error| error.to_string());
    // The stream asked is none of those that send data.
    let _ = set(stream.as_raw_fd(), 0);
    refused
}

fn set(file: RawFd, options: u32) -> io::Result<()> {
    let length = size_of::<u32>() as libc::socklen_t;
    let value = (&raw const options).cast();
    // SAFETY: reads one number.
    let done =
        unsafe { libc::setsockopt(file, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, value, length) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Writes to one stream, and counts the round trips of some of its segments.
pub struct Segments<'a> {
    stream: &'a TcpStream,
    times: &'a Mutex<Counter>,
    is_stamped: bool,
    next_ns: i64,
    under_way: UnderWay,
}

impl<'a> Segments<'a> {
    pub fn new(stream: &'a TcpStream, times: &'a Mutex<Counter>) -> Self {
        Self {
            stream,
            times,
            is_stamped: enable(stream).is_ok(),
            next_ns: 0,
            under_way: UnderWay::default(),
        }
    }

    /// Writes, as the stream itself does.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_stamped || !self.is_due(clock::monotonic()) {
            return self.stream.write(bytes);
        }
        self.read();
        // The kernel joins writes that wait to be sent, and keeps the stamp of the last one alone. A
        // write that ends where a segment does can stay apart: the segments are the same.
        let segment_bytes = Info::read(self.stream).map_or(0, |info| info.segment_bytes() as usize);
        let is_whole = segment_bytes > 0 && bytes.len() % segment_bytes == 0;
        write_stamped(self.stream.as_raw_fd(), bytes, is_whole)
    }

    /// Whether the next write may be stamped; counts it where it may.
    fn is_due(&mut self, now_ns: i64) -> bool {
        let is_due = self.next_ns <= now_ns + BURST * PERIOD_NS;
        if is_due {
            self.next_ns = self.next_ns.max(now_ns) + PERIOD_NS;
        }
        is_due
    }

    /// Forgets what is under way: its time is not that of a stream that sends.
    pub fn pause(&mut self) {
        if self.is_stamped {
            self.read();
            self.under_way = UnderWay::default();
        }
    }

    /// Reads the stamps that have come.
    fn read(&mut self) {
        for _ in 0..READ_MOST {
            let Some(stamp) = next_stamp(self.stream.as_raw_fd()) else {
                return;
            };
            if let Some(time_ns) = self.under_way.take(stamp) {
                let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
                times.count(time_ns);
            }
        }
    }
}

/// A counter that streams share.
pub fn counter() -> Arc<Mutex<Counter>> {
    Arc::new(Mutex::new(Counter::new()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    kind: u32,
    /// Number of the last byte, from the first of the stream, modulo 2^32.
    key: u32,
    /// CLOCK_REALTIME.
    at_ns: i64,
}

/// Segments that were sent and are not acknowledged, in the order of their bytes.
#[derive(Default)]
struct UnderWay(VecDeque<Sent>);

struct Sent {
    key: u32,
    at_ns: i64,
    /// Sent more than once.
    is_again: bool,
}

impl UnderWay {
    /// Takes the next stamp, and returns the round trip that it ends.
    fn take(&mut self, stamp: Stamp) -> Option<u64> {
        let Stamp { kind, key, at_ns } = stamp;
        match kind {
            SCHEDULED => {
                if let Some(sent) = self.0.iter_mut().rev().find(|sent| sent.key == key) {
                    sent.is_again = true;
                    return None;
                }
                if self.0.len() == OUT_MOST {
                    self.0.pop_front();
                }
                let is_again = false;
                self.0.push_back(Sent {
                    key,
                    at_ns,
                    is_again,
                });
                None
            }
            ACKNOWLEDGED => {
                let place = self.0.iter().position(|sent| sent.key == key)?;
                let sent = self.0.remove(place)?;
                // What was sent before it is acknowledged with it, and had no stamp of its own.
                self.0.drain(..place);
                // The clock may be set meanwhile.
                let time_ns = u64::try_from(at_ns - sent.at_ns).ok()?;
                (!sent.is_again).then_some(time_ns)
            }
            _ => None,
        }
    }
}

/// Control messages, aligned as the kernel has them.
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// `is_apart`: the next write is not joined with this one.
fn write_stamped(file: RawFd, bytes: &[u8], is_apart: bool) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | if is_apart { libc::MSG_EOR } else { 0 };
    let mut data = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let mut control = Control([0; CONTROL]);
    // SAFETY: a structure of numbers and pointers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut data;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: computes a length; there is room for one number after its head; the kernel reads both.
    let written = unsafe {
        message.msg_controllen = libc::CMSG_SPACE(size_of::<u32>() as u32) as _;
        let head = libc::CMSG_FIRSTHDR(&message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SO_TIMESTAMPING;
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<u32>() as u32) as _;
        libc::CMSG_DATA(head).cast::<u32>().write_unaligned(STAMPS);
        libc::sendmsg(file, &message, flags)
    };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

/// The next stamp of the error queue; None: there is none now. Other errors are passed over.
fn next_stamp(file: RawFd) -> Option<Stamp> {
    let mut control = Control([0; CONTROL]);
    // SAFETY: a structure of numbers and pointers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    // SAFETY: the kernel writes no more than there is room for.
    let got = unsafe { libc::recvmsg(file, &mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
    if got < 0 {
        return None;
    }
    let mut stamp = Stamp {
        kind: u32::MAX,
        key: 0,
        at_ns: 0,
    };
    // SAFETY: the kernel has filled the control messages, whose lengths these macros honour.
    unsafe {
        let mut head = libc::CMSG_FIRSTHDR(&message);
        while !head.is_null() {
            let data = libc::CMSG_DATA(head);
            match ((*head).cmsg_level, (*head).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    stamp.at_ns = time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64;
                }
                (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                    let error = data.cast::<libc::sock_extended_err>().read_unaligned();
                    if error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING {
                        (stamp.kind, stamp.key) = (error.ee_info, error.ee_data);
                    }
                }
                _ => {}
            }
            head = libc::CMSG_NXTHDR(&message, head);
        }
    }
    Some(stamp)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    fn stamp(kind: u32, key: u32, at_ns: i64) -> Stamp {
        Stamp { kind, key, at_ns }
    }

    #[test]
    fn a_round_trip_is_from_the_queue_to_the_acknowledgement() {
        let mut under_way = UnderWay::default();
        assert_eq!(under_way.take(stamp(SCHEDULED, 10, 1000)), None);
        assert_eq!(under_way.take(stamp(SCHEDULED, 20, 1100)), None);
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, 10, 1500)), Some(500));
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, 20, 1500)), Some(400));
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, 30, 1500)), None);
        assert!(under_way.0.is_empty());
    }

    #[test]
    fn segments_sent_again_and_clocks_set_back_are_left_out() {
        let mut under_way = UnderWay::default();
        under_way.take(stamp(SCHEDULED, 10, 1000));
        under_way.take(stamp(SCHEDULED, 10, 9000));
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, 10, 9500)), None);
        under_way.take(stamp(SCHEDULED, 20, 9000));
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, 20, 8000)), None);
        // Merged with the next, it has no acknowledgement of its own.
        under_way.take(stamp(SCHEDULED, 30, 100));
        under_way.take(stamp(SCHEDULED, 40, 200));
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, 40, 300)), Some(100));
        assert!(under_way.0.is_empty());
    }

    #[test]
    fn no_more_is_kept_than_it_takes() {
        let mut under_way = UnderWay::default();
        for key in 0..3 * OUT_MOST as u32 {
            under_way.take(stamp(SCHEDULED, key, 0));
        }
        assert_eq!(under_way.0.len(), OUT_MOST);
        let last = 3 * OUT_MOST as u32 - 1;
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, last, 7)), Some(7));
    }

    #[test]
    fn writes_are_stamped_at_once_and_then_at_a_rate() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let times = Mutex::new(Counter::new());
        let mut segments = Segments::new(&stream, &times);
        let mut stamped = |now_ns| (0..2000).filter(|_| segments.is_due(now_ns)).count() as i64;
        assert_eq!(stamped(1_000_000_000), BURST + 1);
        assert_eq!(stamped(1_000_000_000 + 7 * PERIOD_NS), 7);
        assert_eq!(stamped(9_000_000_000), BURST + 1);
    }

    #[test]
    fn loopback_segments_take_as_long_as_the_kernel_says_at_least() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut theirs = listener.accept().unwrap().0;
        if refusal(&ours).is_some() {
            return; // This kernel reports none.
        }
        let times = Mutex::new(Counter::new());
        let mut segments = Segments::new(&ours, &times);
        let mut room = [0; 1000];
        let mut seen = record::network::Histogram::default();
        // One segment at a time: each is acknowledged before the next is written.
        while seen.bins.iter().map(|(_, n)| n).sum::<u64>() < 20 {
            assert_eq!(segments.write(&room).unwrap(), room.len());
            theirs.read_exact(&mut room).unwrap();
            segments.read();
            crate::traffic::histogram::add(&mut seen, &times.lock().unwrap().take());
        }
        // The kernel's own round trips begin a moment earlier, when the segment is made.
        let least_ns = Info::read(&ours).unwrap().min_rtt_us().unwrap_or(1) * 1000;
        assert!(seen.max_ns.unwrap() >= u64::from(least_ns) / 2, "{seen:?}");
    }
}
