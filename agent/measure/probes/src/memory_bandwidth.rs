//! How many bytes a second go to and from memory, with one thread and with all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use record::Effort;
use sys::clock;
use sys::pages::{Buffer, Pages};

use crate::affinity::pin;
use crate::chase::Caches;
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};
use crate::streams::{loops, Kind, Streams, BLOCK};
use crate::timing::windows;

const BY_SIZE: &str = "memory.bandwidth.by_size";
const KINDS: [(&str, Kind); 4] = [
    ("memory.bandwidth.read", Kind::Read),
    ("memory.bandwidth.write", Kind::Write),
    ("memory.bandwidth.copy", Kind::Copy),
    ("memory.bandwidth.triad", Kind::Triad),
];

const THREADS: &[Axis] = &[Axis {
    name: "threads",
    unit: "1",
    meaning: "threads at once, each on a CPU and in memory of its own",
}];

const fn metric(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "B/s",
        meaning,
        axes: THREADS,
        listed: true,
        better: Better::Higher,
        margin: 0.05,
    }
}

pub const PROBE: Probe = Probe {
    name: "memory.bandwidth",
    title: "bandwidth of memory",
    question: "How many bytes a second go to and from memory, and each cache?",
    source: Some("STREAM; lmbench bw_mem; SYSMEASURE, memory bandwidth"),
    metrics: &[
        metric(
            KINDS[0].0,
            "summing up; most of windows of 4 MiB a thread, over four times the last cache, at \
             least 64 MiB (brief: at most 64), in huge pages where they can be had",
        ),
        metric(
            KINDS[1].0,
            "filling, each byte counted once; most of windows with ordinary stores and with such \
             as go past the caches, whichever are faster",
        ),
        metric(
            KINDS[2].0,
            "a = b, each byte counted as read and as written, as STREAM does (bw_mem counts it \
             once); what a cache fetches before it is written is not counted; stores as above",
        ),
        metric(
            KINDS[3].0,
            "a = b + s c in doubles, three streams counted, as STREAM does; stores as above",
        ),
        Metric {
            name: BY_SIZE,
            unit: "B/s",
            meaning: "summing up a buffer of that size again and again, one thread; most of \
                      windows",
            axes: &[Axis {
                name: "size_bytes",
                unit: "bytes",
                meaning: "of the buffer",
            }],
            listed: false,
            better: Better::Higher,
            margin: 0.05,
        },
    ],
    seconds: Seconds {
        brief: Some(0.05),
        quick: Some(0.5),
        whole: Some(2.5),
    },
    repeats: true,
    needs: &[],
    perform,
};

/// Bytes that a thread moves in a window: 0.2 ms or so.
const WINDOW: usize = 4 << 20;
const SMALLEST: usize = 4 << 10;
const MOST: usize = 2 << 30;
/// What takes no longer to be made than to be measured.
const MOST_BRIEF: usize = 64 << 20;
const FEWEST: usize = 5;
const MOST_WINDOWS: usize = 4096;
/// Turns of the loop that waits for other threads, before it lets others have the CPU.
const PATIENCE: u32 = 200_000;

fn perform(round: &Round) -> Result<(), String> {
    let caches = Caches::of(round.home());
    let most = match round.job.effort {
        Effort::Brief => MOST_BRIEF,
        _ => MOST,
    };
    let allowed = round.job.memory_bytes as usize;
    let total = caches.beyond(4).min(allowed).min(most);
    // Less would stay in the caches.
    if allowed < 2 * WINDOW.max(caches.last().unwrap_or(0)) {
        return Err("the memory that may be taken is too little: --memory \"256 MiB\"".to_string());
    }
    pin(round.home())?;
    {
        let buffer = buffer(total)?;
        together(round, &caches, &[(round.home(), &buffer)]);
        if round.job.effort != Effort::Brief {
            by_size(round, &buffer);
        }
    }
    if round.job.effort == Effort::Brief || round.cpus.len() < 2 {
        return Ok(());
    }
    all(round, &caches, total)
}

/// Every CPU at once, each with memory that it was the first to touch.
fn all(round: &Round, caches: &Caches, total: usize) -> Result<(), String> {
    let each = total / round.cpus.len();
    if each < 2 * WINDOW {
        return Err(format!(
            "with {} threads: the memory that may be taken is too little: --memory \"256 MiB\"",
            round.cpus.len()
        ));
    }
    let buffers: Vec<(u32, Buffer)> = thread::scope(|scope| {
        let made: Vec<_> = (round.cpus.iter())
            .map(|&cpu| scope.spawn(move || pin(cpu).and_then(|()| Ok((cpu, buffer(each)?)))))
            .collect();
        made.into_iter()
            .map(|one| one.join().expect("making a buffer does not panic"))
            .collect::<Result<_, String>>()
    })?;
    let places: Vec<_> = buffers.iter().map(|(cpu, buffer)| (*cpu, buffer)).collect();
    together(round, caches, &places);
    Ok(())
}

/// In huge pages, or else in small ones.
fn buffer(bytes: usize) -> Result<Buffer, String> {
    let whole = bytes / Pages::Huge.bytes() * Pages::Huge.bytes();
    Buffer::new(whole, Pages::Huge).or_else(|_| Buffer::new(bytes, Pages::Small))
}

