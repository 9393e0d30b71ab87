"""The registry: every unit is one file with one self-describing constant ``UNIT``.

Help, documentation, validation and contract tests are derived from what is scanned here, so a
new unit needs no line anywhere else. A unit that fails to import fails loudly.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any, Literal

import msgspec

#: The packages that are scanned, and the noun of what they hold.
KINDS = {
    "workloads": "workload",
    "platforms": "platform",
    "loads": "load",
    "settings": "setting",
    "doctor": "check",
    "interop": "format",
    "statistics": "statistic",
    "findings": "finding",
    "report.charts": "chart",
}


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
    #: ``directory``, ``remote``, ``several_cpus``: not performed without.
    needs: tuple[str, ...]


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment can ask for: descriptions by name."""

    kernels: dict[str, Description]
    metrics: dict[str, Metric]
    probes: dict[str, Probe]
    platforms: dict[str, Description]
    loads: dict[str, Description]


@cache
def scan(kind: str) -> dict[str, Any]:
    """Import every unit of a kind.

    Parameters
    ----------
    kind : str
        A key of ``KINDS``, that is, a package below ``tare``.

    Returns
    -------
    dict
        Unit by name, in order of name. A unit is the ``UNIT`` of its file and has a
        ``description``.
    """
    package = importlib.import_module(f"tare.{kind}")
    units: dict[str, Any] = {}
    for module in pkgutil.iter_modules(package.__path__):
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        unit = getattr(loaded, "UNIT", None)
        if unit is None:
            continue  # the package's own plumbing, such as findings/finding.py
        units[unit.description.name] = unit
    return dict(sorted(units.items()))
