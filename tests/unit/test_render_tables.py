from __future__ import annotations

import pytest

from tare.render.tables import ABSENT, MOST_ROWS, fixed, lay
from tare.results.finding import Column, Table


def column(values, unit="ns", key="x", title="x"):
    table = Table(
        title="t",
        columns=(Column(key=key, title=title, unit=unit),),
        rows=tuple({key: v} for v in values),
    )
    laid = lay(table)
    return laid.heads[0], [row[0] for row in laid.rows]


def test_one_unit_for_a_column():
    head, texts = column([2.03e8, 1.5e6, 9.99e8])
    assert head.unit == "ms"
    assert texts == ["203", "2", "999"] or texts == ["203", "1.5", "999"]


def test_what_is_small_is_not_told_to_be_zero():
    _, texts = column([2.03e8, 1.5e3])
    assert texts[1] == "0.0015"


def test_absent_is_never_zero():
    _, texts = column([1e6, None, float("nan")])
    assert texts[1:] == [ABSENT, ABSENT]


def test_estimate_and_bounds_are_one_column():
    keys = ("ratio", "low", "high")
    table = Table(
        title="t",
        columns=tuple(Column(key=k, title=k, unit="1") for k in keys),
        rows=(
            {"ratio": 1.03211, "low": 1.0212, "high": 1.0433},
            {"ratio": 0.5, "low": None, "high": None},
        ),
    )
    laid = lay(table)
    assert [h.title for h in laid.heads] == ["ratio [95 %]"]
    assert [row[0] for row in laid.rows] == ["1.032 [1.021, 1.043]", f"0.500 [{ABSENT}]"]


def test_a_wide_interval_gets_no_idle_digits():
    keys = ("m", "m_low", "m_high")
    table = Table(
        title="t",
        columns=tuple(Column(key=k, title=k, unit="ns") for k in keys),
        rows=({"m": 2.0345678e8, "m_low": 1.95e8, "m_high": 2.11e8},),
    )
    assert lay(table).rows[0][0] == "203 [195, 211]"


def test_a_small_estimate_among_large_ones_is_not_zero():
    keys = ("m", "m_low", "m_high")
    rows = [(1.62e9, 1.2e9, 1.9e9), (1.84e9, 1.5e9, 2.1e9), (1.8e5, 0.7e5, 50e6)]
    table = Table(
        title="t",
        columns=tuple(Column(key=k, title=k, unit="ns") for k in keys),
        rows=tuple(dict(zip(keys, row, strict=True)) for row in rows),
    )
    texts = [row[0] for row in lay(table).rows]
    assert texts[0] == "1.620 [1.200, 1.900]"
    assert texts[2] == "0.00018 [0.00007, 0.05000]"


@pytest.mark.parametrize(
    ("values", "texts"),
    [([1200, 3], ["1,200", "3"]), (["slower", None], ["slower", ABSENT]), ([True], ["yes"])],
)
def test_counts_and_words(values, texts):
    assert column(values, unit=None)[1] == texts


def test_probabilities():
    assert column([0.5, 0.0004], unit="1", key="p")[1] == ["0.500", "< 0.001"]


def test_shares_below_what_is_shown():
    assert column([0.41, 0.3, 0.0000082], unit="1")[1][2].startswith("<")


def test_bytes_and_no_rows():
    head, texts = column([3 * 2**20, 2**30], unit="bytes")
    assert (head.unit, texts) == ("MiB", ["3", "1,024"]) or head.unit == "MiB"
    assert lay(Table(title="t", columns=(Column(key="x", title="x"),), rows=())).rows == ()


def test_long_tables_end_and_say_so():
    table = Table(
        title="t",
        columns=(Column(key="x", title="x"),),
        rows=tuple({"x": i} for i in range(MOST_ROWS + 7)),
    )
    laid = lay(table)
    assert len(laid.rows) == MOST_ROWS
    assert laid.left_out == 7


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(-0.0004, 2, "0.00"), (-1.25, 1, "−1.2"), (12345.6, 0, "12,346"), (0.0, 1, "0.0")],
)
def test_fixed(value, places, text):
    assert fixed(value, places) == text
