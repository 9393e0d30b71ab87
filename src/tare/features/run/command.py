"""``tare run``: one command, on any platform stack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tare.cli import console, lines, options
from tare.cli.command_line import (
    explained,
    how_to_see,
)
from tare.cli.delivery import reporting
from tare.cli.standard_input import standard_input
from tare.errors import IncompleteError, TrialError
from tare.results.message import Message, message
from tare.results.report import Entry, Report

if TYPE_CHECKING:
    from tare.experiment.results import Results
    from tare.features.run.summary import Summary
    from tare.features.run.work import Asked
    from tare.measure.comparison.execution import Execution

Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue --out DIR; if it is complete, measure -n more."),
]


def run(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="Words of a command after --, or commands in quotes.",
            metavar="-- COMMAND… | 'COMMAND'…",
        ),
    ] = None,
    application: Annotated[
        str | None,
        typer.Option(
            "--application",
            metavar="NAME",
            help="Instead of a command: tare describe applications.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        options.rare(
            "--set", metavar="NAME=VALUE", help="Parameter of the application; repeatable."
        ),
    ] = None,
    name: lines.Name = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help="wall (default), cpu, memory …; repeatable."),
    ] = None,
    quantile: Annotated[
        str,
        options.rare(metavar="QUANTILE", help="Quantile of the precision target."),
    ] = "median",
    trials: options.Trials = None,
    precision: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="Precision at which to stop. [default: 2%]"),
    ] = None,
    budget: options.Budget = None,
    timeout: options.Timeout = None,
    platform: options.Platforms = None,
    image: options.Image = None,
    size: options.Size = "all",
    workers: options.Workers = 1,
    pinning: options.Pinning = "none",
    network: options.Network = None,
    as_root: options.AsRoot = False,
    out: options.Out = None,
    resume: Resume = False,
    capture: options.Capture = False,
    fingerprint: options.Fingerprint = True,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Add the session to a baseline for tare compare."),
    ] = None,
    report: options.Report = None,
    markdown: options.Markdown = None,
    json: options.Json = None,
    strict: options.Strict = False,
    warmup: options.Warmup = 0,
    setup: lines.Setup = None,
    prepare: lines.Prepare = None,
    conclude: lines.Conclude = None,
    cleanup: lines.Cleanup = None,
    shell: lines.Shell = None,
    ignore_failure: lines.IgnoreFailure = None,
    parameter_scan: lines.Scan = None,
    parameter_step_size: lines.Step = None,
    parameter_list: lines.Listed = None,
    input: lines.Input = None,
    export_json: lines.ExportJson = None,
    hosts: options.Hosts = None,
    serve: options.Serve = None,
    grace: options.Grace = "1 s",
    network_fingerprint: options.NetworkFingerprint = None,
    context_switches: options.ContextSwitches = True,
    steady: options.HiddenSteady = False,
) -> Report:
    """Measure how long a command takes.

    Several commands, values of a parameter, or platforms make one table. For hyperfine's
    options see docs/how-to/from-hyperfine.md.

        tare run -- sleep 0.1
        tare run 'sleep 0.1' 'sleep 0.103'
        tare run --parameter-scan t 1 3 'sleep 0.{t}'
        tare run --application ffmpeg -p bare -p docker
    """
    typed = locals()  # options by name
    from tare.features.run import table as run_table
    from tare.features.run import work
    from tare.measure.comparison.execution import Execution
    from tare.measure.comparison.session import check_report

    console.check_writable(json, save, markdown, export_json, report)
    check_report(report)
    execution = Execution(
        ctx.obj, resume, as_root, capture, out, report, network_fingerprint, strict=strict,
        command="run",
    )  # fmt: skip
    with standard_input(input) as given:
        saves = bool(out or save)
        asked = work.ask(
            command or (), typed | {"input": given, "fingerprint": fingerprint and saves}
        )
        if asked.several:
            refused = {
                "--save": save, "--quantile": quantile != "median", "--precision": precision,
            }  # fmt: skip
            run_table.check(
                asked.platforms, asked.lines, {o: bool(given) for o, given in refused.items()}
            )
            return run_table.run_table(
                asked.table, asked.lines, execution, export_json, named=bool(name)
            )
        return _one(asked, execution, save, export_json, named=bool(name))


def _one(
    asked: Asked,
    execution: Execution,
    save: Path | None,
    export: str | None,
    *,
    named: bool,
) -> Report:
    """Measure a single command on a single platform."""
    from tare.experiment import pipeline, plan
    from tare.features.run import report, work
    from tare.features.run.progress import RunBar
    from tare.measure.comparison.session import prepare, with_page
    from tare.render.words import text

    (line,) = asked.lines
    prepared = prepare(asked.table, execution.network)
    experiment = prepared.experiment
    with execution.folder() as folder:
        bar = RunBar(plan.metric(experiment), experiment.stopping)
        summary, failure = work.measure(prepared, folder, execution, bar)
        results, found = summary.results, summary.failed
        if summary.by_hand and not summary.good:
            raise KeyboardInterrupt
        made = report.make(summary, line.name if named else line.text, execution.out, asked.main)
        with reporting(made):
            if summary.good and export is not None:
                from tare.features.run.exports import as_hyperfine, trials_of

                console.write_json(as_hyperfine(trials_of(results), [line], named=named), export)
            if failure is not None:
                raise (
                    TrialError(failure.message, how_to_see(found))
                    if summary.good
                    else explained(failure, found, prepared)
                )
            if execution.report is not None:
                made = with_page(made, folder, results, execution)
        with reporting(made):
            if save is not None:
                saved = Entry("Saved", _save(results, save))
                made = msgspec.structs.replace(made, entries=(*made.entries, saved))
        with reporting(made):
            if summary.short is not None:
                raise IncompleteError(text(summary.short), _more(summary, execution.out))
            pipeline.check_same(
                summary.caveats, summary.levels_of, execution.out, strict=execution.strict
            )
        return made


def _more(summary: Summary, out: Path | None) -> str | None:
    """Return what gets the trials that were asked for."""
    if summary.failed:
        return (None if out else how_to_see(summary.failed)) or _repair(summary, out)
    if out:
        return "the same command with --resume   (measures more)"
    return "the same command again" if summary.by_hand else "a longer --budget"


def _repair(summary: Summary, out: Path | None) -> str:
    """Return the same command, after what fails was repaired."""
    from tare.cli.again import again
    from tare.render.words import text

    if out and summary.is_complete:
        # Nothing is missing in this folder: what goes on with it measures as many once more.
        return text(message("repair what fails, then measure it again with another --out"))
    # What a program wrote stands above, never in what is to be typed.
    command = again("run", {"--resume": None} if out else {})
    return text(message("repair what fails, then {command}", command=command))


def _save(results: Results, file: Path) -> Message:
    """Add what was measured to a baseline, and say how many sessions it has."""
    from tare.experiment import plan
    from tare.measure import baseline
    from tare.statistics.sessions import FEWEST_SESSIONS

    whole = baseline.save(file, baseline.of(results, plan.metric(results.experiment)))
    n = len(whole.sessions)
    return message(
        "{file} has {sessions | counted('session')}{% if wanting %}; a comparison with it "
        "needs {wanting} more{% endif %}",
        file=str(file),
        sessions=n,
        wanting=max(0, FEWEST_SESSIONS - n),
    )
