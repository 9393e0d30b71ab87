//! What both ends of a measurement send and receive, and what they count of it.

pub mod facts;
pub mod flow;
pub mod gate;
pub mod half;
pub mod histogram;
pub mod pattern;
pub mod phase;
pub mod pings;
pub mod sampler;
pub mod segments;
pub mod tcp;
pub mod waits;
