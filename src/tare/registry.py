"""The registry: every unit is one file with one self-describing constant ``UNIT``.

Help, documentation, validation and contract tests are derived from what is scanned here, so a
new unit needs no line anywhere to be found. A unit that fails to import fails loudly.
"""

from __future__ import annotations

import importlib
import pkgutil
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from tare.errors import ExperimentError
from tare.results.message import Said


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a unit."""

    name: str
    meaning: str
    unit: str | None = None
    default: int | float | str | bool | None = None
    #: Inclusive range, or the allowed values.
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] | None = None
    #: Values of other parameters with which this parameter has an effect; None: always.
    of: Mapping[str, tuple[str, ...]] | None = None
    #: Its value is the path of a file or folder, which an application has as ``/data/NAME``; an
    #: empty value: it has none.
    path: bool = False

    def applies(self, values: Mapping[str, str]) -> bool:
        """Whether it says something where other parameters have these values."""
        return all(values.get(name) in some for name, some in (self.of or {}).items())


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a unit says of itself; the constant of every unit's file has one as ``.description``."""

    name: str
    #: One line: what it is.
    title: str
    #: The question that it answers, or what it is there for.
    question: str
    parameters: tuple[Parameter, ...] = ()
    #: Where the method or the design comes from.
    source: str | None = None
    #: What a kernel's work is counted in; None: nothing is counted.
    work: str | None = None


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a metric's value was had from."""

    name: str
    meaning: str


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity that the agent measures, as it describes it."""

    name: str
    unit: str | None
    meaning: str
    #: What it means that a trial has no such sample.
    absence: str
    sources: tuple[Source, ...]


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """An axis of what a probe measures as a curve or a map."""

    name: str
    unit: str
    meaning: str


class ProbeMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity that a probe measures."""

    name: str
    #: ``ns``, ``bytes``, ``B/s``, ``Hz``, or ``1`` for ratios and counts.
    unit: str
    #: What it is, and how a round comes to its value.
    meaning: str
    #: None: a single figure.
    axes: tuple[Axis, ...]
    #: Every point is a figure of its own (``call.int.3``); otherwise it is a curve.
    listed: bool
    better: Literal["lower", "higher", "neither"]
    #: Smallest relative change that matters to anybody.
    margin: float


class Seconds(msgspec.Struct, frozen=True, kw_only=True):
    """About how long a round of a probe takes; None: not part of that effort."""

    brief: float | None
    quick: float | None
    whole: float | None


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """A probe of the agent, as it describes itself."""

    name: str
    title: str
    question: str
    source: str | None
    metrics: tuple[ProbeMetric, ...]
    seconds: Seconds
    #: Many rounds a session; otherwise one, which watches a course of time.
    repeats: bool
    #: ``directory``, ``remote``, ``file_cache``, ``several_cpus``: not performed without.
    needs: tuple[str, ...]


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment can ask for: descriptions by name."""

    kernels: dict[str, Description]
    metrics: dict[str, Metric]
    probes: dict[str, Probe]
    platforms: dict[str, Description]
    loads: dict[str, Description]


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a platform or a load works here; if not, why, and what would fix it."""

    name: str
    works: bool
    why: Said | None = None
    #: The line to type, where there is one.
    fix: str | None = None
    #: Instructions are translated: what is measured there is no measure of a machine.
    emulated: bool = False


#: The packages that have the units of a kind, each in a file with one ``UNIT``.
PACKAGES = {
    "platform": ("tare.platforms",),
    "load": ("tare.loads",),
    "check": ("tare.host.settings", "tare.features.machine.doctor.checks"),
    "setting": ("tare.host.settings",),
    "format": ("tare.readers",),
    "finding": (
        "tare.experiment.findings",
        "tare.features.network.findings",
        "tare.features.calibration.findings",
    ),
    "chart": (
        "tare.experiment.findings.charts",
        "tare.features.network.findings.charts",
        "tare.features.calibration.findings.charts",
    ),
}


