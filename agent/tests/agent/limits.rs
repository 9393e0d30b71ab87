//! Limits of a launch: what exceeds them is ended and named, and the next one is unharmed.

use serde_json::{json, Value};

use crate::ending::{eventually, processes};
use crate::session::{any_command, command, is_root, subject, Session};

const MIB: u64 = 1 << 20;
/// Children that share the work: each holds, or burns, and the last ends all.
const SHARED: &str = "for i in 1 2 3 4; do \"$@\" & done; wait";

/// What each program exceeds, with a limit of it, and how the fault is called.
fn excesses(subject: &str) -> Vec<(Value, Value, &'static str)> {
    let shared = |what: &str, number: &str| {
        any_command(&["/bin/sh", "-c", SHARED, "sh", subject, what, number])
    };
    let bomb = "bomb() { bomb & bomb & sleep 600; }; bomb";
    vec![
        (
            command(&["spin", "3000"]),
            json!({"cpu_ns": 100_000_000}),
            "cpu_time",
        ),
        // Each ends before the limit, and nobody is there at the end.
        (
            shared("spin", "60"),
            json!({"cpu_ns": 150_000_000}),
            "cpu_time",
        ),
        (
            command(&["hold", "200000"]),
            json!({"memory_bytes": 32 * MIB}),
            "out_of_memory",
        ),
        (
            shared("fill", "20000"),
            json!({"memory_bytes": 48 * MIB}),
            "out_of_memory",
        ),
        (
            any_command(&["yes"]),
            json!({"output_bytes": 100_000}),
            "output",
        ),
        (
            any_command(&["/bin/sh", "-c", "head -c 3000000 /dev/zero > $(mktemp)"]),
            json!({"output_bytes": 1_000_000}),
            "output",
        ),
        (
            command(&["write", "2000"]),
            json!({"output_bytes": 3999}),
            "output",
        ),
        (
            any_command(&["/bin/sh", "-c", bomb]),
            json!({"processes": 20}),
            "processes",
        ),
        (
            any_command(&["/bin/sh", "-c", SHARED, "sh", "sleep", "600"]),
            json!({"processes": 3}),
            "processes",
        ),
    ]
}

#[test]
fn what_exceeds_a_limit_is_ended_and_the_next_is_unharmed() {
    if !is_root("limits of control groups") {
        return;
    }
    check(Session::serve());
}

#[test]
fn without_groups_it_is_looked_after() {
    if !is_root("hiding control groups") {
        return;
    }
    check(Session::serve_without_groups());
    let _ = std::fs::remove_dir("/sys/fs/cgroup/pids/tare-test");
}

fn check(mut agent: Session) {
    for (program, limits, kind) in excesses(subject()) {
        let limited = json!({"limits": limits, "timeout_ns": 20_000_000_000_u64, "linger_ns": 0});
        let answer = agent.trial(program.clone(), limited);
        let (found, message) = answer.fault();
        assert_eq!(found, kind, "{program} {message}");
        assert!(message.contains("exceeded"), "{message}");
        eventually("nothing is left", || processes("600").is_empty());
        // And everything works after it, without limits and within them.
        let answer = agent.trial(command(&["hold", "100000"]), json!({}));
        assert!(answer.faults().is_empty(), "{:?}", answer.faults());
        let wide = json!({"cpu_ns": 10_000_000_000_u64, "memory_bytes": 512 * MIB,
            "output_bytes": 100_000, "processes": 50});
        let answer = agent.trial(command(&["spin", "20"]), json!({"limits": wide}));
        assert!(answer.faults().is_empty(), "{:?}", answer.faults());
    }
}

#[test]
fn pages_of_files_that_others_left_hide_nothing() {
    if !is_root("limits of control groups") {
        return;
    }
    let mut agent = Session::serve();
    // Not under /tmp, which may be memory that does not go.
    let file = format!("/var/tmp/{}", agent.name);
    let write = format!("head -c 200000000 /dev/zero > {file}");
    let answer = agent.trial(any_command(&["/bin/sh", "-c", &write]), json!({}));
    assert!(answer.faults().is_empty(), "{:?}", answer.faults());
    let limits = json!({"limits": {"memory_bytes": 64 * MIB}});
    let answer = agent.trial(command(&["hold", "50000"]), limits.clone());
    assert!(answer.faults().is_empty(), "{:?}", answer.faults());
    let held = answer.get("memory_bytes", "cgroup");
    assert!((50_000_000..60_000_000).contains(&held), "{held}");
    let answer = agent.trial(command(&["hold", "70000"]), limits);
    std::fs::remove_file(file).unwrap();
    assert_eq!(answer.fault().0, "out_of_memory");
}

#[test]
fn a_launch_that_fails_leaves_no_limit() {
    if !is_root("limits of control groups") {
        return;
    }
    let mut agent = Session::serve();
    // Not even its root can be made.
    let answer = agent.trial(any_command(&["true"]), json!({"limits": {"processes": 0}}));
    assert_eq!(answer.fault().0, "launch");
    let answer = agent.trial(any_command(&["true"]), json!({}));
    assert!(answer.faults().is_empty(), "{:?}", answer.faults());
}

#[test]
fn cpu_time_is_ended_near_its_limit() {
    let mut agent = Session::serve();
    let limits = json!({"limits": {"cpu_ns": 100_000_000}});
    let answer = agent.trial(command(&["spin", "3000"]), limits);
    assert_eq!(answer.fault().0, "cpu_time");
    let used = answer.get("cpu_ns", "reaped");
    assert!((100_000_000..200_000_000).contains(&used), "{used}");
}
