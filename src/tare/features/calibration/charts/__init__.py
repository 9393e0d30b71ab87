"""Pictures of calibrations: one sweep, several, a mapping between two machines."""

from __future__ import annotations

from tare.features.calibration.charts.across_machines import mapping_chart, tell_mapping
from tare.features.calibration.charts.messages import tell_delivered, tell_sweep
from tare.features.calibration.charts.one import delivered_chart, sweep_chart
from tare.features.calibration.charts.several import (
    multiples,
    names_of,
    overlay,
    sweeps_of,
    tell_multiples,
    tell_overlay,
)
from tare.features.calibration.charts.sweep import Sweep, asked, delivered, fitted

__all__ = [
    "Sweep", "asked", "delivered", "delivered_chart", "fitted", "mapping_chart", "multiples",
    "names_of", "overlay", "sweep_chart", "sweeps_of", "tell_delivered", "tell_mapping",
    "tell_multiples", "tell_overlay", "tell_sweep",
]  # fmt: skip
