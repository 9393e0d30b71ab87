use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::thread;

use super::*;

/// Memory as the front makes it.
struct Place(OwnedFd);

impl Place {
    fn new() -> Self {
        Self(mapping::memory_file(SIZE).unwrap())
    }

    fn join(&self, party: u32, parties: u32) -> Rendezvous {
        Rendezvous::join(self.0.try_clone().unwrap(), party, parties).unwrap()
    }
}

#[test]
fn the_front_hands_memory_out_for_its_token_alone() {
    let path = std::env::temp_dir().join(format!("tare-{}-handout", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let front = UnixListener::bind(&path).unwrap();
    let place = Place::new();
    let asked = |token: &str| record::Rendezvous {
        handout: Some(record::Handout {
            socket: path.to_str().unwrap().to_string(),
            token: token.to_string(),
        }),
        parties: 2,
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2 {
                let (mut asking, _) = front.accept().unwrap();
                let mut said = String::new();
                BufReader::new(&asking).read_line(&mut said).unwrap();
                if said == "right\n" {
                    descriptors::send(&asking, b"!", place.0.as_fd()).unwrap();
                } else {
                    asking.write_all(b"?").unwrap();
                }
            }
        });
        assert!(memory(&asked("wrong")).is_err());
        let memory = memory(&asked("right")).unwrap();
        let theirs = Rendezvous::join(memory, 1, 2).unwrap();
        place.join(0, 2).finish();
        theirs.finish();
        assert!(theirs.all_finished());
    });
    std::fs::remove_file(path).unwrap();
}

#[test]
fn nobody_goes_on_before_everybody_is_there() {
    const ROUNDS: u32 = 200;
    let place = Place::new();
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
fn of_those_who_arrive_at_once_one_sees_all_others() {
    // Each writes that it is there, then reads whether the others are: neither may be put off.
    const ROUNDS: u32 = 100_000;
    let place = Place::new();
    thread::scope(|scope| {
        for party in 0..2 {
            let meeting = place.join(party, 2);
            scope.spawn(move || (1..=ROUNDS).for_each(|round| meeting.meet(round)));
        }
    });
}

#[test]
fn who_has_left_is_not_waited_for() {
    let place = Place::new();
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
    let place = Place::new();
    let stays = place.join(0, 2);
    drop(place.join(1, 2));
    stays.meet(1);
    stays.finish();
    assert!(stays.all_finished());
}

#[test]
fn who_has_not_come_yet_is_waited_for() {
    let place = Place::new();
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
    let place = Place::new();
    let short = mapping::memory_file(100).unwrap();
    let refusal = |memory, party, parties| Rendezvous::join(memory, party, parties).err().unwrap();
    assert!(refusal(short, 0, 2).contains("100 bytes"));
    let whole = || place.0.try_clone().unwrap();
    assert!(refusal(whole(), 2, 2).contains("worker 2 of 2"));
    assert!(refusal(whole(), 0, PARTIES as u32 + 1).contains("at most"));
}

#[test]
fn the_first_proposal_holds_for_all() {
    let place = Place::new();
    let (first, second) = (place.join(0, 2), place.join(1, 2));
    assert_eq!(first.agree(None), None);
    assert_eq!(first.agree(Some(5)), Some(5));
    assert_eq!(second.agree(Some(7)), Some(5));
    assert_eq!(first.agree(None), Some(5));
}
