"""``tare cleanup``: remove what killed sessions left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tare.cli import console, options


def cleanup(
    all: Annotated[
        bool, typer.Option("--all", help="Also remove leftovers without a session record.")
    ] = False,
    json: options.Json = None,
) -> None:
    """Remove what killed sessions left behind, and restore settings.

    That is containers, control groups, files, processes, and what doctor --fix held. Sessions that
    run are not touched. The agent's Docker images go when no session of this user runs.

        tare cleanup
    """
    from tare.experiment import remnants

    removed = remnants.cleanup(all=all)
    if json is not None:
        console.write_json({"version": 1, "removed": removed}, json)
        if json == "-":
            return
    for what in removed:
        console.out.print(f"Removed {what}")
    if not removed:
        console.out.print("Nothing was left behind.")
        if os.geteuid() != 0 and Path("/run/tare").exists():
            console.out.print("What sudo tare left is not looked for: sudo tare cleanup")
