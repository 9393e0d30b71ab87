//! The other end of measurements: what it lets itself be made to do, and does.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock;
use crate::measure::facts;
use crate::measure::gate::Gate;
use crate::measure::phase::Phase;
use crate::measure::sampler::Sampler;
use crate::measure::waits::Roles;
use crate::measure::{flow, pings, tcp};
use crate::peer::frames::{Asked, Begin, Frames, Told};
use crate::peer::wire;
use crate::record::network::Direction;
use crate::watch;

/// Of whoever has been let in, to say what it wants.
const BEGIN_NS: i64 = 10_000_000_000;
pub const INTERVAL_LEAST_NS: u64 = 1_000_000;

/// What one end bears, as it was told when it was started.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of one measurement.
    pub longest_ns: i64,
    pub bytes: u64,
    /// Data streams, of all together.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // A week and a day.
            longest_ns: 8 * 86_400 * 1_000_000_000,
            // A week at 10 Gbit/s, and some more.
            bytes: 1 << 50,
            streams: 64,
        }
    }
}

/// All measurements under way, by number.
#[derive(Default)]
pub struct Table(Mutex<HashMap<u64, Arc<Measurement>>>);

impl Table {
    fn all(&self) -> MutexGuard<'_, HashMap<u64, Arc<Measurement>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn find(&self, number: u64) -> Option<Arc<Measurement>> {
        self.all().get(&number).cloned()
    }

    /// Serves one measurement, over its first connection, until it is over.
    pub fn serve(&self, mut frames: Frames, limits: Limits) -> io::Result<()> {
        let Some(mut begin) = await_begin(&mut frames)? else {
            return Ok(());
        };
        // Its connections began with another.
        begin.congestion = begin.congestion.or_else(tcp::default_congestion);
        let facts = match prepare(&begin, limits, frames.stream()) {
            Ok(facts) => facts,
            Err(why) => return frames.tell(&Told::Over { why }),
        };
        let nonce = wire::nonce()?;
        let number = u64::from_be_bytes(nonce[..8].try_into().expect("eight of its bytes"));
        let measurement = Arc::new(Measurement::new(begin));
        self.all().insert(number, Arc::clone(&measurement));
        let served = frames
            .tell(&Told::Ready { number, facts })
            .and_then(|()| measurement.attend(&mut frames, limits));
        self.all().remove(&number);
        measurement.end();
        served
    }
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
fn prepare(
    begin: &Begin,
    limits: Limits,
    stream: &TcpStream,
) -> Result<Vec<crate::record::network::EndFact>, String> {
    if begin.streams == 0 || begin.streams > limits.streams {
        return Err(format!(
            "the other end serves 1 to {} streams, not {}: tare net serve --streams {}",
            limits.streams, begin.streams, begin.streams
        ));
    }
    if begin.interval_ns < INTERVAL_LEAST_NS || begin.sample_ns < INTERVAL_LEAST_NS {
        return Err("intervals are no shorter than a millisecond".to_string());
    }
    tcp::control_congestion(stream, begin.congestion.as_deref()).map_err(|error| {
        facts::no_congestion("the other end", begin.congestion.as_deref(), &error)
    })?;
    Ok(facts::of(stream))
}

/// One measurement, which all its connections share.
pub struct Measurement {
    begin: Begin,
    gate: Arc<Gate>,
    roles: Arc<Roles>,
    joined: Mutex<Joined>,
}

#[derive(Default)]
struct Joined {
    places: HashSet<u32>,
    outgoing: Vec<TcpStream>,
    incoming: Vec<Arc<AtomicU64>>,
    all: Vec<TcpStream>,
    is_over: bool,
}

/// What a connection that has joined does.
pub enum Part {
    Echo,
    Send,
    Receive(Arc<AtomicU64>),
}

impl Measurement {
    fn new(begin: Begin) -> Self {
        Self {
            begin,
            gate: Arc::default(),
            roles: Arc::default(),
            joined: Mutex::default(),
        }
    }

