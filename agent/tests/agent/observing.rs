//! The observer, beside an agent that launches.

use serde_json::{json, Value};

use crate::session::{command, is_root, nonce, rendezvous, workers, Answer, Session};

const MS: i64 = 1_000_000;

/// What the agent and the observer say of the same trial; nothing where perf is refused.
fn observed(workload: Value, more: Value) -> Option<(Answer, Answer)> {
    observed_as(workload, more, false)
}

/// The same; if it is a load, the whole trial is.
fn observed_as(workload: Value, more: Value, load: bool) -> Option<(Answer, Answer)> {
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
        "stretches": !load,
    }));
    if load {
        observer.ask(json!({"job": "load", "id": 4, "under_load": true}));
    }
    let launched = agent.ask(job);
    if load {
        observer.ask(json!({"job": "load", "id": 5, "under_load": false}));
    }
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
        let teardown = at(&collected, "teardown_ns", "switch");
        assert!(teardown >= 0);
        assert_eq!(at(&collected, "wall_ns", "switch"), *wall + teardown);
    }
    let phases = collected
        .samples()
        .filter(|sample| sample["metric"] == "wall_ns" && sample["source"] == "perf_cpu");
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
        .filter(|sample| sample["metric"] == "wall_ns" && sample["source"] == "perf_cpu");
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

/// On a CPU, preempted and blocked, of each worker.
fn shares(collected: &Answer) -> Vec<[i64; 3]> {
    let all = |metric| collected.all(metric, "perf_cpu");
    let parts = ["on_cpu_ns", "off_cpu_preempted_ns", "off_cpu_blocked_ns"].map(all);
    (0..parts[0].len())
        .map(|worker| [parts[0][worker], parts[1][worker], parts[2][worker]])
        .collect()
}

#[test]
fn the_time_of_a_process_goes_where_its_truth_says() {
    let Some((launched, asleep)) = observed(command(&["sleep", "30"]), json!({})) else {
        return;
    };
    agrees(&launched, &asleep);
    let wall = asleep.get("wall_ns", "perf_cpu");
    let [on, preempted, blocked] = shares(&asleep)[0];
    assert_eq!(on + preempted + blocked, wall);
    assert!(blocked >= 29 * MS && asleep.get("switches_blocked", "perf_cpu") >= 1);
    adds_up(&asleep);
    // The sleep of 30 ms, which a busy machine ends late: 2^24 ns are 17 ms.
    let long = (24..=30)
        .filter_map(|k| asleep.find(&format!("off_cpu_blocked_stretches_{k}"), "perf_cpu"));
    assert!(long.sum::<i64>() >= 1);
    let (launched, awake) = observed(command(&["spin", "60"]), json!({})).unwrap();
    let [on, preempted, blocked] = shares(&awake)[0];
    assert_eq!(on + preempted + blocked, awake.get("wall_ns", "perf_cpu"));
    // What the process itself counts begins before its exec and ends after its end.
    let around = launched.get("wall_ns", "around");
    assert!(
        on >= 59 * MS && on <= around,
        "{on} on a CPU, {preempted} preempted, {blocked} blocked, of {around}"
    );
    agrees(&launched, &awake);
    adds_up(&awake);
}

/// Whether the stretches of each state, by their lengths, can add up to its time.
fn adds_up(collected: &Answer) {
    for (state, total) in [
        ("on_cpu_stretches_", "on_cpu_ns"),
        ("off_cpu_preempted_stretches_", "off_cpu_preempted_ns"),
        ("off_cpu_blocked_stretches_", "off_cpu_blocked_ns"),
    ] {
        let (mut least, mut most) = (0, 0);
        for bucket in 10..=30u32 {
            let count = collected
                .find(&format!("{state}{bucket}"), "perf_cpu")
                .unwrap_or(0);
            least += if bucket > 10 { count << bucket } else { 0 };
            most += if bucket < 30 {
                count << (bucket + 1)
            } else {
                count << 50
            };
        }
        let spent = collected.get(total, "perf_cpu");
        assert!(
            least <= spent && spent <= most,
            "{state}: {least} ≤ {spent} ≤ {most}"
        );
    }
}

