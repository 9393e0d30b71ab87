"""Charts of a machine, drawn of plain numbers: none needs a fingerprint or an experiment."""

from __future__ import annotations

from tare.report.machine_charts.beside import beside
from tare.report.machine_charts.heat_map import heat_map
from tare.report.machine_charts.lines import Axis, Line, Rule, lines, place

__all__ = ["Axis", "Line", "Rule", "beside", "heat_map", "lines", "place"]