    fn joined(&self) -> MutexGuard<'_, Joined> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Place 0 returns round trips; then come the streams on which this end receives, then those on
    /// which it sends. None: there is no such place, or it is taken.
    pub fn join(&self, place: u32, stream: &TcpStream) -> io::Result<Option<Part>> {
        let [receives, sends] = streams(self.begin.direction, self.begin.streams);
        let mut joined = self.joined();
        if place > receives + sends || joined.is_over || !joined.places.insert(place) {
            return Ok(None);
        }
        tcp::give_up_in_silence(stream)?;
        joined.all.push(stream.try_clone()?);
        if place == 0 {
            return Ok(Some(Part::Echo));
        }
        tcp::control_congestion(stream, self.begin.congestion.as_deref())?;
        stream.set_nodelay(false)?;
        if place > receives {
            joined.outgoing.push(stream.try_clone()?);
            return Ok(Some(Part::Send));
        }
        let received = Arc::<AtomicU64>::default();
        joined.incoming.push(Arc::clone(&received));
        Ok(Some(Part::Receive(received)))
    }

    /// Does a part until the measurement is over.
    pub fn play(&self, part: &Part, stream: &TcpStream) -> io::Result<()> {
        match part {
            Part::Echo => self.roles.pinging.join(),
            Part::Send => self.roles.sending.join(),
            Part::Receive(_) => self.roles.receiving.join(),
        }
        match part {
            Part::Echo => pings::echo(stream),
            Part::Send => flow::send(stream, &self.gate),
            Part::Receive(received) => flow::receive(stream, &self.gate, received),
        }
    }

    fn sampler(&self) -> io::Result<Sampler> {
        let joined = self.joined();
        let outgoing: io::Result<Vec<TcpStream>> =
            joined.outgoing.iter().map(TcpStream::try_clone).collect();
        let gate = Arc::clone(&self.gate);
        let (incoming, roles) = (joined.incoming.clone(), Arc::clone(&self.roles));
        Ok(Sampler::new(gate, outgoing?, incoming, None, roles))
    }

    fn attend(&self, frames: &mut Frames, limits: Limits) -> io::Result<()> {
        let over_ns = clock::monotonic().saturating_add(limits.longest_ns);
        let mut sampler: Option<Sampler> = None;
        loop {
            let now = clock::monotonic();
            while let Some(asked) = frames.hear()? {
                self.follow(asked, &mut sampler, frames)?;
            }
            if let Some(half) = sampler.as_mut().and_then(|sampler| sampler.step(now)) {
                frames.tell(&Told::Half(Box::new(half)))?;
            }
            let bytes = sampler.as_ref().map_or(0, Sampler::total);
            if let Some(why) = beyond(limits, bytes, now >= over_ns) {
                return frames.tell(&Told::Over { why });
            }
            frames.look_after(&Told::Alive, now)?;
            let next = sampler.as_ref().and_then(|sampler| sampler.next_ns(now));
            let next = next.unwrap_or(i64::MAX).min(frames.next_ns()).min(over_ns);
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
            (Asked::Send { .. } | Asked::Stop, Some(sampler)) => sampler.end(now),
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

/// How many streams the other end receives on, and how many it sends on.
pub fn streams(direction: Direction, streams: u32) -> [u32; 2] {
    match direction {
        Direction::Out => [streams, 0],
        Direction::In => [0, streams],
        Direction::Both => [streams, streams],
    }
}

fn beyond(limits: Limits, bytes: u64, is_late: bool) -> Option<String> {
    if is_late {
        let seconds = limits.longest_ns / 1_000_000_000;
        return Some(format!(
            "the other end serves no measurement for more than {seconds} s: tare net serve --longest"
        ));
    }
    (bytes > limits.bytes).then(|| {
        let most = limits.bytes;
        format!("the other end bears no more than {most} bytes of one measurement: tare net serve --bytes")
    })
}

#[cfg(test)]
mod tests;
