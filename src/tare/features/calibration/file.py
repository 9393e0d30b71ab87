"""A calibration as a file: read with suspicion, written whole or not at all."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tare import files
from tare.decoding import DecodeError, decode
from tare.errors import StoreError, Typed
from tare.experiment import store
from tare.experiment.sweep import analysis
from tare.experiment.sweep.document import VERSION, Calibration, Fit, Interval, Point
from tare.features.calibration import fit_file
from tare.render.data import builtins
from tare.results.report import FORMAT
from tare.statistics.scaling import Scaling

#: A file larger than this is no calibration: 1,000 steps of 1,000 trials take half of it.
_SIZE_LIMIT = 64 << 20
_MOST_POINTS = 10_000
#: Names of tables, which ``tare calibrate fit`` reads.
_TABLES = (".csv", ".tsv", ".txt")
_MAKES_ONE = Typed("tare calibrate --json calibration.json   (makes one)")
#: Largest accepted number: products of two such numbers stay finite.
_SANE = 1e100


class _Kept(msgspec.Struct):
    version: int


class _Versioned(msgspec.Struct):
    version: int
    #: Keys that only files of ``tare calibrate fit`` have.
    unit: str | None = None
    sentence: str | None = None
    #: That of a report, and what it has of ``tare calibrate``.
    format: str | None = None
    calibrations: tuple[_Kept, ...] = ()


class _Report(msgspec.Struct):
    calibrations: tuple[Calibration, ...]


def load(path: Path) -> tuple[Calibration | Fit, ...]:
    """Read the calibrations that a file or a folder of results holds.

    Parameters
    ----------
    path : Path
        What :func:`write` or ``tare calibrate fit`` wrote, or an experiment's folder.

    Returns
    -------
    tuple of Calibration or Fit
        At least one.

    Raises
    ------
    StoreError
        If it cannot be read, or holds none: says why.
    """
    if path.is_dir():
        return analysis.required(store.load(path), str(path))
    return read(path)


def read(path: Path) -> tuple[Calibration | Fit, ...]:
    """Read what :func:`write` or ``tare calibrate fit`` wrote.

    Raises
    ------
    StoreError
        If it cannot be read, is no calibration, or another tare wrote it in another way.
    """
    try:
        data = files.read_own(path, _SIZE_LIMIT, "the calibration", _MAKES_ONE)
        if data[:1] not in (b"", b"{", b"[") and path.suffix in _TABLES:
            fitted = f"{path.stem}.json"
            raise StoreError(
                f"{path} is a table, and not the file that tare calibrate fit makes of one",
                Typed(shlex.join(["tare", "calibrate", "fit", str(path), "--json", fitted])),
            )
        versions = decode(data, _Versioned | list[_Versioned])
        several = versions if isinstance(versions, list) else [versions]
        for one in several:
            if one.unit is not None:
                return (_read_fit(data),)
            if one.sentence is not None:
                raise DecodeError(
                    "an earlier `tare calibrate fit` wrote it, without its points; fit it again"
                )
            for kept in one.calibrations if one.format == FORMAT else (one,):
                _check_version(kept.version, path)
        found = _calibrations(data, is_report=any(one.format == FORMAT for one in several))
        if not found:
            raise DecodeError("it holds none")
        for calibration in found:
            _check(calibration)
    except DecodeError as error:
        raise StoreError(f"{path} is no calibration: {error}", _MAKES_ONE) from error
    return found


def _calibrations(data: bytes, *, is_report: bool) -> tuple[Calibration, ...]:
    if is_report:
        return decode(data, _Report).calibrations
    decoded = decode(data, Calibration | list[Calibration])
    return tuple(decoded) if isinstance(decoded, list) else (decoded,)


def _read_fit(data: bytes) -> Fit:
    found = decode(data, fit_file.FitFile)
    numbers = (
        found.slope, found.intercept, found.max_gflops, found.r2 or 0.0,
        *(n for s in found.segments for n in (s.start, s.end)),
        *(n for place, values in found.points or () for n in (place, *values)),
    )  # fmt: skip
    if not _sane(*numbers) or len(found.points or ()) > _MOST_POINTS:
        raise DecodeError("it has a value that nothing measures")
    try:
        return fit_file.from_file(found)
    except ValueError as error:
        raise DecodeError(str(error)) from error


def _check_version(version: int, path: Path) -> None:
    if version != VERSION:
        raise StoreError(
            f"{path} was written by another tare (version {version} of the file, this one reads "
            f"{VERSION})",
            "measure it again, or ask for it of the folder of results",
        )


def _check(found: Calibration) -> None:
    """Raise DecodeError for what no measurement brings."""
    if not 0 < len(found.points) <= _MOST_POINTS:
        raise DecodeError(f"it has {len(found.points)} points")
    if found.workers < 1 or not 0 < found.period_s <= 10:
        raise DecodeError("its workers or its period are not possible")
    steps = [found.place(p) for p in found.points]
    if any(b <= a for a, b in itertools.pairwise(steps)):
        raise DecodeError("its points are not in the order of their places")
    for point in found.points:
        _check_point(point)
    for model in (found.asked, found.delivered):
        if model is not None:
            _check_model(model)
    for regime in found.regimes:
        if not 0 < regime.start <= regime.end or not _sane(regime.relative_speed):
            raise DecodeError("it has a range that is none")


def _check_point(point: Point) -> None:
    at = f"the point at {point.cpus:g} CPUs"
    if not 0 < point.cpus < _SANE:
        raise DecodeError("it has a point without CPUs")
    if point.n < 1 or any(
        values and len(values) != point.n
        for values in (point.trials, point.rates, point.deliveries)
    ):
        raise DecodeError(f"{at} has not one value for each of its {point.n} trials")
    for interval in (point.rate, point.delivered):
        if interval is not None and not _possible(interval):
            raise DecodeError(f"{at} has a value that nothing measures")
    further = (
        point.clock_hz, point.frequency_hz, point.throttled_share, point.throttled_s,
        point.steal_cpus, point.thermal_throttles, point.residual, *point.rates, *point.deliveries,
    )  # fmt: skip
    if not all(_sane(value) for value in further if value is not None):
        raise DecodeError(f"{at} has a value that nothing measures")


def _possible(interval: Interval) -> bool:
    if not _sane(interval.value) or interval.value < 0:
        return False
    if interval.low is None or interval.high is None:
        return interval.low is None and interval.high is None
    return _sane(interval.low, interval.high) and interval.low <= interval.value <= interval.high


def _check_model(model: Scaling) -> None:
    places = (model.saturates_at, model.saturates_low, model.saturates_high)
    numbers: Iterator[float | None] = iter(
        (
            *model.breaks,
            *(n for s in model.segments for n in (s.start, s.end, s.slope, s.intercept)),
            *(n for n in msgspec.structs.astuple(model.line)),
            *places,
            model.largest_error,
        )
    )
    if not model.segments or not all(_sane(n) for n in numbers if n is not None):
        raise DecodeError("its model is not of this world")
    if any(not 0 < s.start <= s.end for s in model.segments):
        raise DecodeError("its model has a piece that is none")


def _sane(*numbers: float) -> bool:
    return all(math.isfinite(n) and abs(n) < _SANE for n in numbers)


def encoded(found: tuple[Calibration, ...]) -> bytes:
    """Return the text of a file: one calibration as an object, several as a list of them."""
    whole = found[0] if len(found) == 1 else found
    return msgspec.json.format(msgspec.json.encode(builtins(whole)), indent=2) + b"\n"


def write(found: tuple[Calibration, ...], path: Path) -> None:
    """Write calibrations; what stood there before stays until the new ones are whole.

    Raises
    ------
    StoreError
        If they cannot be written.
    """
    files.write(path, encoded(found), "choose another --json FILE, or -")
