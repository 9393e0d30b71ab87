//! The other end of measurements: what it lets itself be made to do, and does.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use record::network::{Direction, EndFact, Ended, Limit};
use sys::clock;
use sys::watch;

use crate::protocol::frames::{stream_counts, Asked, Begin, Frames, Told, INTERVAL_LEAST_NS};
use crate::traffic::facts;
use crate::traffic::gate::Gate;
use crate::traffic::histogram::Counter;
use crate::traffic::phase::Phase;
use crate::traffic::sampler::Sampler;
use crate::traffic::waits::Roles;
use crate::traffic::{flow, pings, segments, tcp};
use crate::wire;

/// Of whoever has been let in, to say what it wants.
const BEGIN_NS: i64 = 10_000_000_000;

/// A measurement takes longer than it was asked for by what lies between its phases: so much, and a
/// share of the limit, is let pass.
const SPARE_NS: i64 = 10_000_000_000;
const SPARE_PART: i64 = 20;

/// How often limits are looked at, whatever a measurement asks for.
const LOOK_NS: i64 = 10_000_000;
/// No more frames are followed before limits are looked at again.
const FRAMES_A_TURN: usize = 16;

/// What one end bears, as it was told when it was started.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of one measurement.
    pub longest_ns: i64,
    pub bytes: u64,
    /// Data streams, of all together.
    pub streams: u32,
    /// Of all measurements and probes together, as long as it serves.
    pub total_bytes: u64,
}

impl Limits {
    /// When one that began just now is cut.
    pub fn cut_ns(&self) -> i64 {
        let spare_ns = SPARE_NS + self.longest_ns / SPARE_PART;
        self.longest_ns.saturating_add(spare_ns)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // A week and a day.
            longest_ns: 8 * 86_400 * 1_000_000_000,
            // A week at 10 Gbit/s, and some more.
            bytes: 1 << 50,
            streams: 64,
            total_bytes: u64::MAX,
        }
    }
}

/// All measurements under way, by number, and how much there was until now.
#[derive(Default)]
pub struct Table {
    all: Mutex<HashMap<u64, Arc<Measurement>>>,
    bytes: AtomicU64,
}

