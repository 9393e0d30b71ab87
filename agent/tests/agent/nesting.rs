//! What is made around a command, and undone.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{json, Value};

use crate::session::is_root;

/// A name that nobody else has, and a folder of that name that is not there yet.
fn place() -> (String, PathBuf) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("tare-nest{}-{number}", std::process::id());
    (name.clone(), std::env::temp_dir().join(name))
}

fn nest(name: &str, spec: &Value, inside: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tare-agent"))
        .args(["nest", "--name", name, "--spec", &spec.to_string(), "--"])
        .args(inside)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for its end; until then its standard input stays open, as the front keeps it.
fn finish(mut started: Child) -> Output {
    let open = started.stdin.take();
    let output = started.wait_with_output().unwrap();
    drop(open);
    output
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a process lives; one that only waits to be reaped does not.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z"))
}

#[test]
fn everything_is_made_before_and_undone_after() {
    let (name, folder) = place();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let witness = folder.with_extension("after");
    let spec = json!({
        "folders": [folder, at("sub")],
        "files": [{"path": at("sub/words"), "text": "made", "mode": 0o600}],
        "links": [[at("link"), "sub/words"]],
        "daemons": [["sh", "-c", format!("sleep 0.05; echo $$ > {}; exec sleep 60", at("pid"))]],
        "awaited": [at("pid")],
        "before": [["cp", at("link"), at("copy")], ["echo", "not for the stream"]],
        "after": [["false"], ["touch", witness]],
        "directory": at("sub"),
    });
    let script = format!(
        "cat {}; : >here; test -e {} || exit 9; cat {} >&2; read word; exit $word",
        at("copy"),
        at("sub/here"),
        at("pid")
    );
    let mut started = nest(&name, &spec, &["sh", "-c", &script]);
    started.stdin.take().unwrap().write_all(b"7\n").unwrap();
    let output = started.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "made");
    assert!(!said(&output).contains("not for the stream"));
    assert!(said(&output).contains("false ended with exit code 1"));
    let daemon = said(&output);
    let daemon = daemon.lines().find(|line| line.parse::<u32>().is_ok());
    assert!(!lives(daemon.unwrap()), "{}", said(&output));
    assert!(!folder.exists());
    fs::remove_file(witness).unwrap();
}

#[test]
fn what_fails_before_is_told_and_undone() {
    let (name, folder) = place();
    let spec = json!({
        "folders": [folder],
        "before": [["sh", "-c", "echo its own words >&2; exit 3"], ["touch", "/never"]],
    });
    let output = finish(nest(&name, &spec, &["echo", "never"]));
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && !folder.exists());
    let said = said(&output);
    assert!(
        said.contains("its own words") && said.contains("exit code 3"),
        "{said}"
    );
    for (spec, why) in [
        (json!({"before": [["no-such-program"]]}), "not found in"),
        (
            json!({"folders": ["/no/such/folder"]}),
            "cannot make /no/such/folder: No such file",
        ),
        (
            json!({"daemons": [["false"]], "awaited": [folder]}),
            "exit code 1 before",
        ),
        (
            json!({"awaited": [folder], "awaited_s": 0.05}),
            "was not there after 0.05 s",
        ),
        (json!({"mistaken": 1}), "unknown field"),
    ] {
        let output = finish(nest(&name, &spec, &["echo", "never"]));
        assert!(!output.status.success() && output.stdout.is_empty());
        assert!(self::said(&output).contains(why), "{}", self::said(&output));
    }
    let missing = nest(&name, &json!({}), &["/no/such/program"]);
    let output = finish(missing);
    assert!(self::said(&output).contains("cannot start /no/such/program"));
}

#[test]
fn whatever_ends_it_undoes_it() {
    for signal in [None, Some(libc::SIGTERM), Some(libc::SIGHUP)] {
        let (name, folder) = place();
        let spec = json!({"folders": [folder]});
        // What it starts goes away from it, as daemons do.
        let script = "setsid sleep 60 & echo $!; cat; exit 5";
        let mut started = nest(&name, &spec, &["sh", "-c", script]);
        let mut pid = String::new();
        let mut output = std::io::BufReader::new(started.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut pid).unwrap();
        assert!(lives(&pid) && folder.exists());
        // Waiting would close it.
        let input = started.stdin.take();
        if let Some(signal) = signal {
            // SAFETY: the child has not been waited for.
            unsafe { libc::kill(started.id() as libc::pid_t, signal) };
            assert_eq!(started.wait().unwrap().code(), Some(128 + libc::SIGTERM));
        } else {
            drop(input);
            assert_eq!(started.wait().unwrap().code(), Some(5));
        }
        assert!(!lives(&pid) && !folder.exists());
    }
}

