"""What all charts have in common: colours by name, sizes, thinning."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tare.render.escaping import harmless

#: A Vega-Lite document, or a view in one.
Chart = dict[str, Any]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_TYPES = {"N": "nominal", "O": "ordinal", "Q": "quantitative"}
#: Most marks of one chart; more are thinned, which the text below the chart says.
MOST_MARKS = 5000
#: Most panels of one chart.
MOST_PANELS = 48
#: Width of a chart by itself, in pixels; the page fits it to the screen.
WIDTH = 760
#: Pixels of a character in a row's label, and the most that labels take.
_CHARACTER, _MOST_LABEL = 6.1, 250
#: Longest label that is shown in full, in characters.
_FITTING = int((_MOST_LABEL - 10) / _CHARACTER)
#: Pixels that a legend may take in a row, so that a narrow screen holds it, and what an entry takes
#: beside its characters.
_LEGEND, _ENTRY = 330, 34
#: Space between panels.
GAP = 14

#: Colours by the name under which the page's style sheet has them, so that a chart follows the
#: page from light to dark and onto paper. A chart by itself is drawn in these.
COLOURS = {
    "page": "#ffffff",
    "ink": "#22252a",
    "soft": "#5c636d",
    "line": "#d9d6cd",
    "band": "#e9e5d9",
    "mark": "#c2410c",
    "quiet": "#7c8794",
    "s0": "#2b5c8a",
    "s1": "#b4540a",
    "s2": "#2f7d4f",
    "s3": "#8a3f7d",
    "s4": "#8a6d00",
    "s5": "#00808a",
    "s6": "#a3312f",
    "s7": "#565f6b",
}
#: Look of axes to the left of panels that stand in line, whatever their labels take.
IN_LINE = {"minExtent": 38, "maxExtent": 38}
SERIES = tuple(f"var(--s{i})" for i in range(8))
#: Shapes of series, for readers who see no colours.
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
    "triangle-left",
)  # fmt: skip


def data(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put rows into the chart itself: no file, no network."""
    return {"values": [*rows]}


def field(name: str, **options: Any) -> dict[str, Any]:
    """Encode a channel by a column of the rows, such as ``x:Q``: its name and type.

    Types are N(ominal), O(rdinal) and Q(uantitative); second ends such as ``x2`` have none.
    """
    column, _, kind = name.partition(":")
    return {"field": column, **({"type": _TYPES[kind]} if kind else {}), **options}


def axis(title: str | None, scale: Mapping[str, Any], **look: Any) -> dict[str, Any]:
    """Describe an axis: its title, its scale, and how its labels look."""
    return {"title": title, "scale": {**scale}, "axis": look}


def category(
    column: str, names: Sequence[str], values: Sequence[Any], **options: Any
) -> dict[str, Any]:
    """Encode names by colours, shapes or dashes, in turn where there are more names than those."""
    given = [values[i % len(values)] for i in range(len(names))]
    return field(f"{column}:N", scale={"domain": [*names], "range": given}, **options)


def mark(
    kind: str,
    channels: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]] | None = None,
    *,
    where: str = "",
    **look: Any,
) -> Chart:
    """Draw rows as marks of one kind.

    Parameters
    ----------
    kind : str
        Such as "line".
    channels : mapping
        Fields, values and constants by channel.
    rows : sequence of mapping, optional
        Those of the surrounding layers by default.
    where : str, optional
        Condition of the rows that are drawn, in Vega's language.
    **look
        Properties of the mark.
    """
    return {**_of(rows, where), "mark": {"type": kind, **look}, "encoding": {**channels}}


def layer(
    *parts: Chart,
    rows: Sequence[Mapping[str, Any]] | None = None,
    where: str = "",
    channels: Mapping[str, Any] | None = None,
    **properties: Any,
) -> Chart:
    """Draw parts over each other; they inherit rows, condition and channels."""
    shared = {} if channels is None else {"encoding": {**channels}}
    return {**_of(rows, where), **shared, "layer": [*parts], **properties}


def _of(rows: Sequence[Mapping[str, Any]] | None, where: str) -> Chart:
    chart: Chart = {} if rows is None else {"data": data(rows)}
    return {**chart, "transform": [{"filter": where}]} if where else chart


