"""Pictures of characters: every mark stands where its value is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.render.text_plot import Axis, TextPlot, sparkline


@pytest.mark.parametrize("logarithmic", [False, True])
@given(place=st.integers(0, 59), low=st.floats(0.001, 10), span=st.floats(1.5, 1e6))
def test_a_value_stands_where_it_was_read(
    logarithmic: bool, place: int, low: float, span: float
) -> None:
    axis = Axis(low, low * span, logarithmic)
    assert axis.place(axis.value(place, 60), 60) == place


def test_what_is_beyond_the_ends_is_not_drawn() -> None:
    assert Axis(0, 10).place(11, 60) is None
    assert Axis(1, 10, logarithmic=True).place(0, 60) is None
    plot = TextPlot(Axis(0, 10), Axis(0, 1), width=11, height=3)
    plot.mark(20, 0.5, "x")
    plot.upright(-3, "|")
    assert "x" not in "".join(plot.lines(str, str))


def test_a_plot_has_its_marks_in_front_and_its_ends_below() -> None:
    plot = TextPlot(Axis(0, 10), Axis(0, 2), width=11, height=3)
    plot.upright(5, "|")
    plot.mark(5, 1, "o")
    plot.curve(lambda x: x / 5, ".")
    assert plot.lines(lambda x: f"{x:g}", lambda y: f"{y:g}", "t") == [
        " 2 │     |  ...",
        " 1 │   ..o..",
        " 0 │...  |",
        "   └───────────",
        "    0   t    10",
    ]


def test_a_series_in_one_line() -> None:
    assert sparkline([0, 1, 4, 8, None, 8.0]) == "·▂▅█ █"
    assert sparkline([1, 3, 2, 2], most=4, width=2) == "▅▅"
    assert sparkline([]) == ""
    assert sparkline([0, 0]) == "··"
    assert sparkline([0.001], most=1000) == "▁"
    assert len(sparkline(list(range(1000)), 1000, width=10)) == 10
