//! Whether this process may make networks; an ordinary user's may in a user namespace of its own.

use std::fs;
use std::io;

use super::orders::Refused;

/// CAP_NET_ADMIN and CAP_SYS_ADMIN
const NEEDED: u64 = 1 << 12 | 1 << 21;

/// Makes sure that namespaces can be made; returns whether others may find them by name. Call while
/// there is one thread: a process with several goes into no user namespace.
pub fn obtain() -> Result<bool, Refused> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if effective(&status).is_some_and(|held| held & NEEDED == NEEDED) {
        return Ok(true);
    }
    own_world().map_err(|error| {
        Refused::new(
            format!(
                "a network is made by root, or in a user namespace, which this user may not make: \
                 {error}"
            ),
            "sudo",
        )
    })?;
    Ok(false)
}

/// Refuses where interfaces of this machine cannot be shaped.
pub fn require(interface: &str) -> Result<(), Refused> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    match effective(&status) {
        Some(held) if held & NEEDED == NEEDED => Ok(()),
        _ => Err(Refused::new(
            format!("this user may not shape {interface}: that takes root's rights"),
            "sudo",
        )),
    }
}

fn effective(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Goes into a user namespace in which this user is who he is, and may administer networks.
fn own_world() -> io::Result<()> {
    // SAFETY: plain questions, and a call that concerns this process.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } < 0 {
        return Err(io::Error::last_os_error());
    }
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read() {
        let status = "Name:\tx\nCapPrm:\t0\nCapEff:\t000001ffffffffff\n";
        assert_eq!(effective(status).map(|held| held & NEEDED), Some(NEEDED));
        assert_eq!(effective("CapEff:\tnone\n"), None);
        assert_eq!(effective(""), None);
    }
}
