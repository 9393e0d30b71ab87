//! An interface that is there already: taken, and given back as it was.
//!
//! Only one whose root is the kernel's own default is taken: it comes back by itself when ours is
//! removed, so that there is nothing to remember but which interface it was. That is noted beside
//! the session's lease before anything is changed, for `tare cleanup`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use netlink::traffic::{self, SHAPING};
use netlink::{links, Refusal, Socket};
use serde::Serialize;

use super::host::Host;
use super::orders::Refused;

/// What is on the disk while an interface is shaped.
#[derive(Serialize)]
struct Note<'a> {
    interface: &'a str,
    boot_id: String,
    /// In which network namespace, as `/proc/PID/ns/net` has it.
    network: String,
}

pub struct Taken {
    socket: Socket,
    index: u32,
    interface: String,
    note: PathBuf,
}

impl Taken {
    pub fn take(name: &str, interface: &str) -> Result<(Self, Host), Refused> {
        let mut socket = Socket::open().map_err(|error| format!("no routing socket: {error}"))?;
        let index =
            links::index(&mut socket, interface).map_err(|refusal| match refusal.errno {
                libc::ENODEV | libc::ERANGE | libc::EINVAL => Refused::new(
                    format!("there is no interface {interface:?} here"),
                    "ls /sys/class/net",
                ),
                _ => format!("cannot find the interface {interface:?}: {refusal}").into(),
            })?;
        refuse_others(&mut socket, index, interface)?;
        let note = note_down(name, interface)?;
        let taken = Self {
            socket: Socket::open().map_err(|error| format!("no routing socket: {error}"))?,
            index,
            interface: interface.to_string(),
            note,
        };
        let host = Host::taken(socket, index, interface);
        let host = host.map_err(|refusal| format!("cannot read {interface}: {refusal}"))?;
        Ok((taken, host))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        match release(&mut self.socket, self.index) {
            // With an interface that is gone, everything of it is.
            Ok(()) => {}
            Err(refusal) if refusal.errno == libc::ENODEV => {}
            Err(refusal) => {
                let interface = &self.interface;
                eprintln!("tare-agent: cannot give back {interface}: {refusal}");
                return; // the note stays for `tare cleanup`
            }
        }
        let _ = fs::remove_file(&self.note);
    }
}

/// Run `release`: takes off an interface what a process that was killed has left on it.
pub fn run(interface: &str) -> Result<(), String> {
    let mut socket = Socket::open().map_err(|error| format!("no routing socket: {error}"))?;
    let found = links::index(&mut socket, interface);
    match found.and_then(|index| release(&mut socket, index)) {
        Err(refusal) if refusal.errno != libc::ENODEV => {
            Err(format!("cannot give back {interface}: {refusal}"))
        }
        _ => Ok(()),
    }
}

/// Removes what is ours, and only that.
fn release(socket: &mut Socket, index: u32) -> Result<(), Refusal> {
    match traffic::root_of(socket, index)? {
        Some((_, SHAPING)) => traffic::remove(socket, index, SHAPING),
        _ => Ok(()),
    }
}

/// Refuses what would not come back by itself.
fn refuse_others(socket: &mut Socket, index: u32, interface: &str) -> Result<(), Refused> {
    let root = traffic::root_of(socket, index)
        .map_err(|refusal| format!("cannot read what is on {interface}: {refusal}"))?;
    match root {
        None | Some((_, 0)) => Ok(()),
        Some((_, SHAPING)) => Err(Refused::new(
            format!("{interface} is shaped by another tare, or by one that was killed"),
            "sudo tare cleanup",
        )),
        Some((kind, handle)) => Err(Refused::new(
            format!(
                "{interface} has a queueing discipline that somebody chose ({kind} {:x}:), which \
                 would not come back as it was",
                handle >> 16
            ),
            format!("sudo tc qdisc del dev {interface} root   (and make it again afterwards)"),
        )),
    }
}

/// Notes on the disk what is about to be changed.
fn note_down(name: &str, interface: &str) -> Result<PathBuf, Refused> {
    let folder = folder();
    let path = folder.join(format!("{name}.interface"));
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let note = Note {
        interface,
        boot_id: boot_id.trim().to_string(),
        network: network.display().to_string(),
    };
    let text = serde_json::to_vec(&note).expect("a note is JSON");
    write(&folder, &path, &text).map_err(|error| {
        let shown = path.display();
        match error.kind() {
            io::ErrorKind::PermissionDenied => Refused::new(
                format!("this user may not shape {interface}: {error} ({shown})"),
                "sudo",
            ),
            _ => format!("cannot note in {shown} what is changed, so nothing is: {error}").into(),
        }
    })?;
    Ok(path)
}

/// Where leases are, too (src/tare/host/lease.py).
fn folder() -> PathBuf {
    // SAFETY: a plain question.
    match unsafe { libc::geteuid() } {
        0 => PathBuf::from("/run/tare"),
        user => std::env::var_os("XDG_RUNTIME_DIR")
            .map_or_else(|| PathBuf::from(format!("/run/user/{user}")), PathBuf::from)
            .join("tare"),
    }
}

fn write(folder: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let written = file.write_all(text).and_then(|()| file.sync_all());
    let kept = written.and_then(|()| File::open(folder)?.sync_all());
    if kept.is_err() {
        // An empty note would be worse than none.
        let _ = fs::remove_file(path);
    }
    kept
}
