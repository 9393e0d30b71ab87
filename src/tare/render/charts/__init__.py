"""Charts of plain arrays, for notebooks and pages alike; none needs an experiment.

Each turns arrays (or several by name) into a Vega-Lite document in the look of tare's pages. For a
notebook or a paper, :func:`shown` puts plain colours in place of the page's names.
"""

from __future__ import annotations

from tare.render.charts.by_size import by_size as by_size
from tare.render.charts.convergence import convergence as convergence
from tare.render.charts.course import course as course
from tare.render.charts.distribution import distribution as distribution
from tare.render.charts.forest import forest as forest
from tare.render.charts.intervals import interval_rows as interval_rows
from tare.render.charts.normal import normal_plot as normal_plot
from tare.render.charts.panels import shown as shown
from tare.render.charts.shares import share_bars as share_bars
