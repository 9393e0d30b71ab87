"""Several series, a panel each: what all charts of series share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tare.render.drawing import Chart, by_itself, distinct, panel_width, styled
from tare.statistics.statistic import FloatArray

#: One series, or several by name.
Named = FloatArray | Mapping[str, FloatArray]

#: Pixels that a panel's axes take beside it, and those above and below.
GUTTER = 66
_ROWS = 68
HEIGHT = 120
_MOST_TITLE = 46


def by_name(series: Any) -> dict[str, Any]:
    """Give every series its name; one by itself has none."""
    if isinstance(series, Mapping):
        return dict(series)
    return {"": series}


def arrange(panels: Sequence[tuple[str, Chart]], height: int = HEIGHT, beside: int = 0) -> Chart:
    """Put panels into one chart: one by itself, two side by side where there are more.

    Parameters
    ----------
    panels : sequence of (str, Chart)
        Title and content of each.
    height : int
        Of each, in pixels.
    beside : int
        Pixels for what stands at the right of a panel.
    """
    columns = 1 if len(panels) == 1 else 2
    gutter = columns * (GUTTER + beside)
    width = panel_width(columns, gutter)
    titles = distinct((title for title, _ in panels), _MOST_TITLE)
    sized = [
        {**panel, "width": width, "height": height, "title": _cut(titles[title])}
        for title, panel in panels
    ]
    # Frames are aligned, whatever the labels beside them take.
    spacing = {"row": _ROWS, "column": GUTTER + beside}
    grid = {"concat": sized, "columns": columns, "bounds": "flush", "spacing": spacing}
    return styled(grid, columns=columns, gutter=gutter, stack=True)


def _cut(title: str) -> str:
    """Cut a long name at its end."""
    return title if len(title) <= _MOST_TITLE else f"{title[: _MOST_TITLE - 1].rstrip()}…"


def number(value: float | None) -> float | None:
    """Keep as many digits as a picture can show."""
    if value is None or not np.isfinite(value):
        return None
    return float(f"{value:.6g}")


class Shown(Chart):
    """A chart that a notebook displays."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        # Notebooks differ in the newest version that they know.
        types = (f"application/vnd.vegalite.v{version}+json" for version in (5, 6))
        return {**{name: {**self} for name in types}, "text/plain": "a Vega-Lite chart"}


def shown(chart: Chart) -> Shown:
    """Give a chart plain colours and a white ground, for a notebook or a paper.

    Parameters
    ----------
    chart : Chart
        As the functions of this package return it; on tare's pages its colours follow the page.

    Returns
    -------
    Shown
        A Vega-Lite document, to be displayed or saved as JSON.
    """
    plain = by_itself(chart)
    return Shown({**plain, "config": {**plain["config"], "background": "white"}})
