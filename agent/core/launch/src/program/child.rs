//! What a launched process does between its birth and its exec: only system calls.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering::Relaxed;

use sys::clock;
use sys::signals;
use sys::usage;

use super::{Image, Program, Surroundings};
use crate::inherited::{BLOCK_FD, MEETING_FD};
use crate::shared_block::{SharedBlock, Step};

/// How long a child waits for its launcher, which only dies without killing it when it is
/// killed itself.
const GATE_NS: i64 = 10_000_000_000;

/// What does not happen: a child that goes on after its exec.
enum Never {}

impl Program {
    /// Becomes the program, or notes in the block what failed.
    pub(super) fn begin(&self, surroundings: &Surroundings) -> ! {
        let Err(step) = self.become_it(surroundings);
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        let head = surroundings.block.head();
        head.failed_errno.store(errno as u32, Relaxed);
        head.failed_step.store(step as u32, Relaxed);
        // SAFETY: ends the child without running anything of its parent's.
        unsafe { libc::_exit(127) }
    }

    fn become_it(&self, surroundings: &Surroundings) -> Result<Never, Step> {
        self.settle(surroundings)?;
        // SAFETY: the name is ended by a zero.
        unsafe { libc::prctl(libc::PR_SET_NAME, surroundings.marker.as_ptr()) };
        let head = surroundings.block.head();
        if !head.pass_gate(GATE_NS) {
            return Err(Step::Gate);
        }
        // SAFETY: opens a file or not.
        let schedstat = unsafe {
            libc::open(
                c"/proc/self/schedstat".as_ptr(),
                libc::O_RDONLY | libc::O_CLOEXEC,
            )
        };
        // A kernel meets the others when it has made its input.
        if let (Some(meeting), Some(round), Image::Paths(_)) =
            (surroundings.meeting, surroundings.round, &self.image)
        {
            meeting.meet(round);
        }
        note_usage(surroundings.block, schedstat);
        self.execute(surroundings.block)
    }

    fn settle(&self, surroundings: &Surroundings) -> Result<(), Step> {
        // SAFETY: system calls on what was prepared; each refusal is looked at.
        unsafe {
            check(Step::Group, libc::setpgid(0, 0))?;
            signals::as_by_default([libc::SIGPIPE]);
            for (target, stream) in surroundings.streams.iter().enumerate() {
                check(Step::Streams, libc::dup2(stream.as_raw_fd(), target as i32))?;
            }
            if let Image::Own(_) = self.image {
                let block = surroundings.block.file().as_raw_fd();
                check(Step::Streams, libc::dup2(block, BLOCK_FD))?;
                if let Some(meeting) = surroundings.meeting {
                    let file = meeting.file().as_raw_fd();
                    check(Step::Streams, libc::dup2(file, MEETING_FD))?;
                }
            }
            if let Some(mask) = &self.mask {
                let size = std::mem::size_of_val(&mask[..]);
                check(
                    Step::Affinity,
                    libc::sched_setaffinity(0, size, mask.as_ptr().cast()),
                )?;
            }
            if let Some(most) = self.file_bytes {
                let limit = libc::rlimit {
                    rlim_cur: most,
                    rlim_max: most,
                };
                check(Step::Limit, libc::setrlimit(libc::RLIMIT_FSIZE, &limit))?;
            }
            if self.first_victim {
                offer_as_victim();
            }
            if let Some(user) = &self.user {
                let groups = user.groups.as_ptr();
                check(Step::User, libc::setgroups(user.groups.len(), groups))?;
                check(Step::User, libc::setresgid(user.gid, user.gid, user.gid))?;
                check(Step::User, libc::setresuid(user.uid, user.uid, user.uid))?;
            }
            if let Some(input) = &self.input {
                let file = libc::open(input.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
                check(Step::Input, file)?;
                check(Step::Input, libc::dup2(file, libc::STDIN_FILENO))?;
            }
            if let Some(directory) = &self.directory {
                check(Step::Directory, libc::chdir(directory.as_ptr()))?;
            }
        }
        Ok(())
    }

    /// The last stamp before the exec is the one that stays.
    fn execute(&self, block: &SharedBlock) -> Result<Never, Step> {
        let argv = self.arguments.pointers();
        let envp = self.environment.pointers();
        let head = block.head();
        let stamp = || head.before.monotonic_ns.store(clock::monotonic(), Relaxed);
        let mut refused = None;
        // SAFETY: all strings are ended, both lists by a null.
        unsafe {
            let paths = match &self.image {
                Image::Own(binary) => {
                    let (binary, path) = (binary.as_raw_fd(), c"".as_ptr());
                    let number = libc::SYS_execveat;
                    stamp();
                    libc::syscall(number, binary, path, argv, envp, libc::AT_EMPTY_PATH);
                    return Err(Step::Exec);
                }
                Image::Paths(paths) => paths,
            };
            for (number, path) in paths.iter().enumerate() {
                stamp();
                libc::execve(path.as_ptr(), argv, envp);
                head.failed_candidate.store(number as u32, Relaxed);
                match *libc::__errno_location() {
                    libc::ENOENT | libc::ENOTDIR => continue,
                    libc::EACCES => refused = refused.or(Some(number)),
                    _ => return Err(Step::Exec),
                }
            }
            if let Some(number) = refused {
                head.failed_candidate.store(number as u32, Relaxed);
                *libc::__errno_location() = libc::EACCES;
            }
        }
        Err(Step::Exec)
    }
}

/// The usage of the process until here belongs to the launcher.
fn note_usage(block: &SharedBlock, schedstat: RawFd) {
    let before = &block.head().before;
    let usage = usage::own();
    before.user_ns.store(usage.user_ns, Relaxed);
    before.system_ns.store(usage.system_ns, Relaxed);
    before.minor_faults.store(usage.minor_faults, Relaxed);
    before.major_faults.store(usage.major_faults, Relaxed);
    before
        .voluntary_switches
        .store(usage.voluntary_switches, Relaxed);
    before
        .involuntary_switches
        .store(usage.involuntary_switches, Relaxed);
    let mut text = [0; 96];
    // SAFETY: reads into the buffer.
    let length = unsafe { libc::read(schedstat, text.as_mut_ptr().cast(), text.len()) };
    let text = &text[..length.max(0) as usize];
    before
        .wait_ns
        .store(usage::run_queue_wait(text).unwrap_or(0), Relaxed);
    before.cpu_ns.store(clock::process_cpu(), Relaxed);
}

/// Has the kernel prefer this process where memory runs out; without /proc it chooses by size.
fn offer_as_victim() {
    // SAFETY: writes to a file, if there is one.
    unsafe {
        let file = libc::open(
            c"/proc/self/oom_score_adj".as_ptr(),
            libc::O_WRONLY | libc::O_CLOEXEC,
        );
        if file >= 0 {
            libc::write(file, c"1000".as_ptr().cast(), 4);
            libc::close(file);
        }
    }
}

fn check(step: Step, result: libc::c_int) -> Result<(), Step> {
    if result < 0 {
        Err(step)
    } else {
        Ok(())
    }
}
