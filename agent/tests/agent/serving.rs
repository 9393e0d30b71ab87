//! Services of a trial: reset, started in order, reported, and ended in reverse.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{json, Value};

use crate::session::scratch;

/// `supervise` with the front's end of its connection.
struct Supervised {
    child: Child,
    reports: BufReader<TcpStream>,
}

impl Supervised {
    fn start(reset: Value, services: Value) -> Self {
        let front = TcpListener::bind("127.0.0.1:0").unwrap();
        let specification = json!({
            "control": front.local_addr().unwrap().to_string(), "reset": reset,
            "reset_ns": 5_000_000_000_u64, "services": services, "copy_bytes": 0,
        });
        let child = Command::new(env!("CARGO_BIN_EXE_tare-agent"))
            .arg("supervise")
            .env("TARE_SUPERVISION", specification.to_string())
            .env("TARE_CONTROL_KEY", "key")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut reports = BufReader::new(front.accept().unwrap().0);
        let mut key = String::new();
        reports.read_line(&mut key).unwrap();
        assert_eq!(key, "key\n");
        Self { child, reports }
    }

    fn report(&mut self) -> Value {
        let mut line = String::new();
        self.reports.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect(&line)
    }
}

/// A place for a file that nobody else has.
fn file() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    scratch().join(format!("services{number}"))
}

/// A shell script as a service that is ready when it prints `ready`.
fn service(name: &str, script: &str) -> Value {
    json!({
        "name": name, "command": ["sh", "-c", script], "environment": {"NAME": name},
        "ready": {"kind": "ready_log", "pattern": "^ready$"}, "ready_ns": 5_000_000_000_u64,
        "stop_signal": libc::SIGTERM, "stop_ns": 300_000_000,
    })
}

#[test]
fn services_start_in_order_and_end_in_reverse() {
    let noted = file();
    let path = noted.display();
    let script = format!(
        "trap \"echo end $NAME >> {path}; exit\" TERM; echo start $NAME >> {path}; echo ready; \
         while :; do sleep 0.01; done"
    );
    let stubborn = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
    let mut supervised = Supervised::start(
        json!([["sh", "-c", format!("echo reset >> {path}")]]),
        json!([
            service("a", &script),
            service("b", &script),
            service("c", stubborn)
        ]),
    );
    assert_eq!(supervised.report(), json!({"record": "services_reset"}));
    let ready = supervised.report();
    let after_ns: Vec<i64> = serde_json::from_value(ready["after_ns"].clone()).unwrap();
    assert!(after_ns.len() == 3 && after_ns.is_sorted() && after_ns[0] > 0);
    writeln!(supervised.reports.get_mut(), "end").unwrap();
    assert_eq!(
        supervised.report(),
        json!({"record": "services_ended", "killed": ["c"]})
    );
    assert!(supervised.child.wait().unwrap().success());
    let lines = fs::read_to_string(&noted).unwrap();
    let expected = "reset\nstart a\nstart b\nend b\nend a\n";
    assert_eq!(lines, expected);
}

#[test]
fn what_fails_is_named_with_its_output_and_ends_the_others() {
    let pid = file();
    let other = format!("echo $$ > {}; echo ready; exec sleep 600", pid.display());
    let mut supervised = Supervised::start(
        json!([]),
        json!([service("other", &other), service("bad", "echo why; exit 3")]),
    );
    assert_eq!(supervised.report()["record"], "services_reset");
    let failed = supervised.report();
    assert_eq!(failed["service"], "bad");
    assert_eq!(failed["what"], "ended with exit code 3");
    assert!(failed["log"].as_str().unwrap().contains("why"), "{failed}");
    assert_eq!(supervised.report()["record"], "services_ended");
    assert!(!supervised.child.wait().unwrap().success());
    let pid = fs::read_to_string(&pid).unwrap();
    assert!(!PathBuf::from("/proc").join(pid.trim()).exists());
}

#[test]
fn services_do_not_start_after_a_reset_that_fails() {
    let started = file();
    let script = format!("touch {}; echo ready; exec sleep 600", started.display());
    let mut supervised = Supervised::start(json!([["false"]]), json!([service("a", &script)]));
    let failed = supervised.report();
    assert_eq!(failed["record"], "services_failed");
    assert_eq!(failed["service"], Value::Null);
    assert_eq!(failed["what"], "false: ended with exit code 1");
    assert!(!supervised.child.wait().unwrap().success());
    assert!(!started.exists());
}

#[test]
fn what_a_service_leaves_behind_is_killed() {
    let pid = file();
    let script = format!(
        "trap exit TERM; sleep 600 & echo $! > {}; echo ready; while :; do sleep 0.01; done",
        pid.display()
    );
    let mut supervised = Supervised::start(json!([]), json!([service("a", &script)]));
    assert_eq!(supervised.report()["record"], "services_reset");
    assert_eq!(supervised.report()["record"], "services_ready");
    let left = fs::read_to_string(&pid).unwrap();
    writeln!(supervised.reports.get_mut(), "end").unwrap();
    assert_eq!(supervised.report()["killed"], json!([]));
    assert!(supervised.child.wait().unwrap().success());
    crate::ending::eventually("what is left is killed", || {
        let state = fs::read_to_string(format!("/proc/{}/stat", left.trim()));
        state.map_or(true, |state| state.contains(") Z"))
    });
}
