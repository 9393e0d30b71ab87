"""Pinned vs. unpinned, counted over all groups: STABILITY's last figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.rows import tables_of
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.drawing import colour, data, panel_width, styled
from tare.results.finding import Finding
from tare.results.message import Message, message

_GUTTER = 130
#: From lower to higher: words, with a colour each; the number stands in every bar.
_WORDS = {"lesser": "s2", "same": "s7", "overlap": "quiet", "higher": "s1"}


def _counts(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    tables = [
        t for t in tables_of(findings, "pinning") if {c.key for c in t.columns} >= set(_WORDS)
    ]
    return [row for table in tables for row in table.rows]


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw a bar for mean and SD of each way of pinning, divided by STABILITY's words."""
    import altair as alt

    rows = _counts(findings)
    if not rows:
        return None
    records = [record for row in rows for record in _bars(row)]
    names = list(dict.fromkeys(str(r["bar"]) for r in records))
    base = alt.Chart(data(records)).encode(
        y=alt.Y("bar:N", sort=names, title=None, axis=alt.Axis(grid=False)),
        tooltip=[alt.Tooltip(f"{k}:N") for k in ("bar", "word", "n")],
    )
    colours = alt.Scale(domain=list(_WORDS), range=[colour(c) for c in _WORDS.values()])
    x = alt.X("from:Q", title="groups", scale=alt.Scale(nice=False), axis=alt.Axis(tickMinStep=1))
    bars = base.mark_bar(size=22, opacity=0.3, stroke=colour("page"), strokeWidth=1.5).encode(
        x=x, x2="to:Q", color=alt.Color("word:N", scale=colours, legend=alt.Legend(title=None))
    )
    numbers = base.mark_text().encode(x=alt.X("at:Q"), text="told:N")
    chart = alt.layer(bars, numbers).properties(
        width=panel_width(1, _GUTTER), height=len(names) * 32
    )
    return styled(chart, gutter=_GUTTER, most=620)


def _bars(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Divide one bar by STABILITY's words."""
    bars = []
    start = 0
    total = sum(int(row[word] or 0) for word in _WORDS)
    for word in _WORDS:
        n = int(row[word] or 0)
        if n:
            bars.append(
                {
                    "bar": f"{row['of']}, pinned {row['pinning']}",
                    "word": word,
                    "n": n,
                    "from": start,
                    "to": start + n,
                    "at": start + n / 2,
                    # A narrow part has room for its number only.
                    "told": f"{word} {n}" if n >= 0.2 * total else str(n),
                }
            )
        start += n
    return bars


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Give the counts."""
    return (*map(_groups, _counts(findings)), message("chart.pinning.words"))


def _groups(row: Mapping[str, Any]) -> Message:
    counts = {word: int(row[word] or 0) for word in _WORDS}
    return message(
        "chart.pinning.groups",
        of=row["of"],
        pinning=row["pinning"],
        groups=sum(counts.values()),
        counts=[message("chart.pinning.count", word=w, n=n) for w, n in counts.items() if n],
    )


UNIT = ChartUnit(
    description=Description(
        name="pinning",
        title="Pinned vs. unpinned, counted in STABILITY's words",
        question="Does pinning make times more stable?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
)
