use rand_pcg::rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;

const SECOND: i64 = 1_000_000_000;

fn course(starts: impl IntoIterator<Item = i64>) -> Vec<Detour> {
    let mut starts: Vec<_> = starts.into_iter().collect();
    starts.sort_unstable();
    let detour = |start_ns| Detour {
        start_ns,
        length_ns: 2_000,
    };
    starts.into_iter().map(detour).collect()
}

fn at_random(count: usize, seed: u64) -> Vec<i64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..count)
        .map(|_| (random.next_u64() % SECOND as u64) as i64)
        .collect()
}

fn ticks(hz: i64) -> Vec<i64> {
    let mut random = Pcg64Mcg::seed_from_u64(9);
    (0..hz)
        .map(|tick| tick * SECOND / hz + (random.next_u64() % 20_000) as i64)
        .collect()
}

#[test]
fn a_tick_is_found() {
    for hz in [100, 250, 1000] {
        let found = period_ns(&course(ticks(hz)), SECOND).unwrap();
        let error = found as f64 * hz as f64 / SECOND as f64 - 1.0;
        assert!(error.abs() < 0.01, "{hz} Hz: {found} ns");
    }
}

#[test]
fn a_tick_is_found_among_twice_as_much_that_is_not_regular() {
    for seed in 0..20 {
        let all = ticks(250).into_iter().chain(at_random(500, seed));
        let found = period_ns(&course(all), SECOND).unwrap();
        assert!((3_950_000..4_050_000).contains(&found), "{found}");
    }
}

#[test]
fn what_comes_at_random_has_no_period() {
    for (count, seed) in [3, 30, 300, 3_000, 20_000].into_iter().zip(0..) {
        let starts = at_random(count, seed);
        assert_eq!(period_ns(&course(starts), SECOND), None, "{count}");
    }
    assert_eq!(period_ns(&[], SECOND), None);
}

#[test]
fn lengths_are_counted_by_their_doublings() {
    let lengths = [500, 999, 1_000, 5_000, 4 * SECOND];
    let detours = lengths.map(|length_ns| Detour {
        start_ns: 0,
        length_ns,
    });
    let course = Course {
        elapsed_ns: SECOND,
        detours: detours.to_vec(),
    };
    let counts = course.lengths();
    assert_eq!((counts[0], counts[1], counts[3]), (2, 1, 1));
    assert_eq!(counts[BINS - 1], 1);
    assert_eq!(counts.iter().sum::<u64>(), 5);
    assert_eq!(course.typical_ns(), Some(1_000));
    assert_eq!(course.longest_ns(), Some(4 * SECOND));
}

#[test]
fn a_cpu_without_detours_has_neither_longest_nor_typical_one() {
    let course = Course {
        elapsed_ns: SECOND,
        detours: Vec::new(),
    };
    assert_eq!(course.lost_ns(), 0);
    assert_eq!((course.typical_ns(), course.longest_ns()), (None, None));
}
