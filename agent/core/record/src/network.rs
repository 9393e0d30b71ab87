//! What crosses the streams of `tare-agent measure` and `tare-agent emulate`: one JSON object a
//! line, the front's orders on standard input, records on standard output.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the front asks of `tare-agent measure`, carried out one after another. At the end of its
/// input it ends what is under way.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "job", rename_all = "snake_case", deny_unknown_fields)]
pub enum MeasureOrder {
    /// First of all, once: connect to the other end.
    Connect(Connect),
    /// Send and rest by a pattern for a while.
    Sending(Sending),
    /// End at once the phases before `id`: the one under way, and those that wait. Later phases have
    /// larger ids.
    Skip { id: u64 },
}

/// The connections of one measurement; they are made anew, for as long as it takes, where they
/// were lost.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connect {
    /// Numeric address and port of the other end.
    pub end: String,
    /// Secret of both ends, hexadecimal.
    pub key: String,
    pub direction: Direction,
    /// Data streams of each direction.
    pub streams: u32,
    /// Congestion control of every data stream; absent: the kernel's default. Always told.
    pub congestion: Option<String>,
    /// Round trips of 64 bytes a second on a connection of their own, beside the data; 0: none,
    /// absent: one after another as fast as they come.
    pub pings: Option<u32>,
    /// How often an interval is told.
    pub interval_ns: u64,
    /// How often TCP_INFO is read within.
    pub sample_ns: u64,
    /// How long to try to reach an end that is silent at the start; afterwards it tries for ever.
    pub patience_ns: u64,
    /// How long it will take in all, and how many bytes it will send at most; absent: not known. The
    /// other end refuses at the start what is beyond what it allows.
    pub lasts_ns: Option<u64>,
    pub most_bytes: Option<u64>,
}

/// Where data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From here to the other end.
    Out,
    In,
    Both,
}

/// A stretch of time in which data is sent by one pattern.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sending {
    /// Echoed by what is told of it.
    pub id: u64,
    pub duration_ns: u64,
    /// Send for so long, then rest for so long, and again; `off_ns` 0: full speed, `on_ns` 0: rest.
    pub on_ns: u64,
    pub off_ns: u64,
    /// Bytes of each write.
    pub write_bytes: u32,
}

/// What `tare-agent measure` tells.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case", deny_unknown_fields)]
pub enum MeasureRecord {
    /// Connected, for the first time or again.
    Connected(Connected),
    Interval(Box<Interval>),
    /// The other end was lost for a while: nothing was measured.
    Gap {
        start_ns: u64,
        end_ns: u64,
        why: String,
    },
    /// A phase is over, or was skipped.
    PhaseOver {
        id: u64,
        skipped: bool,
    },
    /// The last record of all; `why` absent: as asked.
    MeasureOver {
        why: Option<Ended>,
    },
}

/// Why a measurement ended before all that was asked, or never began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ended {
    /// The other end allows no more.
    BeyondLimit {
        limit: Limit,
        /// Nanoseconds, bytes or streams.
        allowed: u64,
        /// At the start; absent: it was reached.
        asked: Option<u64>,
    },
    /// The other end has no place left: others are measured.
    EndFull,
    /// Nothing listens at that port.
    PortClosed {
        end: String,
    },
    /// It does not answer.
    EndSilent {
        end: String,
    },
    /// There is no way to it.
    EndUnreachable {
        end: String,
        error: String,
    },
    /// It closes the connection without a word: it is no tare server, or full.
    EndMute {
        end: String,
    },
    /// What it says first is not what a tare server says.
    NotTare {
        end: String,
    },
    OtherVersion {
        end: String,
        theirs: u8,
        ours: u8,
    },
    /// It closed the connection when it was shown what our key makes.
    OtherKey {
        end: String,
    },
    /// It did not prove that it has the key.
    KeyNotProved {
        end: String,
    },
    /// One of both ends, `here` or there, does not take a congestion control.
    CongestionRefused {
        here: bool,
        name: String,
        /// Which can be taken there; empty: not known.
        available: String,
        error: String,
    },
    /// Something else failed.
    MeasureFailed {
        message: String,
    },
}

impl From<String> for Ended {
    fn from(message: String) -> Self {
        Self::MeasureFailed { message }
    }
}

