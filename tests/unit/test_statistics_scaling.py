"""Breaks and ceilings in made-up sweeps, whose truth is known; rates are in tests/slow."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import args, assert_survives_json, templates

from tare.render.words import sentence
from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.regression import line
from tare.statistics.scaling import Scaling, scaling
from tare.statistics.segments import Pieces
from tare.statistics.steps import gather

QUOTAS = np.round(np.arange(1, 41) * 0.1, 1)


def h90(x: np.ndarray) -> np.ndarray:
    return np.where((x < 0.55) | (x > 2.9), 54.0, 11.0) * x


def sweep(
    rates: np.ndarray, repetitions: int = 5, noise: float = 0.02, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    quotas = np.round(np.arange(1, len(rates) + 1) * 0.1, 1)
    made = rates * (1 + noise * rng.standard_normal((repetitions, len(rates))))
    return np.tile(quotas, repetitions), made.ravel()


def say(x: np.ndarray, y: np.ndarray, steps: np.ndarray | None = None) -> Scaling:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scaling(x, y, steps)
    assert_survives_json(found)
    assert isinstance(found.sentence, Message)
    assert sentence(found.sentence).endswith(".")
    assert len(found.segments) == len(found.breaks) + 1 + (
        found.saturates_at is not None and len(found.segments) > 1
    )
    return found


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("repetitions", [1, 5])
def test_h90_has_three_ranges(noise: float, repetitions: int) -> None:
    found = say(*sweep(h90(QUOTAS), repetitions, noise))
    assert found.verdict == "piecewise"
    assert found.breaks == pytest.approx((0.55, 2.95), abs=0.051)
    assert [s.slope for s in found.segments] == pytest.approx([54, 11, 54], rel=0.25)
    assert found.segments[0].start == 0.1
    assert found.segments[-1].end == 4.0
    assert found.largest_error is not None
    assert found.largest_error > 0.5
    # What CALIBRATE prints of it: 56.4 GFLOPS a CPU, −50.3, R² .73.
    assert found.line.slope == pytest.approx(56, abs=4)
    assert found.line.intercept == pytest.approx(-48, abs=6)
    assert found.line.r2 == pytest.approx(0.7, abs=0.05)


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
@pytest.mark.parametrize(("steps", "repetitions"), [(20, 1), (40, 1), (20, 7), (40, 5), (80, 5)])
def test_a_line_is_a_line(noise: float, steps: int, repetitions: int) -> None:
    found = say(*sweep(54 * np.arange(1, steps + 1) * 0.1, repetitions, noise))
    assert found.verdict == "linear"
    assert not found.breaks
    assert found.saturates_at is None
    assert found.segments[0].slope == pytest.approx(54, rel=0.03)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.05])
def test_one_thread_saturates_at_one_cpu(noise: float) -> None:
    found = say(*sweep(27 * np.minimum(QUOTAS[:20], 1), 5, noise))
    assert found.verdict == "saturating"
    assert found.saturates_at == pytest.approx(1, abs=0.1)
    assert found.saturates_low is not None
    assert found.saturates_high is not None
    assert found.saturates_low <= found.saturates_at <= found.saturates_high
    assert [s.slope > 0 for s in found.segments] == [True, False]
    assert templates(found.sentence)[0] == "falling{% else %}"
    ceiling = args(found.sentence, "]{% endif %}")
    assert float(ceiling["place"].value) == pytest.approx(found.saturates_at, rel=0.01)


def test_a_ceiling_above_a_break_is_told_beside_it() -> None:
    rates = np.where(QUOTAS < 0.55, 54 * QUOTAS, 32 * np.minimum(QUOTAS, 1.5))
    found = say(*sweep(rates[:30]))
    assert found.verdict == "piecewise"
    assert found.breaks == pytest.approx((0.55,))
    assert found.saturates_at == pytest.approx(1.5, abs=0.1)
    assert found.segments[-1].slope == 0


def test_a_jump_onto_a_ceiling_is_one() -> None:
    rates = np.where(QUOTAS < 0.95, 20 * QUOTAS, 27.0)
    found = say(*sweep(rates[:20]))
    assert found.verdict == "saturating"
    assert found.saturates_at == pytest.approx(0.95)
    assert (found.saturates_low, found.saturates_high) == (0.9, 1.0)


def test_what_is_flat_from_the_first_quota_saturates_there() -> None:
    found = say(*sweep(np.full(20, 27.0)))
    assert found.verdict == "saturating"
    assert found.saturates_at == 0.1
    assert found.saturates_low is None


@pytest.mark.parametrize(
    ("noise", "repetitions", "advice"),
    [
        (0.15, 1, "windows"),
        (0.9, 5, "idle"),
    ],
)
def test_too_noisy_says_what_would_help(noise: float, repetitions: int, advice: str) -> None:
    found = say(*sweep(54 * QUOTAS[:20], repetitions, noise))
    assert found.verdict == "inconclusive"
    assert templates(found.sentence) == [
        "and an error",
        "one line errs by {% if share %}",
        {"idle": "Measure on an", "steps": "or on an", "windows": "or an idle"}[advice],
    ]
    assert found.would_see is not None
    assert found.would_see > 0.1


def test_quotas_that_differ_more_than_their_windows_want_no_more_windows() -> None:
    rng = np.random.default_rng(3)
    found = say(*sweep(54 * QUOTAS[:20] * (1 + 0.12 * rng.standard_normal(20)), 7, 0.01))
    assert found.verdict == "inconclusive"
    assert templates(found.sentence)[-1] == "or on an"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ends", [(0.01, 0.1), (0.1, 0.01)])
@pytest.mark.parametrize("repetitions", [1, 7])
def test_noise_that_grows_or_falls_is_no_ceiling(
    repetitions: int, ends: tuple[float, float], seed: int
) -> None:
    """How often it is one in many is in tests/slow."""
    rng = np.random.default_rng(seed)
    noise = np.linspace(*ends, 20)
    y = 54 * QUOTAS[:20] * (1 + noise * rng.standard_normal((repetitions, 20)))
    found = say(np.tile(QUOTAS[:20], repetitions), y.ravel())
    assert found.verdict in ("linear", "inconclusive")
    if repetitions == 7:
        assert found.verdict == "linear"


def test_a_first_step_on_no_line_is_a_range_of_its_own() -> None:
    found = say(*sweep(np.where(QUOTAS[:20] < 0.15, 27, 54) * QUOTAS[:20], 7, 0.02))
    assert found.verdict == "piecewise"
    assert found.breaks == (0.15,)
    assert [(s.start, s.end) for s in found.segments] == [(0.1, 0.1), (0.2, 2.0)]
    said = args(found.sentence, "{% else %}{ranges | length}")
    span = message("{start} to {end}", start=Chosen(0.2, "1"), end=Chosen(2, "1"))
    assert (said["ranges"], said["apart"]) == ([span], [Chosen(0.1, "1")])


def test_a_last_step_on_no_line_is_one_too() -> None:
    found = say(*sweep(np.where(QUOTAS[:20] > 1.95, 40, 54) * QUOTAS[:20], 7, 0.02))
    assert found.verdict == "piecewise"
    assert found.breaks == (1.95,)
    assert [(s.start, s.end) for s in found.segments] == [(0.1, 1.9), (2.0, 2.0)]


@pytest.mark.parametrize(("at", "repetitions"), [(0, 1), (9, 1), (9, 7), (19, 1), (18, 1)])
def test_one_step_apart_is_never_within_the_line(at: int, repetitions: int) -> None:
    """Measured once, or between steps of one line, it is no range: it is named."""
    rates = 54 * QUOTAS[:20]
    rates[at] /= 2
    found = say(*sweep(rates, repetitions, 0.02))
    assert (found.verdict, found.reason) == ("inconclusive", "steps apart")
    said = args(found.sentence, "at least 3")
    assert (said["places"], said["others"]) == ([Chosen(round(QUOTAS[at], 9), "1")], 0)


def test_a_curve_is_neither_a_line_nor_a_ceiling() -> None:
    for power in (0.9, 0.95):
        found = say(*sweep(54 * QUOTAS[:20] ** power, 7, 0.02))
        assert (found.verdict, found.curved) == ("piecewise", True)
        assert found.saturates_at is None
        assert templates(found.sentence)[0] == "piecewise: bends gradually,"
    found = say(*sweep(54 * QUOTAS[:20] * (1 - QUOTAS[:20] / 20), 7, 0.02))
    assert found.verdict == "piecewise"


def test_linear_says_which_bend_would_have_been_seen() -> None:
    found = say(*sweep(54 * QUOTAS[:20], 7, 0.05))
    assert found.verdict == "linear"
    assert found.would_see is not None
    assert 0.03 < found.would_see < 0.1
    assert args(found.sentence, "linear from {span}")["seen"] == Amount(found.would_see, "share")
    assert found.largest_error is not None
    assert found.would_see >= found.largest_error


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_few_steps_are_too_few(n: int) -> None:
    found = say(np.arange(1.0, n + 1), np.arange(1.0, n + 1))
    assert found.verdict == "inconclusive"
    assert found.sentence == message(
        "inconclusive: {steps | counted('step')} cannot distinguish a line from a bend. "
        "Measure at {fewest} or more",
        steps=n,
        fewest=5,
    )


@pytest.mark.parametrize(
    "y",
    [QUOTAS * 0, QUOTAS * 0 + 1e-30, QUOTAS - 2, 5 - QUOTAS, 1 / QUOTAS, (-1) ** (QUOTAS * 10)],
)
def test_odd_sweeps_have_some_verdict(y: np.ndarray) -> None:
    say(QUOTAS, y)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_step_that_was_in_two_ranges_in_turn_is_on_none(share: float) -> None:
    """CALIBRATE's figure has its break at 2.9: the ranges end at 2.8 and begin at 3.0."""
    rates = h90(QUOTAS)
    rates[28] = 2.9 * (11 + share * (54 - 11))
    found = say(*sweep(rates, 5, 0.02))
    assert found.verdict == "piecewise"
    assert found.breaks == pytest.approx((0.55, 2.9), abs=0.051)


