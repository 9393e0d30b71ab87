"""Copies of charts are those of altair, and share nothing that a later step changes."""

from __future__ import annotations

import altair as alt
import pytest
from altair.utils import schemapi

from tare.render import chart_copies
from tare.render.drawing import data


def layered() -> alt.LayerChart:
    base = alt.Chart(data([{"a": 1, "b": 2}])).encode(x=alt.X("a:Q", scale=alt.Scale(zero=False)))
    return alt.layer(base.mark_point(), base.mark_rule().encode(y=alt.Y("b:Q"))).properties(
        width=100
    )


CHARTS = {
    "layered": layered,
    "concatenated": lambda: alt.vconcat(layered(), alt.hconcat(layered(), layered())),
    "faceted": lambda: layered().facet(column=alt.Column("a:N")),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_copy_is_that_of_altair(name: str) -> None:
    chart = CHARTS[name]()
    spec = chart.to_dict()
    assert alt.SchemaBase.copy is chart_copies.copy
    for deep in (True, False, ["data"]):
        assert chart.copy(deep=deep).to_dict() == spec
    assert schemapi._deep_copy(chart, set()).to_dict() == spec


def test_a_deep_copy_shares_no_parts_and_a_shallow_copy_shares_them() -> None:
    chart = layered()
    deep, shallow = chart.copy(), chart.copy(deep=False)
    deep.layer[0].encoding["x"]["scale"]["zero"] = True
    assert chart.layer[0].encoding["x"]["scale"]["zero"] is False
    assert shallow.layer is chart.layer
    shallow.width = 7
    assert chart.width == 100


def test_attributes_are_copied_by_name_or_kept_by_reference() -> None:
    chart = layered()
    assert chart.copy(deep=["layer"]).layer is not chart.layer
    assert chart.copy(deep=["layer"]).layer[0] is chart.layer[0]
    assert chart.copy(ignore=["layer"]).layer is chart.layer
