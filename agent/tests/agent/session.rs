//! A running agent, spoken to as the front does.

use std::io::{BufRead, BufReader, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::OnceLock;
use std::time::Duration;

use base64::prelude::{Engine, BASE64_STANDARD};
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use serde_json::{json, Value};

/// Of this run of the tests, so that two at once do not see each other.
pub fn nonce() -> u32 {
    std::process::id() & 0xff_ffff
}
/// An agent that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Session {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    pub hello: Value,
    pub name: String,
}

/// Records that answered a job.
#[derive(Debug)]
pub struct Answer(pub Vec<Value>);

impl Session {
    /// Starts `serve` with a name of its own.
    pub fn serve() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tare-test{}-{number}", std::process::id());
        Self::start(&[], &["serve", "--name", &name], name.clone())
    }

    /// The same as an ordinary user; needs root. The user may lack access to the agent's folder.
    pub fn serve_as_nobody() -> Self {
        let drop = "agent=$1; shift; exec setpriv --reuid=65534 --regid=65534 --clear-groups \
                    -- /proc/self/fd/3 \"$@\" 3<\"$agent\"";
        Self::start(
            &["sh", "-c", drop, "sh"],
            &["serve", "--name", "tare-test-nobody"],
            String::new(),
        )
    }

    /// The same where no /proc is; needs root.
    pub fn serve_without_proc() -> Self {
        let hide = "umount --lazy /proc; exec \"$0\" \"$@\"";
        let around = ["unshare", "--mount", "sh", "-c", hide];
        Self::start(
            &around,
            &["serve", "--name", "tare-test-bare"],
            String::new(),
        )
    }

    /// The same where no control groups are to be seen; needs root.
    pub fn serve_without_groups() -> Self {
        // Around all, so that a test which fails does not take the machine with it.
        let hide =
            "cd /sys/fs/cgroup/pids && mkdir -p tare-test && echo 1000 > tare-test/pids.max \
                    && echo $$ > tare-test/cgroup.procs; cd /; \
                    umount --recursive --lazy /sys/fs/cgroup; exec \"$0\" \"$@\"";
        let around = ["unshare", "--mount", "sh", "-c", hide];
        Self::start(
            &around,
            &["serve", "--name", "tare-test-groupless"],
            String::new(),
        )
    }

    /// Starts `observe`.
    pub fn observe() -> Self {
        Self::start(&[], &["observe", "--teardown"], String::new())
    }

    fn start(around: &[&str], arguments: &[&str], name: String) -> Self {
        let agent = [env!("CARGO_BIN_EXE_tare-agent")];
        let words = [around, &agent, arguments].concat();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut session = Self {
            input: child.stdin.take(),
            child,
            lines,
            hello: Value::Null,
            name,
        };
        session.hello = session.record();
        assert_eq!(session.hello["record"], "hello");
        session
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn answer(&mut self) -> Answer {
        let mut records = Vec::new();
        loop {
            let record = self.record();
            if record["record"] == "done" {
                assert_eq!(record["records"], records.len());
                return Answer(records);
            }
            records.push(record);
        }
    }

    pub fn ask(&mut self, job: Value) -> Answer {
        self.send(&job.to_string());
        self.answer()
    }

    /// One worker, one iteration, whatever else is said.
    pub fn trial(&mut self, workload: Value, more: Value) -> Answer {
        let job = self.job(workload, more);
        self.ask(job)
    }

    pub fn job(&self, workload: Value, more: Value) -> Value {
        // Numbers differ between sessions, so that observers do not mix them up.
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let mut job = json!({
            "job": "trial", "id": number, "trial": number, "nonce": nonce(),
            "workload": workload, "workers": [{"worker": 0, "cpus": null}], "iterations": 1,
            "warmup": 0, "process": "fresh", "tail": "stop", "rendezvous": null,
            "timeout_ns": null, "linger_ns": 5_000_000_000_u64, "observe": false, "user": null,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            job[key] = value.clone();
        }
        job
    }

    /// Ends its jobs.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.close();
        self.child.wait().unwrap()
    }

    fn record(&self) -> Value {
        let line = self
            .lines
            .recv_timeout(PATIENCE)
            .expect("the agent answers");
        serde_json::from_str(&line).expect(&line)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.wait();
    }
}

impl Answer {
    /// Values of a metric from a source, in the order in which they came.
    pub fn all(&self, metric: &str, source: &str) -> Vec<i64> {
        self.samples()
            .filter(|s| s["metric"] == metric && s["source"] == source)
            .map(|s| s["value"].as_i64().unwrap())
            .collect()
    }

    pub fn samples(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(|record| record["record"] == "sample")
    }

    pub fn find(&self, metric: &str, source: &str) -> Option<i64> {
        self.all(metric, source).first().copied()
    }

    pub fn get(&self, metric: &str, source: &str) -> i64 {
        self.find(metric, source)
            .unwrap_or_else(|| panic!("no {metric} from {source} in {:#?}", self.0))
    }

