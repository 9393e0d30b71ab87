//! What is made around a command: a sandbox that a layer needs, and the machine of a guest.

pub mod guest;
pub mod setup;
pub mod shed;
