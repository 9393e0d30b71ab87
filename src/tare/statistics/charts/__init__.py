"""Charts of plain arrays, for notebooks and pages alike; none needs an experiment.

Each takes arrays (or several by name) to an Altair chart in the look of tare's pages. For a
notebook or a paper, :func:`shown` puts plain colours in place of the page's names.
"""

from __future__ import annotations

from tare.statistics.charts.by_size import by_size
from tare.statistics.charts.convergence import convergence
from tare.statistics.charts.course import course
from tare.statistics.charts.distribution import distribution
from tare.statistics.charts.forest import forest
from tare.statistics.charts.intervals import interval_rows
from tare.statistics.charts.normal import normal_plot
from tare.statistics.charts.panels import shown
from tare.statistics.charts.shares import share_bars

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
