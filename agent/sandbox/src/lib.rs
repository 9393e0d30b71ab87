//! What is made around a command: a sandbox that a layer needs, the machine of a guest, and the files
//! of an image.

pub mod guest;
pub mod hidden;
pub mod identity;
pub mod root;
pub mod setup;
pub mod shed;
