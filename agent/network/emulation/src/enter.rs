//! The way into a network namespace, for this process and what it starts.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// ioctls of namespaces: which user namespace it belongs to, and of which kind it is.
const NS_GET_USERNS: libc::c_ulong = 0xb701;
const NS_GET_NSTYPE: libc::c_ulong = 0xb703;

/// Moves this process into a network namespace, or says why that failed.
pub fn enter(network: &Path) -> Result<(), String> {
    let shown = network.display();
    let file = File::open(network).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no network namespace {shown}"),
        _ => format!("cannot open the network namespace {shown}: {error}"),
    })?;
    // SAFETY: these take no argument.
    let kind = unsafe { libc::ioctl(file.as_raw_fd(), NS_GET_NSTYPE as _) };
    if kind != libc::CLONE_NEWNET {
        return Err(format!("{shown} is no network namespace"));
    }
    // An ordinary user's belongs to a user namespace of his, in which alone he may go into it.
    // SAFETY: as above; the descriptor is new.
    let owner = unsafe { libc::ioctl(file.as_raw_fd(), NS_GET_USERNS as _) };
    if owner >= 0 {
        // SAFETY: nobody else has it.
        let owner = File::from(unsafe { OwnedFd::from_raw_fd(owner) });
        if !is_own(&owner) {
            join(owner.as_raw_fd(), libc::CLONE_NEWUSER).map_err(|error| {
                format!("cannot go into the user namespace of {shown}: {error}")
            })?;
        }
    }
    join(file.as_raw_fd(), libc::CLONE_NEWNET).map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM) => {
            format!("this user may not go into {shown}: {error}; try it with sudo")
        }
        _ => format!("cannot go into {shown}: {error}"),
    })?;
    // A program that looks there would otherwise take the machine's interfaces for its own. Where
    // it cannot be, everything but that is as it should be.
    let _ = show_own_interfaces();
    Ok(())
}

/// Lets /sys show the interfaces of this namespace, in a mount namespace of the command's own; all
/// else there, such as control groups, stays as it is.
fn show_own_interfaces() -> io::Result<()> {
    const CLASS: &str = "/sys/class/net";
    const DEVICES: &str = "/sys/devices/virtual/net";
    // SAFETY: a plain call of the one thread that there is.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } < 0 {
        return Err(io::Error::last_os_error());
    }
    mount("none", "/", None, libc::MS_SLAVE | libc::MS_REC)?;
    // The whole is needed for a moment only; what covers it afterwards is a part of it.
    mount("sysfs", CLASS, Some("sysfs"), libc::MS_RDONLY)?;
    mount(
        &format!("{CLASS}/devices/virtual/net"),
        DEVICES,
        None,
        libc::MS_BIND,
    )?;
    mount(&format!("{CLASS}/class/net"), CLASS, None, libc::MS_BIND)
}

fn mount(source: &str, target: &str, kind: Option<&str>, flags: libc::c_ulong) -> io::Result<()> {
    let [source, target, kind] = [source, target, kind.unwrap_or("none")].map(CString::new);
    let (source, target, kind) = (source?, target?, kind?);
    let (from, to, kind) = (source.as_ptr(), target.as_ptr(), kind.as_ptr());
    // SAFETY: strings that end, and no data.
    match unsafe { libc::mount(from, to, kind, flags, std::ptr::null()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn join(file: RawFd, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: a plain call with an open descriptor.
    match unsafe { libc::setns(file, kind) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn is_own(owner: &File) -> bool {
    let identity = |file: std::fs::Metadata| (file.dev(), file.ino());
    let own = std::fs::metadata("/proc/self/ns/user").map(identity);
    matches!((own, owner.metadata().map(identity)), (Ok(own), Ok(other)) if own == other)
}
