"""Tokens left in each host's bucket over time, and how fast it sent."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tare.features.network.emulate.emulation import Emulation
from tare.features.network.emulate.tokens import Moment
from tare.render.drawing import SERIES, SHAPES, by_itself, colour, data, panel_width, styled

_GUTTER, _HEIGHT = 70, 170
#: Moments that are drawn of each host.
_MOST = 400
#: Hosts that are drawn: as many as there are colours.
_HOSTS = len(SERIES)


def draw(emulation: Emulation, moments: Sequence[Moment]) -> Any | None:
    """Draw an emulation.

    Parameters
    ----------
    emulation : Emulation
        What became of it.
    moments : sequence of Moment
        In order of time.

    Returns
    -------
    altair chart or None
        None: fewer than two moments are nothing to be seen.
    """
    import altair as alt

    thinned = moments[:: -(-len(moments) // _MOST) or 1]
    if len(thinned) < 2:
        return None
    hosts = [f"host {host.host}" for host in emulation.hosts[:_HOSTS]]
    panels = []
    if rows := list(_tokens(hosts, thinned)):
        panels.append(_panel(rows, hosts, "Tokens left [Gbit]"))
    panels.append(_panel(list(_rates(hosts, thinned)), hosts, "Sent [Gbit/s]"))
    width = panel_width(1, _GUTTER)
    chart = alt.vconcat(
        *(panel.properties(width=width, height=_HEIGHT) for panel in panels), spacing=12
    )
    return styled(chart, gutter=_GUTTER)


def as_svg(chart: Any) -> str:
    """Return a chart as SVG, on white."""
    import vl_convert

    plain = by_itself(chart.to_dict())
    config = {**plain["config"], "background": "white", "padding": 8}
    return str(vl_convert.vegalite_to_svg({**plain, "config": config}, allowed_base_urls=[]))


def _tokens(hosts: Sequence[str], moments: Sequence[Moment]) -> Iterator[dict[str, Any]]:
    for moment in moments:
        for name, tokens in zip(hosts, moment.tokens_bits, strict=False):
            if tokens is not None:
                yield {"x": moment.at_ns / 1e9, "y": tokens / 1e9, "host": name}


def _rates(hosts: Sequence[str], moments: Sequence[Moment]) -> Iterator[dict[str, Any]]:
    for before, after in itertools.pairwise(moments):
        seconds = (after.at_ns - before.at_ns) / 1e9
        sent = zip(hosts, before.sent_bytes, after.sent_bytes, strict=False)
        for name, first, last in sent if seconds > 0 else ():
            yield {"x": before.at_ns / 1e9, "y": 8e-9 * (last - first) / seconds, "host": name}


def _panel(rows: Sequence[dict[str, Any]], hosts: Sequence[str], title: str) -> Any:
    import altair as alt

    names = list(hosts)
    host = alt.Color("host:N", title=None, sort=names).scale(
        domain=names, range=list(SERIES[: len(names)])
    )
    base = alt.Chart(data(rows)).encode(
        x=alt.X("x:Q", title="seconds since the start"), y=alt.Y("y:Q", title=title), color=host
    )
    # Every host has its shape as well: some of them, so that lines stay lines.
    marked = data(rows[:: max(1, len(rows) // 60)])
    shape = alt.Shape("host:N", title=None, sort=names).scale(
        domain=names, range=list(SHAPES[: len(names)])
    )
    points = alt.Chart(marked).mark_point(size=28, filled=True, opacity=0.9)
    marks = points.encode(x="x:Q", y="y:Q", color=host, shape=shape)
    zero = alt.Chart(data([{"y": 0}])).mark_rule(color=colour("line")).encode(y="y:Q")
    return zero + base.mark_line(interpolate="step-after", strokeWidth=1.5) + marks
