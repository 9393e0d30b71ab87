//! Modules of the guest's kernel.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const FOLDER: &str = "/tare/modules";
const OPTIONAL: &str = "optional";

/// Loads them, in order of their names.
pub fn load() -> Result<(), String> {
    let mut files: Vec<PathBuf> = fs::read_dir(FOLDER)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    for file in files {
        if let Err(error) = insert(&file) {
            if file.extension().is_none_or(|end| end != OPTIONAL) {
                return Err(format!("cannot load {}: {error}", file.display()));
            }
        }
    }
    Ok(())
}

fn insert(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // SAFETY: an open descriptor, no parameters.
    let done = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    match (done, io::Error::last_os_error()) {
        (0, _) => Ok(()),
        // Built in, or there already.
        (_, error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        (_, error) => Err(error),
    }
}