@cache
def units_of(kind: str) -> dict[str, Any]:
    """Import every unit of a kind, such as ``platform``.

    Returns
    -------
    dict
        Unit by name, in order of name. A unit is the ``UNIT`` of its file and has a
        ``description``.
    """
    found: dict[str, Any] = {}
    for package in map(importlib.import_module, PACKAGES[kind]):
        for module in pkgutil.iter_modules(package.__path__):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            unit = getattr(loaded, "UNIT", None)
            if unit is None:
                continue  # the package's own plumbing, such as findings/finding.py
            found[unit.description.name] = unit
    return dict(sorted(found.items()))


#: Default of a parameter that follows the size: whole CPUs, at least 1.
CORES = "{cores}"
#: What a value is called in errors.
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def checked(where: str, description: Description, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all parameters of a unit: those given, otherwise the defaults.

    Parameters
    ----------
    where : str
        What the user wrote them in: ``[platforms.docker]``.
    description : Description
        Of the unit.
    given : mapping
        By name.

    Raises
    ------
    ExperimentError
        If one is unknown, of the wrong type, or out of range: which, and what was expected.
    """
    known = {parameter.name: parameter for parameter in description.parameters}
    for name, value in given.items():
        if name not in known:
            hint = f"it has: {', '.join(known)}" if known else "it has nothing to set"
            raise ExperimentError(f"{where} has no {name!r}", hint)
        if not fits(known[name], value):
            raise ExperimentError(f"{where}: {name} = {value!r} is not {expected(known[name])}")
    return {name: given.get(name, parameter.default) for name, parameter in known.items()}


def words(where: str, text: str) -> list[str]:
    """Return the words of a parameter that is written like a command line.

    Parameters
    ----------
    where : str
        What the user wrote them in: ``[platforms.ssh] options``.
    text : str
        Its value.

    Raises
    ------
    ExperimentError
        If a quotation does not end.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ExperimentError(f"{where} = {text!r} is no command line: {error}") from error


def follows_size(parameter: Parameter) -> bool:
    """Tell whether a parameter can be :data:`CORES` in place of a whole number."""
    return parameter.default == CORES


def _type(parameter: Parameter) -> type:
    if follows_size(parameter):
        return int
    if parameter.default is not None:
        return type(parameter.default)
    return str if parameter.minimum is None and parameter.maximum is None else float


def fits(parameter: Parameter, value: Any) -> bool:
    """Tell whether a value can be that of a parameter."""
    if follows_size(parameter) and value == CORES:
        return True
    kinds = (int, float) if _type(parameter) is float else (_type(parameter),)
    if not any(type(value) is kind for kind in kinds):
        return False
    if parameter.choices is not None:
        return value in parameter.choices
    low, high = parameter.minimum, parameter.maximum
    return (low is None or value >= low) and (high is None or value <= high)


def typed(parameter: Parameter, text: str) -> int | float | str | bool:
    """Return the value of a parameter that is written as a text.

    Raises
    ------
    ValueError
        If it cannot be that of the parameter.
    """
    if follows_size(parameter) and text == CORES:
        return CORES
    kind = _type(parameter)
    value = {"true": True, "false": False}.get(text) if kind is bool else kind(text)
    if not fits(parameter, value):
        raise ValueError(f"{parameter.name} cannot be {text}")
    assert value is not None
    return value


def expected(parameter: Parameter) -> str:
    """Return what a parameter's value must be, in words that follow "expected"."""
    if parameter.choices is not None:
        return f"one of {', '.join(map(repr, parameter.choices))}"
    told = _WORDS[_type(parameter)]
    if parameter.minimum is not None:
        told += f" from {_number(parameter.minimum)}"
    if parameter.maximum is not None:
        told += f" to {_number(parameter.maximum)}"
    if follows_size(parameter):
        told += f", or {CORES}: the whole CPUs that the size gives, at least 1"
    return told


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"
