//! What the agent can execute and what its samples mean, as data: a new kernel or metric
//! changes neither the stream's schema nor the front.

mod metrics;

use kernels::{Kernel, KERNELS};
use probes::{Probe, PROBES};
use record::SCHEMA;
use serde::Serialize;

use metrics::{Metric, METRICS};

#[derive(Serialize)]
struct Description {
    version: &'static str,
    schema: u32,
    kernels: &'static [&'static Kernel],
    metrics: &'static [Metric],
    probes: &'static [&'static Probe],
}

/// Print kernels, metrics and probes.
pub fn run() {
    let description = Description {
        version: env!("CARGO_PKG_VERSION"),
        schema: SCHEMA,
        kernels: KERNELS,
        metrics: METRICS,
        probes: PROBES,
    };
    let text = serde_json::to_string(&description).expect("constants are JSON");
    println!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range() {
        for parameter in KERNELS.iter().flat_map(|kernel| kernel.parameters) {
            let range = parameter.minimum..=parameter.maximum;
            assert!(range.contains(&parameter.default), "{}", parameter.name);
        }
    }
}
