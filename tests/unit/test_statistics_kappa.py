"""Cohen's kappa against published values and its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa as by_table

from tare.errors import InputError
from tare.results.message import message
from tare.statistics.kappa import cohens_kappa, standard_error

ratings = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2, max_size=60
)


def raters(table: list[list[int]]) -> tuple[list[int], list[int]]:
    cells = [(i, j) for i, row in enumerate(table) for j, k in enumerate(row) for _ in range(k)]
    return [i for i, _ in cells], [j for _, j in cells]


def test_published_table() -> None:
    # Fleiss, Levin and Paik 2003, table 18.1: 100 subjects, two raters, three diagnoses.
    found = cohens_kappa(*raters([[75, 1, 4], [5, 4, 1], [0, 0, 10]]))
    assert (found.n, found.observed) == (100, pytest.approx(0.89))
    assert found.expected == pytest.approx(0.66)
    assert found.kappa == pytest.approx(0.676, abs=0.001)
    assert found.low == pytest.approx(0.51, abs=0.006)
    assert found.high == pytest.approx(0.85, abs=0.006)
    assert found.word == "substantial"


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@given(ratings)
def test_is_statsmodels(pairs: list[tuple[str, str]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = cohens_kappa(first, second)
    names = sorted({*first, *second})
    table = np.zeros((len(names), len(names)))
    for a, b in pairs:
        table[names.index(a), names.index(b)] += 1
    if len(names) == 1:
        assert found.kappa is None
        return
    theirs = by_table(table)
    assert found.kappa == pytest.approx(float(theirs.kappa), abs=1e-10)
    if theirs.var_kappa > 1e-14:
        error = standard_error(table, found.kappa)
        assert error == pytest.approx(float(theirs.std_kappa), abs=1e-10)
    agree = np.mean([a == b for a, b in pairs])
    chance = sum(first.count(c) * second.count(c) for c in names) / len(pairs) ** 2
    assert found.kappa == pytest.approx((agree - chance) / (1 - chance))
    if found.low is not None:
        assert found.low == pytest.approx(max(-1, theirs.kappa_low), abs=1e-9)
        assert found.high == pytest.approx(min(1, theirs.kappa_upp), abs=1e-9)


@given(ratings, st.randoms())
def test_order_names_and_sides_do_not_matter(pairs: list[tuple[str, str]], random: object) -> None:
    one = cohens_kappa([a for a, _ in pairs], [b for _, b in pairs])
    random.shuffle(pairs)  # type: ignore[attr-defined]
    renamed = {"a": "z", "b": 3, "c": True}
    other = cohens_kappa([renamed[b] for _, b in pairs], [renamed[a] for a, _ in pairs])
    for name in ("kappa", "low", "high", "observed", "expected"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None)
        assert a is None or a == pytest.approx(b)


def test_interval_covers() -> None:
    rng = np.random.default_rng(1)
    # Second rater copies in 60 %, and is at random otherwise: kappa is 0.6.
    covered = 0
    for _ in range(400):
        first = rng.integers(0, 3, 100)
        second = np.where(rng.random(100) < 0.6, first, rng.integers(0, 3, 100))
        found = cohens_kappa(first.tolist(), second.tolist())
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.6 <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_full_agreement_has_no_interval() -> None:
    found = cohens_kappa(["yes", "no", "yes"], ["yes", "no", "yes"])
    assert (found.kappa, found.low, found.word) == (1.0, None, "almost perfect")
    assert found.refusal == message("no interval: the items do not vary in how the raters agree")


def test_one_category_has_no_kappa() -> None:
    found = cohens_kappa(["yes"] * 5, ["yes"] * 5)
    assert (found.kappa, found.word, found.observed) == (None, None, 1.0)
    assert found.refusal == message(
        "both raters use one category only: they would agree by chance alone"
    )


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ([[0, 5], [5, 0]], "poor"),
        ([[5, 5], [5, 5]], "slight"),
        ([[6, 4], [4, 6]], "slight"),
        ([[13, 7], [7, 13]], "fair"),
        ([[3, 1], [1, 3]], "moderate"),
        ([[9, 1], [1, 9]], "substantial"),
    ],
)
def test_grades(table: list[list[int]], word: str) -> None:
    assert cohens_kappa(*raters(table)).word == word


def test_refuses_different_items() -> None:
    with pytest.raises(InputError, match="3 and 2 items"):
        cohens_kappa([1, 2, 3], [1, 2])
    with pytest.raises(InputError, match="0 and 0 items"):
        cohens_kappa([], [])
