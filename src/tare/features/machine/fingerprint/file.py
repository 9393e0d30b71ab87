"""Read the JSON of ``tare fingerprint`` back, as a file that a stranger may have written."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Any

import msgspec

from tare import files
from tare.decoding import DecodeError, decode
from tare.errors import StoreError, Typed
from tare.experiment.fingerprints.machine.document import Figure, Fingerprint
from tare.features.machine.fingerprint.weights import Weights
from tare.results.report import FORMAT, VERSION

#: A file larger than this is no fingerprint.
_SIZE_LIMIT = 64 << 20


#: Range of accepted values in any unit: products and ratios of two such values stay finite.
_SANE = (1e-100, 1e100)


class _Saved(msgspec.Struct):
    format: str
    version: int
    #: Of several platforms alone.
    platforms: list[Any] | None = None


def read(path: Path) -> Fingerprint | Weights:
    """Read what ``tare fingerprint --json`` wrote.

    Raises
    ------
    StoreError
        If it cannot be read, is no fingerprint, or another tare wrote it in another way.
    """
    takes_one = Typed("tare fingerprint --json fingerprint.json   (takes one)")
    try:
        data = files.read_own(path, _SIZE_LIMIT, "the fingerprint", takes_one)
        saved = decode(data, _Saved)
        if (saved.format, saved.version) != (FORMAT, VERSION):
            raise StoreError(
                f"{path} was written by another tare (version {saved.version} of the file, this "
                f"one reads {VERSION})",
                Typed(f"tare fingerprint --json {shlex.quote(str(path))}   (takes it again)"),
            )
        found: Fingerprint | Weights = (
            decode(data, Fingerprint) if saved.platforms is None else decode(data, Weights)
        )
        for one in by_platform(found).values():
            _check(one)
    except DecodeError as error:
        raise StoreError(f"{path} is no fingerprint: {error}", takes_one) from error
    return found


def by_platform(found: Fingerprint | Weights) -> dict[str, Fingerprint]:
    """Return the fingerprint of each platform that a file has one of."""
    if isinstance(found, Fingerprint):
        return {found.platform: found}
    return {one.platform: one.fingerprint for one in found.platforms if one.fingerprint}


def _check(found: Fingerprint) -> None:
    """Raise DecodeError for what no measurement brings."""
    for name, one in found.metrics.items():
        if one.n < 1 or (one.values and len(one.values) != one.n):
            raise DecodeError(f"{name} has {one.n} rounds, but {len(one.values)} values")
        if not all(map(math.isfinite, _numbers(one))):
            raise DecodeError(f"{name} has a value that is no number")
        if any(v and not _SANE[0] < abs(v) < _SANE[1] for v in (one.value, *one.values)):
            raise DecodeError(f"{name} has a value that nothing measures")
        if one.ci is not None and not one.ci[0] <= one.value <= one.ci[1]:
            raise DecodeError(f"{name} lies outside its interval")
    for name, curve in found.curves.items():
        if any(len(point.at) != len(curve.axes) for point in curve.points):
            raise DecodeError(f"{name} has points that are not on its axes")


def _numbers(one: Figure) -> tuple[float, ...]:
    optional = (v for v in (one.sd, one.cycles) if v is not None)
    return (one.value, *one.values, *(one.ci or ()), *optional)
