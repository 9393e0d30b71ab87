"""Small multiples: a panel per quantity, a line per host, and a mark per session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tare.render import drawing
from tare.render.drawing import (
    Chart,
    category,
    colour,
    field,
    label_axis,
    label_width,
    layer,
    mark,
    panel_width,
    styled,
)

#: Hosts whose names fit beside their lines.
MOST_NAMED = 60
_ROW_HEIGHT, _LEAST_HEIGHT, _MOST_HEIGHT = 16, 60, 960
_MOST_COLUMNS = 2
_UNNAMED = "\u200b"
#: What the gap between panels takes, and labels at the ends of their axes.
_AROUND = 32


class Strip(NamedTuple):
    """One host in one panel."""

    host: str
    level: float
    sessions: Sequence[float]
    odd: bool = False


def strips(panels: Sequence[tuple[str, Sequence[Strip]]], unit: str) -> Chart:
    """Draw what each host's sessions measured, and the mean of each host.

    Parameters
    ----------
    panels : sequence of (str, strips)
        Title of each, with its hosts; all in one order.
    unit : str
        Of all values.

    Returns
    -------
    Chart
        Bars are hosts' means, circles their sessions; odd hosts have another colour and diamonds.
    """
    hosts = list(dict.fromkeys(one.host for _, some in panels for one in some))
    named = len(hosts) <= MOST_NAMED
    odd = {one.host for _, some in panels for one in some if one.odd}
    # Of many hosts only the odd ones are labelled; labels of the others begin with an invisible
    # character.
    short = {
        host: host if named or host in odd else f"{_UNNAMED}{place}"
        for place, host in enumerate(hosts)
    }
    shown = [name for name in short.values() if not name.startswith(_UNNAMED)]
    label = label_width(shown) if shown else 12
    columns = min(len(panels), _MOST_COLUMNS)
    gutter = label + 20
    axis = label_axis(label, shown)
    if not named:
        unnamed = f"datum.value[0] == '{_UNNAMED}' ? '' : datum.value"
        axis = label_axis(label, labelExpr=unnamed, ticks=False)
    y = field("host:N", sort=list(short.values()), title=None, axis=axis)
    height = min(max(len(hosts) * _ROW_HEIGHT, _LEAST_HEIGHT), _MOST_HEIGHT)
    drawn = [
        {
            **_panel(title, some, short, unit, y),
            "width": panel_width(columns, gutter + _AROUND), "height": height, "title": title,
        }
        for title, some in panels
    ]  # fmt: skip
    chart = {"concat": drawn, "columns": columns}
    return styled(chart, columns=columns, gutter=gutter, label=label)


def _panel(
    title: str, some: Sequence[Strip], short: dict[str, str], unit: str, y: dict[str, Any]
) -> Chart:
    records = [
        {
            "host": short[one.host],
            "name": one.host,
            "value": value,
            "level": one.level,
            "odd": "odd" if one.odd else "like the others",
            "session": number,
        }
        for one in some
        for number, value in enumerate(one.sessions, 1)
    ]
    values = {"zero": False, "nice": True}
    x = drawing.axis(unit or None, values, tickCount=4, labelFlush=True, labelOverlap="greedy")
    kinds = ["like the others", "odd"]
    shape = category("odd", kinds, ["circle", "diamond"], legend=None)
    tip = [
        field("name:N", title="host"),
        field("session:O"),
        field("value:Q", title=title, format=".5g"),
        field("level:Q", title="mean of the host", format=".5g"),
    ]
    tint = category("odd", kinds, [colour("s0"), colour("s1")], legend=None)
    return layer(
        mark("point", {"x": field("value:Q", **x), "shape": shape}, size=26, opacity=0.75),
        mark("tick", {"x": field("level:Q", **x)}, where="datum.session == 1", thickness=2,
             size=10),
        rows=records,
        channels={"y": y, "color": tint, "tooltip": tip},
    )  # fmt: skip
