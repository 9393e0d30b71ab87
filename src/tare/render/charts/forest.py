"""Ratios with intervals beside a margin: the picture of comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tare.render.drawing import (
    Chart,
    category,
    colour,
    data,
    field,
    label_axis,
    label_width,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.vocabulary import VALUES
from tare.results.verdict import Verdict, judge

#: Comparisons that one chart holds; the table has all.
MOST_ROWS = 60
_ROW_HEIGHT = 20
#: Beyond this factor the axis is logarithmic and labelled with factors, not changes in per cent.
_WIDE = 1.6
#: Vega expression that writes a ratio as a change.
_AS_CHANGE = "datum.value == 1 ? '0%' : format(datum.value - 1, '+.2~%')"
#: Vega expression that writes a ratio as a factor.
_AS_FACTOR = "'× ' + format(datum.value, '.4~g')"
#: Marks by verdict; inconclusive ratios are rings.
_SHAPES = {"equivalent": "circle", "higher": "triangle-right", "lower": "triangle-left"}
#: Keeps labels inside narrow panels and apart from each other.
_APART: dict[str, Any] = {"labelFlush": 14, "labelOverlap": "greedy", "labelSeparation": 8}
#: Labels of a logarithmic axis, by the ratio of its ends.
_STEPS = (
    (4, (0.5, 0.7, 1, 1.5, 2, 3)),
    (40, (0.1, 0.25, 0.5, 1, 2, 4, 8, 16)),
    (float("inf"), tuple(10.0**i for i in range(-6, 9))),
)


@dataclass(frozen=True)
class Ratio:
    """One comparison: a cell beside the same cell at the reference level."""

    level: str
    where: str
    ratio: float
    low: float | None
    high: float | None
    verdict: Verdict
    n: int
    #: Ratio and interval, and the verdict, in words.
    told: str = ""
    word: str = ""

    @property
    def state(self) -> str:
        """Which mark it gets."""
        return "inconclusive" if self.low is None else self.verdict.direction


def forest(
    names: Sequence[str],
    ratios: Sequence[float],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    margin: float = 0.02,
    title: str = "ratio",
    verdicts: Sequence[Verdict] = (),
    n: Sequence[int] = (),
) -> Chart:
    """Draw ratios with their intervals, and a band for the margin.

    Parameters
    ----------
    names : sequence of str
        What is compared, a row each; at most 60 are drawn.
    ratios, lows, highs : sequence of float
        Positive; None where there is no interval.
    margin : float
        The band reaches from 1 / (1 + margin) to 1 + margin.
    title : str
        What the ratios are of.
    verdicts : sequence of Verdict, optional
        From each interval alone by default.
    n : sequence of int, optional
        Trials behind each.

    Returns
    -------
    Chart
        Rings are inconclusive, circles the same, triangles point to where it differs.
    """
    some = [
        Ratio(
            level="",
            where=name,
            ratio=ratios[i],
            low=lows[i],
            high=highs[i],
            verdict=verdicts[i] if verdicts else judge(lows[i], highs[i], margin, different=True),
            n=n[i] if n else 0,
            told=_told(ratios[i], lows[i], highs[i]),
        )
        for i, name in enumerate(names)
    ]
    return draw_ratios(some, margin, title)


def _told(ratio: float, low: float | None, high: float | None) -> str:
    ends = "no interval" if low is None or high is None else f"[{low:.4g}, {high:.4g}]"
    return f"{ratio:.4g} {ends}"


def draw_ratios(some: Sequence[Ratio], margin: float, title: str) -> Chart:
    """Draw a column of panels for each level, a row for each cell, a band for the margin.

    Parameters
    ----------
    some : sequence of Ratio
        At least one.
    margin : float
        The band reaches from 1 / (1 + margin) to 1 + margin.
    title : str
        What the ratio is of.
    """
    levels = list(dict.fromkeys(r.level for r in some))
    rows = list(dict.fromkeys(r.where for r in some))[:MOST_ROWS]
    shown = [r for r in some if r.where in set(rows)]
    label = label_width(rows)
    gutter = label + 20
    y = field("where:N", sort=rows, title=None, axis=label_axis(label, rows))
    ends = [v for r in shown for v in (r.ratio, r.low, r.high)]
    x = ratio_axis(ends, margin)
    panels = layer(
        _margin(x),
        _marks(x, y, title),
        width=panel_width(len(levels), gutter),
        height=len(rows) * _ROW_HEIGHT,
    )
    column = field("level:N", sort=levels, header={"title": None})
    chart = {"title": title, "data": data(_records(shown, margin)), "facet": {"column": column},
             "spec": panels}  # fmt: skip
    return styled(chart, columns=len(levels), gutter=gutter, label=label, most=460)


def _margin(x: dict[str, Any]) -> Chart:
    """Draw the band of the margin, and the line of no change."""
    band = {"x": field("inner:Q", **x), "x2": field("outer")}
    return layer(
        mark("rect", band, color=colour("band"), opacity=0.9),
        mark("rule", {"x": field("one:Q", **x)}, color=colour("soft")),
        where="datum.first",
    )


def _marks(x: dict[str, Any], y: dict[str, Any], title: str) -> Chart:
    """Draw intervals and estimates: rings, circles and triangles by verdict."""
    tip = [field("where:N", title="compared"), field("told:N", title=title), field("verdict:N"),
           field("n:Q", title="n")]  # fmt: skip
    at = field("ratio:Q", **x)
    shape = category("state", [*_SHAPES], [*_SHAPES.values()], legend=None)
    return layer(
        mark("rule", {"x": field("low:Q", **x), "x2": field("high")}, strokeWidth=1.6,
             color=colour("s0")),
        mark("point", {"x": at}, where="datum.state == 'inconclusive'", size=44,
             stroke=colour("s0"), fill=colour("page"), strokeWidth=1.4, opacity=1),
        mark("point", {"x": at, "shape": shape}, where="datum.state != 'inconclusive'", size=46,
             filled=True, opacity=1, color=colour("s0")),
        channels={"y": y, "tooltip": tip},
    )  # fmt: skip


def ratio_axis(
    ends: Iterable[float | None],
    margin: float,
    title: str | None = None,
    extent: int | None = None,
    *,
    factors: bool = False,
) -> dict[str, Any]:
    """Scale and axis of ratios: per cent, or factors on a logarithmic scale where they are wide.

    Parameters
    ----------
    ends : iterable of float or None
        Everything that is to be in the picture.
    margin : float
        The band is in the picture as well.
    title : str, optional
        Of the axis.
    extent : int, optional
        Pixels that its labels take, so that several panels stand in line.
    factors : bool
        Whether labels are factors in any case, as those of another panel are.
    """
    scale: dict[str, Any]
    axis: dict[str, Any]
    known = [*ends]
    low, high = _span(known, margin)
    size: dict[str, Any] = {} if extent is None else {"minExtent": extent, "maxExtent": extent}
    if not has_factors(known, margin):
        room = 0.05 * (high - low)
        scale = {"domain": [low - room, high + room], "nice": False}
        axis = {"labelExpr": _AS_FACTOR if factors else _AS_CHANGE, "tickCount": 4}
    else:
        scale = {"type": "log", "domain": [low / 1.05, high * 1.05], "nice": False}
        steps = next((s for most, s in _STEPS if high / low < most), _STEPS[-1][1])
        inside = [s for s in steps if low <= s <= high]
        axis = {"labelExpr": "'× ' + datum.label", "values": inside, "format": "~g"}
    return {"scale": scale, "axis": {**axis, **_APART, **size}, "title": title}


def has_factors(ends: Iterable[float | None], margin: float) -> bool:
    """Whether :func:`ratio_axis` labels such values with factors by itself."""
    low, high = _span(ends, margin)
    return high > _WIDE or low < 1 / _WIDE


def _span(ends: Iterable[float | None], margin: float) -> tuple[float, float]:
    known = [v for v in ends if v is not None and v > 0]
    return min([*known, 1 / (1 + margin)]), max([*known, 1 + margin])


def _records(shown: Sequence[Ratio], margin: float) -> list[dict[str, Any]]:
    seen: set[str] = set()
    records = []
    for r in shown:
        records.append(
            {
                "level": r.level,
                "where": r.where,
                "ratio": round(r.ratio, 5),
                "low": None if r.low is None else round(r.low, 5),
                "high": None if r.high is None else round(r.high, 5),
                "state": r.state,
                "verdict": r.word or VALUES.of(r.verdict),
                "n": r.n,
                "told": r.told,
                "inner": 1 / (1 + margin),
                "outer": 1 + margin,
                "one": 1,
                "first": r.level not in seen,
            }
        )
        seen.add(r.level)
    return records
