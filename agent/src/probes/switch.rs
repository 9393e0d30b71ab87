//! What it costs to switch from one process or thread to another on the same CPU.
//!
//! Two of them pass one byte to and fro through two pipes: a round trip is two switches and, on
//! either side, a read and a write. What the latter cost by themselves is measured in one
//! process with one pipe, and taken off: switch = (round trip − 2 × pipe) / 2.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::probes::partner::Partner;
use crate::probes::processes::refusal;
use crate::probes::timing::windows;
use crate::probes::{pin, Better, Metric, Probe, Round, Seconds};
use crate::record::Effort;

pub const PROBE: Probe = Probe {
    name: "switch",
    title: "context switches",
    question: "What does it cost to go from one process, or thread, to another on the same CPU?",
    source: Some("SYSMEASURE, context switch; lmbench lat_ctx and lat_pipe"),
    metrics: &[
        Metric {
            name: "switch.process",
            unit: "ns",
            meaning: "One switch between two processes on one CPU that pass a byte to and fro \
                      through pipes: half of switch.round_trip_process, less switch.pipe",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.15,
        },
        Metric {
            name: "switch.thread",
            unit: "ns",
            meaning: "One switch between two threads of a process likewise; what the pipe costs \
                      is measured beside the waiting thread, since descriptors that are shared \
                      cost more",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.15,
        },
        Metric {
            name: "switch.round_trip_process",
            unit: "ns",
            meaning: "A byte to the other process and back: two switches, two writes and two \
                      reads; nothing is taken off; least of windows",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
        Metric {
            name: "switch.round_trip_thread",
            unit: "ns",
            meaning: "A byte to another thread and back; least of windows",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
        Metric {
            name: "switch.pipe",
            unit: "ns",
            meaning: "Writing one byte into a pipe and reading it, in one process that never \
                      waits; least of windows",
            axes: &[],
            listed: false,
            better: Better::Lower,
            margin: 0.1,
        },
    ],
    seconds: Seconds {
        brief: Some(0.04),
        quick: Some(0.12),
        whole: Some(0.4),
    },
    repeats: true,
    needs: &[],
    perform,
};

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let pipes = Pipes::new().map_err(|error| format!("no pipe to be had: {error}"))?;
    let share = round.budget_ns() / 2;
    // Processes first: once there has been a second thread, descriptors may cost more.
    match Partner::start(|| pipes.answer()) {
        Ok(_partner) => {
            let found = bounce(&pipes, share)?;
            round.read("switch.pipe", found.pipe);
            found.tell(round, "process");
        }
        Err(error) => round.unavailable(
            "switch.process",
            format!("no second process: {}", refusal(error)),
        ),
    }
    if round.job.effort == Effort::Brief {
        return Ok(());
    }
    let pipes = Pipes::new().map_err(|error| format!("no pipe to be had: {error}"))?;
    std::thread::scope(|scope| {
        let partner = std::thread::Builder::new().spawn_scoped(scope, || pipes.answer());
        if let Err(error) = partner {
            round.unavailable(
                "switch.thread",
                format!("no second thread: {}", refusal(error)),
            );
            return Ok(());
        }
        let found = bounce(&pipes, share);
        pipes.finish();
        found?.tell(round, "thread");
        Ok(())
    })
}

/// Least times.
struct Found {
    round_trip: f64,
    /// Of a write and a read of what is there.
    pipe: f64,
}

impl Found {
    fn switch(&self) -> f64 {
        (self.round_trip - 2.0 * self.pipe) / 2.0
    }

    fn tell(&self, round: &Round, of: &str) {
        round.read(&format!("switch.round_trip_{of}"), self.round_trip);
        let metric = format!("switch.{of}");
        match self.switch() {
            switch if switch > 0.0 => round.read(&metric, switch),
            _ => round.unavailable(
                &metric,
                format!(
                    "a round trip of {:.0} ns is no longer than the reads and writes in it, {:.0} \
                     ns: the machine is not quiet enough",
                    self.round_trip,
                    2.0 * self.pipe
                ),
            ),
        }
    }
}

/// Both by turns, so that a slow moment meets both.
fn bounce(pipes: &Pipes, budget_ns: i64) -> Result<Found, String> {
    const TURNS: i64 = 3;
    let share = budget_ns / (2 * TURNS);
    let own = Pipe::new().map_err(|error| format!("no pipe to be had: {error}"))?;
    let mut intact = pipes.round_trip();
    let mut found = Found {
        round_trip: f64::INFINITY,
        pipe: f64::INFINITY,
    };
    for _ in 0..TURNS {
        let pipe = windows(share, |operations| {
            for _ in 0..operations {
                intact &= own.put() && own.take();
            }
        });
        let round_trip = windows(share, |operations| {
            for _ in 0..operations {
                intact &= pipes.round_trip();
            }
        });
        found.pipe = found.pipe.min(pipe.least);
        found.round_trip = found.round_trip.min(round_trip.least);
        if !intact {
            return Err("the other end of the pipe is gone".to_string());
        }
    }
    Ok(found)
}

/// To the partner and back.
struct Pipes {
    there: Pipe,
    back: Pipe,
}

impl Pipes {
    fn new() -> io::Result<Self> {
        Ok(Self {
            there: Pipe::new()?,
            back: Pipe::new()?,
        })
    }

    fn round_trip(&self) -> bool {
        self.there.put() && self.back.take()
    }

    /// The partner's part, until it is told to end.
    fn answer(&self) {
        while self.there.take() && self.back.put() {}
    }

    /// Ends a partner that shares the descriptors: it takes a stop for an end.
    fn finish(&self) {
        self.there.stop();
    }
}

/// One byte at a time.
pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

const GOES_ON: u8 = 0;
const STOPS: u8 = 1;

impl Pipe {
    pub fn new() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: writes two descriptors, which are new.
        unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self {
                read: OwnedFd::from_raw_fd(ends[0]),
                write: OwnedFd::from_raw_fd(ends[1]),
            })
        }
    }

    pub fn put(&self) -> bool {
        self.send(GOES_ON)
    }

    fn stop(&self) -> bool {
        self.send(STOPS)
    }

    fn send(&self, byte: u8) -> bool {
        // SAFETY: reads one byte.
        unsafe { libc::write(self.write.as_raw_fd(), (&raw const byte).cast(), 1) == 1 }
    }

    /// Whether there was a byte that goes on.
    pub fn take(&self) -> bool {
        let mut byte = STOPS;
        // SAFETY: writes one byte.
        let got = unsafe { libc::read(self.read.as_raw_fd(), (&raw mut byte).cast(), 1) };
        got == 1 && byte == GOES_ON
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage;

    #[test]
    fn a_round_trip_is_a_switch_for_either_side() {
        pin(crate::topology::usable().unwrap()[0]).unwrap();
        let pipes = Pipes::new().unwrap();
        let partner = Partner::start(|| pipes.answer()).unwrap();
        assert!(pipes.round_trip());
        let before = own_switches();
        assert!((0..1000).all(|_| pipes.round_trip()));
        // Nobody else can answer while this one does not give way.
        assert!(own_switches() - before >= 1000);
        drop(partner);
    }

    fn own_switches() -> i64 {
        let usage = usage::own_thread();
        usage.voluntary_switches + usage.involuntary_switches
    }

    #[test]
    fn what_the_pipe_costs_is_taken_off() {
        let found = Found {
            round_trip: 2200.0,
            pipe: 400.0,
        };
        assert_eq!(found.switch(), 700.0);
    }

    #[test]
    fn threads_bounce_and_end() {
        let pipes = Pipes::new().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| pipes.answer());
            let found = bounce(&pipes, 0).unwrap();
            pipes.finish();
            assert!(found.round_trip > 0.0 && found.pipe > 0.0);
        });
    }
}
