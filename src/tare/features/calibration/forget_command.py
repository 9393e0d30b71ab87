"""``tare calibrate forget``: remove what this machine remembers of its calibrations."""

from __future__ import annotations

import os

import msgspec

from tare.cli import console
from tare.experiment.sweep import cache
from tare.host import state
from tare.render.words import sentence
from tare.results.message import Message, message


def forget(json: str | None) -> None:
    """Remove it, and say what was removed.

    Raises
    ------
    StoreError
        If it cannot be removed.
    """
    console.check_writable(json)
    path, removed = cache.forget()
    if json is not None:
        console.write_json(
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
        _say(
            message(
                "removed the calibration of {date} by {workload} on {platform}: {verdict}",
                date=one.measured[:16].replace("T", " "),
                workload=one.workload,
                platform=one.platform,
                verdict=one.verdict,
            )
        )
    if path is None:
        _say(message("no calibration of this machine is stored"))
    else:
        _say(message("removed {file}", file=str(path)))
    if os.geteuid() != 0 and state.ROOT.exists():
        _say(message("calibrations that root stored remain: sudo tare calibrate forget"))


def _say(said: Message) -> None:
    console.out.print(sentence(said), soft_wrap=True)