def test_a_burst_does_not_make_a_range() -> None:
    x, y = sweep(54 * QUOTAS, 5, 0.02)
    rng = np.random.default_rng(2)
    y = y * np.where(rng.random(len(y)) < 0.05, 0.7, 1)
    assert say(x, y).verdict == "linear"


def test_against_what_was_delivered_steps_at_the_ceiling_are_one() -> None:
    rng = np.random.default_rng(4)
    asked = np.tile(QUOTAS[:20], 7)
    delivered = np.minimum(asked, 1) * (1 + 0.003 * rng.standard_normal(140))
    found = say(delivered, 27 * delivered * (1 + 0.01 * rng.standard_normal(140)), asked)
    assert found.verdict == "linear"
    assert found.segments[0].end == pytest.approx(1, abs=0.01)
    assert found.line.n == 140


def test_steps_are_counted_by_what_was_asked_for() -> None:
    """The CPU time delivered differs between all trials of a step."""
    rng = np.random.default_rng(5)
    asked = np.tile([0.5, 1.0, 1.5], 7)
    delivered = asked * (1 + 0.003 * rng.standard_normal(21))
    found = say(delivered, 27 * delivered, asked)
    assert (found.verdict, found.reason) == ("inconclusive", "few steps")
    assert found.sentence.args["steps"] == 3
    asked = np.tile(QUOTAS[:20], 60)
    delivered = asked * (1 + 0.003 * rng.standard_normal(1200))
    assert say(delivered, 27 * delivered, asked).verdict == "linear"


