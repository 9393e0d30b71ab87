//! How a command is started, and what is said when it cannot be.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::session::{any_command, command, is_root, scratch, subject, with, Session};

#[test]
fn what_cannot_be_started_is_explained() {
    let mut agent = Session::serve();
    let file = |name: &str, content: &str, mode: u32| {
        let path = scratch().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_string()
    };
    for (program, part) in [
        ("unheard-of".to_string(), "not found in the PATH"),
        ("/nowhere/unheard-of".to_string(), "not found"),
        (scratch().to_str().unwrap().to_string(), "is a directory"),
        (file("plain", "text", 0o644), "not executable"),
        (
            file("script", "#!/nowhere/interpreter -x\n", 0o755),
            "no interpreter /nowhere/interpreter",
        ),
        (
            file("windows", "#!/bin/sh\r\nexit 0\r\n", 0o755),
            "its first line, /bin/sh, ends with a carriage return",
        ),
        (file("nonsense", "text", 0o755), "no program"),
    ] {
        let answer = agent.trial(any_command(&[&program]), json!({"iterations": 3}));
        let (kind, message) = answer.fault();
        assert_eq!(kind, "launch");
        assert!(message.contains(part), "{message}");
        assert_eq!(answer.samples().count(), 0, "{:#?}", answer.0);
    }
}

#[test]
fn surroundings_that_do_not_exist_are_named() {
    let mut agent = Session::serve();
    let nowhere = || json!("/nowhere");
    for key in ["directory", "input"] {
        let answer = agent.trial(with(command(&[]), key, nowhere()), json!({}));
        let (kind, message) = answer.fault();
        assert_eq!(kind, "launch");
        assert!(message.contains("/nowhere"), "{message}");
    }
    let far = json!({"workers": [{"worker": 0, "cpus": [1_000_000]}]});
    let answer = agent.trial(command(&[]), far);
    assert_eq!(answer.fault().0, "launch");
    assert!(answer.fault().1.contains("CPUs"), "{}", answer.fault().1);
}

#[test]
fn endings_are_told_apart() {
    let mut agent = Session::serve();
    let answer = agent.trial(command(&["exit", "3"]), json!({"iterations": 4}));
    assert_eq!(answer.fault().0, "exit");
    assert_eq!(
        answer.all("exit_code", "wait"),
        [3],
        "it stops at the first failure"
    );
    assert!(answer.find("signal", "wait").is_none());

    let answer = agent.trial(command(&["signal", "11"]), json!({}));
    assert_eq!(answer.fault().0, "signal");
    assert!(answer.fault().1.contains("SIGSEGV"));
    assert_eq!(answer.get("signal", "wait"), 11);
    assert!(answer.find("exit_code", "wait").is_none());

    let limit = json!({"timeout_ns": 50_000_000});
    let answer = agent.trial(command(&["sleep", "1000000"]), limit);
    assert_eq!(answer.fault().0, "timeout");
    assert_eq!(answer.get("timed_out", "wait"), 1);
    // And everything works after it.
    let answer = agent.trial(command(&[]), json!({}));
    assert_eq!(
        (
            answer.get("exit_code", "wait"),
            answer.get("timed_out", "wait")
        ),
        (0, 0)
    );
}

#[test]
fn output_is_kept_up_to_a_limit() {
    let mut agent = Session::serve();
    let capture = json!({"limit_bytes": 100_000});
    let loud = with(command(&["write", "300000"]), "capture", capture.clone());
    let answer = agent.trial(loud, json!({"iterations": 2}));
    assert!(answer.faults().is_empty());
    for iteration in 0..2 {
        for (stream, byte) in [("out", b'o'), ("err", b'e')] {
            assert_eq!(answer.output(iteration, stream), vec![byte; 100_000]);
        }
    }
    let silent = with(command(&[]), "capture", capture.clone());
    assert!(agent.trial(silent, json!({})).output(0, "out").is_empty());
    // Over all iterations there is a limit as well, and what is beyond it is told.
    let much = json!({"limit_bytes": 40_000_000});
    let loud = with(
        any_command(&["head", "-c40000000", "/dev/zero"]),
        "capture",
        much,
    );
    let answer = agent.trial(loud, json!({"iterations": 2}));
    assert_eq!(answer.output(0, "out").len(), 40_000_000);
    assert_eq!(answer.output(1, "out").len(), (64 << 20) - 40_000_000);
    assert_eq!(answer.faults()[0].0, "warning");
    assert!(answer.faults()[0].1.contains("64 MiB"));
    // Where output is only read, all of it is, and nothing is sent.
    let read = json!({"limit_bytes": 0, "reads_output": true});
    let line = "head -c 3000000 /dev/zero && test -p /dev/stdout && test -p /dev/stderr";
    let loud = with(any_command(&["/bin/sh", "-c", line]), "capture", read);
    let answer = agent.trial(loud, json!({}));
    assert!(answer.faults().is_empty(), "{:?}", answer.faults());
    assert!(answer.0.iter().all(|record| record["record"] != "output"));
    // The end of what a failing command said is its evidence, whatever the limit was.
    let words = ["-c", &format!("{} write 5000; exit 1", subject())];
    let argv = [&["/bin/sh"], &words[..]].concat();
    let failing = with(any_command(&argv), "capture", capture);
    let answer = agent.trial(failing, json!({}));
    let fault = answer.0.iter().find(|record| record["record"] == "fault");
    let evidence = fault.unwrap()["evidence"].as_str().unwrap();
    assert_eq!(evidence.len(), 2048);
    assert!(evidence.starts_with('e') && evidence.ends_with('!'));
}

#[test]
fn directory_input_and_user_are_as_asked() {
    if !is_root("another user's identity") {
        return;
    }
    let mut agent = Session::serve();
    let capture = json!({"limit_bytes": 1000});
    let home = with(
        with(command(&["who"]), "capture", capture.clone()),
        "directory",
        json!("/"),
    );
    // Whoever it is must be able to reach the program.
    let open = std::env::temp_dir().join(format!("{}-subject", agent.name));
    fs::copy(subject(), &open).unwrap();
    let home = with(home, "argv", json!([open.to_str().unwrap(), "who"]));
    let user = json!({"user": {"uid": 65534, "gid": 65533, "groups": [1, 2, 3]}});
    let answer = agent.trial(home, user.clone());
    assert!(answer.faults().is_empty(), "{:#?}", answer.0);
    assert_eq!(answer.output(0, "out"), b"65534 65533 3 /\n");
    // What that user may not read, it is not given either.
    let private = scratch().join("private");
    fs::write(&private, "private").unwrap();
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
    let copy = with(
        command(&["copy"]),
        "argv",
        json!([open.to_str().unwrap(), "copy"]),
    );
    let copy = with(copy, "input", json!(private.to_str().unwrap()));
    let answer = agent.trial(copy, user);
    fs::remove_file(open).unwrap();
    assert_eq!(answer.fault().0, "launch");
    assert!(answer.fault().1.contains("cannot read the input"));

    let input = scratch().join("input");
    fs::write(&input, "what is read").unwrap();
    let copy = with(command(&["copy"]), "input", json!(input.to_str().unwrap()));
    let answer = agent.trial(with(copy, "capture", capture), json!({}));
    assert_eq!(answer.output(0, "out"), b"what is read");
}
