//! A user namespace whose root is nobody outside.
//!
//! Who makes it is a user in it as well, the one after root: what sets up a sandbox in it can still
//! reach what is to be shown, and then becomes its root (`shed`), who cannot.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use super::spec::Users;

/// Makes it, to be inherited as a descriptor of a number.
pub fn make(users: &Users) -> Result<OwnedFd, String> {
    made(users).map_err(|error| format!("cannot make a user namespace: {error}"))
}

fn made(users: &Users) -> io::Result<OwnedFd> {
    let (mut here, mut there) = UnixStream::pair()?;
    // SAFETY: the child is the one thread of its process, and calls nothing but the kernel.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(here);
            // SAFETY: plain calls.
            unsafe {
                let refused = libc::unshare(libc::CLONE_NEWUSER) < 0;
                let error = io::Error::last_os_error()
                    .raw_os_error()
                    .unwrap_or(libc::EIO);
                let _ = there.write_all(&[if refused { error as u8 } else { 0 }]);
                // Until it is no longer needed.
                let _ = there.read(&mut [0]);
                libc::_exit(0)
            }
        }
        child => {
            drop(there);
            let namespace = mapped(users, child, &mut here);
            drop(here);
            // SAFETY: a child of this process; of whom nothing is asked.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            namespace
        }
    }
}

fn mapped(users: &Users, child: libc::pid_t, said: &mut UnixStream) -> io::Result<OwnedFd> {
    let mut refused = [0];
    said.read_exact(&mut refused)?;
    if refused[0] != 0 {
        return Err(io::Error::from_raw_os_error(i32::from(refused[0])));
    }
    // SAFETY: plain questions.
    let own = unsafe { (libc::geteuid(), libc::getegid()) };
    for (map, own) in [("uid_map", own.0), ("gid_map", own.1)] {
        fs::write(format!("/proc/{child}/{map}"), lines(users, own))?;
    }
    let namespace = File::open(format!("/proc/{child}/ns/user"))?;
    inherited(namespace.into(), users.descriptor)
}

/// Root, who makes it, and all others.
fn lines(users: &Users, own: u32) -> String {
    let (first, others) = (users.first, users.count - 2);
    format!("0 {first} 1\n1 {own} 1\n2 {} {others}\n", first + 1)
}

fn inherited(file: OwnedFd, number: RawFd) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: nothing else of this process has a number that high.
    unsafe {
        match libc::dup2(file.as_raw_fd(), number) {
            -1 => Err(io::Error::last_os_error()),
            copy => Ok(OwnedFd::from_raw_fd(copy)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_somebody_else_and_who_makes_it_the_next() {
        let users = Users {
            first: 700_000,
            count: 65_536,
            descriptor: 100,
        };
        let expected = "0 700000 1\n1 0 1\n2 700001 65534\n";
        assert_eq!(lines(&users, 0), expected);
    }
}
