//! Files that what runs inside is not to read.

use std::fmt::Display;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{fstat, open, Mode, OFlags};
use rustix::mount::{mount_bind, mount_change, MountPropagationFlags};
use rustix::thread::{unshare_unsafe, UnshareFlags};

/// Mounts `/dev/null` over each file that is listed, in a mount namespace of this process alone.
///
/// A line of the list has a device, an inode and a path. Where there is another file, or none, a
/// program may have renamed what is to be hidden: that is an error.
pub fn hide(list: &Path) -> Result<(), String> {
    let cannot = |path: &str, why: &dyn Display| format!("cannot hide {path}: {why}");
    let files =
        fs::read_to_string(list).map_err(|why| cannot(&list.display().to_string(), &why))?;
    // SAFETY: there is one thread, so that descriptors stay shared with nobody.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .and_then(|()| {
            let private = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
            mount_change("/", private)
        })
        .map_err(|why| format!("cannot make a mount namespace: {why}"))?;
    for line in files.lines() {
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let (Some(device), Some(inode)) = (number(), number()) else {
            return Err(cannot(line, &"no device and inode"));
        };
        let path = words.next().unwrap_or_default();
        let file = open(path, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|why| cannot(path, &why))?;
        let about = fstat(&file).map_err(|why| cannot(path, &why))?;
        if (about.st_dev, about.st_ino) != (device, inode) {
            return Err(cannot(path, &"it is another file than at the start"));
        }
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        mount_bind("/dev/null", open).map_err(|why| cannot(path, &why))?;
    }
    Ok(())
}
