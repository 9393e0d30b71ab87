"""``tare calibrate fit``: how the speed in others' sweeps follows the quota."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import numpy as np

from tare.cli import console
from tare.experiment.sweep import messages
from tare.features.calibration import page, sweep_file
from tare.features.calibration.charts import fitted
from tare.features.calibration.picture import picture
from tare.render import files
from tare.render.terminal import aligned
from tare.render.words import sentence
from tare.statistics.scaling import Reason, Scaling, Verdict, scaling
from tare.units import significant

#: What R prints for a p below what it can tell from 0.
_LEAST_P = 2.2e-16


class _Piece(msgspec.Struct, frozen=True, kw_only=True):
    start: float = msgspec.field(name="from")
    end: float = msgspec.field(name="to")
    slope: float
    intercept: float


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--json`` writes. Slope, intercept, r2 and p are those of one line through all."""

    version: int = 1
    verdict: Verdict
    #: Why it is inconclusive; None: it is not.
    reason: Reason | None
    sentence: str
    breaks: tuple[float, ...]
    segments: tuple[_Piece, ...]
    r2: float | None
    slope: float
    slope_interval: tuple[float, float] | None
    intercept: float
    intercept_interval: tuple[float, float] | None
    p: float | None
    max_gflops: float
    saturates_at: float | None
    saturates_interval: tuple[float | None, float | None] | None
    #: Of one line with relative errors, at any quota.
    largest_error: float | None
    #: Error of one line, by a bend or jump, that would have been seen.
    would_see: float | None
    #: Whether one curve describes it better than the pieces do.
    curved: bool
    quotas: int
    n: int


def fit(file: Path, json: str | None, report: Path | None, quota: str, value: str) -> None:
    """Judge a sweep that somebody else measured; ``report`` is a page to write.

    Raises
    ------
    InputError
        If the file is no sweep; names the line.
    """
    console.check_writable(json, report)
    if report is not None:
        files.format_of(report)
    read = sweep_file.read(file, quota, value)
    found = scaling(read.quotas, read.values)
    unit = "GFLOPS" if value == sweep_file.VALUE else value
    if report is not None:
        words = ["tare", "calibrate", "fit", str(file), "--report", str(report)]
        words += [] if quota == sweep_file.QUOTA else ["--quota", quota]
        words += [] if value == sweep_file.VALUE else ["--value", value]
        command = shlex.join(words)
        sweep = fitted(read.quotas.tolist(), read.values.tolist(), found, unit)
        files.write(page.of_fit(sweep, file.name, command), report)
        console.err.print(f"Wrote {report}.", soft_wrap=True)
    if json is not None:
        console.write_json(_document(found, len(np.unique(read.quotas)), unit), json)
    if json != "-":
        _show(found, read, (file, json, unit))


def _document(found: Scaling, quotas: int, unit: str) -> Fitted:
    line = found.line
    return Fitted(
        verdict=found.verdict,
        reason=found.reason,
        sentence=sentence(messages.of_fit(found, unit)),
        breaks=found.breaks,
        segments=tuple(
            _Piece(start=s.start, end=s.end, slope=s.slope, intercept=s.intercept)
            for s in found.segments
        ),
        r2=line.r2,
        slope=line.slope,
        slope_interval=_interval(line.slope_low, line.slope_high),
        intercept=line.intercept,
        intercept_interval=_interval(line.intercept_low, line.intercept_high),
        p=line.p,
        max_gflops=line.maximum,
        saturates_at=found.saturates_at,
        saturates_interval=None
        if found.saturates_at is None
        else (found.saturates_low, found.saturates_high),
        largest_error=found.largest_error,
        would_see=found.would_see,
        curved=found.curved,
        quotas=quotas,
        n=line.n,
    )


def _interval(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _show(found: Scaling, read: sweep_file.SweepFile, asked: tuple[Path, str | None, str]) -> None:
    file, json, unit = asked
    out = console.out
    out.print(sentence(messages.of_fit(found, unit)), style="bold", soft_wrap=True)
    for line in _drawn(found, read, unit):
        out.print(line, soft_wrap=True)
    out.print()
    for line in _lines(found, unit):
        out.print(line, soft_wrap=True)
    out.print()
    out.print(f"Next    {_next(found, file, json)}", soft_wrap=True)


def _drawn(found: Scaling, read: sweep_file.SweepFile, unit: str) -> list[str]:
    return picture(fitted(read.quotas.tolist(), read.values.tolist(), found, unit))


def _lines(found: Scaling, unit: str) -> list[str]:
    """Return each piece, and CALIBRATE's table: one line through all points."""
    line = found.line
    p = "–" if line.p is None else f"< {_LEAST_P}" if line.p < _LEAST_P else f"{line.p:.2g}"
    heads = ("CPUs", f"slope, {unit} per CPU", f"intercept, {unit}", "R²", "p", f"max, {unit}")
    pieces = [
        (
            f"{s.start:.4g} to {s.end:.4g}",
            significant(s.slope),
            significant(s.intercept),
            *("", "", ""),
        )
        for s in found.segments
    ]
    whole = (
        "one line through all",
        _within(line.slope, line.slope_low, line.slope_high),
        _within(line.intercept, line.intercept_low, line.intercept_high),
        "–" if line.r2 is None else f"{line.r2:.4f}",
        p,
        significant(line.maximum),
    )
    return aligned([heads, *pieces, whole], left=1)


def _within(value: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"{significant(value)} (no interval)"
    return f"{significant(value)} [{significant(low)}, {significant(high)}]"


def _next(found: Scaling, file: Path, json: str | None) -> str:
    """Return the next command worth typing."""
    if json is None:
        return f"tare calibrate fit {shlex.quote(str(file))} --json fit.json   (the same as data)"
    if found.verdict == "linear":
        return "tare calibrate   (measure this machine)"
    return "tare calibrate   (measure this machine, with the cause of each range)"
