"""``tare calibrate forget``: remove what this machine remembers of its calibrations."""

from __future__ import annotations

import os

import msgspec

from tare import state
from tare.calibration import remembered
from tare.cli import output


def forget(json: str | None) -> None:
    """Remove it, and say what was removed.

    Raises
    ------
    StoreError
        If it cannot be removed.
    """
    output.check_writable(json)
    path, removed = remembered.forget()
    if json is not None:
        output.write_json(
            {
                "version": 1,
                "file": None if path is None else str(path),
                "removed": msgspec.to_builtins(removed),
            },
            json,
        )
        if json == "-":
            return
    for one in removed:
        output.out.print(
            f"Removed the calibration of {one.measured[:16].replace('T', ' ')} by {one.workload} "
            f"on {one.platform}: {one.verdict}"
        )
    if path is None:
        output.out.print("No calibration of this machine is remembered.")
    else:
        output.out.print(f"Removed {path}", soft_wrap=True)
    if os.geteuid() != 0 and state.ROOT.exists():
        output.out.print("What sudo tare remembers stays: sudo tare calibrate forget")
