//! What is asked and answered.

use std::process::Command;

use serde_json::{json, Value};

use crate::session::{kernel, rendezvous, small_kernel, with, workers, Session};

#[test]
fn garbage_gets_an_answer_and_harms_nothing() {
    let mut agent = Session::serve();
    for line in [
        "garbage",
        "{}",
        "{\"job\":\"trial\",\"id\":3}",
        "\u{0}",
        "",
        "[1,2",
    ] {
        agent.send(line);
        let answer = agent.answer();
        let (kind, message) = answer.fault();
        assert_eq!(kind, "job");
        assert!(message.contains("no job"), "{message}");
    }
    let answer = agent.trial(kernel("null", 1), json!({}));
    assert_eq!(answer.get("exit_code", "wait"), 0);
}

#[test]
fn a_wrong_job_is_said_to_be_wrong() {
    let mut agent = Session::serve();
    let wrong = with(kernel("qsort", 1), "parameters", json!({"size": 0}));
    for (workload, part) in [
        (kernel("unheard-of", 1), "unheard-of"),
        (wrong, "size"),
        (
            with(kernel("null", 1), "parameters", json!({"colour": 3})),
            "colour",
        ),
    ] {
        let answer = agent.trial(workload, json!({}));
        let (kind, message) = answer.fault();
        assert_eq!(kind, "job");
        assert!(message.contains(part), "{message}");
        assert!(answer.all("kernel_wall_ns", "self").is_empty());
    }
    let answer = agent.ask(json!({"job": "collect", "id": 9, "trial": 1}));
    assert!(answer.fault().1.contains("observe"));
}

#[test]
fn a_kernel_times_itself_within_what_is_seen_around_it() {
    let mut agent = Session::serve();
    let answer = agent.trial(small_kernel(), json!({"warmup": 1, "iterations": 2}));
    let phases: Vec<_> = answer
        .samples()
        .filter(|sample| sample["metric"] == "kernel_wall_ns")
        .map(|sample| {
            (
                sample["iteration"].as_u64().unwrap(),
                sample["phase"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(phases, [(0, "warmup"), (1, "measured"), (2, "measured")]);
    let kernel = answer.all("kernel_wall_ns", "self");
    let span = answer.all("wall_ns", "self");
    let around = answer.all("wall_ns", "around");
    for iteration in 0..3 {
        assert!(0 < kernel[iteration] && kernel[iteration] < span[iteration]);
        assert!(span[iteration] < around[iteration]);
    }
    let cpu = answer.get("kernel_cpu_ns", "self");
    assert!(0 < cpu && cpu < answer.get("cpu_ns", "self"));
    assert!(answer.get("cpu_ns", "self") < answer.get("cpu_ns", "rusage") + 1_000_000);
    assert!(answer.get("kernel_realtime_ns", "self") > 0);
}

#[test]
fn iterations_can_share_a_process() {
    let mut agent = Session::serve();
    let answer = agent.trial(small_kernel(), json!({"iterations": 5, "process": "same"}));
    assert_eq!(answer.all("kernel_wall_ns", "self").len(), 5);
    let whole = answer.all("wall_ns", "around");
    assert_eq!(whole.len(), 1);
    assert!(answer.all("kernel_wall_ns", "self").iter().sum::<i64>() < whole[0]);
    let starts = answer.all("start_ns", "self");
    assert!(starts.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn whatever_is_sent_is_described() {
    let output = Command::new(env!("CARGO_BIN_EXE_tare-agent"))
        .arg("describe")
        .output()
        .unwrap();
    let description: Value = serde_json::from_slice(&output.stdout).unwrap();
    let described = |metric: &Value, source: &Value| {
        let metrics = description["metrics"].as_array().unwrap();
        let known = metrics.iter().find(|known| known["name"] == *metric);
        let sources = known.and_then(|known| known["sources"].as_array());
        sources.is_some_and(|sources| sources.iter().any(|known| known["name"] == *source))
    };
    let mut agent = Session::serve();
    let more = json!({"workers": workers(2), "rendezvous": rendezvous(2), "observe": true});
    let answer = agent.trial(small_kernel(), more);
    for sample in answer.samples() {
        let (metric, source) = (&sample["metric"], &sample["source"]);
        assert!(described(metric, source), "{metric} from {source}");
    }
}

#[test]
fn the_instrument_measures_itself() {
    let mut agent = Session::serve();
    let answer = agent.ask(json!({"job": "measure_self", "id": 1}));
    for name in [
        "clock_resolution_ns",
        "clock_overhead_ns",
        "launch_overhead_ns",
        "cpus_visible",
        "cpus_affinity",
        "cpus_online",
        "memory_total_bytes",
    ] {
        assert!(answer.fact(name).unwrap().as_i64().unwrap() > 0, "{name}");
    }
    let number = |name| answer.fact(name).unwrap().as_i64().unwrap();
    assert!(number("cpus_visible") <= number("cpus_affinity"));
    assert!(number("cpus_affinity") <= number("cpus_online"));
    for name in ["cgroup", "perf"] {
        assert!(answer.fact(name).unwrap().is_string(), "{name}");
    }
}
