//! The control groups of a guest: one for what it runs, so that it can make others.

use std::fs::{self, File, OpenOptions};

const TOP: &str = "/sys/fs/cgroup";
const OWN: &str = "/sys/fs/cgroup/platform";

/// Where a process is written to be in it; none where the kernel has no such groups.
pub fn make() -> Option<File> {
    let controllers = fs::read_to_string(format!("{TOP}/cgroup.controllers")).ok()?;
    for controller in controllers.split_whitespace() {
        // One at a time: some may not be handed on.
        let _ = fs::write(
            format!("{TOP}/cgroup.subtree_control"),
            format!("+{controller}"),
        );
    }
    fs::create_dir(OWN).ok()?;
    let door = format!("{OWN}/cgroup.procs");
    OpenOptions::new().write(true).open(door).ok()
}
