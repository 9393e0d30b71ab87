"""Charts of plain arrays, for notebooks and pages alike; none needs an experiment.

Each takes arrays (or several by name) to an Altair chart in the look of tare's pages. For a
notebook or a paper, :func:`shown` puts plain colours in place of the page's names.
"""

from __future__ import annotations

from tare.render.charts.by_size import by_size
from tare.render.charts.convergence import convergence
from tare.render.charts.course import course
from tare.render.charts.distribution import distribution
from tare.render.charts.forest import forest
from tare.render.charts.intervals import interval_rows
from tare.render.charts.normal import normal_plot
from tare.render.charts.panels import shown
from tare.render.charts.shares import share_bars

__all__ = [
    "by_size",
    "convergence",
    "course",
    "distribution",
    "forest",
    "interval_rows",
    "normal_plot",
    "share_bars",
    "shown",
]
