"""Pictures of calibrations: one sweep, several, a mapping between two machines."""

from __future__ import annotations

from tare.report.calibration_charts.one import delivered_chart, sweep_chart

__all__ = ["delivered_chart", "sweep_chart"]