def panel_width(columns: int, gutter: int) -> int:
    """Give each of some panels side by side its width; ``gutter`` is what axes and labels take."""
    return max(40, (WIDTH - gutter) // columns - GAP)


def label_width(labels: Iterable[str]) -> int:
    """Give the labels of rows the pixels that the longest takes, up to a limit."""
    longest = max(len(label) for label in distinct(labels).values())
    return min(_MOST_LABEL, int(longest * _CHARACTER) + 10)


def label_axis(label: int, names: Iterable[str] = (), **more: Any) -> dict[str, Any]:
    """Describe an axis of row labels of a fixed width in pixels.

    Of ``names`` that are too long, the words in which they differ are shown.
    """
    short = {name: told for name, told in distinct(names).items() if told != name}
    if short:
        table = ", ".join(f"{quoted(name)}: {quoted(told)}" for name, told in short.items())
        more["labelExpr"] = f"{{{table}}}[datum.value] || datum.value"
    return {
        "labelLimit": label, "minExtent": label, "maxExtent": label, "grid": False, **more
    }  # fmt: skip


def distinct(names: Iterable[str], most: int = _FITTING) -> dict[str, str]:
    """Shorten names that are too long for a label to the words in which they differ.

    Cut at their ends, as a chart would, they may all look the same. Words that all names share are
    left out; where names then still look the same, words that all long names share. Of a name that
    has no word of its own the last stays.
    """
    found = {name: name for name in names}
    words = {name: name.split() for name in found if len(name) > most}
    if len(words) < 2:
        return found
    for some, shown in ((found, most - 1), (words, None)):
        common = set.intersection(*(set(name.split()) for name in some))
        short = found | {name: _without(its, common) for name, its in words.items()}
        if len({one[:shown] for one in short.values()}) == len(found):
            return short
    return found


def _without(words: Sequence[str], common: Collection[str]) -> str:
    """Write the words that are not common, and one sign for each run of the others."""
    own = [word not in common for word in words]
    own[-1] |= not any(own)
    return " ".join(
        word if mine else "…"
        for word, mine, before in zip(words, own, [True, *own], strict=False)
        if mine or before
    )


def by_series(
    names: Sequence[str], column: str, given: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give each series its colour and its shape, and a legend where there are several.

    Parameters
    ----------
    names : sequence of str
        The series that are drawn.
    column : str
        The column of the rows that has their names.
    given : sequence of str, optional
        All series in the order in which colours and shapes are given out.
    """
    places = [(given or names).index(name) % len(SHAPES) for name in names]
    entry = max(len(name) for name in names) * _CHARACTER + _ENTRY
    columns = max(1, min(len(names), int(_LEGEND // entry)))
    key = {"title": None, "columns": columns, "labelLimit": _LEGEND, "symbolOpacity": 1}
    legend = key if len(names) > 1 else None
    colours, shapes = (
        category(column, names, [values[i] for i in places], sort=[*names], legend=legend)
        for values in (SERIES, SHAPES)
    )
    return colours, shapes


def quoted(name: str) -> str:
    """Write a name as a text of Vega's expressions."""
    plain = name.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(c if c.isprintable() else " " for c in plain) + "'"


def styled(
    chart: Chart,
    *,
    columns: int = 1,
    gutter: int = 60,
    label: int = 0,
    least: int = 64,
    most: int | None = None,
    stack: bool = False,
) -> Chart:
    """Give a chart the page's look, and tell the page how to fit it to its width.

    Parameters
    ----------
    chart : Chart
        Its panels are ``panel_width(columns, gutter)`` wide.
    columns : int
        Panels side by side.
    gutter : int
        Pixels that axes and labels take, beside the panels.
    label : int
        Those of them that are row labels, which a narrow screen shortens.
    least, most : int, optional
        Narrowest and widest that a panel may become.
    stack : bool
        Whether the panels are a list that a narrow screen puts below each other.
    """
    fit = {
        "columns": columns, "gutter": gutter, "label": label, "gap": GAP, "least": least,
        "most": most, "stack": stack,
        "panel": panel_width(columns, gutter),
    }  # fmt: skip
    return {"$schema": _SCHEMA, **chart, "usermeta": {"fit": fit}, "config": _CONFIG}


_CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif",
    "padding": 2,
    "facet": {"spacing": GAP},
    "view": {"stroke": "var(--line)", "strokeWidth": 1},
    "axis": {
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "titleFontWeight": "normal",
        "titleFontSize": 11,
        "labelFontSize": 11,
        "gridColor": "var(--line)",
        "gridOpacity": 0.6,
        "domain": False,
        "ticks": False,
        "labelPadding": 5,
        "titlePadding": 8,
        "labelLimit": 200,
    },
    "header": {
        "labelColor": "var(--ink)",
        "labelFontSize": 11,
        "labelFontWeight": 600,
        "labelPadding": 4,
        "labelLimit": 200,
        "titleColor": "var(--soft)",
    },
    "title": {
        "color": "var(--ink)",
        "fontSize": 12,
        "fontWeight": 600,
        "anchor": "start",
        "frame": "group",
        "offset": 6,
        "limit": 700,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--soft)",
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "orient": "top",
        "offset": 4,
        "symbolSize": 60,
        "labelLimit": 180,
    },
    "text": {"color": "var(--ink)", "fontSize": 11},
}


def colour(name: str) -> str:
    """Return a colour as the page's style sheet names it."""
    return f"var(--{name})"


def by_itself(spec: Any) -> Any:
    """Put the colours' values in place of their names, for a chart outside the page.

    Names of what was measured change no direction in it.
    """
    if isinstance(spec, dict):
        return {key: by_itself(value) for key, value in spec.items() if key != "usermeta"}
    if isinstance(spec, list):
        return [by_itself(value) for value in spec]
    if isinstance(spec, str):
        return harmless(re.sub(r"^var\(--(\w+)\)$", lambda found: COLOURS[found[1]], spec))
    return spec
