//! Round trips of single segments, from the kernel's time stamps of one stream that sends.
//!
//! SO_TIMESTAMPING (Documentation/networking/timestamping.rst) reports when the last byte of a write
//! is handed to the queueing discipline (TX_SCHED), and when it is acknowledged (TX_ACK). TCP_INFO
//! has a moving average of the same alone. A segment that is sent twice has two TX_SCHED stamps, and
//! it is not known which one is acknowledged: it is left out (Karn and Partridge, 1987).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::iter;
use std::mem::size_of;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};

use sys::clock;

use crate::traffic::histogram::Counter;
use crate::traffic::tcp::Info;

/// Least mean time between stamped writes: each stamp is a message that this thread reads.
const PERIOD_NS: i64 = 100_000;
/// Writes that are stamped at once: a slow network takes seconds to send what a socket's buffer
/// takes in milliseconds.
const BURST: i64 = 512;
/// Segments under way whose first stamp is kept. While there are so many, no more are stamped:
/// without the oldest, all round trips longer than a hundred milliseconds would be lost.
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
        if self.under_way.is_full() {
            self.under_way.left_out += 1;
            return self.stream.write(bytes);
        }
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
            self.under_way.sent.clear();
        }
    }

    /// Reads the stamps that have come.
    fn read(&mut self) {
        let file = self.stream.as_raw_fd();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        for stamp in iter::from_fn(|| next_stamp(file)).take(READ_MOST) {
            if let Some(time_ns) = self.under_way.take(stamp) {
                times.count(time_ns);
            }
        }
        times.left_out += std::mem::take(&mut self.under_way.left_out);
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

/// Segments that were sent and are not acknowledged.
#[derive(Default)]
struct UnderWay {
    /// In the order of their bytes, so that keys ascend (modulo 2^32).
    sent: VecDeque<Sent>,
    /// Key of the last segment that was sent for the first time.
    last: Option<u32>,
    /// Writes that were to be stamped while the queue was full.
    left_out: u64,
}

struct Sent {
    key: u32,
    at_ns: i64,
    /// Sent more than once.
    is_again: bool,
}

impl UnderWay {
    fn is_full(&self) -> bool {
        self.sent.len() >= OUT_MOST
    }

    /// Takes the next stamp, and returns the round trip that it ends.
    fn take(&mut self, stamp: Stamp) -> Option<u64> {
        let Stamp { kind, key, at_ns } = stamp;
        let place = self.sent.partition_point(|sent| is_before(sent.key, key));
        let is_known = self.sent.get(place).is_some_and(|sent| sent.key == key);
        match kind {
            SCHEDULED if is_known => self.sent[place].is_again = true,
            // One that is not known and not new is sent again.
            SCHEDULED if self.last.is_none_or(|last| is_before(last, key)) => {
                self.last = Some(key);
                if self.is_full() {
                    self.left_out += 1; // Its stamp was asked for before the queue was full.
                } else {
                    self.sent.push_back(Sent {
                        key,
                        at_ns,
                        is_again: false,
                    });
                }
            }
            ACKNOWLEDGED if is_known => {
                // An acknowledgement covers all earlier segments, which then get none of their own.
                let sent = self.sent.drain(..=place).next_back()?;
                // The clock may be set meanwhile.
                let time_ns = u64::try_from(at_ns - sent.at_ns).ok()?;
                return (!sent.is_again).then_some(time_ns);
            }
            _ => {}
        }
        None
    }
}

/// Whether a key comes before another, of streams that have less than 2 GiB under way.
fn is_before(key: u32, other: u32) -> bool {
    (key.wrapping_sub(other) as i32) < 0
}

/// Buffer for control messages (cmsg), aligned as the kernel requires.
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
        assert!(under_way.sent.is_empty());
    }

    #[test]
    fn segments_sent_again_and_clocks_set_back_are_left_out() {
        let mut under_way = UnderWay::default();
        under_way.take(stamp(SCHEDULED, 10, 1000));
        under_way.take(stamp(SCHEDULED, 10, 9000));
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, 10, 9500)), None);
        under_way.take(stamp(SCHEDULED, 20, 9000));
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, 20, 8000)), None);
        // The kernel stamps no acknowledgement of a segment that it merged with the next one.
        under_way.take(stamp(SCHEDULED, 30, 100));
        under_way.take(stamp(SCHEDULED, 40, 200));
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, 40, 300)), Some(100));
        assert!(under_way.sent.is_empty());
    }

    /// Round trips of 250 ms at 10,000 segments per second: 2500 are under way.
    #[test]
    fn long_round_trips_are_seen_as_long_as_they_are_and_the_rest_is_counted() {
        let mut under_way = UnderWay::default();
        let (period_ns, trip_ns) = (100_000, 250_000_000);
        let (mut seen, mut all) = (0, 0);
        let first = u32::MAX - 5000; // Keys start again from 0 on the way.
        for n in 0..20_000_u32 {
            let now_ns = i64::from(n) * period_ns;
            under_way.take(stamp(SCHEDULED, first.wrapping_add(n), now_ns));
            all += 1;
            if let Some(of) = n.checked_sub((trip_ns / period_ns) as u32) {
                let ended = under_way.take(stamp(ACKNOWLEDGED, first.wrapping_add(of), now_ns));
                assert!(ended.is_none_or(|time_ns| time_ns == trip_ns as u64));
                seen += u64::from(ended.is_some());
            }
            assert!(under_way.sent.len() <= OUT_MOST);
        }
        assert!(seen > 6 * OUT_MOST as u64, "{seen}");
        assert_eq!(seen + under_way.left_out + under_way.sent.len() as u64, all);
    }

    #[test]
    fn a_segment_that_was_left_out_has_no_round_trip_when_it_is_sent_again() {
        let mut under_way = UnderWay::default();
        for key in 0..=OUT_MOST as u32 {
            under_way.take(stamp(SCHEDULED, key, 0));
        }
        assert_eq!((under_way.sent.len(), under_way.left_out), (OUT_MOST, 1));
        let left_out = OUT_MOST as u32;
        assert_eq!(
            under_way.take(stamp(ACKNOWLEDGED, left_out - 1, 7)),
            Some(7)
        );
        under_way.take(stamp(SCHEDULED, left_out, 100));
        assert_eq!(under_way.take(stamp(ACKNOWLEDGED, left_out, 107)), None);
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
