from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from simulation import at_most

from tare.errors import InputError
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    Verdict,
    judge,
)
from tare.statistics.comparison import compare
from tare.statistics.sequential import (
    FIRST_LOOK,
    History,
    boundary,
    compare_sequentially,
    decides,
    level,
    looks,
    spent,
)
from tare.statistics.signed_rank import (
    hodges_lehmann,
    signed_rank_cdf,
    signed_rank_interval,
    signed_rank_level,
    signed_rank_p,
    walsh_at,
)


def pairs(n: int, effect: float = 0.0, cv: float = 0.05, seed: int = 1) -> tuple:
    rng = np.random.default_rng(seed)
    return rng.lognormal(0, cv, n), (1 + effect) * rng.lognormal(0, cv, n)


# ---- boundaries


def test_boundaries_are_those_of_pocock() -> None:
    """Pocock 1977: five equally spaced looks at 5 % have 2.413 each, at 1 % 2.986."""
    for z, total in ((2.413, 0.05), (2.986, 0.01)):
        assert spent(tuple((1000 * k, z) for k in range(1, 6))) == pytest.approx(total, rel=0.003)


def test_one_look_takes_it_all_and_none_is_left() -> None:
    assert level((), 50, 0.05) == pytest.approx(0.05)
    assert level(((50, boundary(0.05)),), 60, 0.05) == 0.0


def test_a_level_spends_what_it_is_told() -> None:
    history: History = ()
    for n, spend in ((7, 0.004), (8, 0.01), (20, 0.02), (21, 0.03), (400, 0.05)):
        history = (*history, (n, boundary(level(history, n, spend))))
        assert spent(history) == pytest.approx(spend, rel=1e-4)


