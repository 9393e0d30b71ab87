"""``tare cleanup``: remove what killed sessions left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tare.cli import options
from tare.results.message import message
from tare.results.report import Entry, Report


def cleanup(
    all: Annotated[
        bool, typer.Option("--all", help="Also remove leftovers without a session record.")
    ] = False,
    json: options.Json = None,
) -> Report:
    """Remove what killed sessions left behind, and restore settings.

    That is containers, control groups, files, processes, and what doctor --fix held. Sessions that
    run are not touched. The agent's Docker images go when no session of this user runs.

        tare cleanup
    """
    from tare.experiment import remnants

    removed = remnants.cleanup(all=all)
    is_seen = bool(removed) or os.geteuid() == 0 or not Path("/run/tare").exists()
    return Report(
        command="cleanup",
        name="cleanup",
        question=message("What did killed sessions leave?"),
        figures={"removed": removed},
        entries=tuple(
            Entry("" if i else "Removed", message("{leftover}", leftover=one))
            for i, one in enumerate(removed)
        )
        or (Entry("Removed", message("nothing: no session left anything behind")),),
        next=()
        if is_seen
        else (message("sudo tare cleanup   (leftovers of root were not searched)"),),
    )
