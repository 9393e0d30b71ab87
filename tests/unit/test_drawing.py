"""Labels of rows: what is too long is shown by what differs."""

from __future__ import annotations

import json

import networked
import pytest

from tare.render.drawing import distinct, label_axis, label_width
from tare.wiring import SUPPLIES

BUCKET = "at network bucket high=1Gbit low=200Mbit budget=2Gbit"


def test_long_names_are_told_by_what_differs() -> None:
    names = ["at network none", BUCKET, *(f"{BUCKET} initial={n}Mbit" for n in (600, 300))]
    assert [*distinct(names).values()] == [
        "at network none", "… budget=2Gbit", "… initial=600Mbit", "… initial=300Mbit",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "names",
    [
        ["short", "names"],
        [BUCKET],
        [BUCKET, "at network none"],
        ["x" * 60, "y" * 60],
        # What would be the same afterwards stays as it was.
        [f"{BUCKET} a", f"{BUCKET} a a"],
    ],
)
def test_others_stay_as_they_are(names: list[str]) -> None:
    assert [*distinct(names).values()][-1] == names[-1]
    assert len(set(distinct(names).values())) == len(names)


def test_words_that_tell_long_names_from_short_ones_stay() -> None:
    pinned = [f"{kernel} on unshare with 2 workers pinned spread" for kernel in ("sort", "exp")]
    names = ["sort on unshare with 2 workers", *pinned]
    assert [*distinct(names).values()] == [names[0], "sort … pinned spread", "exp … pinned spread"]


def test_runs_of_common_words_become_one_sign() -> None:
    names = [f"{w} on docker at network bucket high=1Gbit low=200Mbit {w}" for w in ("sort", "wc")]
    assert [*distinct(names).values()] == ["sort … sort", "wc … wc"]


def test_an_axis_takes_the_room_of_what_is_shown() -> None:
    names = [f"{BUCKET} initial={n}Mbit" for n in (600, 300)]
    assert label_width(names) < label_width(names[:1])
    expression = label_axis(100, names)["labelExpr"]
    assert f"'{names[0]}': '… initial=600Mbit'" in expression
    assert "labelExpr" not in label_axis(100, ["a", "b"])


def test_the_budgets_of_a_chart_are_told_apart() -> None:
    levels = [f"{networked.RATES} budget=8Gbit initial={n}Gbit" for n in (8, 4, 2)]
    results = networked.make(("none", *levels), trials=8)
    chart = SUPPLIES.charts()["medians"].draw(results, [])
    drawn = json.dumps(chart, ensure_ascii=False)
    for n in (8, 4, 2):
        assert f"'… initial={n}Gbit'" in drawn
