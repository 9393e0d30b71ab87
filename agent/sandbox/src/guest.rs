//! The first process of a guest: makes a machine of a kernel and an initramfs, runs one command
//! with the port to the host as its standard streams, and switches the machine off with its end.
//!
//! It is this process when the kernel starts the agent as `/init`. The initramfs holds:
//! - `/init`: the agent, which is found at `/tare/tare-agent` as well;
//! - `/tare/guest.json`: what to do, see [`Orders`];
//! - `/tare/modules/*`: modules of the kernel, loaded in order of their names. Of a name that ends
//!   with `.optional` a failure is no matter.
//!
//! There are /dev, /proc, /sys with control groups of the second version, and memory file systems
//! at /tmp, /run and /dev/shm. Whatever fails is told on the console, in one line that begins with
//! `tare-agent:`, and ends the machine. The end of the command is told there too.

mod groups;
mod modules;
mod mounts;
mod network;
mod off;
mod port;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use sys::tree::{self, Status};

use crate::identity;

const ORDERS: &str = "/tare/guest.json";
/// A place for the agent that no root disk hides.
const AGENT: &str = "/tare/tare-agent";
const CONSOLE: &str = "/dev/console";

/// What `/tare/guest.json` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Orders {
    /// The command, without a shell; found by its environment's PATH.
    argv: Vec<String>,
    /// Its complete environment.
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// With files that it sees, at the root or elsewhere; absent: those of the initramfs alone.
    disk: Option<mounts::Disk>,
    /// To be written to; absent: there is only memory to write to.
    store: Option<mounts::Disk>,
    /// Whether nothing can be written to what the disk has, once everything is there.
    #[serde(default)]
    read_only: bool,
    /// Of the initramfs, to be seen under the same paths beside a root disk, as `/tare` always is.
    #[serde(default)]
    binds: Vec<String>,
    /// Made, for everybody to write to, after all file systems are there.
    #[serde(default)]
    folders: Vec<String>,
    /// Of its network interface; absent: it has none.
    network: Option<network::Address>,
    /// Name of the port to the host.
    #[serde(default = "usual_port")]
    port: String,
}

fn usual_port() -> String {
    "tare.0".to_string()
}

/// Whether this process is the first of a machine, started as `/init`.
pub fn is_first() -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    std::process::id() == 1
        && Path::new(&name)
            .file_name()
            .is_some_and(|name| name == "init")
}

/// Be the first process. Does not return: the machine ends.
pub fn run() -> ! {
    match settle().and_then(|orders| perform(&orders)) {
        Ok(code) => say(&format!("tare: ended {code}")),
        Err(why) => say(&format!("tare-agent: {why}")),
    }
    off::switch()
}

/// Makes the machine.
fn settle() -> Result<Orders, String> {
    mounts::kernels("")?;
    listen_to_console();
    let orders = fs::read_to_string(ORDERS).map_err(|error| format!("{ORDERS}: {error}"))?;
    let orders: Orders =
        serde_json::from_str(&orders).map_err(|error| format!("{ORDERS}: {error}"))?;
    fs::hard_link("/init", AGENT).map_err(|error| format!("cannot make {AGENT}: {error}"))?;
    modules::load()?;
    mounts::enter_root(orders.disk.as_ref(), &orders.binds)?;
    mounts::memory()?;
    if let Some(store) = &orders.store {
        mounts::attach_written(store)?;
    }
    for folder in &orders.folders {
        mounts::open_folder(folder)?;
    }
    identity::name_machine();
    identity::raise_loopback();
    if let Some(address) = &orders.network {
        network::join(address)?;
    }
    if orders.read_only {
        mounts::make_read_only()?;
    }
    Ok(orders)
}

/// Runs the command to its end.
fn perform(orders: &Orders) -> Result<i32, String> {
    let (program, rest) = orders.argv.split_first().ok_or("argv: no command")?;
    let stream = port::open(&orders.port)?;
    let output = stream
        .try_clone()
        .map_err(|error| format!("the port: {error}"))?;
    let mut door = groups::make();
    let mut command = Command::new(program);
    command
        .args(rest)
        .env_clear()
        .env("PATH", crate::setup::PATH)
        .envs(&orders.environment)
        .current_dir("/")
        .stdin(stream)
        .stdout(output);
    // SAFETY: between fork and exec there is one system call.
    unsafe { command.pre_exec(move || door.as_mut().map_or(Ok(()), |door| door.write_all(b"0"))) };
    let child = command
        .spawn()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    // Its streams are closed here with it, so that the host sees their end.
    drop(command);
    let root = child.id() as libc::pid_t;
    loop {
        // SAFETY: waits without taking anything.
        let pid = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOWAIT);
            info.si_pid()
        };
        let (status, _) = tree::wait(pid).map_err(|error| format!("cannot wait: {error}"))?;
        match status {
            Status::Exited(code) if pid == root => return Ok(code),
            Status::Killed(signal) if pid == root => return Ok(128 + signal),
            _ => {}
        }
    }
}

/// Standard error is the console from here on, and so is what else is not given to anybody.
fn listen_to_console() {
    if let Ok(console) = OpenOptions::new().read(true).write(true).open(CONSOLE) {
        for stream in 0..3 {
            // SAFETY: both descriptors are open or become so.
            unsafe { libc::dup2(console.as_raw_fd(), stream) };
        }
    }
}

/// Says a line on the console, and returns when it is out.
fn say(line: &str) {
    let console: io::Result<File> = OpenOptions::new().write(true).open(CONSOLE);
    if let Ok(mut console) = console {
        // After whatever is there already, on a line of its own.
        let _ = console.write_all(format!("\r\n{line}\r\n").as_bytes());
        // SAFETY: an open descriptor.
        unsafe { libc::tcdrain(console.as_raw_fd()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_strictly() {
        let orders: Orders = serde_json::from_str(r#"{"argv": ["/init"], "disk": null}"#).unwrap();
        assert!(orders.disk.is_none() && orders.port == "tare.0" && !orders.read_only);
        let text = r#"{"argv": [], "disk": {"serial": "root", "type": "ext4", "at": "/"},
                       "binds": ["/usr"], "folders": ["/tare/shared"], "environment": {"A": "b"},
                       "network": {"address": "10.77.0.65", "prefix": 24}}"#;
        let orders: Orders = serde_json::from_str(text).unwrap();
        assert_eq!(orders.disk.unwrap().kind, "ext4");
        assert!(serde_json::from_str::<Orders>(r#"{"argv": [], "disk": 1}"#).is_err());
        assert!(!is_first());
    }
}
