//! The clocks, as integer nanoseconds.

use std::io;

/// CLOCK_MONOTONIC: the one clock of all stamps.
pub fn monotonic() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME: only beside the monotonic one.
pub fn realtime() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of this process, all its threads.
pub fn process_cpu() -> i64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of this thread.
pub fn thread_cpu() -> i64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// What the kernel says of a clock's step.
pub fn resolution(clock: libc::clockid_t) -> io::Result<i64> {
    let mut step = zero();
    // SAFETY: writes one timespec.
    match unsafe { libc::clock_getres(clock, &mut step) } {
        0 => Ok(nanoseconds(&step)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads a clock; callable between fork and exec.
pub fn read(clock: libc::clockid_t) -> i64 {
    let mut now = zero();
    // SAFETY: writes one timespec; these clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut now) };
    nanoseconds(&now)
}

/// A duration as the kernel takes it.
pub fn timespec(nanoseconds: i64) -> libc::timespec {
    let nanoseconds = nanoseconds.max(0);
    libc::timespec {
        tv_sec: nanoseconds / 1_000_000_000,
        tv_nsec: nanoseconds % 1_000_000_000,
    }
}

/// Sleeps until a moment of the monotonic clock, whatever wakes it before.
pub fn sleep_until(moment_ns: i64) {
    let moment = timespec(moment_ns);
    let (id, kind) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
    // SAFETY: reads one timespec.
    while unsafe { libc::clock_nanosleep(id, kind, &moment, std::ptr::null_mut()) } == libc::EINTR {
    }
}

fn zero() -> libc::timespec {
    timespec(0)
}

fn nanoseconds(time: &libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward() {
        for clock in [
            libc::CLOCK_MONOTONIC,
            libc::CLOCK_REALTIME,
            libc::CLOCK_PROCESS_CPUTIME_ID,
        ] {
            let first = read(clock);
            assert!(first > 0 && read(clock) >= first);
            assert!(resolution(clock).unwrap() > 0);
        }
    }

    #[test]
    fn durations_survive_the_way_to_the_kernel_and_back() {
        assert_eq!(nanoseconds(&timespec(3_000_000_017)), 3_000_000_017);
        assert_eq!(nanoseconds(&timespec(-5)), 0);
    }
}
