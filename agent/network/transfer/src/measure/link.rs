//! Everything that connects both ends: made at once, and given up at once where a part is lost.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;
use std::sync::Arc;
use std::thread::JoinHandle;

use record::network::{Connect, EndFact};
use record::Peer;
use sys::clock;
use sys::watch;

use crate::protocol::frames::{stream_counts, Asked, Begin, Frames, Told};
use crate::protocol::session::{Failure, Session};
use crate::traffic::gate::Gate;
use crate::traffic::half::Half;
use crate::traffic::phase::Phase;
use crate::traffic::sampler::Sampler;
use crate::traffic::waits::Roles;
use crate::traffic::{facts, flow, pings, segments, tcp};
use crate::wire::{Side, Task};

/// The other end answers in this time, or is not there.
const ANSWER_NS: i64 = 5_000_000_000;

pub struct Link {
    pub frames: Frames,
    pub sampler: Sampler,
    pub here: Vec<EndFact>,
    pub there: Vec<EndFact>,
    streams: Vec<TcpStream>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    pings: Arc<Gate>,
}

/// Connects, once.
pub fn connect(asked: &Connect) -> Result<Link, Failure> {
    let peer = Peer {
        address: asked.end.clone(),
        key: asked.key.clone(),
    };
    let mut session = Session::begin(&peer, None)?;
    session.ask(Task::Measure, 0, 0).map_err(Failure::passing)?;
    let congestion = asked.congestion.as_deref();
    tcp::control_congestion(&session.stream, congestion)
        .map_err(|error| Failure::lasting(facts::no_congestion(true, congestion, &error)))?;
    tcp::give_up_in_silence(&session.stream)?;
    let here = facts::of(&session.stream);
    let mut frames = Frames::new(session.stream.try_clone()?, session.secrets(), Side::Probe)?;
    frames.tell(&Asked::Begin(Begin {
        direction: asked.direction,
        streams: asked.streams,
        congestion: asked.congestion.clone(),
        interval_ns: asked.interval_ns,
        sample_ns: asked.sample_ns,
        lasts_ns: asked.lasts_ns,
        most_bytes: asked.most_bytes,
    }))?;
    let (number, there) = await_ready(&mut frames)?;
    let [out, back] = stream_counts(asked.direction, asked.streams);
    let mut joined = Vec::new();
    let first = u32::from(asked.pings == Some(0));
    for place in first..=out + back {
        let stream = join(&peer, number, place, congestion);
        // Where it was over by then, the other end has said why.
        joined.push(stream.map_err(|failure| said_before(&mut frames).unwrap_or(failure))?);
    }
    Ok(Link::start(asked, frames, [here, there], joined)?)
}

fn await_ready(frames: &mut Frames) -> Result<(u64, Vec<EndFact>), Failure> {
    let deadline_ns = clock::monotonic() + ANSWER_NS;
    while clock::monotonic() < deadline_ns {
        match frames.hear()? {
            Some(Told::Ready { number, facts }) => return Ok((number, facts)),
            Some(Told::Over { why }) => return Err(Failure::lasting(why)),
            Some(_) => {}
            None => drop(watch::poll([frames.as_raw_fd()], Some(deadline_ns))?),
        }
    }
    Err(Failure::passing(
        "the other end does not answer".to_string(),
    ))
}

fn said_before(frames: &mut Frames) -> Option<Failure> {
    match frames.hear() {
        Ok(Some(Told::Over { why })) => Some(Failure::lasting(why)),
        _ => None,
    }
}

fn join(
    peer: &Peer,
    number: u64,
    place: u32,
    congestion: Option<&str>,
) -> Result<TcpStream, Failure> {
    let mut session = Session::begin(peer, congestion)?;
    session
        .ask(Task::Join, place, number)
        .map_err(Failure::passing)?;
    let stream = session.stream;
    tcp::give_up_in_silence(&stream)?;
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    if place > 0 {
        stream.set_nodelay(false)?;
    }
    Ok(stream)
}

impl Link {
    /// `joined`: by place, beginning with the round trips where they were asked for.
    fn start(
        asked: &Connect,
        frames: Frames,
        [here, there]: [Vec<EndFact>; 2],
        joined: Vec<TcpStream>,
    ) -> io::Result<Self> {
        let (gate, pings) = (Arc::<Gate>::default(), Arc::<Gate>::default());
        let roles = Arc::<Roles>::default();
        let streams = joined
            .iter()
            .map(TcpStream::try_clone)
            .collect::<io::Result<_>>()?;
        let mut threads = Vec::new();
        let mut joined = joined.into_iter();
        let mut times = None;
        if asked.pings != Some(0) {
            let counter = segments::counter();
            times = Some(Arc::clone(&counter));
            let (stream, gate, rate) = (joined.next(), Arc::clone(&pings), asked.pings);
            let stream = stream.ok_or(io::ErrorKind::NotConnected)?;
            let roles = Arc::clone(&roles);
            threads.push(std::thread::spawn(move || {
                roles.pinging.join();
                pings::ping(&stream, &gate, rate, &counter, &roles)
            }));
        }
        let [out, _] = stream_counts(asked.direction, asked.streams);
        let segments = segments::counter();
        let mut outgoing = Vec::new();
        for stream in joined.by_ref().take(out as usize) {
            outgoing.push(stream.try_clone()?);
            let (gate, roles) = (Arc::clone(&gate), Arc::clone(&roles));
            let times = Arc::clone(&segments);
            threads.push(std::thread::spawn(move || {
                roles.sending.join();
                // Only the other end has limits to hold.
                flow::send(&stream, &gate, &AtomicU64::default(), &times)
            }));
        }
        let mut incoming = Vec::new();
        for stream in joined {
            let received = Arc::<AtomicU64>::default();
            incoming.push(Arc::clone(&received));
            let (gate, roles) = (Arc::clone(&gate), Arc::clone(&roles));
            threads.push(std::thread::spawn(move || {
                roles.receiving.join();
                flow::receive(&stream, &gate, &received)
            }));
        }
        Ok(Self {
            frames,
            sampler: Sampler::new(gate, outgoing, incoming, times, segments, roles),
            here,
            there,
            streams,
            threads,
            pings,
        })
    }

    /// Begins a phase here and there, or goes on with it.
    pub fn begin(&mut self, phase: &Phase, now_ns: i64) -> io::Result<()> {
        self.frames.tell(&Asked::Send {
            sending: phase.sending.clone(),
            since_ns: phase.since(now_ns),
        })?;
        self.pings.open(1);
        self.sampler.begin(phase.clone(), now_ns);
        Ok(())
    }

    /// No more round trips: the phase is over but for what is on its way.
    pub fn rest(&self) {
        self.pings.close();
    }

    /// Ends the phase under way, and returns this end's last half of it.
    pub fn end(&mut self, early: bool) -> Option<Half> {
        self.pings.close();
        if early {
            // What fails is found out when the other end is heard next.
            let _ = self.frames.tell(&Asked::Stop);
        }
        self.sampler.end()
    }

    /// Whether a thread has ended, which none does while all is well.
    pub fn is_broken(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.sampler.gate.end();
        self.pings.end();
        for stream in self.streams.iter().chain([self.frames.stream()]) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