/// In words: for the log of the other end, and for probes.
impl fmt::Display for Ended {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondLimit {
                limit,
                allowed,
                asked,
            } => {
                let (allowed, unit) = match limit {
                    Limit::Time => (allowed / 1_000_000_000, "s"),
                    Limit::Bytes => (*allowed, "bytes"),
                    Limit::Streams => (*allowed, "streams at once"),
                    Limit::TotalBytes => (*allowed, "bytes in all"),
                };
                write!(to, "no more than {allowed} {unit} are allowed")?;
                match (asked, limit) {
                    (Some(asked), Limit::Time) => {
                        write!(to, ", {} s were asked for", asked / 1_000_000_000)
                    }
                    (Some(asked), _) => write!(to, ", {asked} were asked for"),
                    (None, _) => Ok(()),
                }
            }
            Self::EndFull => write!(to, "the other end is full: others are measured"),
            Self::PortClosed { end } => {
                write!(to, "{end} refuses connections: nothing listens there")
            }
            Self::EndSilent { end } => write!(to, "{end} does not answer"),
            Self::EndUnreachable { end, error } => write!(to, "cannot reach {end}: {error}"),
            Self::EndMute { end } => write!(to, "{end} is not a tare server, or it is full"),
            Self::NotTare { end } => write!(to, "{end} is not a tare server"),
            Self::OtherVersion { end, theirs, ours } => {
                write!(to, "{end} speaks version {theirs}, this end version {ours}")
            }
            Self::OtherKey { end } => write!(to, "{end} has another key"),
            Self::KeyNotProved { end } => {
                write!(to, "{end} does not have the key: do not trust it")
            }
            Self::CongestionRefused {
                here,
                name,
                available,
                error,
            } => {
                let which = if *here { "this end" } else { "the other end" };
                write!(
                    to,
                    "{which} does not take congestion control {name:?}: {error}"
                )?;
                match available.as_str() {
                    "" => Ok(()),
                    _ => write!(to, "; it takes: {available}"),
                }
            }
            Self::MeasureFailed { message } => write!(to, "{message}"),
        }
    }
}

/// What an end bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Of one measurement.
    Time,
    Bytes,
    /// Of all at once.
    Streams,
    /// Of all together, one after another.
    TotalBytes,
}

/// What is known of both ends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connected {
    /// Nanoseconds since the measurement began, of CLOCK_MONOTONIC, as everywhere in it.
    pub at_ns: u64,
    /// CLOCK_REALTIME then, ns since 1970: the only wall time of the measurement.
    pub realtime_ns: u64,
    /// Facts of this end and of the other: kernel, interface, mtu, qdisc, tso, gro, congestion,
    /// tcp_wmem, cpus, …
    pub here: Vec<EndFact>,
    pub there: Vec<EndFact>,
}

/// A fact of one end.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndFact {
    pub name: String,
    pub value: String,
}

/// What was seen in one interval of one direction, summed over its streams. What an older kernel
/// does not tell is absent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Its phase.
    pub id: u64,
    pub direction: Direction,
    pub start_ns: u64,
    pub end_ns: u64,
    /// How long in it data was sent: all of it, or 0 in a rest, in which what was sent before may still
    /// be acknowledged. A part only where an end was too late to tell both apart.
    pub on_ns: u64,
    /// Payload that the receiver's kernel has acknowledged, and that the receiver has read.
    pub acked_bytes: u64,
    pub received_bytes: Option<u64>,
    /// Segments sent, with those sent again, and those sent again alone.
    pub segments: Option<u64>,
    pub retransmits: u64,
    /// Payload of a full segment.
    pub segment_bytes: u32,
    /// Smallest round trip that the kernel has seen lately (tcpi_min_rtt).
    pub min_rtt_ns: Option<u64>,
    /// Smoothed round trip times (tcpi_rtt), one of each stream every `sample_ns` while sending.
    pub smoothed_rtt: Histogram,
    /// Round trips of single segments, not smoothed: from when the last byte of a write was handed to
    /// the queueing discipline to its acknowledgement, of at most 10,000 writes a second and stream;
    /// absent: the kernel reported none.
    pub segment_rtt: Option<Histogram>,
    /// Writes that were due for a stamp and got none, since too many segments were under way.
    pub segments_left_out: Option<u64>,
    /// Mean over the samples of tcpi_rttvar, and of the congestion window in segments.
    pub rtt_variation_ns: Option<u64>,
    pub window_segments: Option<f64>,
    /// Time in which the streams had data to send; of that, held back by the receiver's window, and
    /// by the sender's buffer.
    pub busy_ns: Option<u64>,
    pub receiver_limited_ns: Option<u64>,
    pub buffer_limited_ns: Option<u64>,
    /// Round trips of the 64 bytes beside the data, as an application sees them; of the first
    /// direction alone.
    pub round_trips: Histogram,
    /// CPU time of the processes that send and receive, all their threads.
    pub sender_cpu_ns: Option<u64>,
    pub receiver_cpu_ns: Option<u64>,
    /// Time in which the threads that send, that receive, and at both ends those of the small round
    /// trips were ready to run and had no CPU, summed over threads; of waits that ended in it.
    pub sender_waited_ns: Option<u64>,
    pub receiver_waited_ns: Option<u64>,
    pub round_trips_waited_ns: Option<u64>,
}

/// How often times were seen, in bins that are at most 1/64 wide of their value: bin `64 e + m`
/// holds the times from `(64 + m) 2^(e-1)` ns up to the next bin for `e` > 0, and of exactly `m` ns
/// for `e` = 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// Pairs of bin and count, in order of bins; none is empty.
    pub bins: Vec<(u32, u64)>,
    /// Exactly; absent where there is none.
    pub min_ns: Option<u64>,
    pub max_ns: Option<u64>,
    pub sum_ns: u64,
}

