"""``tare export``: the results for other tools."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tare.cli import console
from tare.cli.call import Call
from tare.errors import TrialError, Typed, UsageError
from tare.options import kinds, shared
from tare.options.command import command
from tare.options.option import OUTPUT, WHAT, Options, argument, option

if TYPE_CHECKING:
    from tare.experiment.results import Results
    from tare.results.finding import Finding

#: Tables that are empty only where nothing was measured.
_MEASURED = ("samples", "trials")


def _tables() -> list[str]:
    from tare.experiment.tables import TABLES

    return [*TABLES]


class ExportOptions(Options):
    """Options of ``tare export``."""

    folder: Path = argument(
        kinds.FOLDER, "DIR", "Folder of the experiment, or of a fleet.", is_required=True,
    )  # fmt: skip
    table: str | None = option(
        kinds.WORD.offering(_tables),
        "samples (default), trials, requests, tasks, facts, sessions, faults, stops, notes, "
        "findings, estimates.", group=WHAT, metavar="NAME",
    )  # fmt: skip
    file: str = option(
        kinds.STREAM,
        "Write .csv, .json; .parquet, or all as .duckdb (extra tables); -: CSV to stdout.",
        group=OUTPUT, default="-",
    )  # fmt: skip
    json: str | None = shared.JSON


@command(ExportOptions)
def export(given: ExportOptions, call: Call) -> None:
    """Export a table of an experiment.

    tare export demo-results --file samples.csv
    """
    from tare.experiment import pipeline
    from tare.experiment.store import export as exporting

    def conclude(results: Results) -> tuple[Finding, ...]:
        return pipeline.answers(results, call.supplies.findings()).findings

    folder, file, json = given.folder, given.file, given.json
    if file.endswith(".duckdb"):
        if given.table is not None or json is not None:
            raise UsageError(f"{file} gets all tables", "no --table, and no --json beside it")
        exporting.database(folder, Path(file), conclude)
        console.err.print(f"Wrote {file}.")
        return
    table = given.table or "samples"
    rows = 0
    if json is not None:
        rows = exporting.export(folder, table, "json", json, conclude)
    if json is None or file != "-":
        format = exporting.format_of(file, Typed("--file samples.csv"))
        rows = exporting.export(folder, table, format, file, conclude)
    for written in (json, file):
        if written not in (None, "-"):
            console.err.print(f"Wrote {written}.")
    if rows:
        return
    if table in _MEASURED:
        raise TrialError(
            f"{folder} has no {table}: nothing was measured",
            Typed(f"tare experiment report {shlex.quote(str(folder))}"),
        )
    console.err.print(f"{folder} has no {table}.")
