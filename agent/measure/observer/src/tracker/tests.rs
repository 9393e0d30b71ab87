use record::Phase;
use sys::perf::waits::Wait;

use super::shares::Lengths;
use super::*;

const NONCE: u32 = 5;
const OUT: What = What::SwitchedOut { preempted: false };
const PREEMPTED: What = What::SwitchedOut { preempted: true };

fn marked(trial: u32) -> What {
    let marker = Marker {
        nonce: NONCE,
        trial,
        worker: 1,
        iteration: Some(2),
        phase: Phase::Measured,
    };
    What::Named {
        name: marker.name(),
        by_exec: false,
    }
}

fn exec() -> What {
    What::Named {
        name: *b"sleep\0\0\0\0\0\0\0\0\0\0\0",
        by_exec: true,
    }
}

/// Feeds (time, pid, tid, what) on CPU 0.
fn follow(happenings: &[(i64, i32, i32, What)]) -> Tracker {
    let mut tracker = Tracker::default();
    tracker.begin(NONCE, None);
    feed(&mut tracker, happenings);
    tracker
}

fn feed(tracker: &mut Tracker, happenings: &[(i64, i32, i32, What)]) {
    for (time_ns, pid, tid, what) in happenings.iter().copied() {
        let happening = Happening {
            time_ns,
            pid,
            tid,
            what,
        };
        tracker.take(0, &happening);
    }
}

fn only(tracker: &Tracker) -> Course {
    let courses = tracker.courses(7);
    assert_eq!(courses.len(), 1);
    courses[0].clone()
}

#[test]
fn from_the_first_exec_to_the_end() {
    let tracker = follow(&[
        (1, 9, 9, marked(7)),
        (10, 9, 9, exec()),
        (12, 9, 9, exec()),
        (50, 9, 9, What::Ended),
    ]);
    let course = only(&tracker);
    assert_eq!((course.start_ns, course.end_ns), (Some(10), Some(50)));
    assert_eq!(course.tree_end(), Some(50));
    assert_eq!(course.gone_ns, None);
    assert!(tracker.courses(8).is_empty());
}

#[test]
fn a_leader_that_ends_first_does_not_end_the_process() {
    let tracker = follow(&[
        (1, 9, 9, marked(7)),
        (10, 9, 9, exec()),
        (11, 9, 20, What::Forked { parent: 9 }),
        (12, 9, 9, What::Ended),
        (300, 9, 20, What::Ended),
    ]);
    assert_eq!(only(&tracker).end_ns, Some(300));
}

#[test]
fn the_tree_ends_with_its_last_descendant() {
    let mut tracker = follow(&[
        (1, 9, 9, marked(7)),
        (10, 9, 9, exec()),
        (11, 30, 30, What::Forked { parent: 9 }),
        (12, 31, 31, What::Forked { parent: 30 }),
        (13, 30, 30, What::Ended),
        (14, 9, 9, What::Ended),
        // The pid is somebody else's now.
        (15, 9, 9, What::Forked { parent: 2 }),
        (16, 9, 9, What::Ended),
    ]);
    assert_eq!(only(&tracker).tree_end(), None);
    feed(&mut tracker, &[(400, 31, 31, What::Ended)]);
    let course = only(&tracker);
    assert_eq!((course.end_ns, course.tree_end()), (Some(14), Some(400)));
}

#[test]
fn teardown_ends_with_the_last_switch_of_an_ended_thread() {
    let mut tracker = follow(&[
        (1, 9, 9, marked(7)),
        (10, 9, 9, exec()),
        (20, 9, 9, OUT),
        (50, 9, 9, What::Ended),
    ]);
    assert!(!tracker.is_over(7, true) && tracker.is_over(7, false));
    feed(
        &mut tracker,
        &[
            (60, 9, 9, OUT),
            (70, 9, 9, What::SwitchedIn),
            // Its parent was quick: it has no number any more.
            (80, -1, -1, OUT),
            (90, -1, -1, OUT),
        ],
    );
    assert_eq!(only(&tracker).gone_ns, Some(80));
    assert!(tracker.is_over(7, true));
}

#[test]
fn who_bears_no_marker_of_this_session_is_not_followed() {
    let mut tracker = Tracker::default();
    tracker.begin(NONCE + 1, None);
    feed(&mut tracker, &[(1, 9, 9, marked(7)), (10, 9, 9, exec())]);
    assert!(tracker.courses(7).is_empty());
}

#[test]
fn a_launch_that_failed_has_no_start() {
    let tracker = follow(&[(1, 9, 9, marked(7)), (2, 9, 9, What::Ended)]);
    assert_eq!(only(&tracker).start_ns, None);
}

/// Time on a CPU, preempted and blocked; times that it was preempted, and blocked.
fn totals(course: &Course) -> [i64; 5] {
    let all = course.shares().unwrap();
    [
        all.on_cpu_ns,
        all.preempted_ns,
        all.blocked_ns,
        all.preempted,
        all.blocked,
    ]
}

