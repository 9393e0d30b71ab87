"""What keeps the machine busy beside the trials: each load is one file with one ``UNIT``."""

from __future__ import annotations

from tare import registry
from tare.availability import Availability
from tare.errors import PlatformError
from tare.loads.load import Load, Parameters, Running

__all__ = ["Parameters", "Running", "availability", "start"]


def availability(kind: str, parameters: Parameters | None = None) -> Availability:
    """Tell whether a load can run here with these parameters."""
    try:
        _unit(kind).check(_checked(kind, parameters or {}))
    except PlatformError as error:
        return Availability(name=kind, works=False, why=error.message, fix=error.hint)
    return Availability(name=kind, works=True)


def start(kind: str, parameters: Parameters, name: str) -> Running:
    """Start a load and return when it is at work.

    Parameters
    ----------
    kind : str
        Name of the unit: ``none``, ``stress-ng``.
    parameters : mapping
        As the unit describes them.
    name : str
        Names everything that is made for it, e.g. ``tare-1a2b3c-load``.

    Raises
    ------
    PlatformError
        If there is no such load, a parameter is wrong, or it does not start.
    """
    return _unit(kind).start(_checked(kind, parameters), name)


def _unit(kind: str) -> Load:
    units: dict[str, Load] = registry.scan("loads")
    if kind not in units:
        raise PlatformError(f"there is no load {kind!r}", f"there are: {', '.join(units)}")
    return units[kind]


def _checked(kind: str, parameters: Parameters) -> Parameters:
    """Return all parameters, defaults filled in."""
    known = {p.name: p for p in _unit(kind).description.parameters}
    for key, value in parameters.items():
        if key not in known:
            hint = f"it has: {', '.join(known)}" if known else "it has no parameters at all"
            raise PlatformError(f"the load {kind} has no parameter {key!r}", hint)
        low, high = known[key].minimum, known[key].maximum
        if low is not None and not (isinstance(value, int | float) and low <= value):
            raise PlatformError(f"the load {kind}: {key} = {value!r} is not a number from {low:g}")
        if high is not None and not (isinstance(value, int | float) and value <= high):
            raise PlatformError(f"the load {kind}: {key} = {value!r} is not a number to {high:g}")
    defaults = {name: p.default for name, p in known.items() if p.default is not None}
    return {**defaults, **parameters}
