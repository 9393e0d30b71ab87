//! Measuring a network: the end that measures, the end that answers, and what goes between them.

pub mod measure;
pub mod meet;
pub mod peer;
pub mod protocol;
mod traffic;
pub mod wire;
