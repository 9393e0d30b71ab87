"""``tare calibrate fit``: how the speed in others' sweeps follows the quota."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from tare.cli import console
from tare.experiment.sweep import messages
from tare.features.calibration import page, sweep_file
from tare.features.calibration.charts.sweep import fitted
from tare.features.calibration.findings.tables import part_of
from tare.features.calibration.picture import picture
from tare.features.calibration.screen import p_of, within
from tare.render import files
from tare.render.terminal import aligned
from tare.render.words import sentence
from tare.statistics.scaling import Scaling, scaling
from tare.units import significant


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


def _document(found: Scaling, quotas: int, unit: str) -> dict[str, Any]:
    """Return what ``--json`` writes; slope, r2 and p are those of one line through all points."""
    line, top = found.line, found.saturates_at
    return {
        "version": 1,
        "verdict": found.verdict,
        "reason": found.reason,
        "sentence": sentence(messages.of_fit(found, unit)),
        "breaks": found.breaks,
        "segments": [
            {"from": s.start, "to": s.end, "slope": s.slope, "intercept": s.intercept}
            for s in found.segments
        ],
        "r2": line.r2,
        "slope": line.slope,
        "slope_interval": _interval(line.slope_low, line.slope_high),
        "intercept": line.intercept,
        "intercept_interval": _interval(line.intercept_low, line.intercept_high),
        "p": line.p,
        "max_gflops": line.maximum,
        "saturates_at": top,
        "saturates_interval": None if top is None else (found.saturates_low, found.saturates_high),
        "largest_error": found.largest_error,
        "would_see": found.would_see,
        "curved": found.curved,
        "quotas": quotas,
        "n": line.n,
    }


def _interval(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _show(found: Scaling, read: sweep_file.SweepFile, asked: tuple[Path, str | None, str]) -> None:
    file, json, unit = asked
    out = console.out
    out.print(sentence(messages.of_fit(found, unit)), style="bold", soft_wrap=True)
    for line in picture(fitted(read.quotas.tolist(), read.values.tolist(), found, unit)):
        out.print(line, soft_wrap=True)
    out.print()
    for line in _lines(found, unit):
        out.print(line, soft_wrap=True)
    out.print()
    out.print(f"Next    {_next(found, file, json)}", soft_wrap=True)


def _lines(found: Scaling, unit: str) -> list[str]:
    """Return each piece, and CALIBRATE's table: one line through all points."""
    line = found.line
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
        within(part_of(line, "slope")),
        within(part_of(line, "intercept")),
        "–" if line.r2 is None else f"{line.r2:.4f}",
        p_of(line),
        significant(line.maximum),
    )
    return aligned([heads, *pieces, whole], left=1)


def _next(found: Scaling, file: Path, json: str | None) -> str:
    """Return the next command worth typing."""
    if json is None:
        return f"tare calibrate fit {shlex.quote(str(file))} --json fit.json   (the same as data)"
    if found.verdict == "linear":
        return "tare calibrate   (measure this machine)"
    return "tare calibrate   (measure this machine, with the cause of each range)"