#[test]
fn the_time_of_a_thread_is_divided_without_rest() {
    let tracker = follow(&[
        (1, 9, 9, marked(7)),
        (5, 9, 9, OUT),
        (6, 9, 9, What::SwitchedIn),
        (10, 9, 9, exec()),
        (20, 9, 9, PREEMPTED),
        (24, 9, 9, What::SwitchedIn),
        (25, 9, 9, OUT),
        (95, 9, 9, What::SwitchedIn),
        (100, 9, 9, What::Ended),
        (101, -1, -1, OUT),
    ]);
    let course = only(&tracker);
    assert_eq!(totals(&course), [16, 4, 70, 1, 1]);
    let wall = course.end_ns.unwrap() - course.start_ns.unwrap();
    assert_eq!(totals(&course)[..3].iter().sum::<i64>(), wall);
}

#[test]
fn a_switch_that_is_read_late_changes_nothing() {
    let happenings = [
        (1, 9, 9, marked(7)),
        (10, 9, 9, exec()),
        (20, 9, 9, PREEMPTED),
        (24, 9, 9, What::SwitchedIn),
        (100, 9, 9, What::Ended),
    ];
    let mut late = happenings;
    late.swap(2, 3);
    let in_order = only(&follow(&happenings));
    assert_eq!(only(&follow(&late)).shares(), in_order.shares());
    // Of before the exec it says nothing.
    let before = [
        (1, 9, 9, marked(7)),
        (10, 9, 9, exec()),
        (5, 9, 9, PREEMPTED),
        (100, 9, 9, What::Ended),
    ];
    let shares = only(&follow(&before)).shares().cloned();
    assert_eq!(shares.map(|shares| shares.on_cpu_ns), Some(90));
}

#[test]
fn the_time_of_all_descendants_is_in_it() {
    let begun = [
        (1, 9, 9, marked(7)),
        (10, 9, 9, exec()),
        (20, 9, 9, OUT),
        // A thread, and a child that is on a CPU only later.
        (20, 9, 30, What::Forked { parent: 9 }),
        (20, 40, 40, What::Forked { parent: 9 }),
        (25, 9, 30, What::SwitchedIn),
        (27, 40, 40, What::SwitchedIn),
        (35, 9, 30, What::Ended),
        (40, 9, 9, What::SwitchedIn),
        (41, 9, 9, What::Ended),
    ];
    let mut tracker = follow(&begun);
    assert_eq!(only(&tracker).shares(), None);
    feed(&mut tracker, &[(57, 40, 40, What::Ended)]);
    let on_cpu = 10 + 10 + 30 + 1;
    assert_eq!(totals(&only(&tracker)), [on_cpu, 5 + 7, 20, 0, 1]);
}

/// The same where process 2 is an agent.
fn follow_agent(happenings: &[(i64, i32, i32, What)]) -> Tracker {
    let mut tracker = Tracker::default();
    tracker.begin(NONCE, Some([2].into()));
    feed(&mut tracker, happenings);
    tracker
}

#[test]
fn only_what_an_agent_has_forked_is_marked() {
    let launch = [
        (1, 8, 8, What::Forked { parent: 2 }),
        (2, 9, 9, What::Forked { parent: 8 }),
        (3, 9, 9, marked(7)),
        (10, 9, 9, exec()),
        (50, 9, 9, What::Ended),
    ];
    let stranger = [
        (20, 40, 40, marked(7)),
        (21, 40, 40, exec()),
        (22, 40, 40, What::Ended),
    ];
    let tracker = follow_agent(&[&launch[..], &stranger[..]].concat());
    let course = only(&tracker);
    assert_eq!((course.start_ns, course.end_ns), (Some(10), Some(50)));
    // The number of a launcher that has ended is somebody else's.
    let later = [
        (60, 8, 8, What::Ended),
        (61, 8, 8, What::Forked { parent: 1 }),
        (62, 8, 8, marked(7)),
    ];
    assert_eq!(follow_agent(&later).courses(7).len(), 0);
}

#[test]
fn what_is_measured_cannot_mark_itself_again() {
    for launchers in [None, Some([2].into())] {
        let mut tracker = Tracker::default();
        tracker.begin(NONCE, launchers);
        let happenings = [
            (1, 9, 9, What::Forked { parent: 2 }),
            (2, 9, 9, marked(7)),
            (10, 9, 9, exec()),
            // It takes its own marker's name again, and so does a child of it.
            (20, 9, 9, marked(7)),
            (21, 9, 9, exec()),
            (30, 30, 30, What::Forked { parent: 9 }),
            (31, 30, 30, marked(8)),
            (32, 30, 30, exec()),
            (40, 30, 30, What::Ended),
            (50, 9, 9, What::Ended),
        ];
        feed(&mut tracker, &happenings);
        let course = only(&tracker);
        assert_eq!((course.start_ns, course.end_ns), (Some(10), Some(50)));
        assert_eq!(course.tree_end(), Some(50));
        assert!(tracker.courses(8).is_empty());
    }
}