def test_boundaries_agree_with_simulated_signed_ranks() -> None:
    rng = np.random.default_rng(1)
    history: History = ()
    d = rng.standard_normal((40_000, 40))
    alarmed = np.zeros(len(d), dtype=bool)
    for n, spend in ((10, 0.01), (16, 0.02), (25, 0.035), (40, 0.05)):
        nominal = level(history, n, spend)
        history = (*history, (n, boundary(signed_rank_level(n, nominal))))
        ranks = stats.rankdata(np.abs(d[:, :n]), axis=1)
        t = np.minimum((ranks * (d[:, :n] > 0)).sum(1), (ranks * (d[:, :n] < 0)).sum(1))
        exact = 2 * np.array([_at_most(n, x) for x in range(n * (n + 1) // 4 + 1)])
        alarmed |= exact[np.minimum(t, len(exact) - 1).astype(int)] <= nominal
    assert alarmed.mean() == pytest.approx(spent(history), abs=0.0045)


def _at_most(n: int, t: int) -> float:
    return float(signed_rank_cdf(n)[t])


# ---- Walsh averages without making them all


@settings(max_examples=60)
@given(st.integers(1, 300), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_walsh_averages_are_found_as_if_sorted(n: int, kind: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = (
        rng.normal(size=n),
        rng.standard_t(1, n),
        rng.integers(-3, 4, n).astype(float),
        np.zeros(n),
        np.where(rng.random(n) < 0.5, 0, 1.0) + 1e-9 * rng.normal(size=n),
    )[kind]
    i, j = np.triu_indices(n)
    averages = np.sort((d[i] + d[j]) / 2)
    ranks = [0, len(averages) - 1, *(int(r) for r in rng.integers(0, len(averages), 3))]
    assert walsh_at(d, ranks) == pytest.approx(list(averages[ranks]), rel=1e-13, abs=1e-15)
    assert hodges_lehmann(d) == pytest.approx(float(np.median(averages)), rel=1e-12, abs=1e-15)


def test_five_thousand_pairs_need_no_square_of_memory() -> None:
    d = np.random.default_rng(3).standard_t(2, 5000)
    interval = signed_rank_interval(d)
    assert interval is not None
    assert interval[0] < hodges_lehmann(d) < interval[1]
    wilcoxon = stats.wilcoxon(d)
    assert signed_rank_p(d) == pytest.approx(wilcoxon.pvalue, rel=0.01)


# ---- the looks


def test_asking_after_every_pair_is_the_same_as_asking_at_the_looks() -> None:
    first, second = pairs(150, 0.03)
    whole = compare_sequentially(first, second)
    assert whole.stop
    for n in range(1, 151):
        part = compare_sequentially(first[:n], second[:n])
        size = part.looks[-1].n if part.looks else 0
        assert part.looks == whole.looks[: len(part.looks)]
        assert part.stop == (n >= whole.looks[-1].n)
        if part.stop:
            assert part == whole
        else:
            assert part.next_look is not None
            assert size <= n < part.next_look


def test_the_first_look_is_at_seven_pairs() -> None:
    first, second = pairs(6, 0.5, 0.001)
    before = compare_sequentially(first, second)
    assert (before.stop, before.next_look, before.looks) == (False, FIRST_LOOK, ())
    assert before.comparison.verdict == INCONCLUSIVE
    first, second = pairs(12, 0.5, 0.001)
    assert compare_sequentially(first, second).comparison.verdict == HIGHER


@pytest.mark.parametrize(
    ("effect", "verdict"),
    [(0.0, EQUIVALENT), (0.1, HIGHER), (-0.1, LOWER), (0.01, HIGHER_WITHIN)],
)
def test_verdicts(effect: float, verdict: Verdict) -> None:
    first, second = pairs(600, effect, 0.002 if effect == 0.01 else 0.05, seed=4)
    found = compare_sequentially(first, second)
    c = found.comparison
    assert (found.stop, c.verdict) == (True, verdict)
    assert c.n == found.looks[-1].n < 600
    assert (c.low, c.high) == (found.looks[-1].low, found.looks[-1].high)
    assert c.low is not None
    assert c.high is not None
    assert judge(c.low, c.high, 0.02, different=c.p < 0.05) == verdict
    assert (c.p < 0.05) == (c.low > 1 or c.high < 1)


def test_the_other_way_round_is_the_inverse() -> None:
    first, second = pairs(300, 0.04)
    there, back = compare_sequentially(first, second), compare_sequentially(second, first)
    assert there.comparison.n == back.comparison.n
    assert there.comparison.low == pytest.approx(1 / (back.comparison.high or 0))
    assert (there.comparison.verdict, back.comparison.verdict) == (HIGHER, LOWER)


def test_units_do_not_matter() -> None:
    first, second = pairs(300, 0.02)
    ns = compare_sequentially(1e9 * first, 1e9 * second)
    assert ns.comparison.low == pytest.approx(compare_sequentially(first, second).comparison.low)


def test_sequential_intervals_are_wider_than_those_of_a_fixed_n() -> None:
    first, second = pairs(400)
    for look in looks(np.log(second / first)):
        if look.low is None or look.high is None:
            continue
        fixed = compare(first[: look.n], second[: look.n])
        assert look.low <= (fixed.low or 0)
        assert look.high >= (fixed.high or 0)


def test_levels_together_stay_below_the_error_for_ever() -> None:
    first, second = pairs(5000, cv=0.02)
    history = tuple(
        (x.n, boundary(signed_rank_level(x.n, x.level))) for x in looks(np.log(second / first))
    )
    assert history[-1][0] > 4000
    assert 0.04 < spent(history) < 0.05


def test_the_end_of_a_budget_spends_what_is_left() -> None:
    first, second = pairs(60, 0.023, seed=12)
    going_on = compare_sequentially(first, second)
    final = compare_sequentially(first, second, final=True)
    assert not going_on.stop
    assert final.next_look is None
    assert final.looks[-1].n == 60
    assert final.looks[-1].level > going_on.looks[-1].level
    history = tuple((x.n, boundary(signed_rank_level(x.n, x.level))) for x in final.looks)
    assert 0.04 < spent(history) <= 0.05


def test_a_final_look_at_a_size_that_was_looked_at_takes_its_place() -> None:
    first, second = pairs(200)
    sizes = [x.n for x in looks(np.log(second / first))]
    size = sizes[8]
    final = list(looks(np.log(second / first)[:size], final=True))
    assert [x.n for x in final] == sizes[:9]


def test_six_pairs_are_enough_where_the_budget_ends() -> None:
    first, second = pairs(6, 0.5, 0.001)
    final = compare_sequentially(first, second, final=True)
    assert (final.stop, final.comparison.verdict) == (True, HIGHER)
    few = compare_sequentially(first[:4], second[:4], final=True)
    assert (few.stop, few.next_look, few.comparison.verdict) == (False, None, INCONCLUSIVE)


def test_nothing_is_concluded_before_the_first_look_that_was_asked_for() -> None:
    first, second = pairs(60, 0.5, 0.001)
    early = compare_sequentially(first[:43], second[:43], first_look=44)
    assert (early.stop, early.next_look, early.looks) == (False, 44, ())
    found = compare_sequentially(first, second, first_look=44)
    assert (found.stop, found.comparison.verdict) == (True, HIGHER)
    assert [look.n for look in found.looks] == [44]
    # The look spends what all looks until then would have spent.
    assert found.looks[0].level == pytest.approx(0.96 * 0.05 * (1 - 1 / (1 + (44 / 23) ** 0.6)))
    # A budget that ends before leaves all of it.
    last = compare_sequentially(first[:20], second[:20], final=True, first_look=44)
    assert last.looks[0].level == pytest.approx(0.96 * 0.05)


def test_a_gate_stops_where_it_is_answered() -> None:
    first, second = pairs(600, 0.0, seed=5)
    verdict = compare_sequentially(first, second)
    gate = compare_sequentially(first, second, gate=0.1)
    assert gate.stop
    assert gate.comparison.n < verdict.comparison.n
    assert (gate.comparison.high or 9) < 1.1
    assert not compare_sequentially(first[:20], second[:20], gate=0.0).stop
    assert compare_sequentially(*pairs(200, 0.3), gate=0.1).comparison.low > 1.1  # type: ignore[operator]


def test_a_family_pays_with_its_confidence() -> None:
    first, second = pairs(600, 0.03)
    one = compare_sequentially(first, second)
    of_ten = compare_sequentially(first, second, confidence=1 - 0.05 / 10)
    assert of_ten.stop
    assert of_ten.comparison.n > one.comparison.n


# ---- plans from the spread, never from the effect


def test_further_pairs_come_from_the_spread() -> None:
    first, second = pairs(20, 0.0, 0.05)
    found = [compare_sequentially(first, second * s).comparison for s in (0.99, 1.0, 1.01)]
    assert {c.verdict for c in found} == {INCONCLUSIVE}
    assert len({c.more_pairs for c in found}) == 1
    assert 150 < (found[0].more_pairs or 0) < 800
    tenfold = compare_sequentially(*pairs(20, 0.0, 0.5)).comparison.more_pairs
    assert tenfold == pytest.approx(100 * ((found[0].more_pairs or 0) + 20), rel=0.1)


def test_levels_do_not_depend_on_the_values() -> None:
    """What makes the error that is claimed hold for every true ratio, equal programs or not."""
    rng = np.random.default_rng(6)
    plans = {
        tuple((x.n, x.level) for x in looks(shift + scale * rng.lognormal(-4, 1, 100)))
        for shift in (0.0, 0.03)
        for scale in (0.01, 1.0)
    }
    assert len(plans) == 1


@pytest.mark.parametrize("truth", [0.0, 0.01, 0.03, 0.1])
def test_a_gate_at_the_truth_is_missed_in_five_percent(truth: float) -> None:
    """Each answer of such a gate is a miss; tests/slow has more replicates and series."""
    rng, replicates = np.random.default_rng(8), 400
    missed = 0
    for _ in range(replicates):
        d = np.log1p(truth) + 0.03 * rng.standard_normal(40)
        missed += any(decides(look, 0.02, gate=truth) for look in looks(d, final=True))
    assert at_most(missed, 0.05, replicates), missed / replicates


def test_detectable_change_shrinks_as_pairs_come() -> None:
    first, second = pairs(400, cv=0.1)
    found = [
        compare_sequentially(first[:n], second[:n]).comparison.detectable for n in (20, 80, 300)
    ]
    assert None not in found
    assert found == sorted(found, key=lambda x: -(x or 0))


# ---- data that are not normal


def test_constant_pairs_are_decided_at_once() -> None:
    same = compare_sequentially(np.full(20, 3.0), np.full(20, 3.0), tick=1e-9)
    assert (same.stop, same.comparison.verdict, same.comparison.n) == (True, EQUIVALENT, FIRST_LOOK)
    slower = compare_sequentially(np.full(20, 3.0), np.full(20, 3.6), tick=1e-9)
    assert (slower.stop, slower.comparison.verdict) == (True, HIGHER)
    assert slower.comparison.low == pytest.approx(1.2)


def test_constant_pairs_decide_nothing_where_the_tick_is_not_known() -> None:
    for second in (np.full(20, 3.0), np.full(20, 3.6)):
        found = compare_sequentially(np.full(20, 3.0), second, final=True)
        assert (found.stop, found.comparison.verdict) == (False, INCONCLUSIVE)
        assert found.comparison.more_pairs is None


def test_a_clock_with_coarse_ticks() -> None:
    rng = np.random.default_rng(7)
    ticks = rng.integers(100, 103, (2, 400)).astype(float)
    found = compare_sequentially(*ticks)
    assert (found.stop, found.comparison.verdict) == (True, EQUIVALENT)
    # A tick of 10 % does not tell equal from 4 % slower.
    first, second = (np.round(rng.normal(x, 0.3, 300)) for x in (10.0, 10.4))
    found = compare_sequentially(first, second)
    assert (found.stop, found.comparison.verdict) == (False, INCONCLUSIVE)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60),
    st.booleans(),
    st.sampled_from([None, 0.03]),
)
def test_anything_positive_has_an_answer(values: list[float], final: bool, gate: object) -> None:
    first = np.array(values)
    second = first[::-1].copy()
    found = compare_sequentially(first, second, gate=gate, final=final)  # type: ignore[arg-type]
    c = found.comparison
    assert found.stop == any(decides(x, 0.02, gate) for x in found.looks)  # type: ignore[arg-type]
    assert math.isfinite(c.ratio)
    assert 0 <= c.p <= 1
    assert c.low is None or c.high is None or c.low <= c.high


@pytest.mark.parametrize(
    ("first", "second"), [([], []), ([1.0], [1.0, 2.0]), ([1.0, -1.0], [1, 1]), ([1], [math.nan])]
)
def test_what_makes_no_pairs_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(InputError) as refused:
        compare_sequentially(np.array(first), np.array(second))
    assert refused.value.hint


def test_a_large_effect_takes_a_few_more_pairs_however_noisy_it_is() -> None:
    """Three times as long in 7 of 7 pairs, with a spread that keeps the interval wide."""
    rng = np.random.default_rng(4)
    first = np.exp(rng.normal(0, 0.2, 7))
    for ratio, low, high in ((3.0, 1, 5), (1.0, 500, 100_000)):
        found = compare_sequentially(first, ratio * np.exp(rng.normal(0, 0.2, 7)), 0.02, 0.995)
        assert found.comparison.low is None
        assert found.comparison.more_pairs is not None
        assert low <= found.comparison.more_pairs <= high
