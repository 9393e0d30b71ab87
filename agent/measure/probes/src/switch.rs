//! What it costs to switch from one process or thread to another on the same CPU.
//!
//! Two of them pass one byte to and fro through two pipes: a round trip is two switches and, on
//! either side, a read and a write. What the latter cost by themselves is measured in one
//! process with one pipe, and taken off: switch = (round trip − 2 × pipe) / 2.

use record::Effort;
use sys::pages::{Buffer, Pages};

use crate::affinity::pin;
use crate::partner::Partner;
use crate::pipe::{Pipe, Pipes};
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};
use crate::processes::refusal;
use crate::timing::windows;

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
                      through pipes: half of switch.round_trip_process, less switch.pipe. Whoever has \
                      the kernel record switches meanwhile (perf, or tare's own observer) makes \
                      each dearer, on the machine that this was written on by half",
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
        Metric {
            name: "switch.working_set",
            unit: "ns",
            meaning: "switch.process where either process reads so much memory of its own each \
                      time that it has the byte; what one process alone takes for that is taken \
                      off, so that what remains above switch.process is what the caches have lost",
            axes: &[Axis {
                name: "working_set_bytes",
                unit: "bytes",
                meaning: "Memory that each of the two reads, one word of every 64 bytes",
            }],
            listed: false,
            better: Better::Lower,
            margin: 0.25,
        },
    ],
    seconds: Seconds {
        brief: Some(0.04),
        quick: Some(0.12),
        whole: Some(0.6),
    },
    repeats: true,
    needs: &[],
    perform,
};

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let pipes = Pipes::new().map_err(|error| format!("no pipe to be had: {error}"))?;
    let share = match round.job.effort {
        Effort::Whole => round.budget_ns() / 4,
        _ => round.budget_ns() / 2,
    };
    // Processes first: once there has been a second thread, descriptors may cost more.
    match Partner::start(|| pipes.answer(|| {})) {
        Ok(_partner) => {
            let found = bounce(&pipes, share, || {})?;
            round.read("switch.pipe", found.pipe);
            found.tell(round, "process");
        }
        Err(error) => round.unavailable(
            "switch.process",
            format!("no second process: {}", refusal(error)),
        ),
    }
    match round.job.effort {
        Effort::Brief => return Ok(()),
        Effort::Quick => {}
        Effort::Whole => working_sets(round, 2 * share),
    }
    let pipes = Pipes::new().map_err(|error| format!("no pipe to be had: {error}"))?;
    std::thread::scope(|scope| {
        let partner = std::thread::Builder::new().spawn_scoped(scope, || pipes.answer(|| {}));
        if let Err(error) = partner {
            round.unavailable(
                "switch.thread",
                format!("no second thread: {}", refusal(error)),
            );
            return Ok(());
        }
        let found = bounce(&pipes, share, || {});
        pipes.finish();
        found?.tell(round, "thread");
        Ok(())
    })
}

/// The same between processes that use memory of their own in between.
fn working_sets(round: &Round, budget_ns: i64) {
    const METRIC: &str = "switch.working_set";
    const SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
    for size in SIZES {
        if 2 * size as u64 > round.job.memory_bytes {
            break;
        }
        let found = working_set(size, budget_ns / SIZES.len() as i64);
        match found.map(|found| found.switch()) {
            Ok(switch) if switch > 0.0 => round.read_at(METRIC, &[size as i64], switch),
            // Switching took less time than the noise of reading the memory: no value.
            Ok(_) => {}
            Err(why) => return round.unavailable(METRIC, why),
        }
    }
}

fn working_set(bytes: usize, budget_ns: i64) -> Result<Found, String> {
    let buffer = Buffer::new(bytes, Pages::Small)?;
    let pipes = Pipes::new().map_err(|error| format!("no pipe to be had: {error}"))?;
    let read = || {
        for offset in (0..bytes).step_by(64) {
            // SAFETY: inside the buffer.
            unsafe { buffer.start().add(offset).cast::<u64>().read_volatile() };
        }
    };
    let partner = Partner::start(|| {
        for offset in (0..bytes).step_by(buffer.page()) {
            // What both have inherited would be in the caches for both.
            // SAFETY: inside the buffer.
            unsafe { buffer.start().add(offset).write_volatile(2) };
        }
        pipes.answer(read);
    });
    let _partner = partner.map_err(|error| format!("no second process: {}", refusal(error)))?;
    bounce(&pipes, budget_ns, read)
}

/// Least times.
struct Found {
    round_trip: f64,
    /// Of a write and a read of what is there (and the work after it).
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

/// Both by turns, so that a slow moment meets both. This side works after each byte that comes,
/// as the partner does.
fn bounce(pipes: &Pipes, budget_ns: i64, work: impl Fn()) -> Result<Found, String> {
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
                work();
            }
        });
        let round_trip = windows(share, |operations| {
            for _ in 0..operations {
                intact &= pipes.round_trip();
                work();
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

#[cfg(test)]
mod tests {
    use sys::usage;

    use super::*;

    #[test]
    fn a_round_trip_is_a_switch_for_either_side() {
        pin(sys::topology::usable().unwrap()[0]).unwrap();
        let pipes = Pipes::new().unwrap();
        let partner = Partner::start(|| pipes.answer(|| {})).unwrap();
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
    fn processes_with_memory_of_their_own_bounce_too() {
        let found = working_set(64 << 10, 0).unwrap();
        assert!(found.round_trip > 0.0 && found.pipe > 0.0);
    }

    #[test]
    fn threads_bounce_and_end() {
        let pipes = Pipes::new().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| pipes.answer(|| {}));
            let found = bounce(&pipes, 0, || {}).unwrap();
            pipes.finish();
            assert!(found.round_trip > 0.0 && found.pipe > 0.0);
        });
    }
}
