"""``tare export``: the results for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tare.cli import console, options
from tare.errors import TrialError, UsageError

if TYPE_CHECKING:
    from tare.experiment.results import Results
    from tare.results.finding import Finding

#: Tables that are empty only where nothing was measured.
_MEASURED = ("samples", "trials")


def export(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(help="Folder of the experiment, or of a fleet.", metavar="DIR")
    ],
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="samples (default), trials, requests, tasks, facts, sessions, faults, stops, "
            "notes, findings, estimates.",
        ),
    ] = None,
    file: Annotated[
        str,
        typer.Option(
            metavar="FILE|-",
            help="Write .csv, .json; .parquet, or all as .duckdb (extra tables); -: CSV to stdout.",
        ),
    ] = "-",
    json: options.Json = None,
) -> None:
    """Export a table of an experiment.

    tare export demo-results --file samples.csv
    """
    from tare.experiment import pipeline
    from tare.experiment.store import export as exporting

    def conclude(results: Results) -> tuple[Finding, ...]:
        return pipeline.answers(results, ctx.obj.findings()).findings

    if file.endswith(".duckdb"):
        if table is not None or json is not None:
            raise UsageError(f"{file} gets all tables", "no --table, and no --json beside it")
        exporting.database(folder, Path(file), conclude)
        console.err.print(f"Wrote {file}.")
        return
    table = table or "samples"
    rows = 0
    if json is not None:
        rows = exporting.export(folder, table, "json", json, conclude)
    if json is None or file != "-":
        format = exporting.format_of(file, "--file samples.csv")
        rows = exporting.export(folder, table, format, file, conclude)
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
