//! Mounts that nobody outside sees: what is shown inside is found by whoever may not reach its place.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;

/// Goes into a mount namespace of its own, of which nothing comes back.
pub fn alone() -> io::Result<()> {
    // SAFETY: a plain call of the one thread that there is.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } < 0 {
        return Err(io::Error::last_os_error());
    }
    mount("none", "/", libc::MS_SLAVE | libc::MS_REC)
}

/// Makes what something can be mounted on.
pub fn point(source: &str, path: &str) -> io::Result<()> {
    match fs::metadata(source)?.is_dir() {
        true => fs::create_dir(path),
        false => File::create_new(path).map(drop),
    }
}

/// Shows one path, and what is mounted below, at another.
pub fn bind(source: &str, path: &str) -> io::Result<()> {
    mount(source, path, libc::MS_BIND | libc::MS_REC)
}

fn mount(source: &str, target: &str, flags: libc::c_ulong) -> io::Result<()> {
    let (source, target) = (CString::new(source)?, CString::new(target)?);
    let (from, to, none) = (source.as_ptr(), target.as_ptr(), std::ptr::null());
    // SAFETY: strings that end, and no data.
    match unsafe { libc::mount(from, to, none, flags, none.cast()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
