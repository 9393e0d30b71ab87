//! Launching a process: what is prepared before it is born, and the memory that it shares with
//! whoever launched it.

pub mod failure;
pub mod inherited;
mod program;
pub mod rendezvous;
pub mod script;
pub mod shared_block;
mod strings;

pub use program::{candidates, clone, Image, Program, Surroundings};
pub use strings::Strings;
