//! Waiting until a time of the monotonic clock. The runtime's own timers know milliseconds.

use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{
    clock_gettime, timerfd_create, timerfd_settime, ClockId, Itimerspec, TimerfdClockId,
    TimerfdFlags, TimerfdTimerFlags, Timespec,
};
use tokio::io::unix::AsyncFd;

const NS: u64 = 1_000_000_000;

/// The time now, by CLOCK_MONOTONIC.
pub fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time that this process has taken.
pub fn cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * NS + time.tv_nsec as u64
}

/// A timer of the kernel.
pub struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let file = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: the timer keeps the file open, and gives it to nobody.
        Ok(Self(unsafe { AsyncFd::register(file) }?))
    }

    /// Waits until a time, or not at all where it is over.
    pub async fn until(&self, time_ns: u64) -> io::Result<()> {
        if time_ns <= now_ns() {
            return Ok(());
        }
        let at = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: (time_ns / NS) as i64,
                tv_nsec: (time_ns % NS) as _,
            },
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::ABSTIME, &at)?;
        loop {
            let mut ready = self.0.readable().await?;
            let read = ready.try_io(|file| {
                let mut expirations = [0; 8];
                Ok(rustix::io::read(file.get_ref(), &mut expirations)?)
            });
            if let Ok(done) = read {
                return done.map(drop);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_until_a_time_and_not_for_one_that_is_over() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let timer = Timer::new().unwrap();
            let begin = now_ns();
            for step in 1..=3 {
                let time = begin + step * 2_500_000;
                timer.until(time).await.unwrap();
                assert!(now_ns() >= time);
            }
            timer.until(begin).await.unwrap();
        });
    }
}
