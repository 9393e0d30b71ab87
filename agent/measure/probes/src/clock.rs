//! What a reading of each clock costs.

use std::hint::black_box;

use sys::clock;

use crate::affinity::pin;
use crate::probe::{Better, Metric, Probe, Round, Seconds};
use crate::timing::windows;

const fn cost(name: &'static str, meaning: &'static str) -> Metric {
    Metric {
        name,
        unit: "ns",
        meaning,
        axes: &[],
        listed: false,
        better: Better::Lower,
        margin: 0.1,
    }
}

pub const PROBE: Probe = Probe {
    name: "clock",
    title: "reading a clock",
    question: "What does it cost to look at the clock, and how?",
    source: Some("SYSMEASURE, measurement overhead"),
    metrics: &[
        cost(
            "clock.vdso",
            "clock_gettime(CLOCK_MONOTONIC) as every program calls it, without entering the \
             kernel where the clock source allows; least of windows",
        ),
        cost(
            "clock.coarse",
            "clock_gettime(CLOCK_MONOTONIC_COARSE): the time of the last tick; least of windows",
        ),
        cost(
            "clock.syscall",
            "clock_gettime(CLOCK_MONOTONIC) by a system call; least of windows",
        ),
        cost(
            "clock.thread_cpu",
            "clock_gettime(CLOCK_THREAD_CPUTIME_ID); least of windows",
        ),
        cost(
            "clock.tsc",
            "the CPU's counter, read while what precedes it still runs (rdtsc; cntvct_el0 on \
             ARM); least of windows",
        ),
        cost(
            "clock.tscp",
            "the same after all that precedes it (rdtscp; x86 only); least of windows",
        ),
        cost(
            "clock.tsc_fenced",
            "the same with nothing before or after it overlapping (lfence, rdtsc, lfence; isb on \
             ARM); never by CPUID, which leaves a virtual machine; least of windows",
        ),
        Metric {
            name: "clock.tsc_frequency",
            unit: "Hz",
            meaning: "steps of that counter a second, against CLOCK_MONOTONIC_RAW over the round",
            axes: &[],
            listed: false,
            better: Better::Neither,
            margin: 1e-4,
        },
    ],
    seconds: Seconds {
        brief: Some(0.03),
        quick: Some(0.1),
        whole: Some(0.2),
    },
    repeats: true,
    needs: &[],
    perform,
};

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    let counter = counter::usable();
    let start = counter.is_ok().then(counter::moment);
    time(round, "clock.vdso", clock::monotonic);
    time(round, "clock.coarse", || {
        clock::read(libc::CLOCK_MONOTONIC_COARSE)
    });
    time(round, "clock.syscall", in_the_kernel);
    time(round, "clock.thread_cpu", || {
        clock::read(libc::CLOCK_THREAD_CPUTIME_ID)
    });
    match counter {
        Ok(()) => counters(round),
        Err(why) => round.unavailable("clock.tsc", why),
    }
    if let Some(start) = start {
        round.read("clock.tsc_frequency", counter::frequency(start));
    }
    Ok(())
}

/// Times one way of reading a clock for its share of the round.
fn time<T>(round: &Round, metric: &str, read: impl Fn() -> T) {
    let least = windows(round.budget_ns() / 7, |operations| {
        for _ in 0..operations {
            black_box(read());
        }
    });
    round.read(metric, least.least);
}

fn in_the_kernel() -> i64 {
    let mut now = clock::timespec(0);
    // SAFETY: writes one timespec.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_nsec
}

fn counters(round: &Round) {
    time(round, "clock.tsc", counter::read);
    time(round, "clock.tsc_fenced", counter::fenced);
    #[cfg(target_arch = "x86_64")]
    match counter::has_rdtscp() {
        true => time(round, "clock.tscp", counter::serialised),
        false => round.unavailable("clock.tscp", "this CPU has no rdtscp"),
    }
    #[cfg(not(target_arch = "x86_64"))]
    round.unavailable("clock.tscp", "rdtscp is an instruction of x86 CPUs");
}

/// The CPU's own counter of time.
mod counter {
    use sys::clock;

    /// A reading of the counter and the nanosecond at which it was taken.
    pub type Moment = (u64, i64);

    /// Of some readings the one that was least disturbed.
    pub fn moment() -> Moment {
        let tries = (0..16).map(|_| {
            let before = clock::read(libc::CLOCK_MONOTONIC_RAW);
            let counted = fenced();
            let after = clock::read(libc::CLOCK_MONOTONIC_RAW);
            (after - before, (counted, before + (after - before) / 2))
        });
        tries.min().expect("some tries").1
    }

    /// Steps a second since then.
    pub fn frequency(start: Moment) -> f64 {
        let end = moment();
        (end.0 - start.0) as f64 * 1e9 / (end.1 - start.1) as f64
    }

    #[cfg(target_arch = "x86_64")]
    pub use x86::*;

    #[cfg(target_arch = "x86_64")]
    mod x86 {
        use std::arch::x86_64::{__cpuid, __get_cpuid_max, __rdtscp, _mm_lfence, _rdtsc};

        /// Whether this process may read the counter, which sandboxes can forbid.
        pub fn usable() -> Result<(), String> {
            let mut how: libc::c_int = 0;
            // SAFETY: writes one integer.
            let told = unsafe { libc::prctl(libc::PR_GET_TSC, &mut how) };
            match (told, how) {
                (0, libc::PR_TSC_SIGSEGV) => {
                    Err("this process may not read it (prctl PR_SET_TSC)".to_string())
                }
                _ => Ok(()),
            }
        }

        pub fn has_rdtscp() -> bool {
            const EXTENDED: u32 = 0x8000_0001;
            // SAFETY: CPUID is there on every CPU of this architecture (newer compilers know).
            #[allow(unused_unsafe)]
            unsafe {
                __get_cpuid_max(0x8000_0000).0 >= EXTENDED && __cpuid(EXTENDED).edx >> 27 & 1 == 1
            }
        }

        pub fn read() -> u64 {
            // SAFETY: `usable` said so.
            unsafe { _rdtsc() }
        }

        pub fn serialised() -> u64 {
            let mut cpu = 0;
            // SAFETY: `has_rdtscp` said so.
            unsafe { __rdtscp(&mut cpu) }
        }

        pub fn fenced() -> u64 {
            // SAFETY: fences have no preconditions; `usable` said so.
            unsafe {
                _mm_lfence();
                let counted = _rdtsc();
                _mm_lfence();
                counted
            }
        }
    }

    #[cfg(target_arch = "aarch64")]
    pub use arm::*;

    #[cfg(target_arch = "aarch64")]
    mod arm {
        use std::arch::asm;

        /// Linux lets every process read it.
        pub fn usable() -> Result<(), String> {
            Ok(())
        }

        pub fn read() -> u64 {
            let counted;
            // SAFETY: reads a register.
            unsafe { asm!("mrs {}, cntvct_el0", out(reg) counted, options(nomem, nostack)) };
            counted
        }

        pub fn fenced() -> u64 {
            let counted;
            // SAFETY: reads a register.
            unsafe {
                asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) counted, options(nostack));
            }
            counted
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub use other::*;

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    mod other {
        pub fn usable() -> Result<(), String> {
            Err("no counter of this architecture is known to this program".to_string())
        }

        pub fn read() -> u64 {
            0
        }

        pub fn fenced() -> u64 {
            0
        }
    }
}
