//! Files that what runs inside is not to read.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{mount_bind, mount_change, MountPropagationFlags};
use rustix::thread::{unshare_unsafe, UnshareFlags};

/// Mounts `/dev/null` over each file that is listed, one a line, in a mount namespace of this process
/// alone. A file that is not there needs no hiding.
pub fn hide(list: &Path) -> Result<(), String> {
    let cannot = |path: &Path, why: &dyn Display| format!("cannot hide {}: {why}", path.display());
    let files = fs::read_to_string(list).map_err(|why| cannot(list, &why))?;
    // SAFETY: there is one thread, so that descriptors stay shared with nobody.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .and_then(|()| {
            let private = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
            mount_change("/", private)
        })
        .map_err(|why| format!("cannot make a mount namespace: {why}"))?;
    for file in files.lines() {
        match mount_bind("/dev/null", file) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(why) => return Err(cannot(Path::new(file), &why)),
        }
    }
    Ok(())
}
