use rand_pcg::rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::execution::Wrong;
use crate::input::unit;
use crate::linpack::{loops, KERNEL};

/// Small, one less, one more than tiles and panels; several panels.
const SIZES: [usize; 12] = [1, 2, 3, 7, 8, 9, 24, 63, 64, 65, 100, 257];

fn solver(size: usize, threads: usize, loops: &'static Loops) -> Solver {
    let mut random = Pcg64Mcg::seed_from_u64(size as u64);
    Solver::new(size, 0, threads, 16.0, loops, |_, _| {
        unit(&mut random) - 0.5
    })
    .unwrap()
}

/// A system whose coefficients are told by row and column, the right-hand side being the last.
fn system(size: usize, coefficient: fn(usize, usize) -> f64) -> Solver {
    Solver::new(size, 0, 1, 16.0, loops::available()[0], coefficient).unwrap()
}

fn convention(size: usize) -> f64 {
    let n = size as f64;
    2.0 / 3.0 * n * n * n + 2.0 * n * n
}

#[test]
fn every_set_of_loops_solves_every_size() {
    for (set, loops) in loops::available().into_iter().enumerate() {
        for size in SIZES {
            let mut solver = solver(size, 1, loops);
            for _ in 0..2 {
                solver.solve().unwrap_or_else(|why| panic!("{set}: {why}"));
            }
            let residual = solver.residual.unwrap();
            assert!(residual < 1.0, "{set} {size}: {residual}");
        }
    }
}

#[test]
fn solutions_are_those_of_elimination_by_hand() {
    for size in SIZES.into_iter().filter(|size| *size <= 100) {
        let mut solver = solver(size, 1, loops::available()[0]);
        solver.solve().unwrap();
        let shape = solver.given_shape;
        let given = solver.given.all().to_vec();
        let mut rows: Vec<Vec<f64>> = (0..size)
            .map(|row| {
                let columns = (0..size).chain([shape.side()]);
                columns
                    .map(|column| given[column * shape.stride + row])
                    .collect()
            })
            .collect();
        let expected = eliminate(&mut rows);
        let scale = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        for (found, expected) in solver.solution().iter().zip(&expected) {
            assert!(
                (found - expected).abs() < 1e-7 * scale,
                "{size}: {found} {expected}"
            );
        }
    }
}

/// Gauss and Jordan, with the largest pivot.
fn eliminate(rows: &mut [Vec<f64>]) -> Vec<f64> {
    let size = rows.len();
    for column in 0..size {
        let magnitude = |row: &usize| rows[*row][column].abs();
        let pivot = (column..size)
            .max_by(|a, b| magnitude(a).total_cmp(&magnitude(b)))
            .unwrap();
        rows.swap(column, pivot);
        let own = rows[column].clone();
        for (_, row) in rows
            .iter_mut()
            .enumerate()
            .filter(|(row, _)| *row != column)
        {
            let factor = row[column] / own[column];
            row.iter_mut()
                .zip(&own)
                .for_each(|(value, own)| *value -= factor * own);
        }
    }
    rows.iter()
        .enumerate()
        .map(|(index, row)| row[size] / row[index])
        .collect()
}

#[test]
fn a_zero_on_the_diagonal_is_no_obstacle() {
    for size in [2, 9, 65, 130] {
        // Ones beside the diagonal, around the corner; b counts.
        fn coefficient(row: usize, column: usize, size: usize) -> f64 {
            match column {
                _ if column == size => row as f64,
                _ => f64::from(u8::from((row + 1) % size == column)),
            }
        }
        let mut solver = Solver::new(size, 0, 1, 16.0, loops::available()[0], |row, column| {
            coefficient(row, column, size)
        })
        .unwrap();
        solver.solve().unwrap();
        for (index, found) in solver.solution().iter().enumerate() {
            assert_eq!(*found, ((index + size - 1) % size) as f64);
        }
        assert_eq!(solver.residual, Some(0.0));
    }
}

#[test]
fn singular_matrices_are_told() {
    let all_ones = |_, _| 1.0;
    for size in [2, 64, 100] {
        let why = system(size, all_ones).solve().unwrap_err();
        assert!(why.contains("singular: no pivot in column 1"), "{why}");
    }
    let why = system(1, |_, column| column as f64).solve().unwrap_err();
    assert!(why.contains("column 0"), "{why}");
    let why = system(3, |_, _| f64::NAN).solve().unwrap_err();
    assert!(why.contains("singular"), "{why}");
    let step = system(2, all_ones).step();
    assert_eq!(step.completed, 0);
    assert!(step.wrong.is_some());
}

