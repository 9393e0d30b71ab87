"""The CPU quota that a process is really held to, read back from the kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tare.errors import PlatformError
from tare.platforms import groups
from tare.platforms.layer import Place, Told

#: systemd reads hundredths of a percent of a CPU, the kernel microseconds of a period.
TOLERANCE = 1e-4


class Held(NamedTuple):
    """What one control group holds what is in it to."""

    group: Path
    #: Of the hierarchy.
    version: int
    quota_us: int
    period_us: int
    #: CPU time that it may save up and take beyond its quota; None: this kernel knows no such.
    burst_us: int | None

    @property
    def cores(self) -> float:
        """CPU time a second of time."""
        return self.quota_us / self.period_us


def told(pid: int, place: Place) -> tuple[Told, ...]:
    """Return how a process is held to the quota of its place.

    Raises
    ------
    PlatformError
        If it is held to another, or has ended.
    """
    assert place.cores is not None
    try:
        found = list(held(pid))
    except OSError as error:
        raise PlatformError(
            f"the quota of {place.name} cannot be read back: {error.strerror}"
        ) from error
    if not found:
        raise PlatformError(
            f"a quota of {place.cores:g} CPUs was asked, but no control group holds {place.name}",
            "run it as root or under systemd, on docker, or without a quota or size",
        )
    own, least = found[0], min(found, key=lambda one: one.cores)
    if abs(own.quota_us - place.cores * own.period_us) > 1 + TOLERANCE * own.period_us:
        raise PlatformError(
            f"a quota of {place.cores:g} CPUs was asked, and {own.group} has {own.cores:g}"
        )
    if least.cores < own.cores:
        raise PlatformError(
            f"a quota of {place.cores:g} CPUs cannot be had here: {least.group}, around it, is "
            f"held to {least.cores:g}",
            f"ask for at most {least.cores:g}, or lift the limit of {least.group}",
        )
    source = "cgroup"
    facts: list[Told] = [
        ("quota_cgroup_version", own.version, None, source),
        ("quota_period_ns", own.period_us * 1000, "ns", source),
    ]
    if own.burst_us is not None:
        facts.append(("quota_burst_ns", own.burst_us * 1000, "ns", source))
    return tuple(facts)


def held(pid: int | None = None) -> Iterator[Held]:
    """Yield every quota that a process (None: this one) is under, the innermost first."""
    for hierarchy in (h for h in groups.hierarchies() if "cpu" in h.controllers):
        group = groups.of(hierarchy, pid)
        while group.is_relative_to(hierarchy.path):
            with contextlib.suppress(OSError, ValueError):
                yield _read(group, hierarchy.version)
            group = group.parent


def _read(group: Path, version: int) -> Held:
    """Read the quota of one group; ValueError where it has none."""
    if version == 2:
        quota, period = (group / "cpu.max").read_text().split()
    else:
        quota = (group / "cpu.cfs_quota_us").read_text()
        period = (group / "cpu.cfs_period_us").read_text()
    # Without one: ``max``, or -1.
    if int(quota) <= 0:
        raise ValueError
    burst = None
    with contextlib.suppress(OSError, ValueError):
        file = "cpu.max.burst" if version == 2 else "cpu.cfs_burst_us"
        burst = int((group / file).read_text())
    return Held(group, version, int(quota), int(period), burst)