@pytest.mark.parametrize(
    ("x", "complaint"),
    [
        ([0.0, 1], "above zero"),
        ([-1.0, 1], "above zero"),
        ([np.nan, 1], "finite"),
        ([1.0], "x has 1 values and y has 2"),
    ],
)
def test_what_is_no_sweep_is_refused(x: list[float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        scaling(np.array(x), np.array([1.0, 2.0]))


def test_too_many_steps_are_refused() -> None:
    x = np.arange(1.0, 1002)
    with pytest.raises(ValueError, match="steps"):
        scaling(x, x)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-6, 1e12))
def test_units_and_order_do_not_matter(seed: int, scale: float) -> None:
    x, y = sweep(h90(QUOTAS), 3, 0.05, seed)
    one, other = scaling(x, y), scaling(x, y * scale)
    order = np.random.default_rng(seed).permutation(len(x))
    for again in (other, scaling(x[order], y[order]), scaling(1769 * x, y)):
        assert again.verdict == one.verdict
    assert other.breaks == one.breaks
    assert other.largest_error == pytest.approx(one.largest_error)


def test_squares_of_pieces_are_those_of_least_squares() -> None:
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(0.1, 4, 15))
    y = h90(x) + rng.standard_normal(15)
    pieces = Pieces(x, y, np.ones(15))
    for model in pieces.best(alone_at_ends=False):
        assert model.rss == pytest.approx(float(np.nansum((y - pieces.values(model)) ** 2)))
    one = pieces.best(alone_at_ends=False)[0]
    told = line(x, y)
    assert pieces.values(one) == pytest.approx(told.intercept + told.slope * x)


def test_the_best_break_is_the_best_of_all() -> None:
    rng = np.random.default_rng(6)
    x = np.arange(1.0, 13)
    y = rng.standard_normal(12)
    pieces = Pieces(x, y, 1 / x**2)
    found = next(
        m
        for m in pieces.best(alone_at_ends=False)
        if len(m.parts) == 2 and m.end == "line" and m.parameters == 5
    )

    def left(at: int) -> float:
        total = 0.0
        for part in (slice(0, at), slice(at, 12)):
            fit = np.polynomial.Polynomial.fit(x[part], y[part], 1, w=1 / x[part])
            total += float(np.sum(((y[part] - fit(x[part])) / x[part]) ** 2))
        return total

    assert found.rss == pytest.approx(min(left(at) for at in range(3, 10)))


def test_the_best_bend_is_the_best_of_all() -> None:
    rng = np.random.default_rng(7)
    x = np.arange(1.0, 21)
    y = np.minimum(x, 11.3) + 0.3 * rng.standard_normal(20)
    pieces = Pieces(x, y, np.ones(20))
    found = next(
        m for m in pieces.best(alone_at_ends=False) if m.end == "bend" and len(m.parts) == 1
    )
    grid = np.linspace(3, 19, 4001)
    assert found.rss <= pieces.bent(0, grid)[2].min() + 1e-9
    assert found.bend == pytest.approx(grid[pieces.bent(0, grid)[2].argmin()], abs=0.01)


def test_a_step_is_its_mean_without_what_is_far() -> None:
    y = np.array([10.0, 10.1, 9.9, 10.0, 7.0] * 6)
    x = np.repeat(np.arange(1.0, 7), 5)
    found = gather(x, y * x, x)
    assert found.y == pytest.approx(10 * found.x)
    assert found.counts.tolist() == [5] * 6
    assert found.scatter == pytest.approx(0.01, rel=0.6)
