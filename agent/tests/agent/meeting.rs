//! Workers side by side.

use serde_json::{json, Value};

use crate::session::{command, kernel, rendezvous, scratch, small_kernel, workers, Session};

fn side_by_side(tail: &str) -> Value {
    json!({"workers": workers(2), "rendezvous": rendezvous(2), "tail": tail, "iterations": 3})
}

#[test]
fn workers_meet_in_every_iteration() {
    let mut agent = Session::serve();
    for (workload, process, source) in [
        (command(&["sleep", "5"]), "fresh", "around"),
        (small_kernel(), "fresh", "self"),
        (small_kernel(), "same", "self"),
    ] {
        let mut job = side_by_side("loaded");
        job["process"] = json!(process);
        let answer = agent.trial(workload, job);
        assert!(answer.faults().is_empty(), "{:?}", answer.faults());
        let of = |metric: &str, worker: u32| -> Vec<i64> {
            let own = answer.samples().filter(|s| {
                s["metric"] == metric
                    && s["worker"] == worker
                    && s["phase"] == "measured"
                    && (metric == "start_skew_ns" || s["source"] == source)
            });
            own.map(|s| s["value"].as_i64().unwrap()).collect()
        };
        let (starts, ends) = (
            [of("start_ns", 0), of("start_ns", 1)],
            [of("end_ns", 0), of("end_ns", 1)],
        );
        for (iteration, worker, other) in [(1, 0, 1), (1, 1, 0), (2, 0, 1), (2, 1, 0)] {
            // Nobody begins before everybody has ended what was before.
            assert!(starts[worker][iteration] > ends[other][iteration - 1]);
        }
        let skews = of("start_skew_ns", 0);
        assert!(skews.iter().all(|skew| *skew > 0));
    }
}

#[test]
fn who_is_done_keeps_the_load_on() {
    let mut agent = Session::serve();
    for tail in ["loaded", "stop"] {
        let token = scratch().join(format!("first-{tail}"));
        let mut job = side_by_side(tail);
        job["iterations"] = json!(1);
        let answer = agent.trial(command(&["uneven", token.to_str().unwrap()]), job);
        assert!(answer.faults().is_empty(), "{:?}", answer.faults());
        let tails: Vec<_> = answer
            .samples()
            .filter(|sample| sample["phase"] == "tail")
            .collect();
        if tail == "stop" {
            assert!(tails.is_empty());
            continue;
        }
        assert!(tails
            .iter()
            .all(|sample| sample["worker"] == tails[0]["worker"]));
        let end = |phase: &str| {
            let ends = answer
                .samples()
                .filter(|s| s["metric"] == "end_ns" && s["phase"] == phase);
            ends.map(|s| s["value"].as_i64().unwrap()).max().unwrap()
        };
        assert!(end("tail") >= end("measured"));
        let killed: Vec<_> = tails
            .iter()
            .map(|s| s["metric"].as_str().unwrap())
            .collect();
        assert_eq!(killed, ["start_ns", "end_ns"]);
    }
}

#[test]
fn who_fails_is_not_waited_for() {
    let mut agent = Session::serve();
    let token = scratch().join("first-dies");
    let answer = agent.trial(
        command(&["die-first", token.to_str().unwrap()]),
        side_by_side("loaded"),
    );
    assert_eq!(answer.fault().0, "exit");
    let measured = answer
        .samples()
        .filter(|s| s["metric"] == "exit_code" && s["phase"] == "measured");
    assert_eq!(
        measured.count(),
        4,
        "one failed at once, the other did all three"
    );
}

#[test]
fn who_never_comes_is_waited_for_until_time_is_up() {
    let mut agent = Session::serve();
    let mut job = side_by_side("loaded");
    job["rendezvous"]["parties"] = json!(3);
    job["timeout_ns"] = json!(100_000_000);
    for workload in [command(&[]), kernel("null", 1)] {
        job["rendezvous"] = rendezvous(3);
        let answer = agent.trial(workload, job.clone());
        let faults = answer.faults();
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults
                .iter()
                .all(|f| f.0 == "timeout" && f.1.contains("did not come")),
            "{faults:?}"
        );
    }
}

#[test]
fn who_dies_without_a_word_is_not_waited_for() {
    let (mut one, mut other) = (Session::serve(), Session::serve());
    let meeting = rendezvous(2);
    let part = |worker: u32, iterations: u32| {
        let workers = json!([{"worker": worker, "cpus": null}]);
        json!({"workers": workers, "rendezvous": meeting, "iterations": iterations, "tail": "loaded"})
    };
    let job = one.job(command(&["sleep", "30"]), part(0, 10));
    one.send(&job.to_string());
    let job = other.job(command(&["sleep", "30"]), part(1, 10));
    other.send(&job.to_string());
    std::thread::sleep(std::time::Duration::from_millis(100));
    // SAFETY: the agent is a child of ours.
    unsafe { libc::kill(other.pid() as i32, libc::SIGKILL) };
    let answer = one.answer();
    assert!(answer.faults().is_empty(), "{:?}", answer.faults());
    assert_eq!(answer.all("exit_code", "wait").len(), 10);
}
