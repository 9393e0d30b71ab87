"""The facts and settings by which sessions of different days are comparable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tare.experiment.fingerprints.network import cache as networks
from tare.experiment.specification import Experiment

if TYPE_CHECKING:
    pass

#: Facts that say how a session was, not where: what is measured anew, and who was busy.
_PASSING = frozenset({"load_average"})


_MEASURED = ("_ns",)


#: What `tare selftest` and `tare calibrate` found at last is found anew each time.
_FOUND_ANEW = ("selftest_", "calibration_", networks.PREFIX)


#: What decides about a trial besides its command, and what it is called.
_SETTINGS = ("iterations", "warmup", "process", "instances", "fresh")


LEVELS = ("platform", "workers", "pinning", "load", "size")


def settings(experiment: Experiment, levels: Mapping[str, str]) -> dict[str, str]:
    """Return what decides about the trials of a cell, besides its workload."""
    held = {name: levels[name] for name in ("quota", "period", "network") if name in levels}
    if "network" in levels:
        network = experiment.network
        served = " ".join(word for command in network.serve for word in command)
        held["network"] += f", {network.hosts} hosts{f', serving {served}' if served else ''}"
    if experiment.window is not None:
        held["window"] = f"{experiment.window.periods} × {experiment.longest_period_s:g} s"
    return {
        **{name: levels.get(name, "") for name in LEVELS},
        **{name: str(getattr(experiment, name)) for name in _SETTINGS},
        **held,
    }


def lasting(facts: Iterable[tuple[str, Any, Any]]) -> dict[str, Any]:
    """Name facts given as (name, platform or None, value), without what is measured anew."""
    return {
        f"{name} ({platform})" if isinstance(platform, str) else name: value
        for name, platform, value in facts
        if name not in _PASSING
        and not name.endswith(_MEASURED)
        and not name.startswith(_FOUND_ANEW)
    }


def networked(facts: Iterable[tuple[str, Any, Any]]) -> dict[str, Any]:
    """Choose of facts those of a network's fingerprint; otherwise as :func:`lasting`."""
    return {
        name: value
        for name, platform, value in facts
        if name.startswith(networks.PREFIX) and not isinstance(platform, str)
    }