#[test]
fn a_front_that_is_gone_ends_the_preparations() {
    let (name, folder) = place();
    let spec = json!({"folders": [folder], "before": [["sleep", "60"]]});
    let mut started = nest(&name, &spec, &["echo", "never"]);
    while !folder.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(started.stdin.take());
    let output = started.wait_with_output().unwrap();
    assert!(!output.status.success() && !folder.exists());
    assert!(said(&output).contains("sleep 60 was ended: its standard input ended"));
}

#[test]
fn what_is_only_mounted_is_not_removed() {
    if !is_root("mounting") {
        return;
    }
    let (name, folder) = place();
    let precious = folder.with_extension("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "").unwrap();
    let inside = folder.join("root");
    let spec = json!({
        "folders": [folder, inside],
        "before": [["mount", "--bind", precious, inside]],
    });
    let listed = nest(&name, &spec, &["ls", inside.to_str().unwrap()]);
    let output = finish(listed);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "file\n",
        "{}",
        said(&output)
    );
    assert!(precious.join("file").exists() && !folder.exists());
    fs::remove_dir_all(precious).unwrap();
}

#[test]
fn a_group_holds_what_is_inside_and_is_removed() {
    if !is_root("making control groups") || !Path::new("/proc/self/cgroup").exists() {
        return;
    }
    let (name, _) = place();
    let spec = json!({"group": {
        "name": name, "quota_us": 50_000, "cpus": "0", "memory_bytes": 1 << 28,
    }});
    let script = "setsid sleep 60 & cat /proc/self/cgroup; nproc";
    let output = finish(nest(&name, &spec, &["sh", "-c", script]));
    if !output.status.success() && said(&output).contains("no control groups") {
        eprintln!("skipped: {}", said(&output));
        return;
    }
    assert!(output.status.success(), "{}", said(&output));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    for controller in ["cpu", "memory", "cpuset"] {
        let mut lines = told.lines();
        let own = lines.find(|line| {
            let names = line.split(':').nth(1).unwrap_or_default();
            names.split(',').any(|one| one == controller) || line.starts_with("0::")
        });
        assert!(own.unwrap().ends_with(&format!("/{name}")), "{told}");
    }
    assert!(told.ends_with("\n1\n"), "{told}");
    let small = json!({"group": {"name": name, "memory_bytes": 4096}});
    let killed = finish(nest(&name, &small, &["sh", "-c", "exit 0"]));
    assert_eq!(killed.status.code(), Some(128 + libc::SIGKILL));
    assert!(
        said(&killed).contains("too little memory"),
        "{}",
        said(&killed)
    );
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let groups = mounts
        .lines()
        .filter(|line| line.split(' ').nth(2).unwrap().starts_with("cgroup"));
    for group in groups {
        let own = Path::new(group.split(' ').nth(1).unwrap()).join(&name);
        assert!(!own.exists(), "{} stays: {}", own.display(), said(&output));
    }
}

#[test]
fn what_is_asked_to_end_has_time_to_do_so() {
    let (name, folder) = place();
    let witness = folder.with_extension("ended");
    // It ends in its own time.
    let script = format!(
        "trap 'sleep 0.2; echo ended > {}; exit 3' TERM; echo begun; while :; do sleep 0.01; done",
        witness.display()
    );
    let mut started = nest(&name, &json!({}), &["sh", "-c", &script]);
    let mut output = std::io::BufReader::new(started.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut String::new()).unwrap();
    let input = started.stdin.take();
    // SAFETY: the child has not been waited for.
    unsafe { libc::kill(started.id() as libc::pid_t, libc::SIGTERM) };
    assert_eq!(started.wait().unwrap().code(), Some(3));
    drop(input);
    assert_eq!(fs::read_to_string(&witness).unwrap(), "ended\n");
    fs::remove_file(witness).unwrap();
}