impl Table {
    fn all(&self) -> MutexGuard<'_, HashMap<u64, Arc<Measurement>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts bytes that probes send or are sent; false: they are beyond what is allowed in all.
    pub fn takes(&self, bytes: u64, limits: Limits) -> bool {
        let is_within = |sum: u64| sum <= limits.total_bytes;
        let add = |sum: u64| sum.checked_add(bytes).filter(|sum| is_within(*sum));
        self.bytes.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    fn total(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    pub fn find(&self, number: u64) -> Option<Arc<Measurement>> {
        self.all().get(&number).cloned()
    }

    /// Serves one measurement, over its first connection, until it is over. `seats`: data streams that
    /// others have; `say` is told what is asked for and what became of it.
    pub fn serve(
        &self,
        mut frames: Frames,
        limits: Limits,
        seats: usize,
        say: &dyn Fn(&str),
    ) -> io::Result<()> {
        let Some(mut begin) = await_begin(&mut frames)? else {
            return Ok(());
        };
        // Its connections began with another.
        begin.congestion = begin.congestion.or_else(tcp::default_congestion);
        let allowed = self.allow(&begin, limits, seats);
        let facts = match allowed.and_then(|()| prepare(&begin, frames.stream())) {
            Ok(facts) => facts,
            Err(why) => {
                let what = asked(&begin);
                match &why {
                    // What it has typed is not repeated here.
                    Ended::CongestionRefused { .. } => {
                        say(&format!("refused {what}: no such congestion control"));
                    }
                    _ => say(&format!("refused {what}: {why}")),
                }
                return frames.tell(&Told::Over { why });
            }
        };
        say(&format!("measures: {}", asked(&begin)));
        let nonce = wire::nonce()?;
        let number = u64::from_be_bytes(nonce[..8].try_into().expect("eight of its bytes"));
        let measurement = Arc::new(Measurement::new(begin));
        let mut done = Done::default();
        let began_ns = clock::monotonic();
        self.all().insert(number, Arc::clone(&measurement));
        let served = frames
            .tell(&Told::Ready { number, facts })
            .and_then(|()| measurement.attend(&mut frames, limits, &self.bytes, &mut done));
        self.all().remove(&number);
        measurement.end();
        // Not seen before it was over.
        measurement.count(&self.bytes, &mut done);
        let seconds = (clock::monotonic() - began_ns) as f64 / 1e9;
        let Done {
            sent,
            received,
            echoed,
            cut,
        } = done;
        let how = match (&served, cut) {
            (_, Some(why)) => format!("was cut: {why}"),
            (Ok(()), None) => "ended".to_string(),
            (Err(error), None) => format!("ended: {error}"),
        };
        say(&format!(
            "{how}; {seconds:.1} s, {received} bytes received, {sent} sent, \
             {echoed} of round trips"
        ));
        served
    }

    /// Whether what is asked for is within what is allowed, as far as that is known before.
    fn allow(&self, begin: &Begin, limits: Limits, seats: usize) -> Result<(), Ended> {
        let beyond = |limit, allowed, asked| {
            Err(Ended::BeyondLimit {
                limit,
                allowed,
                asked,
            })
        };
        let [receives, sends] =
            stream_counts(begin.direction, begin.streams.min(limits.streams + 1));
        let (asked, most) = (receives + sends, limits.streams);
        if asked == 0 {
            return Err("a measurement has at least one stream".to_string().into());
        }
        if asked > most {
            let [receives, sends] = stream_counts(begin.direction, begin.streams);
            let asked = u64::from(receives) + u64::from(sends);
            return beyond(Limit::Streams, most.into(), Some(asked));
        }
        if seats + asked as usize > most as usize {
            return Err(Ended::EndFull);
        }
        let longest_ns = u64::try_from(limits.longest_ns).unwrap_or(0);
        if begin.lasts_ns.is_some_and(|asked| asked > longest_ns) {
            return beyond(Limit::Time, longest_ns, begin.lasts_ns);
        }
        if begin.most_bytes.is_some_and(|asked| asked > limits.bytes) {
            return beyond(Limit::Bytes, limits.bytes, begin.most_bytes);
        }
        if self.total() >= limits.total_bytes {
            return beyond(Limit::TotalBytes, limits.total_bytes, None);
        }
        Ok(())
    }
}

/// What became of a measurement.
#[derive(Default)]
struct Done {
    sent: u64,
    received: u64,
    /// Of round trips, there and back.
    echoed: u64,
    cut: Option<Ended>,
}

impl Done {
    fn bytes(&self) -> u64 {
        self.sent + self.received + self.echoed
    }
}

/// A measurement in words that are ours alone.
fn asked(begin: &Begin) -> String {
    let direction = match begin.direction {
        Direction::Out => "to here",
        Direction::In => "from here",
        Direction::Both => "both ways",
    };
    let streams = begin.streams;
    let lasts = match begin.lasts_ns {
        Some(lasts_ns) => format!("{:.1} s", lasts_ns as f64 / 1e9),
        None => "no time told".to_string(),
    };
    format!("{direction}, streams: {streams}, {lasts}")
}

fn await_begin(frames: &mut Frames) -> io::Result<Option<Begin>> {
    let deadline_ns = clock::monotonic() + BEGIN_NS;
    while clock::monotonic() < deadline_ns {
        match frames.hear()? {
            Some(Asked::Begin(begin)) => return Ok(Some(begin)),
            Some(_) => {}
            None => drop(watch::poll([frames.as_raw_fd()], Some(deadline_ns))?),
        }
    }
    Ok(None)
}

/// What is told of this end, unless it cannot be measured so.
fn prepare(begin: &Begin, stream: &TcpStream) -> Result<Vec<EndFact>, Ended> {
    if begin.interval_ns < INTERVAL_LEAST_NS || begin.sample_ns < INTERVAL_LEAST_NS {
        return Err("intervals are no shorter than a millisecond"
            .to_string()
            .into());
    }
    tcp::control_congestion(stream, begin.congestion.as_deref())
        .map_err(|error| facts::no_congestion(false, begin.congestion.as_deref(), &error))?;
    Ok(facts::of(stream))
}

/// One measurement, which all its connections share.
pub struct Measurement {
    begin: Begin,
    gate: Arc<Gate>,
    roles: Arc<Roles>,
    segments: Arc<Mutex<Counter>>,
    joined: Mutex<Joined>,
}

#[derive(Default)]
struct Joined {
    places: HashSet<u32>,
    outgoing: Vec<TcpStream>,
    incoming: Vec<Arc<AtomicU64>>,
    /// What the streams themselves count from the moment they join, asked to send or not.
    written: Vec<Arc<AtomicU64>>,
    echoed: Arc<AtomicU64>,
    all: Vec<TcpStream>,
    is_over: bool,
}

/// What a connection that has joined does, and where it counts its bytes.
pub enum Part {
    Echo(Arc<AtomicU64>),
    Send(Arc<AtomicU64>),
    Receive(Arc<AtomicU64>),
}

impl Measurement {
    fn new(begin: Begin) -> Self {
        Self {
            begin,
            gate: Arc::default(),
            roles: Arc::default(),
            segments: segments::counter(),
            joined: Mutex::default(),
        }
    }

    fn joined(&self) -> MutexGuard<'_, Joined> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Place 0 returns round trips; then come the streams on which this end receives, then those on
    /// which it sends. None: there is no such place, or it is taken.
    pub fn join(&self, place: u32, stream: &TcpStream) -> io::Result<Option<Part>> {
        let [receives, sends] = stream_counts(self.begin.direction, self.begin.streams);
        let mut joined = self.joined();
        if place > receives + sends || joined.is_over || !joined.places.insert(place) {
            return Ok(None);
        }
        tcp::give_up_in_silence(stream)?;
        joined.all.push(stream.try_clone()?);
        if place == 0 {
            return Ok(Some(Part::Echo(Arc::clone(&joined.echoed))));
        }
        tcp::control_congestion(stream, self.begin.congestion.as_deref())?;
        stream.set_nodelay(false)?;
        if place > receives {
            joined.outgoing.push(stream.try_clone()?);
            let written = Arc::<AtomicU64>::default();
            joined.written.push(Arc::clone(&written));
            return Ok(Some(Part::Send(written)));
        }
        let received = Arc::<AtomicU64>::default();
        joined.incoming.push(Arc::clone(&received));
        Ok(Some(Part::Receive(received)))
    }

    /// Does a part until the measurement is over.
    pub fn play(&self, part: &Part, stream: &TcpStream) -> io::Result<()> {
        match part {
            Part::Echo(_) => self.roles.pinging.join(),
            Part::Send(_) => self.roles.sending.join(),
            Part::Receive(_) => self.roles.receiving.join(),
        }
        match part {
            Part::Echo(echoed) => pings::echo(stream, echoed),
            Part::Send(written) => flow::send(stream, &self.gate, written, &self.segments),
            Part::Receive(received) => flow::receive(stream, &self.gate, received),
        }
    }

    fn sampler(&self) -> io::Result<Sampler> {
        let joined = self.joined();
        let outgoing: io::Result<Vec<TcpStream>> =
            joined.outgoing.iter().map(TcpStream::try_clone).collect();
        let gate = Arc::clone(&self.gate);
        let (incoming, roles) = (joined.incoming.clone(), Arc::clone(&self.roles));
        let segments = Arc::clone(&self.segments);
        Ok(Sampler::new(
            gate, outgoing?, incoming, None, segments, roles,
        ))
    }

    /// Looks at what the streams have counted until now; returns what there was in all.
    fn count(&self, total: &AtomicU64, done: &mut Done) -> u64 {
        let before = done.bytes();
        let joined = self.joined();
        let sum = |all: &[Arc<AtomicU64>]| all.iter().map(|one| one.load(Relaxed)).sum();
        (done.sent, done.received) = (sum(&joined.written), sum(&joined.incoming));
        done.echoed = joined.echoed.load(Relaxed);
        let more = done.bytes() - before;
        total.fetch_add(more, Relaxed).saturating_add(more)
    }

    fn attend(
        &self,
        frames: &mut Frames,
        limits: Limits,
        total: &AtomicU64,
        done: &mut Done,
    ) -> io::Result<()> {
        let over_ns = clock::monotonic().saturating_add(limits.cut_ns());
        let mut sampler: Option<Sampler> = None;
        loop {
            let now = clock::monotonic();
            let mut followed = 0;
            while followed < FRAMES_A_TURN {
                let Some(asked) = frames.hear()? else { break };
                self.follow(asked, &mut sampler, frames)?;
                followed += 1;
            }
            if let Some(half) = sampler.as_mut().and_then(|sampler| sampler.step(now)) {
                frames.tell(&Told::Half(Box::new(half)))?;
            }
            let all = self.count(total, done);
            if let Some(why) = beyond(limits, done.bytes(), all, now >= over_ns) {
                done.cut = Some(why.clone());
                return frames.tell(&Told::Over { why });
            }
            frames.look_after(&Told::Alive, now)?;
            let next = sampler.as_ref().and_then(|sampler| sampler.next_ns(now));
            let next = next.unwrap_or(i64::MAX).min(frames.next_ns()).min(over_ns);
            // More frames may have come already, of which no connection tells.
            let look_ns = if followed == FRAMES_A_TURN {
                0
            } else {
                LOOK_NS
            };
            let next = next.min(now + look_ns);
            watch::poll([frames.as_raw_fd()], Some(next))?;
        }
    }

    fn follow(
        &self,
        asked: Asked,
        sampler: &mut Option<Sampler>,
        frames: &mut Frames,
    ) -> io::Result<()> {
        let now = clock::monotonic();
        let over = match (&asked, sampler.as_mut()) {
            (Asked::Send { .. } | Asked::Stop, Some(sampler)) => sampler.end(),
            _ => None,
        };
        if let Some(half) = over {
            frames.tell(&Told::Half(Box::new(half)))?;
        }
        if let Asked::Send { sending, since_ns } = asked {
            let sampler = match sampler {
                Some(sampler) => sampler,
                None => sampler.insert(self.sampler()?),
            };
            let began_ns = now - i64::try_from(since_ns).unwrap_or(0);
            let (interval_ns, sample_ns) = (self.begin.interval_ns, self.begin.sample_ns);
            sampler.begin(Phase::new(sending, began_ns, interval_ns, sample_ns), now);
        }
        Ok(())
    }

    fn end(&self) {
        self.gate.end();
        let mut joined = self.joined();
        joined.is_over = true;
        for stream in joined.all.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// The limit that was reached, if any: by one measurement, and by all together.
fn beyond(limits: Limits, bytes: u64, all: u64, is_late: bool) -> Option<Ended> {
    let (limit, allowed) = if is_late {
        let longest_ns = u64::try_from(limits.longest_ns).unwrap_or(0);
        (Limit::Time, longest_ns)
    } else if bytes > limits.bytes {
        (Limit::Bytes, limits.bytes)
    } else if all > limits.total_bytes {
        (Limit::TotalBytes, limits.total_bytes)
    } else {
        return None;
    };
    Some(Ended::BeyondLimit {
        limit,
        allowed,
        asked: None,
    })
}

#[cfg(test)]
mod tests;
