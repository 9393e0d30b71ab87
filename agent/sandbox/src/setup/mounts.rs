//! Mounts that the command inside alone sees: what it shows is found there by whoever could not
//! reach its own place.
//!
//! They are never made in this process's own view: what it removes at the end is its own.

use std::ffi::{CStr, CString, NulError};
use std::fs::{self, File};
use std::io;

/// What is shown at a path, and the path.
#[derive(Debug, Default)]
pub struct Binds(Vec<(CString, CString)>);

impl Binds {
    pub fn new(binds: &[(String, String)]) -> Result<Self, NulError> {
        let pair = |(source, path): &(String, String)| {
            Ok((CString::new(source.as_str())?, CString::new(path.as_str())?))
        };
        binds.iter().map(pair).collect::<Result<_, _>>().map(Self)
    }

    /// Goes into a mount namespace of which nothing comes back, and mounts them there; by system
    /// calls alone.
    pub fn enter(&self) -> io::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        // SAFETY: a plain call of a process with one thread.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } < 0 {
            return Err(io::Error::last_os_error());
        }
        mount(c"none", c"/", libc::MS_SLAVE | libc::MS_REC)?;
        self.0
            .iter()
            .try_for_each(|(source, path)| mount(source, path, libc::MS_BIND | libc::MS_REC))
    }
}

/// Makes what something can be mounted on.
pub fn point(source: &str, path: &str) -> io::Result<()> {
    match fs::metadata(source)?.is_dir() {
        true => fs::create_dir(path),
        false => File::create_new(path).map(drop),
    }
}

fn mount(source: &CStr, target: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    let (from, to, none) = (source.as_ptr(), target.as_ptr(), std::ptr::null());
    // SAFETY: strings that end, and no data.
    match unsafe { libc::mount(from, to, none, flags, none.cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