#[test]
fn steps_count_what_the_convention_counts() {
    for size in [1, 2, 65, 300, 700] {
        let mut solver = solver(size, 1, loops::available()[0]);
        let (mut work, mut completed, mut steps) = (0.0, 0, 0);
        while completed < 3 || !matches!(solver.stage, Stage::Copy(0)) {
            let mut step = Step::default();
            solver.piece(&mut step);
            assert!(step.work >= 0.0);
            work += step.work;
            completed += step.completed;
            steps += 1;
        }
        assert!(
            (work / convention(size) - 3.0).abs() < 1e-12,
            "{size}: {work}"
        );
        // What is really done: factoring and both substitutions.
        let n = size as f64;
        let done = 2.0 / 3.0 * n * n * n + 1.5 * n * n - 7.0 / 6.0 * n;
        assert!(
            (solver.counted as f64 - done).abs() < 0.5,
            "{size}: {}",
            solver.counted
        );
        assert!(steps > 3);
    }
}

#[test]
fn no_step_does_much() {
    let mut solver = solver(700, 1, loops::available()[0]);
    let steps: Vec<Step> = (0..200).map(|_| solver.step()).collect();
    let most = steps.iter().fold(0.0_f64, |most, step| most.max(step.work));
    assert!(most < 2e7, "{most}");
    assert!(steps
        .iter()
        .any(|step| step.work == 0.0 || step.completed > 0));
}

#[test]
fn what_is_wrong_is_caught() {
    let mut solver = solver(100, 1, loops::available()[0]);
    solver.solve().unwrap();
    while !matches!(solver.stage, Stage::Check(0)) {
        solver.piece(&mut Step::default());
    }
    solver.solution.all()[17] *= 1.0 + 1e-9;
    let mut step = Step::default();
    while step.completed == 0 {
        solver.piece(&mut step);
    }
    let why = step.wrong.unwrap();
    assert!(
        why.contains("residual of a solve with 100 unknowns is"),
        "{why}"
    );
    assert!(solver.residual > Some(16.0));
    solver.solve().unwrap();

    solver.solution.all()[17] = f64::NAN;
    solver.stage = Stage::Check(0);
    solver.remainder.all().fill(0.0);
    let mut step = Step::default();
    while step.completed == 0 {
        solver.piece(&mut step);
    }
    assert!(step.wrong.is_some_and(|why| why.contains("NaN")));
}

#[test]
fn a_bound_of_zero_makes_every_solution_wrong() {
    for size in [1, 50] {
        let given = [("size", size), ("most_residual", 0)].map(|(k, v)| (k.to_string(), v));
        let given = given.into_iter().collect();
        let mut steps = KERNEL.steps(&given, 1).unwrap();
        let wrong = (0..1000).find_map(|_| steps.step().wrong).unwrap();
        assert!(wrong.ends_with("not below 0"), "{wrong}");
        let mut execute = (KERNEL.prepare)(&given, 1).unwrap();
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| execute.execute(1)));
        assert!(unwound
            .unwrap_err()
            .downcast::<Wrong>()
            .unwrap()
            .0
            .contains("residual"));
    }
}

#[test]
fn threads_share_a_solve_and_change_nothing() {
    for size in [1, 30, 257, 600] {
        let mut alone = solver(size, 1, loops::available()[0]);
        alone.solve().unwrap();
        for threads in [2, 3] {
            let mut shared = solver(size, threads, loops::available()[0]);
            for _ in 0..2 {
                shared.solve().unwrap();
                assert_eq!(shared.solution(), alone.solution(), "{size} {threads}");
            }
        }
    }
}

#[test]
fn the_leading_dimension_changes_nothing_of_a_solution() {
    for loops in loops::available() {
        for size in [1, 30, 65, 257] {
            let mut packed = solver(size, 1, loops);
            packed.solve().unwrap();
            for leading in [1, size + 40, size + 101, 3 * size + 500] {
                for threads in [1, 2] {
                    let mut random = Pcg64Mcg::seed_from_u64(size as u64);
                    let mut apart = Solver::new(size, leading, threads, 16.0, loops, |_, _| {
                        unit(&mut random) - 0.5
                    })
                    .unwrap();
                    assert!(apart.factors.shape.stride >= leading.max(size));
                    for _ in 0..2 {
                        apart.solve().unwrap();
                        assert_eq!(apart.solution(), packed.solution(), "{size} {leading}");
                    }
                    assert!(apart.residual < Some(1.0));
                }
            }
        }
    }
}

#[test]
fn memory_is_counted_with_the_leading_dimension() {
    for (size, leading) in [
        (10, 0),
        (1000, 0),
        (1000, 1000),
        (5000, 18_000),
        (10_000, 25_000),
    ] {
        let needed = 8 * Shape::new(size, leading).doubles() as u64;
        let counted = Factors::bytes(size as u64, leading as u64);
        assert!(
            (needed..needed + 8_000_000 + needed / 10).contains(&counted),
            "{size} {leading}"
        );
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let given = [("size".to_string(), 1 << 20)].into_iter().collect();
    let why = (KERNEL.prepare)(&given, 1).err().unwrap();
    assert!(why.contains("exceeds"), "{why}");
}
