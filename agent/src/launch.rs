//! Launching one process: everything that it needs is built before it is born, so that between
//! clone and exec there are only system calls.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use crate::clock;
use crate::failure::Step;
use crate::page::Page;
use crate::record::User;
use crate::rendezvous::Rendezvous;

/// Descriptors at which a kernel's process finds its page and its rendezvous.
pub const PAGE_FD: RawFd = 3;
pub const MEETING_FD: RawFd = 4;

/// How long a child waits for its launcher, which only dies without killing it when it is
/// killed itself.
const GATE_NS: i64 = 10_000_000_000;

/// The flag lies beyond the integers of the C library's bindings.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// What is executed, and as whom and where.
pub struct Program {
    pub image: Image,
    arguments: Strings,
    environment: Strings,
    pub directory: Option<CString>,
    mask: Option<Vec<u64>>,
    user: Option<User>,
}

/// Where its code is.
pub enum Image {
    /// Tried in this order, as execvp does.
    Paths(Vec<CString>),
    /// The agent itself: found without a path, and without /proc.
    Own(OwnedFd),
}

/// What differs from launch to launch.
pub struct Surroundings<'a> {
    pub page: &'a Page,
    pub marker: [u8; 16],
    pub meeting: Option<&'a Rendezvous>,
    /// Of the meeting; absent: the others are not met.
    pub round: Option<u32>,
    /// Standard input, output and error.
    pub streams: [BorrowedFd<'a>; 3],
    /// Control group of the second version to be born in.
    pub group: Option<BorrowedFd<'a>>,
}

