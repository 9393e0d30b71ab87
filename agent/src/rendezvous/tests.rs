use std::fs;
use std::path::PathBuf;
use std::thread;

use super::*;

/// A file as the front makes it, removed when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tare-{}-{name}", std::process::id()));
        fs::write(&path, [0; SIZE]).unwrap();
        Self(path)
    }

    fn join(&self, party: u32, parties: u32) -> Rendezvous {
        Rendezvous::join(self.0.to_str().unwrap(), party, parties).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn nobody_goes_on_before_everybody_is_there() {
    const ROUNDS: u32 = 200;
    let place = Place::new("rounds");
    let arrived = AtomicU32::new(0);
    thread::scope(|scope| {
        for party in 0..3 {
            let meeting = place.join(party, 3);
            let arrived = &arrived;
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    arrived.fetch_add(1, AcqRel);
                    meeting.meet(round);
                    assert!(arrived.load(Acquire) >= 3 * round);
                    assert!(!meeting.waits(round));
                }
                meeting.finish();
            });
        }
    });
    let last = place.join(0, 3);
    assert!(last.skew_ns(ROUNDS).is_some_and(|skew| skew >= 0));
    assert!(last.all_finished());
}

#[test]
fn who_has_left_is_not_waited_for() {
    let place = Place::new("left");
    let (stays, leaves) = (place.join(0, 2), place.join(1, 2));
    thread::scope(|scope| {
        scope.spawn(move || (1..=3).for_each(|round| stays.meet(round)));
        leaves.meet(1);
        leaves.leave();
    });
    assert_eq!(leaves.skew_ns(3), None, "one went through alone");
    assert!(!leaves.all_finished());
}

#[test]
fn who_is_gone_without_a_word_is_not_waited_for() {
    let place = Place::new("gone");
    let stays = place.join(0, 2);
    drop(place.join(1, 2));
    stays.meet(1);
    stays.finish();
    assert!(stays.all_finished());
}

#[test]
fn who_has_not_come_yet_is_waited_for() {
    let place = Place::new("late");
    let (early, watcher) = (place.join(0, 2), place.join(0, 2));
    early.mark_the_dead();
    thread::scope(|scope| {
        scope.spawn(move || early.meet(1));
        while !watcher.waits(1) {
            thread::yield_now();
        }
        place.join(1, 2).meet(1);
    });
    assert!(watcher.skew_ns(1).is_some());
}

#[test]
fn a_file_that_is_none_of_ours_is_refused() {
    let place = Place::new("short");
    fs::write(&place.0, [0; 100]).unwrap();
    let path = place.0.to_str().unwrap();
    let refusal = |path, party, parties| Rendezvous::join(path, party, parties).err().unwrap();
    assert!(refusal(path, 0, 2).contains("100 bytes"));
    assert!(refusal(path, 2, 2).contains("worker 2"));
    assert!(refusal("/nowhere/file", 0, 2).contains("cannot open"));
}
