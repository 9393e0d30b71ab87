"""Pictures of calibrations: one sweep, several, a mapping between two machines."""

from __future__ import annotations

from tare.report.calibration_charts.across_machines import mapping_chart, tell_mapping
from tare.report.calibration_charts.one import delivered_chart, sweep_chart
from tare.report.calibration_charts.several import (
    multiples,
    names_of,
    overlay,
    sweeps_of,
    tell_multiples,
    tell_overlay,
)
from tare.report.calibration_charts.sweep import Sweep, asked, delivered, fitted
from tare.report.calibration_charts.telling import tell_delivered, tell_sweep

__all__ = [
    "Sweep", "asked", "delivered", "delivered_chart", "fitted", "mapping_chart", "multiples",
    "names_of", "overlay", "sweep_chart", "sweeps_of", "tell_delivered", "tell_mapping",
    "tell_multiples", "tell_overlay", "tell_sweep",
]  # fmt: skip
