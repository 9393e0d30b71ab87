//! Nothing is left behind, however the agent ends.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::session::{command, is_root, kernel, Session};

/// Ids of processes with a word on their command lines.
pub fn processes(word: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let pids = entries.filter_map(|name| name.parse().ok());
    pids.filter(|pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|argument| argument == word.as_bytes())
    })
    .collect()
}

fn groups(name: &str, below: &Path) -> usize {
    let entries = fs::read_dir(below)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories
        .map(|entry| {
            let own = entry.file_name().to_string_lossy().starts_with(name);
            usize::from(own) + groups(name, &entry.path())
        })
        .sum()
}

pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Has a trial going that would not end, and ends the agent in the middle of it.
fn end_in_the_middle(end: impl FnOnce(&mut Session), unique: &str) {
    let mut agent = Session::serve();
    let job = agent.job(
        command(&["sleep", unique]),
        json!({"workers": crate::session::workers(2)}),
    );
    agent.send(&job.to_string());
    eventually("both workers have begun", || processes(unique).len() == 2);
    end(&mut agent);
    eventually("no process is left", || {
        processes(unique).is_empty() && processes(&agent.name).is_empty()
    });
    eventually("no group is left", || {
        groups(&agent.name, Path::new("/sys/fs/cgroup")) == 0
    });
}

#[test]
fn at_the_end_of_jobs() {
    end_in_the_middle(|agent| assert!(agent.wait().success()), "1000000001");
}

#[test]
fn when_asked_to_end() {
    end_in_the_middle(
        |agent| {
            // SAFETY: the agent is a child of ours.
            unsafe { libc::kill(agent.pid() as i32, libc::SIGTERM) };
        },
        "1000000002",
    );
}

#[test]
fn when_it_is_killed() {
    end_in_the_middle(
        |agent| {
            // SAFETY: the agent is a child of ours.
            unsafe { libc::kill(agent.pid() as i32, libc::SIGKILL) };
            agent.wait();
        },
        "1000000003",
    );
}

#[test]
fn when_its_worker_is_killed() {
    let mut agent = Session::serve();
    let unique = "1000000004";
    let job = agent.job(command(&["sleep", unique]), json!({}));
    agent.send(&job.to_string());
    eventually("it has begun", || processes(unique).len() == 1);
    let worker = processes(&agent.name)
        .into_iter()
        .find(|pid| *pid != agent.pid() as i32);
    // SAFETY: the agent's worker is nobody else's.
    unsafe { libc::kill(worker.unwrap(), libc::SIGKILL) };
    let answer = agent.answer();
    assert_eq!(answer.fault().0, "signal");
    eventually("no process is left", || processes(unique).is_empty());
    // The next trial has a new worker.
    let answer = agent.trial(command(&[]), json!({}));
    assert_eq!(answer.get("exit_code", "wait"), 0);
}

#[test]
fn without_proc_it_does_what_it_can() {
    if !is_root("hiding /proc") {
        return;
    }
    let mut agent = Session::serve_without_proc();
    let answer = agent.trial(kernel("null", 1), json!({}));
    assert_eq!(answer.get("exit_code", "wait"), 0);
    assert!(answer.find("wait_ns", "schedstat").is_none());
    let linger = json!({"linger_ns": 1_000_000});
    let answer = agent.trial(command(&["orphan"]), linger);
    assert_eq!(answer.get("exit_code", "wait"), 0);
    let limit = json!({"timeout_ns": 10_000_000});
    let answer = agent.trial(command(&["sleep", "1000000005"]), limit);
    assert_eq!(answer.fault().0, "timeout");
    assert!(agent.wait().success());
    eventually("no process is left", || processes("1000000005").is_empty());
}

#[test]
fn a_worker_that_is_stopped_keeps_nobody_waiting() {
    let mut agent = Session::serve();
    let stop = crate::session::any_command(&["/bin/sh", "-c", "kill -STOP $PPID; exec sleep 600"]);
    let answer = agent.trial(stop, json!({}));
    let (kind, message) = answer.fault();
    assert_eq!(kind, "signal");
    assert!(message.contains("stopped"), "{message}");
    eventually("what it launched is gone", || processes("600").is_empty());
    let answer = agent.trial(command(&[]), json!({}));
    assert!(answer.faults().is_empty(), "{:?}", answer.faults());
}
