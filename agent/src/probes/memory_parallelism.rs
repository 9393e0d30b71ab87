//! To be built.

use crate::probes::{Probe, Seconds};

pub const PROBE: Probe = Probe {
    name: "memory.parallelism",
    title: "to be built",
    question: "",
    source: None,
    metrics: &[],
    seconds: Seconds {
        brief: None,
        quick: None,
        whole: None,
    },
    repeats: true,
    needs: &[],
    perform: |_| Err("not built yet".to_string()),
};