/// (K, stretches) of a state.
fn buckets(lengths: &Lengths) -> Vec<(u32, i64)> {
    lengths.counted().collect()
}

/// A program that is on a CPU and asleep for times that it knows.
#[test]
fn stretches_are_counted_by_their_length() {
    let us = 1_000;
    let mut happenings = vec![(0, 9, 9, marked(7)), (0, 9, 9, exec())];
    let (mut now, mut on, mut off) = (0, 0, 0);
    for (ran, slept) in [(3 * us, 5 * us), (3 * us, 70_000 * us), (100, 5 * us)] {
        happenings.push((now + ran, 9, 9, OUT));
        happenings.push((now + ran + slept, 9, 9, What::SwitchedIn));
        (now, on, off) = (now + ran + slept, on + ran, off + slept);
    }
    happenings.push((now + 3_000_000 * us, 9, 9, What::Ended));
    on += 3_000_000 * us;
    let course = only(&follow(&happenings));
    let shares = course.shares().unwrap();
    // 2^11 ns ≤ 3 µs < 2^12 ns; 100 ns are in the first bucket, 3 s in the last.
    assert_eq!(buckets(&shares.on_cpu), [(10, 1), (11, 2), (30, 1)]);
    assert_eq!(buckets(&shares.off_blocked), [(12, 2), (26, 1)]);
    assert_eq!(buckets(&shares.off_preempted), []);
    assert_eq!((shares.on_cpu_ns, shares.blocked_ns), (on, off));
}

#[test]
fn a_stretch_that_is_read_late_has_its_own_length() {
    let happenings = [
        (0, 9, 9, marked(7)),
        (0, 9, 9, exec()),
        (5_000, 9, 9, PREEMPTED),
        (9_500, 9, 9, What::SwitchedIn),
        (12_000, 9, 9, What::Ended),
    ];
    let mut late = happenings;
    late.swap(2, 3);
    for read in [happenings, late] {
        let course = only(&follow(&read));
        let shares = course.shares().unwrap();
        assert_eq!(buckets(&shares.on_cpu), [(11, 1), (12, 1)]);
        assert_eq!(buckets(&shares.off_preempted), [(12, 1)]);
    }
}

#[test]
fn what_services_do_under_load_is_apart_from_their_start_and_end() {
    let mut tracker = follow(&[
        (1, 9, 9, marked(7)),
        (10, 9, 9, exec()),
        (11, 20, 20, What::Forked { parent: 9 }),
        (12, 9, 9, OUT),
        (13, 20, 20, What::SwitchedIn),
        // It starts up for 7, and then waits for requests.
        (19, 20, 20, What::Waits(Wait::Network)),
        (20, 20, 20, OUT),
    ]);
    tracker.load(true, 100);
    feed(
        &mut tracker,
        &[
            // Two requests: 5 of CPU time each, for the first 30 of a disk.
            (110, 20, 20, What::SwitchedIn),
            (113, 20, 20, What::Waits(Wait::Disk)),
            (113, 20, 20, OUT),
            (143, 20, 20, What::SwitchedIn),
            (145, 20, 20, What::Waits(Wait::Network)),
            (145, 20, 20, OUT),
            (150, 20, 20, What::SwitchedIn),
            // What it would have waited for does not count where it is preempted.
            (152, 20, 20, What::Waits(Wait::Disk)),
            (152, 20, 20, PREEMPTED),
            (156, 20, 20, What::SwitchedIn),
            (159, 20, 20, OUT),
            // What starts the services is not one of them.
            (160, 9, 9, What::SwitchedIn),
            (170, 9, 9, OUT),
        ],
    );
    tracker.load(false, 200);
    feed(
        &mut tracker,
        &[
            (250, 20, 20, What::SwitchedIn),
            (260, 20, 20, What::Ended),
            (270, 9, 9, What::Ended),
        ],
    );
    let course = only(&tracker);
    let load = course.load.as_ref().unwrap();
    assert_eq!(
        (load.on_cpu_ns, load.preempted_ns, load.blocked_ns),
        (10, 4, 86)
    );
    assert_eq!((load.disk_ns, load.network_ns), (30, 10 + 5));
    let whole = course.shares().unwrap();
    assert_eq!((whole.disk_ns, whole.on_cpu_ns), (30, 7 + 10 + 10 + 12));
    // All threads' time is somewhere, with or without a load.
    let all = whole.on_cpu_ns + whole.preempted_ns + whole.blocked_ns;
    assert_eq!(all, (270 - 10) + (260 - 11));
}
