"""``tare audit``: how far results can be trusted, whoever measured them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tare.cli import options, quantities
from tare.cli.delivery import Delivered
from tare.cli.stages import Progress
from tare.errors import InputError
from tare.results.report import Report


def audit(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Results of any tool.", metavar="FILE…")
    ] = None,
    finding: Annotated[
        str | None,
        typer.Option(metavar="overhead", help="Only the overhead of platforms, by size."),
    ] = None,
    kappa: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="A.csv B.csv", help="Instead: agreement of two raters (Cohen)."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="Format. [default: recognised]")
    ] = None,
    value: Annotated[str | None, typer.Option(metavar="C", help="Column of the values.")] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns whose levels make the series."),
    ] = None,
    compare: Annotated[
        list[str] | None, typer.Option(metavar="C", help="Column whose levels are compared.")
    ] = None,
    order: Annotated[str | None, typer.Option(metavar="C", help="Column of the order.")] = None,
    trial: Annotated[
        str | None,
        typer.Option(metavar="C", help="Column that identifies trials; row: each row is one."),
    ] = None,
    block: Annotated[
        str | None, typer.Option(metavar="C", help="Column that pairs trials.")
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out cells without a value, such as NA.")
    ] = False,
    cores: Annotated[
        str | None, typer.Option(metavar="C", help="Column of the platforms' cores.")
    ] = None,
    pinning_column: Annotated[
        str | None,
        typer.Option("--pinning", metavar="C", help="Column of the levels unpinned and pinned."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Level of --compare that others are compared with."),
    ] = None,
    host_cores: Annotated[float | None, typer.Option(metavar="N", help="CPUs of the host.")] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Precision of the median, and smallest change, that matter. [default: 5%]",
        ),
    ] = None,
    confidence: Annotated[
        str, typer.Option(metavar="PERCENT", help="Confidence level of intervals.")
    ] = "95%",
    quantile: Annotated[
        list[str] | None,
        typer.Option(metavar="p99", help="Quantile besides the median; repeatable."),
    ] = None,
    time_unit: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Unit of time that medians are taken of, 5 min to 1 d (daily cycle: up to 4 h).",
        ),
    ] = "1h",
    steady: options.Steady = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of resampling.")] = 1,
    report: options.Report = None,
    json: options.Json = None,
) -> Report | Delivered:
    """Check how far results of any tool can be trusted.

    tare audit hyperfine.json --compare command
    """
    from tare.features.audit import report as reports
    from tare.features.audit.ask import ask
    from tare.features.audit.audit import audit as look
    from tare.render import files as written

    if kappa is not None:
        level = quantities.share("--confidence", confidence, example="95%")
        return _agree(kappa, files, level)
    if report is not None:
        written.format_of(report)
    if not files:
        raise InputError("no file was named", "tare audit results.json")
    question = ask(
        finding=finding, format=format, value=value, group=group, compare=compare, order=order,
        trial=trial, block=block, drop_missing=drop_missing, cores=cores,
        pinning=pinning_column, reference=reference, host_cores=host_cores, precision=precision,
        confidence=confidence, quantile=quantile, time_unit=time_unit, seed=seed,
        steady=steady,
    )  # fmt: skip
    with Progress() as progress:
        found = look(files, question, progress)
        names = [str(file) for file in (json, report) if file is not None]
        typed = shlex.join(["tare", *sys.argv[1:]])
        made = reports.make(found, typed, names, page=report is not None, whole=bool(names))
    return Delivered(made, reports.every_row(found))


def _agree(files: tuple[Path, Path], others: list[Path] | None, confidence: float) -> Report:
    """Report how far two raters agree; the exit code is always 0."""
    from tare.features.audit import raters

    if others:
        raise InputError("--kappa takes two files and no other", "tare audit --kappa A.csv B.csv")
    return raters.report(raters.agreements(*files, confidence))
