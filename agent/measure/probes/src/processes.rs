//! What it costs to make a process and to see it end.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use launch::Strings;
use record::Effort;
use sys::clock;
use sys::pages::{Buffer, Pages};

use crate::affinity::pin;
use crate::probe::{Axis, Better, Metric, Probe, Round, Seconds};
use crate::smallest_program;
use crate::timing::{windows, windows_of_part};

/// A single figure in nanoseconds.
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
    name: "process",
    title: "making processes",
    question: "What does a new process cost: its creation alone, and with the wait for its end?",
    source: Some("SYSMEASURE, process creation; lmbench lat_proc"),
    metrics: &[
        cost(
            "process.create",
            "fork of a small process with one thread, whose child ends at once, until fork \
                      returns in the parent: the child's life and the wait for it are not in it. \
                      Both on one CPU; least of windows. Not in an effort of brief",
        ),
        cost(
            "process.fork",
            "fork of a small process with one thread, whose child ends at once, until \
                      waitpid returns; both on one CPU; least of windows",
        ),
        cost(
            "process.vfork",
            "The same where the child borrows the parent's memory (clone with CLONE_VM \
                      and CLONE_VFORK)",
        ),
        cost(
            "process.posix_spawn_smallest",
            "posix_spawn of the smallest program, one page that ends at once, until \
                      waitpid returns; least of windows",
        ),
        cost(
            "process.exec_smallest",
            "fork and execve of the same program, until waitpid returns; least of \
                      windows. Others take longer, such as lmbench's: their libraries are mapped \
                      and bound at each start",
        ),
        cost(
            "process.shell",
            "fork and execve of /bin/sh -c : , until waitpid returns; least of windows",
        ),
        Metric {
            name: "process.fork_resident",
            unit: "ns",
            meaning: "process.fork where the parent holds so much more memory, written, in small \
                      pages: their tables are copied",
            axes: &[Axis {
                name: "resident_bytes",
                unit: "bytes",
                meaning: "Memory that the parent has written, besides its own few hundred KiB",
            }],
            listed: false,
            better: Better::Lower,
            margin: 0.15,
        },
    ],
    seconds: Seconds {
        brief: Some(0.04),
        quick: Some(0.3),
        whole: Some(0.8),
    },
    repeats: true,
    needs: &[],
    perform,
};

const MIB: u64 = 1 << 20;

fn perform(round: &Round) -> Result<(), String> {
    pin(round.home())?;
    if round.job.effort == Effort::Brief {
        let cost = time(round.budget_ns(), fork)?;
        round.read("process.fork", cost);
        return Ok(());
    }
    let share = round.budget_ns() / 9;
    let smallest = Command::new(&["smallest"])?;
    let colon = Command::new(&["sh", "-c", ":"])?;
    let mut stack = vec![0_u128; 1024];
    let tell = |metric: &str, cost: Result<f64, String>| match cost {
        Ok(cost) => round.read(metric, cost),
        Err(why) => round.unavailable(metric, why),
    };
    tell("process.fork", time(share, fork));
    tell("process.create", time_until_return(share, fork));
    tell("process.vfork", time(share, || vfork(&mut stack)));
    match smallest_program::file() {
        Ok(file) => {
            let path = proc_path(&file);
            tell(
                "process.posix_spawn_smallest",
                time(share, || smallest.spawn(&path)),
            );
            let execute = || smallest.execute(file.as_raw_fd(), c"");
            tell("process.exec_smallest", time(share, execute));
        }
        Err(error) => {
            for metric in ["process.posix_spawn_smallest", "process.exec_smallest"] {
                round.unavailable(metric, format!("the program cannot be made: {error}"));
            }
        }
    }
    tell(
        "process.shell",
        time(share, || colon.execute(libc::AT_FDCWD, c"/bin/sh")),
    );
    resident(round, 3 * share);
    Ok(())
}

/// The path of an open file, with a null at its end.
fn proc_path(file: &File) -> String {
    format!("/proc/self/fd/{}\0", file.as_raw_fd())
}

/// Forks a parent that grows.
fn resident(round: &Round, budget_ns: i64) {
    const METRIC: &str = "process.fork_resident";
    let sizes: &[u64] = match round.job.effort {
        Effort::Whole => &[1, 4, 16, 64, 256],
        _ => &[4, 16, 64],
    };
    let sizes = sizes.iter().map(|mib| mib * MIB);
    let mut held: Vec<Buffer> = Vec::new();
    let mut length = 0;
    for size in sizes.filter(|size| *size <= round.job.memory_bytes) {
        let cost = Buffer::new((size - length) as usize, Pages::Small).and_then(|buffer| {
            held.push(buffer);
            length = size;
            time(budget_ns / 5, fork)
        });
        match cost {
            Ok(cost) => round.read_at(METRIC, &[size as i64], cost),
            Err(why) => return round.unavailable(METRIC, format!("at {} MiB: {why}", size / MIB)),
        }
    }
}

/// Least time from before the creation of a child to after the wait for it.
fn time(
    budget_ns: i64,
    mut create: impl FnMut() -> io::Result<libc::pid_t>,
) -> Result<f64, String> {
    let mut live = || create().and_then(wait);
    // What is refused at all is refused at once.
    live().map_err(refusal)?;
    let mut failed = None;
    let windows = windows(budget_ns, |operations| {
        for _ in 0..operations {
            failed = live().err().or(failed.take());
        }
    });
    match failed {
        None => Ok(windows.least),
        Some(error) => Err(refusal(error)),
    }
}