impl Program {
    pub fn new<'a>(
        image: Image,
        arguments: impl IntoIterator<Item = &'a str>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let pairs: Vec<String> = environment
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        Ok(Self {
            image,
            arguments: Strings::new(arguments)?,
            environment: Strings::new(pairs.iter().map(String::as_str))?,
            directory: None,
            mask: None,
            user: None,
        })
    }

    pub fn within(mut self, directory: Option<&str>) -> Result<Self, String> {
        self.directory = directory.map(c_string).transpose()?;
        Ok(self)
    }

    pub fn on(mut self, cpus: Option<&[u32]>) -> Self {
        self.mask = cpus.map(mask);
        self
    }

    pub fn as_user(mut self, user: Option<&User>) -> Self {
        self.user = user.cloned();
        self
    }

    /// Starts the process; returns its id. What fails in it is noted in the page.
    pub fn launch(&self, surroundings: &Surroundings) -> io::Result<libc::pid_t> {
        match clone(surroundings.group)? {
            0 => {
                let step = match self.become_it(surroundings) {
                    Err(step) => step,
                };
                let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
                let head = surroundings.page.head();
                head.failed_errno.store(errno as u32, Relaxed);
                head.failed_step.store(step as u32, Relaxed);
                // SAFETY: ends the child without running anything of its parent's.
                unsafe { libc::_exit(127) }
            }
            child => Ok(child),
        }
    }

    fn become_it(&self, surroundings: &Surroundings) -> Result<Never, Step> {
        self.settle(surroundings)?;
        // SAFETY: the name is ended by a zero.
        unsafe { libc::prctl(libc::PR_SET_NAME, surroundings.marker.as_ptr()) };
        let head = surroundings.page.head();
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
        note_usage(surroundings.page, schedstat);
        self.execute(surroundings.page)
    }

    fn settle(&self, surroundings: &Surroundings) -> Result<(), Step> {
        // SAFETY: system calls on what was prepared; each refusal is looked at.
        unsafe {
            check(Step::Group, libc::setpgid(0, 0))?;
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
            for (target, stream) in surroundings.streams.iter().enumerate() {
                check(Step::Streams, libc::dup2(stream.as_raw_fd(), target as i32))?;
            }
            if let Image::Own(_) = self.image {
                let page = surroundings.page.file().as_raw_fd();
                check(Step::Streams, libc::dup2(page, PAGE_FD))?;
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
            if let Some(user) = &self.user {
                let groups = user.groups.as_ptr();
                check(Step::User, libc::setgroups(user.groups.len(), groups))?;
                check(Step::User, libc::setresgid(user.gid, user.gid, user.gid))?;
                check(Step::User, libc::setresuid(user.uid, user.uid, user.uid))?;
            }
            if let Some(directory) = &self.directory {
                check(Step::Directory, libc::chdir(directory.as_ptr()))?;
            }
        }
        Ok(())
    }

    fn execute(&self, page: &Page) -> Result<Never, Step> {
        let argv = self.arguments.pointers();
        let envp = self.environment.pointers();
        let head = page.head();
        // SAFETY: all strings are ended, both lists by a null.
        unsafe {
            match &self.image {
                Image::Own(file) => {
                    let empty = c"".as_ptr();
                    let file = file.as_raw_fd();
                    head.before.monotonic_ns.store(clock::monotonic(), Relaxed);
                    libc::syscall(
                        libc::SYS_execveat,
                        file,
                        empty,
                        argv,
                        envp,
                        libc::AT_EMPTY_PATH,
                    );
                }
                Image::Paths(candidates) => {
                    let mut refused = None;
                    for (number, path) in candidates.iter().enumerate() {
                        head.before.monotonic_ns.store(clock::monotonic(), Relaxed);
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
            }
        }
        Err(Step::Exec)
    }
}

/// What does not happen: a child that goes on after its exec.
enum Never {}

/// Paths to try for a command, as execvp does.
pub fn candidates(command: &str, environment: &BTreeMap<String, String>) -> Result<Image, String> {
    if command.contains('/') {
        return Ok(Image::Paths(vec![c_string(command)?]));
    }
    // What the C library takes where there is none.
    let path = environment
        .get("PATH")
        .map_or("/bin:/usr/bin", String::as_str);
    let directories = path.split(':').map(|d| if d.is_empty() { "." } else { d });
    let paths: Result<_, _> = directories
        .map(|d| c_string(&format!("{d}/{command}")))
        .collect();
    Ok(Image::Paths(paths?))
}

/// The usage of the process until here belongs to the launcher.
fn note_usage(page: &Page, schedstat: RawFd) {
    let before = &page.head().before;
    let usage = crate::usage::own();
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
        .store(crate::usage::run_queue_wait(text).unwrap_or(0), Relaxed);
    before.cpu_ns.store(clock::process_cpu(), Relaxed);
}

/// A copy of this process, born in the group: joining it later would take milliseconds.
pub fn clone(group: Option<BorrowedFd>) -> io::Result<libc::pid_t> {
    // SAFETY: this process has one thread, and the child only makes system calls.
    let child = unsafe {
        match group {
            Some(group) => {
                let mut arguments: libc::clone_args = std::mem::zeroed();
                arguments.flags = CLONE_INTO_CGROUP;
                arguments.exit_signal = libc::SIGCHLD as u64;
                arguments.cgroup = group.as_raw_fd() as u64;
                let size = std::mem::size_of_val(&arguments);
                libc::syscall(libc::SYS_clone3, &mut arguments, size)
            }
            None => libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0),
        }
    };
    match child {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(child as libc::pid_t),
    }
}

fn check(step: Step, result: libc::c_int) -> Result<(), Step> {
    if result < 0 {
        Err(step)
    } else {
        Ok(())
    }
}

/// C strings and the list of pointers to them, ended by a null.
pub struct Strings {
    _owned: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Strings {
    pub fn pointers(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }

    pub fn new<'a>(strings: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let owned: Vec<CString> = strings
            .into_iter()
            .map(c_string)
            .collect::<Result<_, _>>()?;
        let mut pointers: Vec<_> = owned.iter().map(|string| string.as_ptr()).collect();
        pointers.push(ptr::null());
        Ok(Self {
            _owned: owned,
            pointers,
        })
    }
}

pub fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("{text:?} contains a zero byte"))
}

fn mask(cpus: &[u32]) -> Vec<u64> {
    let highest = cpus.iter().max().map_or(0, |cpu| *cpu as usize);
    let mut mask = vec![0; highest / 64 + 1];
    for cpu in cpus {
        mask[*cpu as usize / 64] |= 1 << (cpu % 64);
    }
    mask
}
