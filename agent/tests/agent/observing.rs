//! The observer, beside an agent that launches.

use serde_json::{json, Value};

use crate::session::{command, is_root, nonce, rendezvous, workers, Answer, Session};

const MS: i64 = 1_000_000;

/// What the agent and the observer say of the same trial; nothing where perf is refused.
fn observed(workload: Value, more: Value) -> Option<(Answer, Answer)> {
    let mut observer = Session::observe();
    let own = observer.ask(json!({"job": "measure_self", "id": 1}));
    if let Some(why) = own.fact("observer_perf") {
        eprintln!("skipped: {why}");
        assert!(!is_root("watching the CPUs"), "root may watch: {why}");
        return None;
    }
    let mut agent = Session::serve();
    let job = agent.job(workload, more);
    let trial = job["trial"].clone();
    let pid = agent.hello["pid"].clone();
    let groups = json!([{"worker": 0, "pid": pid}]);
    observer.ask(json!({
        "job": "watch", "id": 2, "trial": trial, "nonce": nonce(), "groups": groups,
    }));
    let launched = agent.ask(job);
    let collected = observer.ask(json!({"job": "collect", "id": 3, "trial": trial}));
    assert!(collected.faults().is_empty(), "{:?}", collected.faults());
    Some((launched, collected))
}

#[test]
fn the_kernels_stamps_lie_within_those_around() {
    let more = json!({"iterations": 4, "warmup": 1});
    let Some((launched, collected)) = observed(command(&["sleep", "20"]), more) else {
        return;
    };
    let stamped = collected.all("wall_ns", "perf_cpu");
    assert_eq!(stamped.len(), 5);
    for (iteration, wall) in stamped.iter().enumerate() {
        let at = |answer: &Answer, metric, source| answer.all(metric, source)[iteration];
        assert!(20 * MS <= *wall && *wall <= at(&launched, "wall_ns", "around"));
        assert!(at(&launched, "start_ns", "around") <= at(&collected, "start_ns", "perf_cpu"));
        assert!(at(&collected, "end_ns", "perf_cpu") <= at(&launched, "end_ns", "around"));
        assert!(at(&collected, "teardown_ns", "switch") >= 0);
    }
    let phases = collected
        .samples()
        .filter(|sample| sample["metric"] == "wall_ns");
    let phases: Vec<_> = phases
        .map(|sample| sample["phase"].as_str().unwrap())
        .collect();
    assert_eq!(
        phases,
        ["warmup", "measured", "measured", "measured", "measured"]
    );
}

#[test]
fn a_tree_lasts_until_its_last_descendant() {
    let Some((launched, collected)) = observed(command(&["daemon", "50"]), json!({})) else {
        return;
    };
    let tree = collected.get("tree_wall_ns", "perf_cpu");
    assert!(50 * MS <= tree && tree <= launched.get("tree_wall_ns", "reaped"));
    assert!(collected.get("wall_ns", "perf_cpu") < tree);
}

#[test]
fn the_last_thread_ends_the_process() {
    let Some((_, collected)) = observed(command(&["leader", "50"]), json!({})) else {
        return;
    };
    assert!(collected.get("wall_ns", "perf_cpu") >= 50 * MS);
}

#[test]
fn workers_are_told_apart() {
    let more = json!({"workers": workers(2), "rendezvous": rendezvous(2), "iterations": 2});
    let Some((_, collected)) = observed(command(&["sleep", "5"]), more) else {
        return;
    };
    let walls = collected
        .samples()
        .filter(|sample| sample["metric"] == "wall_ns");
    let places: Vec<_> = walls
        .map(|s| {
            (
                s["worker"].as_u64().unwrap(),
                s["iteration"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1)]);
}
