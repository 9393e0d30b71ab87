//! Where the calling thread may run.

/// Binds the calling thread to one CPU.
pub fn pin(cpu: u32) -> Result<(), String> {
    pin_to(&[cpu])
}

/// Binds the calling thread to some CPUs.
pub fn pin_to(cpus: &[u32]) -> Result<(), String> {
    // Larger than libc's own set, which ends at 1024 CPUs.
    let mut mask = [0_u64; 256];
    for cpu in cpus {
        let word = mask
            .get_mut(*cpu as usize / 64)
            .ok_or_else(|| format!("there is no CPU {cpu}"))?;
        *word |= 1 << (cpu % 64);
    }
    // SAFETY: the kernel reads as many bytes as it is told.
    let result =
        unsafe { libc::sched_setaffinity(0, std::mem::size_of_val(&mask), mask.as_ptr().cast()) };
    match result {
        0 => Ok(()),
        _ => Err(format!(
            "cannot run on CPU {cpus:?}: {}",
            std::io::Error::last_os_error()
        )),
    }
}