/// Least time until the creation of a child returns; the child is waited for thereafter.
fn time_until_return(
    budget_ns: i64,
    mut create: impl FnMut() -> io::Result<libc::pid_t>,
) -> Result<f64, String> {
    create().and_then(wait).map_err(refusal)?;
    let mut failed = None;
    let windows = windows_of_part(budget_ns, |operations| {
        let mut taken = 0;
        for _ in 0..operations {
            let start = clock::monotonic();
            let child = create();
            taken += clock::monotonic() - start;
            failed = child.and_then(wait).err().or(failed.take());
        }
        taken
    });
    match failed {
        None => Ok(windows.least),
        Some(error) => Err(refusal(error)),
    }
}

/// Why nothing is born, and what would mend it.
pub fn refusal(error: io::Error) -> String {
    let mend = match error.raw_os_error() {
        Some(libc::EAGAIN) => {
            ": a limit is reached (ulimit -u, ulimit -v, or the control group's pids.max)"
        }
        Some(libc::EPERM | libc::ENOSYS) => {
            ": a seccomp filter? (docker run --security-opt seccomp=unconfined)"
        }
        Some(libc::ENOENT) => ": the program is looked for in /proc, which is not mounted here",
        _ => "",
    };
    format!("{error}{mend}")
}

/// Waits for a child, which must have succeeded.
fn wait(child: libc::pid_t) -> io::Result<()> {
    let mut status = 0;
    loop {
        // SAFETY: writes one integer.
        match unsafe { libc::waitpid(child, &mut status, 0) } {
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            _ if status == 0 => return Ok(()),
            _ if status == 127 << 8 => {
                return Err(io::Error::other("the program could not be executed"));
            }
            _ => {
                let why = format!("the child ended with status {status:#x}");
                return Err(io::Error::other(why));
            }
        }
    }
}

fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: the child only ends.
    match unsafe { libc::fork() } {
        0 => unsafe { libc::_exit(0) },
        child => born(child),
    }
}

/// What vfork does, with a stack of the child's own: to return twice on the same one is beyond
/// what the compiler can be told.
fn vfork(stack: &mut [u128]) -> io::Result<libc::pid_t> {
    extern "C" fn end(_: *mut libc::c_void) -> libc::c_int {
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) }
    }
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: the stack outlives the child, which has ended when the call returns.
    born(unsafe { libc::clone(end, top.cast(), flags, std::ptr::null_mut()) })
}

/// Words of a command, made before it is timed.
struct Command {
    arguments: Strings,
    environment: Strings,
}

impl Command {
    fn new(words: &[&str]) -> Result<Self, String> {
        Ok(Self {
            arguments: Strings::new(words.iter().copied())?,
            environment: Strings::new([])?,
        })
    }

    /// Executes, in a forked child, the file of that descriptor (where the path is empty) or path.
    fn execute(&self, file: RawFd, path: &std::ffi::CStr) -> io::Result<libc::pid_t> {
        // SAFETY: between fork and exec, only system calls on what was prepared.
        match unsafe { libc::fork() } {
            0 => unsafe {
                libc::syscall(
                    libc::SYS_execveat,
                    file,
                    path.as_ptr(),
                    self.arguments.pointers(),
                    self.environment.pointers(),
                    libc::AT_EMPTY_PATH,
                );
                libc::_exit(127)
            },
            child => born(child),
        }
    }

    /// Spawns the program of a path that ends with a null.
    fn spawn(&self, path: &str) -> io::Result<libc::pid_t> {
        let mut child = 0;
        // SAFETY: the path and both lists end with nulls; the child's id is written.
        let error = unsafe {
            libc::posix_spawn(
                &mut child,
                path.as_ptr().cast(),
                std::ptr::null(),
                std::ptr::null(),
                self.arguments.pointers().cast(),
                self.environment.pointers().cast(),
            )
        };
        match error {
            0 => Ok(child),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

fn born(child: libc::pid_t) -> io::Result<libc::pid_t> {
    match child {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(child),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_every_kind_end_and_are_waited_for() {
        let mut stack = vec![0_u128; 1024];
        let colon = Command::new(&["sh", "-c", ":"]).unwrap();
        let smallest = smallest_program::file().unwrap();
        for child in [
            colon.execute(smallest.as_raw_fd(), c""),
            colon.spawn(&proc_path(&smallest)),
            fork(),
            vfork(&mut stack),
            colon.execute(libc::AT_FDCWD, c"/bin/sh"),
            colon.spawn("/bin/sh\0"),
        ] {
            let child = child.unwrap();
            wait(child).unwrap();
            // Nobody is left to be waited for.
            assert_eq!(wait(child).unwrap_err().raw_os_error(), Some(libc::ECHILD));
        }
    }

    #[test]
    fn creation_alone_leaves_the_life_of_the_child_out() {
        let sleeping = Command::new(&["sh", "-c", "sleep 0.02"]).unwrap();
        let create = || sleeping.execute(libc::AT_FDCWD, c"/bin/sh");
        let created = time_until_return(0, create).unwrap();
        let ended = time(0, create).unwrap();
        assert!(ended >= 20e6, "{ended}");
        assert!(0.0 < created && created < ended, "{created} {ended}");
    }

    #[test]
    fn what_cannot_be_executed_has_no_time() {
        let none = Command::new(&["none"]).unwrap();
        let why = time(0, || none.execute(libc::AT_FDCWD, c"/nonexistent")).unwrap_err();
        assert!(why.contains("could not be executed"), "{why}");
        assert!(time(0, || none.spawn("/nonexistent\0")).is_err());
        assert!(time_until_return(0, || none.spawn("/nonexistent\0")).is_err());
        let failing = Command::new(&["sh", "-c", "exit 3"]).unwrap();
        let why = time(0, || failing.execute(libc::AT_FDCWD, c"/bin/sh")).unwrap_err();
        assert!(why.contains("0x300"), "{why}");
    }
}
