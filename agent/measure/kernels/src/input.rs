//! What kernels work on: made from a seed, in memory that is there.

use rand_pcg::rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sys::cgroup;
use sys::topology::memory_bytes;

/// So many items drawn from the seed's generator; refused where the machine has no room.
pub fn generate<T>(
    size: u64,
    seed: u64,
    mut draw: impl FnMut(&mut Pcg64Mcg) -> T,
) -> Result<Vec<T>, String> {
    let mut items = room(size)?;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    items.extend((0..size).map(|_| draw(&mut random)));
    Ok(items)
}

/// An empty vector with room for so many items.
pub fn room<T>(size: u64) -> Result<Vec<T>, String> {
    let bytes = size.saturating_mul(size_of::<T>() as u64);
    fits(bytes)?;
    let mut items = Vec::new();
    items
        .try_reserve_exact(size as usize)
        .map_err(|_| format!("an input of {bytes} bytes finds no room in memory"))?;
    Ok(items)
}

/// Refuses what exceeds memory: Linux promises what it does not have, and kills whoever uses it.
pub fn fits(bytes: u64) -> Result<(), String> {
    let memory = memory_bytes();
    let limit = cgroup::memory_limit().filter(|limit| *limit < memory);
    let (whose, most) = match limit {
        Some(limit) => ("the memory limit of its control group", limit),
        None => ("the machine's memory", memory),
    };
    if bytes > most {
        return Err(format!(
            "an input of {bytes} bytes exceeds {whose} of {most} bytes"
        ));
    }
    Ok(())
}

/// Uniform in [0, 1): the 53 bits that a double holds exactly.
pub fn unit(random: &mut Pcg64Mcg) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uniform in 1..=limit (by multiplication; the bias is below limit / 2^64).
pub fn up_to(limit: u64, random: &mut Pcg64Mcg) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u64 + 1
}
