//! What a process used up, as the kernel tells it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::secrecy;

/// From struct rusage; memory is a peak, the rest are sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub user_ns: i64,
    pub system_ns: i64,
    pub memory_bytes: i64,
    pub minor_faults: i64,
    pub major_faults: i64,
    pub voluntary_switches: i64,
    pub involuntary_switches: i64,
}

impl From<&libc::rusage> for Usage {
    fn from(usage: &libc::rusage) -> Self {
        let nanoseconds = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec) * 1000;
        Self {
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
            memory_bytes: usage.ru_maxrss * 1024,
            minor_faults: usage.ru_minflt,
            major_faults: usage.ru_majflt,
            voluntary_switches: usage.ru_nvcsw,
            involuntary_switches: usage.ru_nivcsw,
        }
    }
}

/// This process's; callable between fork and exec.
pub fn own() -> Usage {
    read(libc::RUSAGE_SELF)
}

/// The calling thread's; memory is the process's.
pub fn own_thread() -> Usage {
    read(libc::RUSAGE_THREAD)
}

fn read(whose: libc::c_int) -> Usage {
    // SAFETY: writes one rusage.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &mut usage);
        Usage::from(&usage)
    }
}

/// Second field of a schedstat file: nanoseconds ready but without a CPU.
pub fn run_queue_wait(schedstat: &[u8]) -> Option<i64> {
    let field = schedstat.split(|byte| byte.is_ascii_whitespace()).nth(1)?;
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Number of moves from CPU to CPU in a sched file.
pub fn migrations(sched: &str) -> Option<i64> {
    let line = sched
        .lines()
        .find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Bytes that this process, and the children that it waited for, wrote by system calls.
///
/// The difference around a wait is what that child wrote. The child's own io file cannot be used:
/// newer kernels refuse an ordinary user the file of a process that has ended, even its parent.
pub struct WrittenBytes(Option<File>);

impl WrittenBytes {
    /// Opens this process's io file, which it may always read, but open only while it is dumpable.
    /// Afterwards the process is not.
    pub fn open() -> Self {
        Self(secrecy::suspended(|| File::open("/proc/self/io").ok()))
    }

    /// None where the kernel keeps no such count, or there is no /proc.
    pub fn read(&self) -> Option<i64> {
        let mut text = [0; 512];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        written(std::str::from_utf8(&text[..length]).ok()?)
    }
}

/// The `wchar` line of an io file.
fn written(io: &str) -> Option<i64> {
    io.lines()
        .find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_scheduler_are_read() {
        assert_eq!(run_queue_wait(b"96113 70153 2\n"), Some(70153));
        assert_eq!(run_queue_wait(b""), None);
        let sched =
            "head (1, #threads: 1)\n---\nse.exec_start  :  22.1\nse.nr_migrations   :     17\n";
        assert_eq!(migrations(sched), Some(17));
        assert_eq!(migrations("nothing"), None);
    }

    #[test]
    fn written_bytes_are_those_of_all_calls() {
        assert_eq!(
            written("rchar: 5\nwchar: 70\nsyscr: 1\nwrite_bytes: 4096\n"),
            Some(70)
        );
        assert_eq!(written("rchar: 5\n"), None);
    }
}
