"""What ``tare doctor`` checks: each check is one file with one ``UNIT``."""

from __future__ import annotations

from tare import registry
from tare.features.machine.doctor.check import Check


def units() -> dict[str, Check]:
    """Return every check by name."""
    return registry.units_of("check")
