//! Control groups: where a process is in each hierarchy, and the groups that a worker makes.

mod counters;
mod group;
mod leaf;
mod limit;
mod peak;
mod place;

pub use counters::{Counter, Counters, Reading};
pub use group::{remove, Group};
pub use leaf::{enter, lists, Leaf};
pub use peak::Peak;
pub use place::{memory_limit, places, unified, with, Place, Version};

/// What a worker's groups are called.
pub fn of_worker(name: &str, number: u32) -> String {
    format!("{name}-w{number}")
}
