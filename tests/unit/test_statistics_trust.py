"""Verdicts: every rule of the three, and that nothing else lowers them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from tare.interop.series import Defect
from tare.statistics.trust import trust


def steady(n: int = 100, seed: int = 1) -> np.ndarray:
    return 100 + np.random.default_rng(seed).standard_normal(n)


def test_a_steady_series_is_trusted_without_a_word() -> None:
    found = trust(steady(), trials_known=True)
    assert found.verdict == "TRUST"
    assert found.reasons == ()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_values_are_rejected(n: int) -> None:
    found = trust(steady(10)[:n], trials_known=True)
    assert found.verdict == "REJECT"
    assert f"measure {6 - n} more" in found.reasons[0]
    assert trust(steady(6), trials_known=True).verdict == "TRUST"


@pytest.mark.parametrize("kind", ["corrupt", "mixed units"])
def test_defects_are_rejected_with_what_to_do(kind: str) -> None:
    defect = Defect(kind, "Row 7 of times.csv is wrong.")
    found = trust(steady(), trials_known=True, defects=[defect])
    assert found.verdict == "REJECT"
    assert found.reasons[0].startswith(defect.message)
    assert len(found.reasons[0]) > len(defect.message) + 10


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_is_rejected(bad: float) -> None:
    x = steady()
    x[17] = bad
    found = trust(x, trials_known=True)
    assert found.verdict == "REJECT"
    assert "1 of 100 values" in found.reasons[0]


def test_a_rejection_outranks_doubts() -> None:
    x = steady() + np.linspace(0, 20, 100)
    found = trust(x, trials_known=False, defects=[Defect("corrupt", "Line 3 is not a number.")])
    assert found.verdict == "REJECT"


def test_values_without_a_trial_are_doubted() -> None:
    found = trust(steady(), trials_known=False)
    assert found.verdict == "DOUBT"
    assert "--trial" in found.reasons[0]


def test_memory_is_doubted() -> None:
    noise = np.random.default_rng(2).standard_normal(500)
    found = trust(100 + lfilter([1], [1, -0.8], noise)[200:], trials_known=True)
    assert found.verdict == "DOUBT"
    assert "dependence time" in found.reasons[-1]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (np.linspace(0, 4, 100), "drift by +3.8 %"),
        (np.linspace(0, -4, 100), "drift by −"),
        (4.0 * (np.arange(100) >= 50), "At trial 51 the level changes by +3.8 %"),
        (4.0 * (np.arange(100) < 15), "the level changes by −"),
    ],
)
def test_changes_beyond_the_target_are_doubted(change: np.ndarray, word: str) -> None:
    x = steady() + change
    found = trust(x, trials_known=True)
    assert found.verdict == "DOUBT"
    assert word in found.reasons[0]
    assert "the target of 1 %" in found.reasons[0]


def test_changes_within_the_target_are_told_and_no_more() -> None:
    x = 100 + 0.05 * (steady() - 100) + 0.3 * (np.arange(100) >= 50)
    found = trust(x, trials_known=True)
    assert found.verdict == "TRUST"
    assert "+0.3" in found.remarks[0]
    assert trust(x, trials_known=True, precision=0.001).verdict == "DOUBT"


def test_equal_values_say_nothing_of_the_clock() -> None:
    found = trust(np.full(50, 3.0), trials_known=True)
    assert found.verdict == "DOUBT"
    assert "clock" in found.reasons[0]
    nearly = trust(np.array([1003.7] * 11 + [1004.7]), trials_known=True)
    assert (nearly.verdict, nearly.reasons) == ("DOUBT", found.reasons)
    assert trust(np.full(50, 3.0), trials_known=True, tick=0.0).verdict == "TRUST"


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (steady() + 10 * (np.arange(100) % 2), "Values recur every 2 trials"),
        (steady() + 100 * (np.arange(100) % 10 == 4), "Values recur every 10 trials"),
        (np.tile(steady(50), 2), "Trials 51 to 100 have exactly the values of trials 1 to 50"),
        (np.tile(steady(10), 10), "have exactly the values of"),
        (100 + (steady() - 100) * np.repeat([1, 20], 50), " times more: find out"),
        (100 + (steady() - 100) * np.repeat([1, 20, 1, 20, 1], 20), "spread"),
    ],
)
def test_order_that_is_no_change_of_level_is_doubted(values: np.ndarray, word: str) -> None:
    found = trust(values, trials_known=True)
    assert found.verdict == "DOUBT"
    assert len(found.reasons) == 1
    assert word in found.reasons[0]


def test_alternation_is_doubted() -> None:
    noise = np.random.default_rng(2).standard_normal(500)
    found = trust(100 + lfilter([1], [1, 0.8], noise)[200:], trials_known=True)
    assert found.verdict == "DOUBT"
    assert "High and low trials alternate (correlation of neighbours −0." in found.reasons[0]


def test_a_factor_of_60_is_doubted_and_no_more() -> None:
    values = steady()
    values[::7] *= 60
    found = trust(values, trials_known=True)
    assert found.verdict == "DOUBT"
    assert "factor of about 60" in found.reasons[-1]


SHAPES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "modes": lambda rng, n: rng.standard_normal(n) + np.where(rng.random(n) < 0.4, 10, 0),
    "outliers": lambda rng, n: rng.standard_normal(n) + np.where(rng.random(n) < 0.05, 50, 0),
    "skewed": lambda rng, n: rng.lognormal(0, 1, n),
    "coarse clock": lambda rng, n: np.round(rng.standard_normal(n)),
    "nearly all equal": lambda rng, n: 5.0 * (rng.permutation(n) < max(1, rng.binomial(n, 0.03))),
}


@pytest.mark.parametrize("n", [20, 200])
@pytest.mark.parametrize("shape", SHAPES)
def test_shape_never_lowers_a_verdict(shape: str, n: int) -> None:
    rng, replicates = np.random.default_rng(3), 300
    verdicts = [trust(100 + SHAPES[shape](rng, n), trials_known=True) for _ in range(replicates)]
    doubts = sum(v.verdict != "TRUST" for v in verdicts)
    assert doubts <= stats.binom.ppf(0.99, replicates, 0.05)


def test_reasons_are_sentences_with_a_figure_and_advice() -> None:
    rng = np.random.default_rng(4)
    series = [
        100 + lfilter([1], [1, -0.9], rng.standard_normal(300)),
        steady(300) + np.linspace(0, 30, 300),
        steady(300) + 10 * (np.arange(300) > 200),
        steady(3),
    ]
    for x in series:
        for reason in trust(x, trials_known=True).reasons:
            assert reason.endswith(".")
            assert ": " in reason
            assert any(c.isdigit() for c in reason)


def test_a_long_memory_map_is_read_in_pieces(tmp_path: Path) -> None:
    x = np.memmap(tmp_path / "values", dtype=float, mode="w+", shape=(300_000,))
    x[:] = steady(300_000)
    assert trust(x, trials_known=True).verdict == "TRUST"
    x[150_000:] += 3
    assert "the level changes by +2.9 %" in trust(x, trials_known=True).reasons[0]
    x[299_999] = np.nan
    assert trust(x, trials_known=True).verdict == "REJECT"


@pytest.mark.parametrize("scale", [1e3, 1e-3, 1e6])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_two_units_are_seen_by_their_size_alone(scale: float, share: float) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(12, 0.2, 40)
    values[rng.permutation(40)[: int(40 * share)]] *= scale
    found = trust(values, trials_known=True)
    assert found.verdict == "REJECT"
    assert "two units" in found.reasons[0]


def test_modes_that_lie_far_apart_are_no_units() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(12, 0.2, 40)
    values[rng.permutation(40)[:10]] *= 700
    assert trust(values, trials_known=True).verdict == "TRUST"
    assert trust(rng.pareto(0.3, 200) + 1, trials_known=True).verdict != "REJECT"
