"""Pictures of calibrations: one sweep, several, a mapping between two machines."""

from __future__ import annotations

from tare.report.calibration_charts.one import delivered_chart, sweep_chart
from tare.report.calibration_charts.sweep import Sweep, asked, delivered, fitted
from tare.report.calibration_charts.telling import tell_delivered, tell_sweep

__all__ = [
    "Sweep", "asked", "delivered", "delivered_chart", "fitted", "sweep_chart", "tell_delivered",
    "tell_sweep",
]  # fmt: skip
