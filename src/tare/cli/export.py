"""``tare export``: the results for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tare.cli import output


def export(
    folder: Annotated[Path, typer.Argument(help="Folder of the experiment.", metavar="DIR")],
    format: Annotated[str, typer.Option("--format", help="csv, parquet or json.")] = "csv",
    table: Annotated[
        str,
        typer.Option(
            "--table",
            help="samples, trials, facts, sessions, faults, stops, notes, findings, estimates "
            "(docs/reference/store.md).",
        ),
    ] = "samples",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="`-`: standard output.")
    ] = "-",
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Short for --format json --out FILE."),
    ] = None,
) -> None:
    """Write a table of an experiment for other tools.

    Example: tare export demo-results --format parquet --out samples.parquet
    """
    from tare import store

    if json is not None:
        format, out = "json", json
    store.export(folder, table, format, out)
    if out != "-":
        output.err.print(f"Wrote {out}.")
