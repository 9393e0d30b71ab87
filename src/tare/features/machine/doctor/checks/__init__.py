"""What ``tare doctor`` checks beside settings: each check is one file with one ``UNIT``."""

from __future__ import annotations

from tare import registry
from tare.host.check import Check


def units() -> dict[str, Check]:
    """Return every check by name, those of settings included."""
    return registry.units_of("check")