/// What the front asks of `tare-agent emulate`, each answered once. At the end of its input it puts
/// everything back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "job", rename_all = "snake_case", deny_unknown_fields)]
pub enum EmulateOrder {
    /// First of all, once: make a network of hosts, each a network namespace, on one bridge.
    BuildNetwork {
        id: u64,
        /// What everything made is called: `NAME-1` is the first host's namespace in /run/netns.
        name: String,
        hosts: u32,
        /// First three bytes of the hosts' addresses: `10.77.0`; hosts count from 1.
        subnet: String,
    },
    /// Instead: shape what leaves by an interface that is there.
    TakeInterface {
        id: u64,
        /// Under which it is noted how the interface was, for `tare cleanup`: the session's.
        name: String,
        interface: String,
    },
    /// Give what cannot go into a host's namespace an address beside that of the host: what it
    /// sends leaves by the interface of the host, shaped as this is.
    AddPort { id: u64, host: u32, end: PortEnd },
    /// Remove a port; that its end is gone already is as good.
    RemovePort { id: u64, port: u32 },
    /// Change how hosts are shaped; those that are not named stay as they are.
    ShapeHosts { id: u64, hosts: Vec<HostShape> },
    /// Tell how every host is.
    LookAtHosts { id: u64 },
    /// From now on tell by itself how every host is, so often; absent: not any more.
    LogHosts { id: u64, every_ns: Option<u64> },
}

/// Where the end of a port is that is not in host 1's namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PortEnd {
    /// In a namespace that is made for it.
    OwnNamespace,
    /// In the network namespace of a container, which has none but its loopback.
    Container {
        /// Path of the namespace.
        namespace: String,
    },
    /// A virtual machine's, which opens the interface (a tap) in host 1's namespace.
    Tap,
}

/// What leaves one host.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostShape {
    /// From 1.
    pub host: u32,
    pub shape: Shape,
    /// Most that waits to be sent; what is beyond is dropped. Absent: 50 ms at the lowest rate, and
    /// no less than a few of the largest packets.
    pub queue_bytes: Option<u64>,
}

/// How fast data may leave. Rates and amounts count bits as the interface does, headers included.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// As fast as it goes.
    Unshaped,
    /// At `high_bps` while there are tokens, then at `low_bps`.
    Bucket {
        high_bps: u64,
        low_bps: u64,
        /// Tokens that come back, always, up to the capacity.
        refill_bps: u64,
        capacity_bits: u64,
        /// Tokens now; absent: what was left, or full where there was no bucket.
        tokens_bits: Option<u64>,
    },
    /// One rate after another; the last is followed by the first.
    Steps { steps: Vec<Step> },
}

/// A rate for a while.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub duration_ns: u64,
    /// 0: nothing passes.
    pub rate_bps: u64,
}

/// What `tare-agent emulate` tells.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case", deny_unknown_fields)]
pub enum EmulateRecord {
    /// The network is there, or the interface is taken.
    NetworkBuilt {
        id: u64,
        hosts: Vec<BuiltHost>,
    },
    /// The order is carried out.
    NetworkShaped {
        id: u64,
    },
    PortAdded {
        id: u64,
        port: BuiltPort,
    },
    /// The hosts, of all at one moment; `id` absent: told by itself.
    HostStates {
        id: Option<u64>,
        /// CLOCK_MONOTONIC.
        at_ns: u64,
        hosts: Vec<HostState>,
    },
    /// The order cannot be carried out; what was before holds.
    NetworkRefused {
        id: u64,
        message: String,
        hint: Option<String>,
    },
    /// Something failed by itself, such as an interface that is gone.
    NetworkFault {
        message: String,
    },
}

/// A host of a network that was made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuiltHost {
    pub host: u32,
    /// Path of its network namespace; absent: this one.
    pub namespace: Option<String>,
    pub address: Option<String>,
    pub interface: String,
}

/// A port that was added.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuiltPort {
    /// By which it is removed.
    pub port: u32,
    pub address: String,
    /// How many of the address's bits are those of the network.
    pub prefix: u8,
    /// Path of the namespace that was made for it; absent: none was.
    pub namespace: Option<String>,
    /// In host 1's namespace.
    pub interface: String,
}

/// How one host is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostState {
    pub host: u32,
    /// Left in its bucket; absent: it has none.
    pub tokens_bits: Option<u64>,
    /// At which it may send now; absent: unshaped.
    pub rate_bps: Option<u64>,
    /// Since the network was made, all counted by the queueing discipline.
    pub sent_bytes: u64,
    pub dropped_packets: u64,
    pub waiting_bytes: u64,
    /// How often, and for how long in all, its bucket was empty since it was shaped last; and when
    /// it was so first, CLOCK_MONOTONIC.
    pub times_dry: u64,
    pub dry_ns: u64,
    pub first_dry_ns: Option<u64>,
}
