//! Launching one process: everything that it needs is built before it is born, so that between
//! clone and exec there are only system calls.

mod child;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use record::User;

use crate::rendezvous::Rendezvous;
use crate::shared_block::SharedBlock;
use crate::strings::{c_string, Strings};

/// The flag lies beyond the integers of the C library's bindings.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// What is executed, and as whom and where.
pub struct Program {
    pub image: Image,
    arguments: Strings,
    environment: Strings,
    pub input: Option<CString>,
    pub directory: Option<CString>,
    mask: Option<Vec<u64>>,
    user: Option<User>,
    file_bytes: Option<u64>,
    first_victim: bool,
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
    pub block: &'a SharedBlock,
    pub marker: [u8; 16],
    pub meeting: Option<&'a Rendezvous>,
    /// Of the meeting; absent: the others are not met.
    pub round: Option<u32>,
    /// Standard input where no file is to be read, output and error.
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
            input: None,
            directory: None,
            mask: None,
            user: None,
            file_bytes: None,
            first_victim: false,
        })
    }

    /// Reads a file as standard input, which it opens with its own rights.
    pub fn reading(mut self, input: Option<&str>) -> Result<Self, String> {
        self.input = input.map(c_string).transpose()?;
        Ok(self)
    }

    pub fn within(mut self, directory: Option<&str>) -> Result<Self, String> {
        self.directory = directory.map(c_string).transpose()?;
        Ok(self)
    }

    pub fn on(mut self, cpus: Option<&[u32]>) -> Self {
        self.mask = cpus.map(mask);
        self
    }

    pub fn run_by(mut self, user: Option<&User>) -> Self {
        self.user = user.cloned();
        self
    }

    /// Writes no file that is larger.
    pub fn writing(mut self, file_bytes: Option<u64>) -> Self {
        self.file_bytes = file_bytes;
        self
    }

    /// Where its group's memory is exceeded, the kernel ends it and its descendants, and not whoever
    /// launches it, which is in that group as well and may be the largest.
    pub fn first_victim(mut self, first: bool) -> Self {
        self.first_victim = first;
        self
    }

    /// Starts the process; returns its id. What fails in it is noted in the block.
    pub fn launch(&self, surroundings: &Surroundings) -> io::Result<libc::pid_t> {
        match clone(surroundings.group)? {
            0 => self.begin(surroundings),
            child => Ok(child),
        }
    }
}

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
    let paths: Vec<String> = directories.map(|d| format!("{d}/{command}")).collect();
    // Fewer attempts between the stamp and the exec; what is relative is not known here.
    let present = |path: &&String| !path.starts_with('/') || Path::new(path).exists();
    let found: Vec<&String> = paths.iter().filter(present).collect();
    let tried = if found.is_empty() {
        paths.iter().collect()
    } else {
        found
    };
    let tried: Result<_, _> = tried.into_iter().map(|path| c_string(path)).collect();
    Ok(Image::Paths(tried?))
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

fn mask(cpus: &[u32]) -> Vec<u64> {
    let highest = cpus.iter().max().map_or(0, |cpu| *cpu as usize);
    let mut mask = vec![0; highest / 64 + 1];
    for cpu in cpus {
        mask[*cpu as usize / 64] |= 1 << (cpu % 64);
    }
    mask
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering::Acquire;

    use sys::clock;

    use super::*;

    fn paths(command: &str, path: Option<&str>) -> Vec<String> {
        let environment = path.map(|path| ("PATH".to_string(), path.to_string()));
        let environment = environment.into_iter().collect();
        match candidates(command, &environment).unwrap() {
            Image::Paths(paths) => paths
                .into_iter()
                .map(|p| p.into_string().unwrap())
                .collect(),
            Image::Own(_) => unreachable!(),
        }
    }

    #[test]
    fn a_command_is_looked_for_as_execvp_does() {
        assert_eq!(paths("a/b", Some("/bin")), ["a/b"]);
        assert_eq!(paths("sh", None), ["/bin/sh", "/usr/bin/sh"]);
        assert_eq!(paths("sh", Some("/nowhere:/bin")), ["/bin/sh"]);
        // Relative ones are looked for from where the command runs.
        assert_eq!(
            paths("sh", Some(":/bin:tools")),
            ["./sh", "/bin/sh", "tools/sh"]
        );
        assert_eq!(
            paths("unheard-of", Some("/a:/b")),
            ["/a/unheard-of", "/b/unheard-of"]
        );
        assert!(candidates("a\0b", &BTreeMap::new()).is_err());
    }

    #[test]
    fn masks_reach_beyond_the_first_word() {
        assert_eq!(mask(&[0, 3]), [0b1001]);
        assert_eq!(mask(&[65]), [0, 2]);
        assert_eq!(mask(&[]), [0]);
    }

    fn shell(script: &str) -> Program {
        let environment = BTreeMap::new();
        let image = candidates("sh", &environment).unwrap();
        Program::new(image, ["sh", "-c", script], &environment).unwrap()
    }

    /// Launches a program and returns its status and usage.
    fn completed(program: &Program, block: &SharedBlock) -> (i32, libc::rusage) {
        let null = std::fs::File::open("/dev/null").unwrap();
        let surroundings = Surroundings {
            block,
            marker: *b"tare-test\0\0\0\0\0\0\0",
            meeting: None,
            round: None,
            streams: [null.as_fd(); 3],
            group: None,
        };
        let child = program.launch(&surroundings).unwrap();
        block.head().open_gate();
        let mut status = 0;
        // SAFETY: the record is written by the call that follows.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: waits for the child just made.
        let ended = unsafe { libc::wait4(child, &mut status, 0, &mut usage) };
        assert_eq!(ended, child);
        (status, usage)
    }

    #[test]
    fn the_first_victim_is_offered_to_the_kernel_and_others_are_not() {
        for first in [true, false] {
            let block = SharedBlock::new(0).unwrap();
            let offered = shell("[ $(cat /proc/self/oom_score_adj) = 1000 ]").first_victim(first);
            let (status, _) = completed(&offered, &block);
            assert_eq!(status == 0, first);
        }
    }

    #[test]
    fn usage_before_the_exec_is_noted() {
        let block = SharedBlock::new(0).unwrap();
        let begun_ns = clock::monotonic();
        let (status, whole) = completed(&shell("true"), &block);
        assert_eq!(status, 0);
        let before = &block.head().before;
        assert!((begun_ns..clock::monotonic()).contains(&before.monotonic_ns.load(Acquire)));
        assert!(before.cpu_ns.load(Acquire) > 0);
        // A copy of a process faults on the first pages that it writes to, a shell on further ones.
        let faults = before.minor_faults.load(Acquire);
        assert!(0 < faults && faults < whole.ru_minflt, "{faults}");
        assert_eq!(before.major_faults.load(Acquire), 0);
        // It waits at the gate, or passes it without a switch.
        assert!(before.voluntary_switches.load(Acquire) <= whole.ru_nvcsw);
    }
}
