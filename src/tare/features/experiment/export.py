"""``tare export``: the results for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tare.cli import console, options
from tare.errors import TrialError

#: Tables that are empty only where nothing was measured.
_MEASURED = ("samples", "trials")
#: Tables of what was concluded, which is stored by what measured.
_CONCLUDED = ("findings", "estimates")


def export(
    folder: Annotated[
        Path, typer.Argument(help="Folder of the experiment, or of a fleet.", metavar="DIR")
    ],
    table: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="samples, trials, requests, tasks, facts, sessions, faults, stops, notes, "
            "findings, estimates.",
        ),
    ] = "samples",
    file: Annotated[
        str,
        typer.Option(metavar="FILE|-", help="Write .csv, .parquet, or .json; -: CSV to stdout."),
    ] = "-",
    json: options.Json = None,
) -> None:
    """Export a table of an experiment.

    tare export demo-results --file samples.parquet
    """
    from tare.experiment import store

    rows = 0
    if json is not None:
        rows = store.export(folder, table, "json", json)
    if json is None or file != "-":
        rows = store.export(folder, table, store.format_of(file, "--file samples.csv"), file)
    for written in (json, file):
        if written not in (None, "-"):
            console.err.print(f"Wrote {written}.")
    if rows:
        return
    if table in _MEASURED:
        raise TrialError(
            f"{folder} has no {table}: nothing was measured", f"tare experiment report {folder}"
        )
    console.err.print(f"{folder} has no {table}.")
    if table in _CONCLUDED:
        # A report works them out of what it reads, which may be some sessions only.
        console.err.print(
            "tare experiment run stores them at its end.\n"
            f"Next: tare experiment report {folder} --json findings.json   (works them out)",
            soft_wrap=True,
        )
