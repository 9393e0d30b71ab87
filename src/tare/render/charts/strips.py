"""Small multiples: a panel per quantity, a row per host, and a mark per session."""

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
    """One host in one panel: its mean, and the values of its sessions.

    Attributes
    ----------
    odd : bool or sequence of bool
        Whether all of its values, or each, stand out.
    band : (float, float) or None
        An interval that is shaded behind them.
    """

    host: str
    level: float
    sessions: Sequence[float]
    odd: bool | Sequence[bool] = False
    band: tuple[float, float] | None = None


class Names(NamedTuple):
    """What the parts of a row are called, and values that stand out and do not."""

    row: str = "host"
    value: str = "session"
    level: str = "mean of the host"
    odd: str = "odd"
    others: str = "like the others"


HOSTS = Names()


def strips(panels: Sequence[tuple[str, Sequence[Strip]]], unit: str, names: Names = HOSTS) -> Chart:
    """Draw what each host's sessions measured, and the mean of each host.

    Parameters
    ----------
    panels : sequence of (str, strips)
        Title of each, with its hosts; all in one order.
    unit : str
        Of all values.
    names : Names, optional
        Where they are no hosts and sessions.

    Returns
    -------
    Chart
        Bars are hosts' means, circles their sessions; odd hosts have another colour and diamonds.
    """
    hosts = list(dict.fromkeys(one.host for _, some in panels for one in some))
    named = len(hosts) <= MOST_NAMED
    odd = {one.host for _, some in panels for one in some if one.odd is True}
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
            **_panel(title, some, short, unit, y, names),
            "width": panel_width(columns, gutter + _AROUND), "height": height, "title": title,
        }
        for title, some in panels
    ]  # fmt: skip
    chart = {"concat": drawn, "columns": columns}
    return styled(chart, columns=columns, gutter=gutter, label=label)


def _panel(
    title: str,
    some: Sequence[Strip],
    short: dict[str, str],
    unit: str,
    y: dict[str, Any],
    names: Names,
) -> Chart:
    records = [
        {
            "host": short[one.host],
            "name": one.host,
            "value": value,
            "level": one.level,
            "odd": names.odd if is_odd else names.others,
            "session": number,
        }
        for one in some
        for number, value in enumerate(one.sessions, 1)
        for is_odd in [one.odd if isinstance(one.odd, bool) else one.odd[number - 1]]
    ]
    bands = [
        {"host": short[one.host], "low": one.band[0], "high": one.band[1]}
        for one in some
        if one.band is not None
    ]
    values = {"zero": False, "nice": True}
    x = drawing.axis(unit or None, values, tickCount=4, labelFlush=True, labelOverlap="greedy")
    kinds = [names.others, names.odd]
    shape = category("odd", kinds, ["circle", "diamond"], legend=None)
    tip = [
        field("name:N", title=names.row),
        field("session:O", title=names.value),
        field("value:Q", title=title, format=".5g"),
        field("level:Q", title=names.level, format=".5g"),
    ]
    tint = category("odd", kinds, [colour("s0"), colour("s1")], legend=None)
    area = {"y": y, "x": field("low:Q", **x), "x2": field("high")}
    marks = layer(
        mark("point", {"x": field("value:Q", **x), "shape": shape}, size=26, opacity=0.75),
        mark("tick", {"x": field("level:Q", **x)}, where="datum.session == 1", thickness=2,
             size=10),
        rows=records,
        channels={"y": y, "color": tint, "tooltip": tip},
    )  # fmt: skip
    if not bands:
        return marks
    return layer(mark("bar", area, bands, height=_ROW_HEIGHT - 3, color=colour("band")), marks)
