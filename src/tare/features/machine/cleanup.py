"""``tare cleanup``: remove what killed sessions left."""

from __future__ import annotations

import os
from pathlib import Path

from tare.cli.call import Call
from tare.options import shared
from tare.options.command import command
from tare.options.option import OUTPUT, Options, flag
from tare.results.message import message
from tare.results.report import Entry, NextStep, Report


class CleanupOptions(Options):
    """Options of ``tare cleanup``."""

    json: str | None = shared.JSON
    all: bool = flag("Also remove leftovers without a session record.", group=OUTPUT)


@command(CleanupOptions, is_small=True, needs_numpy=False)
def cleanup(given: CleanupOptions, call: Call) -> Report:
    """Remove what killed sessions left behind, and restore settings.

    That is containers, control groups, files, processes, and what doctor --fix held. Sessions that
    run are not touched. The agent's Docker images go when no session of this user runs.

        tare cleanup
    """
    from tare.experiment import remnants

    removed = remnants.cleanup(all=given.all)
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
        next_steps=()
        if is_seen
        else (NextStep("sudo tare cleanup", message("leftovers of root were not searched")),),
    )
