//! Figures against what the programs know of themselves.

use serde_json::json;

use crate::session::{any_command, command, is_root, is_static, with, Session};

const MS: i64 = 1_000_000;

#[test]
fn wall_and_cpu_contain_what_a_spinner_knows_of_itself() {
    let mut agent = Session::serve();
    let capture = json!({"limit_bytes": 100});
    let spin = with(command(&["spin", "50"]), "capture", capture);
    let answer = agent.trial(spin, json!({"iterations": 3, "observe": true}));
    for iteration in 0..3 {
        let said = String::from_utf8(answer.output(iteration as u32, "out")).unwrap();
        let own: Vec<i64> = said
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect();
        let at = |metric: &str, source: &str| answer.all(metric, source)[iteration];
        assert!(at("wall_ns", "around") >= own[0]);
        assert_eq!(
            at("end_ns", "around") - at("start_ns", "around"),
            at("wall_ns", "around")
        );
        // Before main and after it there is a millisecond of the loader's and the kernel's work.
        for source in ["rusage", "reaped"] {
            let over = at("cpu_ns", source) - own[1];
            assert!((-MS / 10..5 * MS).contains(&over), "{source}: {over}");
        }
        let parts = at("user_ns", "rusage") + at("system_ns", "rusage");
        assert!((parts - at("cpu_ns", "rusage")).abs() < MS);
        assert_eq!(at("exit_code", "wait"), 0);
        if answer.find("wall_ns", "perf_task").is_some() {
            let stamped = at("wall_ns", "perf_task");
            assert!(own[0] <= stamped && stamped <= at("wall_ns", "around"));
        }
        if let Some(cpu) = answer.all("cpu_ns", "cgroup").get(iteration) {
            assert!((cpu - at("cpu_ns", "reaped")).abs() < 2 * MS);
        }
    }
    assert!(answer.faults().is_empty(), "{:?}", answer.faults());
}

#[test]
fn a_daemonised_grandchild_is_seen() {
    let mut agent = Session::serve();
    let answer = agent.trial(command(&["daemon", "100"]), json!({}));
    let outlived = answer.outlived();
    assert_eq!(outlived.len(), 1, "{:?}", answer.faults());
    assert_eq!(outlived[0]["names"], json!(["subject"]));
    assert_eq!(outlived[0]["killed"], false);
    assert!(outlived[0]["duration_ns"].as_i64().unwrap() > 90 * MS);
    let root = answer.get("cpu_ns", "rusage");
    assert!(root < 50 * MS, "who did not wait does not know: {root}");
    for source in ["reaped", "cgroup"] {
        let Some(seen) = answer.find("cpu_ns", source) else {
            assert_eq!(source, "cgroup");
            eprintln!("skipped: no control group can be made here");
            continue;
        };
        let error = seen - root - 100 * MS;
        assert!(error.abs() < 2 * MS, "{source}: {error}");
    }
    assert!(answer.get("tree_wall_ns", "reaped") >= 100 * MS);
    assert!(answer.get("tree_wall_ns", "reaped") > answer.get("wall_ns", "around"));
}

#[test]
fn memory_is_the_commands_own() {
    let mut agent = Session::serve();
    let large = agent.trial(command(&["hold", "300000"]), json!({}));
    let small = agent.trial(command(&[]), json!({}));
    let truth = 300_000 * 1024;
    for source in ["rusage", "cgroup"] {
        let Some(peak) = large.find("memory_bytes", source) else {
            assert_eq!(source, "cgroup");
            continue;
        };
        assert!(
            (truth - truth / 100..truth + truth / 20).contains(&peak),
            "{source}: {peak}"
        );
    }
    if is_static() {
        let floor = small.get("memory_bytes", "rusage");
        assert!(floor < 1 << 20, "{floor}");
    } else {
        eprintln!("skipped: the floor of memory_bytes is that of the static agent");
    }
    assert!(small
        .find("memory_bytes", "cgroup")
        .is_none_or(|peak| peak < 1 << 20));
}

#[test]
fn a_leader_that_ends_first_does_not_end_the_process() {
    let mut agent = Session::serve();
    let answer = agent.trial(command(&["leader", "100"]), json!({"observe": true}));
    assert!(answer.get("wall_ns", "around") >= 100 * MS);
    if let Some(stamped) = answer.find("wall_ns", "perf_task") {
        assert!(stamped >= 100 * MS);
    } else {
        eprintln!("skipped: perf events are refused here");
    }
}

#[test]
fn a_chain_of_execs_counts_from_the_first() {
    let mut agent = Session::serve();
    let answer = agent.trial(command(&["chain", "50"]), json!({"observe": true}));
    assert_eq!(answer.get("exit_code", "wait"), 0);
    assert!(answer.get("wall_ns", "around") >= 50 * MS);
    assert!(answer
        .find("wall_ns", "perf_task")
        .is_none_or(|stamped| stamped >= 50 * MS));
}

#[test]
fn what_outlives_its_time_is_killed_and_named() {
    let mut agent = Session::serve();
    let linger = json!({"linger_ns": 20_000_000, "iterations": 2});
    let answer = agent.trial(command(&["orphan"]), linger);
    let faults = answer.faults();
    assert_eq!(faults.len(), 2, "{faults:?}");
    for ((kind, message), outlived) in faults.into_iter().zip(answer.outlived()) {
        assert_eq!(kind, "warning");
        assert!(message.ends_with(": subject"), "{message}");
        assert_eq!(outlived["names"], json!(["subject"]));
        assert_eq!(outlived["killed"], true);
        assert!(outlived["duration_ns"].as_i64().unwrap() >= 20 * MS);
    }
    assert_eq!(
        answer.all("exit_code", "wait"),
        [0, 0],
        "the trial is not lost by it"
    );
}

#[test]
fn processes_that_end_a_moment_after_the_command_are_not_named() {
    let mut agent = Session::serve();
    let line = "(sleep 0.0005 &) ; exit 0";
    let answer = agent.trial(any_command(&["sh", "-c", line]), json!({"iterations": 20}));
    // On a busy machine even a moment may take longer.
    assert!(answer.faults().len() < 20, "{:?}", answer.faults());
}

#[test]
fn written_bytes_are_counted_whoever_the_user_is() {
    let mut agents = vec![Session::serve()];
    if is_root("becoming another user") {
        agents.push(Session::serve_as_nobody());
    }
    for mut agent in agents {
        // A child that is waited for, and the command's first process itself.
        let line = "head -c 1000 /dev/zero; exec head -c 3000000 /dev/zero";
        let answer = agent.trial(any_command(&["sh", "-c", line]), json!({"iterations": 3}));
        assert_eq!(answer.all("written_bytes", "io"), [3_001_000; 3]);
    }
}
