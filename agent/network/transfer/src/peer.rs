//! The remote end of network probes and of measurements: `tare-agent peer` on another machine.

mod admission;
mod hosts;
mod log;
pub mod measuring;
mod serve;

pub use serve::run;