    /// What a stream of an iteration of the first worker's held.
    pub fn output(&self, iteration: u32, stream: &str) -> Vec<u8> {
        let own = |record: &&Value| {
            record["record"] == "output"
                && record["worker"] == 0
                && record["iteration"] == iteration
                && record["stream"] == stream
        };
        let pieces: Vec<_> = self.0.iter().filter(own).collect();
        assert!(!pieces.is_empty(), "a stream that is kept is sent");
        let decoded = pieces
            .iter()
            .map(|piece| BASE64_STANDARD.decode(piece["data"].as_str().unwrap()));
        decoded.flat_map(Result::unwrap).collect()
    }

    /// Kinds and messages of the faults.
    pub fn faults(&self) -> Vec<(&str, &str)> {
        let faults = self.0.iter().filter(|record| record["record"] == "fault");
        faults
            .map(|fault| {
                (
                    fault["kind"].as_str().unwrap(),
                    fault["message"].as_str().unwrap(),
                )
            })
            .collect()
    }

    /// What is said of processes that outlived the command.
    pub fn outlived(&self) -> Vec<&Value> {
        let faults = self.0.iter().filter(|record| record["record"] == "fault");
        faults
            .map(|fault| &fault["outlived"])
            .filter(|outlived| !outlived.is_null())
            .collect()
    }

    /// The only fault, which is no warning.
    pub fn fault(&self) -> (&str, &str) {
        let faults: Vec<_> = self
            .faults()
            .into_iter()
            .filter(|f| f.0 != "warning")
            .collect();
        assert_eq!(faults.len(), 1, "{:#?}", self.0);
        faults[0]
    }

    pub fn fact(&self, name: &str) -> Option<&Value> {
        let fact = self.0.iter().find(|record| record["name"] == name)?;
        Some(&fact["value"])
    }
}

/// A directory of this run's own, removed by nobody but the machine.
pub fn scratch() -> &'static Path {
    static SCRATCH: OnceLock<PathBuf> = OnceLock::new();
    SCRATCH.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(std::process::id().to_string());
        std::fs::create_dir_all(&directory).unwrap();
        directory
    })
}

/// The program that knows its own truth, compiled once.
pub fn subject() -> &'static str {
    static SUBJECT: OnceLock<String> = OnceLock::new();
    SUBJECT.get_or_init(|| {
        let program = scratch().join("subject");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agent/subject.c");
        let status = Command::new("cc")
            .args(["-O2", "-static", "-pthread", "-o"])
            .args([&program, &source])
            .status();
        assert!(status.expect("a C compiler").success());
        program.to_str().unwrap().to_string()
    })
}

/// A command of the subject's.
pub fn command(words: &[&str]) -> Value {
    let argv: Vec<&str> = [subject()]
        .into_iter()
        .chain(words.iter().copied())
        .collect();
    any_command(&argv)
}

pub fn any_command(argv: &[&str]) -> Value {
    json!({
        "kind": "command", "argv": argv, "environment": {"PATH": "/usr/bin:/bin"},
        "directory": null, "input": null, "capture": null,
    })
}

pub fn kernel(name: &str, repetitions: u64) -> Value {
    json!({
        "kind": "kernel", "name": name, "parameters": {}, "repetitions": repetitions, "seed": 1,
    })
}

/// One that takes some milliseconds, built for speed or not.
pub fn small_kernel() -> Value {
    with(kernel("exp_float", 5), "parameters", json!({"size": 100}))
}

/// The same with one thing changed.
pub fn with(mut workload: Value, key: &str, value: Value) -> Value {
    workload[key] = value;
    workload
}

/// Fresh memory for workers to meet in, handed out to everybody who asks.
pub fn rendezvous(parties: u32) -> Value {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("meeting{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let path = scratch().join(name);
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path.with_extension("memory"))
        .unwrap();
    file.set_len(4096).unwrap();
    let front = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for asking in front.incoming().map_while(Result::ok) {
            hand_out(&asking, &file);
        }
    });
    let socket = path.to_str().unwrap();
    json!({"handout": {"socket": socket, "token": "token"}, "parties": parties})
}

fn hand_out(asking: &UnixStream, file: &std::fs::File) {
    let mut said = String::new();
    BufReader::new(asking).read_line(&mut said).unwrap();
    assert_eq!(said, "token\n");
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    let byte = [IoSlice::new(b"!")];
    sendmsg(asking, &byte, &mut ancillary, SendFlags::empty()).unwrap();
}

pub fn workers(count: u32) -> Value {
    (0..count)
        .map(|worker| json!({"worker": worker, "cpus": null}))
        .collect()
}

/// Whether the agent is linked as the one that is shipped.
pub fn is_static() -> bool {
    let binary = std::fs::read(env!("CARGO_BIN_EXE_tare-agent")).unwrap();
    !binary.windows(8).any(|window| window == b"ld-linux")
}

/// Whether this can only be tested by root; says so where it is not.
pub fn is_root(what: &str) -> bool {
    // SAFETY: no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("skipped: {what} needs root");
    }
    root
}
