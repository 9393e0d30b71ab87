//! Windows of time.

use serde_json::{json, Value};

use crate::session::{
    any_command, kernel, rendezvous, small_kernel, with, workers, Answer, Session,
};

const PERIOD_NS: i64 = 20_000_000;

fn window(periods: u32, workers_: u32) -> Value {
    json!({
        "window": {"periods": periods, "period_ns": PERIOD_NS, "throttled": false},
        "workers": workers(workers_), "rendezvous": rendezvous(workers_),
    })
}

fn numbers(answer: &Answer, metric: &str) -> Vec<f64> {
    let own = answer.samples().filter(|sample| sample["metric"] == metric);
    own.map(|sample| sample["value"].as_f64().unwrap())
        .collect()
}

#[test]
fn a_kernel_works_through_whole_periods() {
    let mut agent = Session::serve();
    let answer = agent.trial(small_kernel(), window(4, 2));
    assert!(answer.faults().is_empty(), "{:?}", answer.faults());
    let lengths = answer.all("window_ns", "self");
    assert_eq!(lengths.len(), 2);
    for (worker, length) in lengths.iter().enumerate() {
        assert!(*length >= 4 * PERIOD_NS && length % PERIOD_NS == 0);
        let executions = answer.all("window_executions", "self")[worker];
        let done = numbers(&answer, "throughput")[worker] * *length as f64 / 1e9;
        assert!(
            (done - executions as f64).abs() <= 2.0,
            "{done} {executions}"
        );
        assert!(answer.all("window_cpu_ns", "self")[worker] <= *length);
        assert!(numbers(&answer, "clock_hz")[worker] > 1e7);
    }
    // Nobody ends before both have.
    let ends = answer.all("end_ns", "around");
    assert!(answer
        .all("end_ns", "self")
        .iter()
        .all(|end| end < &ends[0].min(ends[1])));
    assert!(answer.all("kernel_wall_ns", "self").is_empty());
}

#[test]
fn a_command_is_launched_through_whole_periods() {
    let mut agent = Session::serve();
    let answer = agent.trial(any_command(&["true"]), window(3, 2));
    assert!(answer.faults().is_empty(), "{:?}", answer.faults());
    for worker in 0..2 {
        let length = answer.all("window_ns", "around")[worker];
        assert!(length >= 3 * PERIOD_NS && length % PERIOD_NS == 0);
        let launched = answer.samples().filter(|sample| {
            sample["metric"] == "wall_ns"
                && sample["source"] == "around"
                && sample["phase"] == "measured"
                && sample["worker"] == worker
        });
        let executions = answer.all("window_executions", "around")[worker];
        assert_eq!(launched.count() as i64, executions);
        let done = numbers(&answer, "throughput")[worker] * length as f64 / 1e9;
        assert!(done <= executions as f64 && done > executions as f64 - 1.0);
    }
}

#[test]
fn a_wrong_result_is_a_fault_of_its_own_kind() {
    let mut agent = Session::serve();
    let wrong = json!({"size": 60, "most_residual": 0});
    let solver = with(kernel("linpack", 1), "parameters", wrong);
    for more in [window(3, 1), json!({})] {
        let answer = agent.trial(solver.clone(), more);
        let (kind, message) = answer.fault();
        assert_eq!(kind, "check");
        assert!(message.contains("residual"), "{message}");
        assert!(numbers(&answer, "throughput").is_empty());
    }
    let answer = agent.trial(solver, window(3, 1));
    assert!(numbers(&answer, "residual")[0] > 0.0);
}

#[test]
fn what_is_no_window_is_refused() {
    let mut agent = Session::serve();
    for (key, value) in [
        ("iterations", json!(2)),
        ("warmup", json!(1)),
        ("process", json!("same")),
        (
            "window",
            json!({"periods": 0, "period_ns": 1, "throttled": false}),
        ),
    ] {
        let mut job = window(2, 1);
        job[key] = value;
        let answer = agent.trial(small_kernel(), job);
        let (kind, message) = answer.fault();
        assert_eq!(kind, "job");
        assert!(message.contains("window"), "{message}");
    }
}
