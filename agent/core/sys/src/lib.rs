//! The machine and its kernel, as the rest of the agent uses them.

pub mod addition_chain;
pub mod cgroup;
pub mod clock;
pub mod descriptors;
pub mod futex;
pub mod mapping;
pub mod pages;
pub mod perf;
pub mod secrecy;
pub mod signals;
pub mod topology;
pub mod tree;
pub mod usage;
pub mod watch;
