//! What keeps a launched process out of the agent's own memory and descriptors, where both are the
//! same user: through /proc or by tracing, it could write records, or take the memory in which
//! workers meet.

/// Closes this process to others without rights over it, for good; a program that it becomes is
/// open again.
pub fn keep() {
    set(0);
}

/// Runs something while this process is open, which what it forks meanwhile stays.
pub fn suspended<T>(run: impl FnOnce() -> T) -> T {
    set(1);
    let done = run();
    set(0);
    done
}

fn set(dumpable: libc::c_ulong) {
    // SAFETY: a plain switch.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, dumpable) };
}
