"""What keeps the machine busy beside the trials: each load is one file with one ``UNIT``."""

from __future__ import annotations

from typing import Any

from tare import registry
from tare.agent import record
from tare.errors import ExperimentError, PlatformError
from tare.loads.load import Load, Parameters, Running
from tare.registry import Availability, checked

__all__ = ["Parameters", "Running", "availability", "start"]


def availability(kind: str, parameters: Parameters | None = None) -> Availability:
    """Tell whether a load can run here with these parameters.

    Raises
    ------
    ExperimentError
        If there is no such load, or a parameter is wrong.
    """
    unit = _unit(kind)
    settings = _checked(unit, parameters or {})
    try:
        unit.check(settings)
    except PlatformError as error:
        return Availability(name=kind, works=False, why=error.message, fix=error.hint)
    return Availability(name=kind, works=True)


def start(kind: str, parameters: Parameters, name: str, user: record.User | None = None) -> Running:
    """Start a load and return when it is at work.

    Parameters
    ----------
    kind : str
        Name of the unit: ``none``, ``stress-ng``.
    parameters : mapping
        As the unit describes them.
    name : str
        Names everything that is made for it, e.g. ``tare-1a2b3c-load``.
    user : User, optional
        As whom it runs, as its options are the user's; None: as who runs this.

    Raises
    ------
    ExperimentError
        If there is no such load, or a parameter is wrong.
    PlatformError
        If it does not start.
    """
    unit = _unit(kind)
    return unit.start(_checked(unit, parameters), name, user)


def _unit(kind: str) -> Load:
    units: dict[str, Load] = registry.units_of("load")
    if kind not in units:
        raise ExperimentError(f"there is no load {kind!r}", f"there are: {', '.join(units)}")
    return units[kind]


def _checked(unit: Load, parameters: Parameters) -> dict[str, Any]:
    return checked(f"the load {unit.description.name}", unit.description, parameters)
