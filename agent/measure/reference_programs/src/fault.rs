//! Page faults: of fresh pages, and of pages that a child has to copy.

use crate::program::{Never, Opening, Program};
use crate::stamp::Stamp;
use crate::touch::Fresh;

pub const PROGRAM: Program = Program {
    name: "fault",
    title: "faults on so many fresh pages, and in a child that it waits for on as many copies",
    unit: "pages",
    tells: true,
    run,
};

fn run(opening: &Opening, pages: i64) -> Result<Never, String> {
    let memory = Fresh::new(pages as usize)?;
    memory.touch();
    // SAFETY: one thread; the child writes to memory and ends.
    match unsafe { libc::fork() } {
        -1 => return Err(format!("cannot fork: {}", std::io::Error::last_os_error())),
        0 => {
            memory.touch();
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) }
        }
        // SAFETY: waits for the child just made.
        child => unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) },
    };
    let came = opening.begun.since(&opening.first).minor_faults;
    let end = Stamp::last();
    let wall = end.since(&opening.first).wall_ns;
    opening.tell(&[("wall_ns", wall), ("minor_faults", came + 2 * pages)])
}
