//! Network namespaces: made, kept under a name, and left by all that runs in them.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use netlink::{links, traffic, Socket};

use super::orders::Refused;

/// Where `ip netns` keeps them, too.
pub const FOLDER: &str = "/run/netns";
/// Name of the interface in a host's namespace, and in that of a port.
pub const INTERFACE: &str = "eth0";
const OWN: &str = "/proc/thread-self/ns/net";
/// What runs in a namespace is killed so long after it was asked to end.
const GRACE: Duration = Duration::from_secs(1);

pub struct Namespace {
    /// By which others find it.
    pub path: PathBuf,
    pub file: File,
    named: bool,
}

impl Namespace {
    /// Makes one, with a socket into it; `named`: others find it in `FOLDER`, also when this
    /// process is no more, otherwise among this process's files.
    pub fn make(name: &str, named: bool) -> Result<(Self, Socket), Refused> {
        let path = Path::new(FOLDER).join(name);
        if named {
            prepare_folder().map_err(|error| format!("cannot prepare {FOLDER}: {error}"))?;
            place(&path).map_err(|error| in_the_way(&path, name, &error))?;
        }
        let made = thread::scope(|scope| {
            // Only this thread goes into it.
            let thread = scope.spawn(|| enter_new(named.then_some(&path)));
            thread.join().expect("nothing in it panics")
        });
        match made {
            Ok((file, socket)) => {
                let path = match named {
                    true => path,
                    false => {
                        let pid = std::process::id();
                        format!("/proc/{pid}/fd/{}", file.as_raw_fd()).into()
                    }
                };
                Ok((Self { path, file, named }, socket))
            }
            Err(error) => {
                if named {
                    let _ = fs::remove_file(&path);
                }
                Err(forbidden(&error))
            }
        }
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if !self.named {
            return;
        }
        if let Err(error) = unmount(&self.path) {
            eprintln!("tare-agent: cannot remove {}: {error}", self.path.display());
        }
    }
}

/// Does something on a thread that is in a network namespace.
pub fn within<T: Send>(namespace: &File, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: concerns this thread alone.
            match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
                0 => Ok(act()),
                _ => Err(io::Error::last_os_error()),
            }
        });
        thread.join().expect("nothing in it panics")
    })
}

/// Finds out, in a namespace that is gone afterwards, whether the kernel shapes at all.
pub fn probe() -> Result<(), Refused> {
    const LOOPBACK: u32 = 1;
    const GBIT: u64 = 1_000_000_000;
    let probed = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let (_file, mut socket) = enter_new(None)?;
            Ok(traffic::shape(&mut socket, LOOPBACK, GBIT, 1 << 20))
        });
        thread.join().expect("nothing in it panics")
    });
    probed
        .map_err(|error| forbidden(&error))?
        .map_err(|refusal| {
            Refused::new(
                format!("this kernel does not shape by htb and bfifo: {refusal}"),
                "sudo modprobe sch_htb   (CONFIG_NET_SCH_HTB, CONFIG_NET_SCH_FIFO)",
            )
        })
}

fn enter_new(path: Option<&PathBuf>) -> io::Result<(File, Socket)> {
    // SAFETY: concerns this thread alone.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
        return Err(io::Error::last_os_error());
    }
    netlink::quieten();
    let mut socket = Socket::open()?;
    const LOOPBACK: u32 = 1;
    links::bring_up(&mut socket, LOOPBACK)
        .map_err(|refusal| io::Error::from_raw_os_error(refusal.errno))?;
    let file = File::open(OWN)?;
    if let Some(path) = path {
        mount(Some(Path::new(OWN)), path, libc::MS_BIND)?;
    }
    Ok((file, socket))
}

/// Makes the folder one whose mounts are seen in every mount namespace, as `ip netns` does.
fn prepare_folder() -> io::Result<()> {
    let folder = Path::new(FOLDER);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o755).create(folder)?;
    let shared = || mount(None, folder, libc::MS_SHARED | libc::MS_REC);
    match shared() {
        // It is no mount yet.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            mount(Some(folder), folder, libc::MS_BIND | libc::MS_REC)?;
            shared()
        }
        outcome => outcome,
    }
}

fn place(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o444);
    options.open(path).map(drop)
}

fn mount(source: Option<&Path>, target: &Path, flags: libc::c_ulong) -> io::Result<()> {
    let source = source.unwrap_or(Path::new("none"));
    let source = CString::new(source.as_os_str().as_bytes())?;
    let target = CString::new(target.as_os_str().as_bytes())?;
    let none = std::ptr::null();
    // SAFETY: strings that end, and no data.
    match unsafe { libc::mount(source.as_ptr(), target.as_ptr(), none, flags, none.cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn unmount(path: &Path) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a string that ends. That it is not mounted any more is as good.
    unsafe { libc::umount2(name.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) };
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

fn in_the_way(path: &Path, name: &str, error: &io::Error) -> Refused {
    match error.kind() {
        io::ErrorKind::AlreadyExists => Refused::new(
            format!("there is a network namespace {name} already"),
            format!("tare cleanup   (or ip netns del {name}, if it is not tare's)"),
        ),
        _ => format!("cannot make {}: {error}", path.display()).into(),
    }
}

fn forbidden(error: &io::Error) -> Refused {
    let why = format!("this user may not make network namespaces: {error}");
    match error.raw_os_error() {
        Some(libc::EPERM) => Refused::new(why, "sudo"),
        _ => format!("cannot make a network namespace: {error}").into(),
    }
}

/// Ends everything that runs in namespaces, but not this process.
pub fn end_processes<'a>(namespaces: impl Iterator<Item = &'a Namespace>) {
    let ours: Vec<_> = namespaces
        .filter_map(|one| identity(&one.file.metadata().ok()?))
        .collect();
    let deadline = Instant::now() + GRACE;
    let mut asked = Vec::new();
    loop {
        let found = inside(&ours);
        if found.is_empty() {
            return;
        }
        let late = Instant::now() > deadline;
        for pid in found {
            if late || !asked.contains(&pid) {
                let signal = if late { libc::SIGKILL } else { libc::SIGTERM };
                // SAFETY: a plain call; the process was in a namespace of ours a moment ago.
                unsafe { libc::kill(pid, signal) };
                asked.push(pid);
            }
        }
        if late && Instant::now() > deadline + GRACE {
            return; // the kernel holds them
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether two files are the same namespace.
pub fn is_same(one: &File, path: &str) -> bool {
    let one = one.metadata().ok().as_ref().and_then(identity);
    let other = fs::metadata(path).ok().as_ref().and_then(identity);
    one.is_some() && one == other
}

fn identity(file: &fs::Metadata) -> Option<(u64, u64)> {
    Some((file.dev(), file.ino()))
}

/// The processes in some namespaces, but not those that have ended and only wait to be told of.
fn inside(namespaces: &[(u64, u64)]) -> Vec<libc::pid_t> {
    let own = std::process::id() as libc::pid_t;
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let network = fs::metadata(format!("/proc/{pid}/ns/net")).ok();
        let network = network.as_ref().and_then(identity);
        *pid != own && network.is_some_and(|network| namespaces.contains(&network))
    })
    .collect()
}