/// The kernel's own counts of the same, by other clocks and from before the exec on.
fn agrees(launched: &Answer, collected: &Answer) {
    if let Some(waited) = launched.find("wait_ns", "schedstat") {
        let preempted = collected.get("off_cpu_preempted_ns", "perf_cpu");
        assert!(
            preempted <= waited + waited / 20 + MS,
            "{preempted} of {waited}"
        );
    }
    for (own, theirs) in [
        ("switches_preempted", "involuntary_switches"),
        ("switches_blocked", "voluntary_switches"),
    ] {
        let (seen, all) = (
            collected.get(own, "perf_cpu"),
            launched.get(theirs, "rusage"),
        );
        assert!(seen <= all, "{own}: {seen} of {all}");
    }
}

#[test]
fn two_who_share_a_cpu_wait_for_each_other() {
    let on_one: Value = (0..2).map(|n| json!({"worker": n, "cpus": [0]})).collect();
    let more = json!({"workers": on_one, "rendezvous": rendezvous(2)});
    let Some((launched, collected)) = observed(command(&["spin", "200"]), more) else {
        return;
    };
    agrees(&launched, &collected);
    let shares = shares(&collected);
    assert_eq!(shares.len(), 2);
    for [on, preempted, _] in shares {
        // Each is kept from running about as long as it runs; others may do so as well.
        assert!(2 * preempted > on, "{preempted} of {on}");
    }
    let switches = collected.all("switches_preempted", "perf_cpu");
    assert!(switches.iter().all(|count| *count >= 2), "{switches:?}");
}

#[test]
fn disks_are_told_where_there_are_some() {
    let Some((_, collected)) = observed(command(&["sleep", "1"]), json!({})) else {
        return;
    };
    let disks = std::fs::read_dir("/sys/block").into_iter().flatten();
    let own = disks
        .flatten()
        .any(|disk| disk.path().join("device").exists());
    let told = collected.find("disk_reads", "diskstats").is_some();
    assert_eq!(told, own);
}

/// What a shell's child does under load, which is what the child of a service's supervisor does.
fn under_load(child: &str) -> Option<Answer> {
    let words = ["sh", "-c", &format!("{child} & wait")];
    let more = json!({"workload": {
        "kind": "command", "argv": words, "environment": {"PATH": std::env::var("PATH").unwrap()},
        "directory": env!("CARGO_TARGET_TMPDIR"), "input": null, "capture": null,
    }});
    let (launched, collected) = observed_as(json!(null), more, true)?;
    assert!(launched.faults().is_empty(), "{:?}", launched.faults());
    // Which were not asked for.
    let stretches = |s: &Value| s["metric"].as_str().unwrap().contains("_stretches_");
    assert!(!collected.samples().any(stretches));
    Some(collected)
}

#[test]
fn what_services_wait_for_under_load_is_told_apart() {
    let Some(asleep) = under_load("sleep 0.2") else {
        return;
    };
    let blocked = asleep.get("service_blocked_ns", "perf_cpu");
    assert!(blocked >= 199 * MS);
    // The shell waits as long, and is none of the services.
    assert!(blocked <= asleep.get("wall_ns", "perf_cpu"));
    let Some(kinds) = asleep.find("service_network_ns", "perf_cpu") else {
        assert!(!sys::perf::waits::known(), "the kernel shows its functions");
        return;
    };
    // Neither of it is a disk's or a socket's, but for reading the program from a disk.
    assert_eq!(kinds, 0);
    assert!(asleep.get("service_disk_ns", "perf_cpu") <= blocked - 199 * MS);
    // Each block is on the disk before the next is written.
    let write = "dd if=/dev/zero of=synchronous bs=4k count=50 oflag=sync 2>/dev/null";
    let busy = under_load(write).unwrap();
    let [blocked, disk] =
        ["service_blocked_ns", "service_disk_ns"].map(|metric| busy.get(metric, "perf_cpu"));
    assert!(disk <= blocked);
    if blocked > 5 * MS {
        // It waits for nothing else; the rest is its start.
        assert!(disk >= blocked / 2, "{disk} of {blocked}");
    }
    // A server without a client, which gives up after 0.2 s.
    let accept = "import socket, struct
s = socket.create_server(('127.0.0.1', 0))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 0, 200000))
try:
    s.accept()
except BlockingIOError:
    pass";
    let idle = under_load(&format!("python3 -c \"{accept}\"")).unwrap();
    let network = idle.get("service_network_ns", "perf_cpu");
    assert!(network >= 199 * MS && network <= idle.get("service_blocked_ns", "perf_cpu"));
}

#[test]
fn services_have_no_figures_of_a_load_without_one() {
    let Some((_, collected)) = observed(command(&["sleep", "5"]), json!({})) else {
        return;
    };
    assert_eq!(collected.find("service_blocked_ns", "perf_cpu"), None);
}
