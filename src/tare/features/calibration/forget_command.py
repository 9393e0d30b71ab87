"""``tare calibrate forget``: remove this machine's stored calibrations."""

from __future__ import annotations

import os

import msgspec

from tare.experiment.sweep import cache
from tare.host import state
from tare.results.message import message
from tare.results.report import Entry, NextStep, Report


def forget() -> Report:
    """Remove the stored calibrations, and report which they were.

    Raises
    ------
    StoreError
        If the file of calibrations cannot be removed.
    """
    path, removed = cache.forget()
    said = [
        message(
            "calibration of {date} by {workload} on {platform}: {verdict}",
            date=one.measured[:16].replace("T", " "),
            workload=one.workload,
            platform=one.platform,
            verdict=one.verdict,
        )
        for one in removed
    ]
    said.append(
        message("nothing: no calibration of this machine is stored")
        if path is None
        else message("{file}", file=str(path))
    )
    is_root_left = os.geteuid() != 0 and state.ROOT.exists()
    return Report(
        command="calibrate forget",
        name="calibrate forget",
        question=message("Which calibrations does this machine have?"),
        figures={
            "file": None if path is None else str(path),
            "removed": msgspec.to_builtins(removed),
        },
        entries=tuple(Entry("" if i else "Removed", one) for i, one in enumerate(said)),
        next_steps=(
            NextStep("sudo tare calibrate forget", message("calibrations that root stored remain")),
        )
        if is_root_left
        else (),
    )
