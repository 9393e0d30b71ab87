"""Timelines that executions share: what is found in planted ones, and none in clean data."""

import numpy as np
import pytest

from tare.statistics.shared_timeline import SharedTimeline, shared_timeline, timelines


def forks(
    course: np.ndarray, forks: int, *, sd: float = 0.02, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Values of forks that vary by 2 %, with what they have in common, and their trials."""
    rng = np.random.default_rng(seed)
    shape = (forks, len(course))
    levels = 1 + 0.02 * rng.standard_normal((forks, 1))
    values = levels * (1 + sd * rng.standard_normal(shape)) * (1 + course)
    return values.ravel(), np.repeat(np.arange(forks), shape[1])


def found(course: np.ndarray, n: int = 20) -> SharedTimeline:
    one = shared_timeline(*forks(course, n))
    assert one is not None
    return one


@pytest.mark.parametrize("n", [6, 9, 12, 20])
def test_a_warm_up_has_a_steady_part(n: int) -> None:
    one = found(0.2 * (np.arange(20) < 5), n)
    assert one.kind == "warm-up"
    # A quarter more than what differs is left out.
    assert one.steady_from == 7
    assert one.size == pytest.approx(0.2, abs=0.03)
    assert one.shift == pytest.approx(0.05, abs=0.01)
    assert one.p < 1e-4


def test_a_warm_up_may_begin_fast() -> None:
    one = found(-0.3 * (np.arange(20) < 2))
    assert (one.kind, one.steady_from) == ("warm-up", 3)
    assert one.size == pytest.approx(-0.3, abs=0.02)


def test_what_is_left_of_a_warm_up_is_steady_where_trials_differ_more() -> None:
    course = 0.5 * np.exp(-np.arange(30) / 3)
    values, trial = forks(course, 20, sd=0.0005)
    one = shared_timeline(values, trial)
    assert one is not None
    assert one.kind == "warm-up"
    assert 12 <= (one.steady_from or 0) <= 22


def test_what_does_not_settle_has_no_steady_part() -> None:
    assert found(0.2 * np.exp(-np.arange(10) / 3)).steady_from is None


def test_a_drift_is_no_warm_up() -> None:
    one = found(np.linspace(0, 0.1, 20))
    assert (one.kind, one.steady_from) == ("drift", None)
    assert one.size == pytest.approx(0.1, abs=0.02)


def test_a_long_warm_up_at_one_level_is_no_drift() -> None:
    one = found(2.0 * (np.arange(100) < 40), 10)
    assert one.kind == "warm-up"
    assert 50 <= (one.steady_from or 0) <= 60


def test_a_period_is_named_with_its_length_and_size() -> None:
    one = found(0.8 * (np.arange(20) % 3 == 2))
    assert (one.kind, one.period, one.steady_from) == ("period", 3, None)
    assert one.size == pytest.approx(0.8, abs=0.03)


def test_three_positions_are_too_few_for_a_period() -> None:
    one = found(np.array([0, 0.05, 0.85]))
    assert (one.kind, one.period) == ("positions", None)
    assert one.size == pytest.approx(0.85, abs=0.03)


def test_a_long_timeline_is_looked_at_in_blocks() -> None:
    one = shared_timeline(*forks(2.0 * (np.arange(3000) < 1000), 10))
    assert one is not None
    assert one.kind == "warm-up"
    assert one.positions == 3000
    assert 1250 <= (one.steady_from or 0) <= 1700


def remembering(rho: float, forks: int, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((forks, n))
    for i in range(1, n):
        noise[:, i] = rho * noise[:, i - 1] + np.sqrt(1 - rho**2) * noise[:, i]
    return noise


@pytest.mark.parametrize(
    ("shape", "draw"),
    [
        ((20, 20), lambda seed: 1 + 0.02 * remembering(0, 20, 20, seed)),
        ((20, 3), lambda seed: np.exp(0.3 * remembering(0, 20, 3, seed))),
        ((20, 20), lambda seed: 10 + remembering(0.95, 20, 20, seed)),
        ((8, 20), lambda seed: 10 + remembering(0.8, 8, 20, seed)),
        ((20, 10), lambda seed: 1 + np.random.default_rng(seed).pareto(1.5, (20, 10))),
    ],
)  # fmt: skip
def test_clean_trials_share_no_timeline(shape: tuple[int, int], draw: object) -> None:
    trial = np.repeat(np.arange(shape[0]), shape[1])
    shown = sum(shared_timeline(draw(i).ravel(), trial) is not None for i in range(300))  # type: ignore[operator]
    # Of 300 with a share of 0.4 %, more than 5 come out in 0.2 %.
    assert shown <= 5


def test_it_is_no_matter_how_trials_are_interleaved() -> None:
    values, trial = forks(0.2 * (np.arange(20) < 5), 10)
    by_round = np.argsort(np.tile(np.arange(20), 10), kind="stable")
    assert shared_timeline(values[by_round], trial[by_round]) == shared_timeline(values, trial)


def test_few_trials_and_single_values_have_no_timeline() -> None:
    values, trial = forks(0.5 * (np.arange(20) < 5), 5)
    assert shared_timeline(values, trial) is None
    assert shared_timeline(values, np.arange(len(values))) is None
    assert shared_timeline(np.ones(60), np.repeat(np.arange(20), 3)) is None
    assert shared_timeline([], np.array([], dtype=int)) is None


def test_trials_of_unequal_length_are_cut_to_what_most_have() -> None:
    counts = [20, 20, 20, 20, 20, 20, 2, 60]
    rows = timelines(np.arange(sum(counts), dtype=float), np.repeat(np.arange(8), counts))
    assert rows is not None
    assert rows.shape == (7, 20)
    assert rows[-1, 0] == 122


@pytest.mark.parametrize(
    ("shift", "half_width", "doubtful"),
    [(0.02, 0.01, True), (0.001, 0.01, False), (0.002, 0.01, True), (0.005, None, False)],
)
def test_a_warm_up_is_a_doubt_where_it_moves_the_median_beyond_its_interval(
    shift: float, half_width: float | None, *, doubtful: bool
) -> None:
    one = SharedTimeline("warm-up", 0.5, shift, 5, None, 20, 1e-6)
    assert one.is_doubtful(0.01, half_width) is doubtful


def test_a_period_is_a_doubt_beyond_the_precision_although_the_median_stands() -> None:
    assert SharedTimeline("period", 0.85, 0.0, None, 3, 20, 1e-6).is_doubtful(0.01, 0.01)
    assert not SharedTimeline("period", 0.005, 0.0, None, 3, 20, 1e-6).is_doubtful(0.01, 0.01)
