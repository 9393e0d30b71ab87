"""Which columns make a study of platforms? As was said, and otherwise as names and levels tell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tare.errors import InputError, Typed
from tare.experiment.specification import INSTANCE_TYPES
from tare.features.audit.comparison import require_level
from tare.features.audit.question import Sizing
from tare.features.audit.series import SeriesAudit

#: Names of levels that mean no container and no virtual machine.
BARE = frozenset({"bare", "bm", "baremetal", "metal", "host", "native"})
#: Names of levels without pinning, and of levels with pinning to CPUs.
FREE = frozenset({"vanilla", "none", "unpinned", "notpinned", "free", "default", "no", "false"})
PINNED = frozenset({"pinned", "pin", "cpuset", "spread", "compact", "yes", "true"})
#: Names of columns that hold a number of CPUs or an instance size.
SIZES = frozenset({
    "size", "cores", "ncores", "numcores", "cpus", "ncpus", "numcpus", "vcpus", "quota",
    "instance", "instancetype",
})  # fmt: skip
_CORES = re.compile(
    r"(\d+(?:\.\d*)?|\.\d+)\s*(?:c|cpus?|cores?|vcpus?)?(?:[\s,]*\d+\s*(?:g|gb|gib))?"
)


@dataclass(frozen=True)
class Design:
    """A study of platforms.

    Attributes
    ----------
    platform, reference : str
        The column of platforms, and the level that all others are put beside.
    size, pinning : str or None
        Columns; None where there is none.
    free, pinned : str or None
        Levels of ``pinning``; it may have others, which stand for themselves.
    host_cores : float or None
    """

    platform: str
    reference: str
    size: str | None = None
    pinning: str | None = None
    free: str | None = None
    pinned: str | None = None
    host_cores: float | None = None


def cores_of(level: str) -> float | None:
    """Read the cores of a size: "2", ".5", "2c8g", "4 cores", "16xlarge"; None: it is no size."""
    plain = level.strip().lower().replace("×", "x")
    if plain in INSTANCE_TYPES:
        return float(INSTANCE_TYPES[plain][0])
    found = _CORES.fullmatch(plain)
    return (float(found[1]) or None) if found else None


def design_of(
    series: Sequence[SeriesAudit], compared: Sequence[str], sizing: Sizing, *, asked: bool
) -> Design | None:
    """Tell which columns are platforms, sizes and pinning.

    Parameters
    ----------
    series : sequence of SeriesAudit
    compared : sequence of str
        Columns whose levels are compared.
    sizing : Sizing
    asked : bool
        Whether somebody asked for costs; otherwise only what is plain from names is taken for a
        study of platforms, and it must have sizes.

    Raises
    ------
    InputError
        If costs were asked for and it cannot be told what is beside what.
    """
    if len(compared) != 1:
        if asked:
            raise InputError(
                "what each platform costs needs one column of platforms",
                Typed("--compare platform"),
            )
        return None
    platform = compared[0]
    if sizing.reference is not None:
        require_level([s.key for s in series], compared, sizing.reference)
    reference = _reference(_levels(series, platform), sizing, asked=asked)
    if reference is None:
        return None
    others = [c for c in dict.fromkeys(k for s in series for k in s.key) if c != platform]
    for column in (sizing.size, sizing.pinning):
        if column is not None and column not in others:
            raise InputError(
                f"no series has the key {column!r}", Typed(f"--group {shlex.quote(str(column))}")
            )
    pinning, free, pinned = _pinning(series, others, sizing)
    size = _size(series, [c for c in others if c != pinning], sizing)
    if size is None and not asked:
        return None
    return Design(platform, reference, size, pinning, free, pinned, sizing.host_cores)


def _levels(series: Iterable[SeriesAudit], column: str) -> list[str]:
    return list(dict.fromkeys(s.key[column] for s in series if column in s.key))


def _plain(level: str) -> str:
    return re.sub(r"[^a-z0-9]", "", level.lower())


def _reference(levels: Sequence[str], sizing: Sizing, *, asked: bool) -> str | None:
    if sizing.reference is not None:
        return sizing.reference
    found = [level for level in levels if _plain(level) in BARE]
    if len(found) == 1:
        return found[0]
    if asked and levels:
        raise InputError(
            f"which of {', '.join(levels)} is without any layer is not known",
            Typed(f"--reference {shlex.quote(levels[0])}"),
        )
    return None


def _pinning(
    series: Sequence[SeriesAudit], columns: Sequence[str], sizing: Sizing
) -> tuple[str | None, str | None, str | None]:
    """Find the column that has a level which is free to move, and one that is not."""
    for column in [sizing.pinning] if sizing.pinning else columns:
        levels = _levels(series, column)
        free = next((level for level in levels if _plain(level) in FREE), None)
        pinned = next((level for level in levels if _plain(level) in PINNED), None)
        if free is not None and pinned is not None:
            return column, free, pinned
        if sizing.pinning:
            raise InputError(
                f"{column!r} has no levels such as vanilla and pinned: {', '.join(levels)}",
                "leave --pinning out, or rename its levels",
            )
    return None, None, None


def _size(series: Sequence[SeriesAudit], columns: Sequence[str], sizing: Sizing) -> str | None:
    for column in [sizing.size] if sizing.size else columns:
        levels = _levels(series, column)
        odd = next((level for level in levels if cores_of(level) is None), None)
        if sizing.size and odd is not None:
            raise InputError(
                f"{column!r} has a level that is no number of cores: {odd!r}",
                "name a column of cores with --cores, such as .5, 2, 2c8g, or 4xlarge",
            )
        if odd is None and (sizing.size or (_plain(column) in SIZES and len(levels) > 1)):
            return column
    return None