/// Measures each kind with as many threads as there are places.
fn together(round: &Round, caches: &Caches, places: &[(u32, &Buffer)]) {
    let (kinds, mut each_ns) = match round.job.effort {
        Effort::Brief => (vec![KINDS[0], KINDS[2]], 5_000_000),
        Effort::Quick => (KINDS.to_vec(), 12_000_000),
        Effort::Whole => (KINDS.to_vec(), 60_000_000),
    };
    if places.len() > 1 {
        // It takes its time until all are on their CPUs at once where these have more to do.
        each_ns *= 2;
    }
    for (name, kind) in kinds {
        let rates = loops(kind)
            .into_iter()
            .map(|work| rate(places, kind, work, caches, each_ns));
        let best = rates.fold(0.0, f64::max);
        round.read_at(name, &[places.len() as i64], best);
    }
}

/// Bytes a second of all threads in the best window of one loop.
fn rate(places: &[(u32, &Buffer)], kind: Kind, work: Loop, caches: &Caches, each_ns: i64) -> f64 {
    let meeting = Meeting {
        threads: places.len() as u64,
        arrived: AtomicU64::new(0),
        last: AtomicU64::new(u64::MAX),
        end: clock::monotonic() + each_ns,
    };
    // A thread that may not be on its CPU runs on another.
    let stamps: Vec<Vec<(i64, i64)>> = thread::scope(|scope| {
        let others: Vec<_> = (places[1..].iter())
            .map(|(cpu, buffer)| {
                let meeting = &meeting;
                scope.spawn(move || {
                    let _ = pin(*cpu);
                    meeting.attend(false, buffer, kind, work)
                })
            })
            .collect();
        let _ = pin(places[0].0);
        let first = meeting.attend(true, places[0].1, kind, work);
        let others = others.into_iter().map(|one| one.join());
        let others = others.map(|one| one.expect("a loop does not panic"));
        std::iter::once(first).chain(others).collect()
    });
    // What an earlier loop left in the caches is not to be found there.
    let cached = caches.last().unwrap_or(0) / (WINDOW * places.len());
    let unmeasured = cached.min(stamps[0].len() - FEWEST);
    let least = (unmeasured..stamps[0].len())
        .map(|window| {
            let begin = stamps.iter().map(|one| one[window].0).min();
            let end = stamps.iter().map(|one| one[window].1).max();
            end.zip(begin).map_or(i64::MAX, |(end, begin)| end - begin)
        })
        .min();
    (places.len() * stream_bytes(kind) * kind.streams()) as f64 / least.unwrap_or(0) as f64 * 1e9
}

/// Of each stream, in a window.
fn stream_bytes(kind: Kind) -> usize {
    WINDOW / kind.streams() / BLOCK * BLOCK
}

type Loop = unsafe fn(Streams);

/// Threads that begin each window together; its time is from the first one's begin to the last
/// one's end.
struct Meeting {
    threads: u64,
    arrived: AtomicU64,
    /// Window before which all leave, as the first thread decides.
    last: AtomicU64,
    end: i64,
}

impl Meeting {
    /// Begin and end of each window of one thread.
    fn attend(&self, first: bool, buffer: &Buffer, kind: Kind, work: Loop) -> Vec<(i64, i64)> {
        let mut stamps = Vec::with_capacity(MOST_WINDOWS);
        let part = buffer.length() / kind.streams() / BLOCK * BLOCK;
        let bytes = stream_bytes(kind);
        let mut offset = 0;
        for window in 0.. {
            let enough = stamps.len() >= FEWEST && clock::monotonic() > self.end;
            if first && (enough || stamps.len() == MOST_WINDOWS) {
                self.last.store(window, Ordering::Relaxed);
            }
            self.meet(window);
            if window >= self.last.load(Ordering::Relaxed) {
                break;
            }
            // SAFETY: the parts of the buffer are as long as that, and do not overlap.
            unsafe {
                let [a, b, c] = [0, 1, 2].map(|index| {
                    let stream = index.min(kind.streams() - 1);
                    buffer.start().add(stream * part + offset)
                });
                let begin = clock::monotonic();
                work(Streams { a, b, c, bytes });
                stamps.push((begin, clock::monotonic()));
            }
            offset += bytes;
            if offset + bytes > part {
                offset = 0;
            }
        }
        stamps
    }

    /// Waits until every thread is at this window.
    fn meet(&self, window: u64) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let mut turns = 0;
        while self.arrived.load(Ordering::Acquire) < (window + 1) * self.threads {
            std::hint::spin_loop();
            turns += 1;
            if turns > PATIENCE {
                thread::yield_now();
            }
        }
    }
}

/// Reads buffers from small to large.
fn by_size(round: &Round, buffer: &Buffer) {
    let (an_octave, each_ns) = match round.job.effort {
        Effort::Whole => (4, 12_000_000),
        _ => (1, 4_000_000),
    };
    let work = loops(Kind::Read)[0];
    let octaves = (0..).map(|octave| SMALLEST << octave);
    let sizes = octaves
        .take_while(|size| *size <= buffer.length() / 2)
        .flat_map(|size| (0..an_octave).map(move |part| size + size / an_octave * part))
        .filter(|size| *size <= buffer.length() / 2);
    for bytes in sizes {
        let a = buffer.start();
        let streams = Streams {
            a,
            b: a,
            c: a,
            bytes,
        };
        let passes = windows(each_ns, |passes| {
            for _ in 0..passes {
                // SAFETY: the buffer is as long as that.
                unsafe { work(streams) };
            }
        });
        round.read_at(BY_SIZE, &[bytes as i64], bytes as f64 / passes.least * 1e9);
    }
}
