//! A process that outlives the one that was asked for, and that nobody waits for.

use std::sync::atomic::Ordering::{Acquire, Release};

use sys::clock;

use crate::program::{Never, Opening, Program};
use crate::stamp::Stamp;
use crate::touch::Fresh;

pub const PROGRAM: Program = Program {
    name: "daemon",
    title: "ends at once, and leaves a child that burns so much CPU time",
    unit: "ms",
    tells: true,
    run,
};

fn run(opening: &Opening, milliseconds: i64) -> Result<Never, String> {
    let wall = Fresh::shared(1)?;
    let cpu = Fresh::shared(1)?;
    // SAFETY: one thread; the child has copies of all that it uses.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(format!("cannot fork: {}", std::io::Error::last_os_error()));
    }
    if child > 0 {
        let own = Stamp::last().since(&opening.first);
        cpu.number().store(own.cpu_ns, Release);
        wall.number().store(own.wall_ns, Release);
        // SAFETY: ends the root.
        unsafe { libc::_exit(0) }
    }
    while clock::process_cpu() < milliseconds * 1_000_000 {}
    let root = wall.number().load(Acquire);
    if root == 0 {
        return Err("the child ended before its parent".to_string());
    }
    let root_cpu = cpu.number().load(Acquire);
    let end = Stamp::last();
    opening.tell(&[
        ("wall_ns", root),
        ("tree_wall_ns", end.wall_ns - opening.first.wall_ns),
        ("cpu_ns", root_cpu + end.cpu_ns),
        ("cpu_ns.rusage", root_cpu),
    ])
}
