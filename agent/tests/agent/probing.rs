//! Probes: figures of one round agree with each other.

use serde_json::json;

use crate::session::{scratch, Session};

/// The value of a metric at a point.
fn reading(records: &[serde_json::Value], metric: &str, at: &serde_json::Value) -> f64 {
    let found = records
        .iter()
        .find(|record| record["metric"] == metric && record["at"] == *at);
    found.unwrap_or_else(|| panic!("no {metric} at {at} in {records:#?}"))["value"]
        .as_f64()
        .unwrap()
}

#[test]
fn bandwidth_is_a_block_over_its_time() {
    let mut agent = Session::serve();
    let directory = scratch();
    let answer = agent.ask(json!({
        "job": "probe", "id": 1, "name": "file.read", "effort": "quick", "seed": 1,
        "cpus": null, "directory": directory, "remote": null, "memory_bytes": 1 << 26,
        "file_bytes": 1 << 24, "file_cache": null, "peer": null, "timeout_ns": 60_000_000_000_u64,
    }));
    if answer.faults().iter().any(|fault| fault.0 == "unavailable") {
        eprintln!("skipped: {:?}", answer.faults());
        return;
    }
    for order in ["sequential", "random"] {
        for block in [4 << 10, 1 << 20] {
            let at = json!([block]);
            let metric = |name: &str| format!("file.read.{order}.{name}");
            let bytes_per_s = reading(&answer.0, &metric("bandwidth"), &at);
            let median_ns = reading(&answer.0, &metric("latency"), &at);
            // Exact for equal times; rare slow reads make the mean longer than the median.
            let ratio = bytes_per_s * median_ns / 1e9 / f64::from(block);
            assert!((0.02..2.0).contains(&ratio), "{order}, {block}: {ratio}");
        }
    }
}
