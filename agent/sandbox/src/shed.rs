//! `shed`: becomes root of the user namespace that it is in, who is nobody outside, without any
//! right over what is in it; and then a command.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const NOT_EXECUTABLE: u8 = 126;
/// As many as a kernel could have.
const CAPABILITIES: libc::c_ulong = 63;
/// Descriptors that there may be where the kernel does not close all of them at once.
const MOST_OPEN: libc::c_int = 1024;
/// Of capset: sets of 64.
const VERSION: u32 = 0x2008_0522;

/// Run `shed`; returns only what went wrong.
pub fn run(argv: &[OsString]) -> ExitCode {
    let Some((program, rest)) = argv.split_first() else {
        eprintln!("tare-agent: no command: tare-agent shed -- COMMAND…");
        return ExitCode::from(2);
    };
    if let Err(error) = shed() {
        eprintln!("tare-agent: cannot become root of the sandbox alone: {error}");
        return ExitCode::from(NOT_EXECUTABLE);
    }
    let error = Command::new(program).args(rest).exec();
    let program = std::path::Path::new(program).display();
    eprintln!("tare-agent: {program} cannot be executed: {error}");
    ExitCode::from(NOT_EXECUTABLE)
}

fn shed() -> io::Result<()> {
    // SAFETY: plain calls of the one thread that there is.
    unsafe {
        // What set up the sandbox has its user namespace open.
        if libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) < 0 {
            for number in 3..MOST_OPEN {
                libc::close(number);
            }
        }
        for capability in 0..CAPABILITIES {
            // What the kernel does not know is refused, and is not had either.
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        check(libc::setgroups(0, std::ptr::null()))?;
        check(libc::setresgid(0, 0, 0))?;
        check(libc::setresuid(0, 0, 0))?;
        let none = [0_u32; 6];
        let head = [VERSION, 0];
        check(libc::syscall(libc::SYS_capset, head.as_ptr(), none.as_ptr()) as libc::c_int)?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
