//! Services: programs that come up in order, are ready when something shows it, and end in reverse.

pub mod attend;
mod control;
mod listening;
mod log;
mod readiness;
mod service;
pub mod supervise;

/// The variables in which `supervise` is given the key of whom it reports to, and what to start; no
/// service inherits them, and nobody else can read them.
pub const KEY: &str = "TARE_CONTROL_KEY";
pub const SPECIFICATION: &str = "TARE_SUPERVISION";
/// No longer than a line of the connection between the two.
const LINE: u64 = 1 << 16;
