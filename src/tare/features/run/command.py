"""``tare run``: one command, on any platform stack."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tare.cli import console, lines, options
from tare.cli.command_line import (
    COMMAND_LINE,
    explained,
    how_to_see,
    in_options,
    metric_name,
    places,
    workload,
)
from tare.cli.standard_input import standard_input
from tare.errors import ExperimentError, IncompleteError, TrialError, UsageError
from tare.render.escaping import on_one_line

if TYPE_CHECKING:
    from tare.experiment.results import Results
    from tare.experiment.specification import Experiment
    from tare.features.run.screen import Summary
    from tare.measure.comparison.session import Execution, Wanted

#: Default budget of one command, and the least per cell of several, in seconds.
BUDGET_S, CELL_S = 10, 3

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
) -> None:
    """Measure how long a command takes.

    Several commands, values of a parameter, or platforms make one table. For hyperfine's
    options see docs/how-to/from-hyperfine.md.

        tare run -- sleep 0.1
        tare run 'sleep 0.1' 'sleep 0.103'
        tare run --parameter-scan t 1 3 'sleep 0.{t}'
        tare run --application ffmpeg -p bare -p docker
    """
    from tare.experiment import file as experiment_file
    from tare.experiment.catalogue import catalogue
    from tare.features.run import application as applications
    from tare.features.run import table as run_table
    from tare.measure.comparison.session import Execution, Wanted, check_report
    from tare.platforms import own_files

    console.check_writable(json, save, markdown, export_json, report)
    check_report(report)
    known = catalogue()
    if resume and out is None:
        raise ExperimentError("--resume goes on with what a folder holds", "add --out DIR")
    if trials and resume and out is not None:
        trials = total_trials(trials, out)
    platforms = platform or ["bare"]
    around = lines.Around(
        setup or (), prepare or (), conclude or (), cleanup or (), shell, ignore_failure
    )
    parameters = lines.scanned(parameter_scan or (), parameter_step_size, parameter_list or ())
    if application is None:
        if not command:
            raise UsageError("there is no command", "tare run -- COMMAND…, or --application NAME")
        if set_:
            raise UsageError("--set is of an application", "--application NAME")
        measured = lines.typed(command, around, name or (), parameters, several=False)
    else:
        of_commands = {
            "a command": bool(command), "--name": bool(name), "--input": input is not None,
            "--image": image is not None, "--shell": shell is not None,
            "--ignore-failure": ignore_failure is not None,
            "lines around it": any(around.lines.values()),
            applications.PARAMETERS: bool(parameters),
        }  # fmt: skip
        measured = [applications.line(application, set_ or (), of_commands)]
    # Words of a command are taken as for the platform that has the fewest files of this machine.
    main = next((one for one in platforms if own_files(one)), platforms[0])
    where = places(
        platforms, workers, pinning, image, size, network, hosts, serve or (),
        networked=application is not None and applications.needs_network(application),
    )  # fmt: skip
    cells = len(platforms) * len(measured)
    several = cells > 1
    compared = "platform" if len(platforms) > 1 else "workload"
    default_s = max(BUDGET_S, CELL_S * cells)
    execution = Execution(
        resume, as_root, capture, out is not None, ctx.obj, network_fingerprint, report is not None
    )
    wanted = Wanted(None, out, report, json, None, markdown, ctx.obj, strict)
    with ExitStack() as stack:
        given = stack.enter_context(standard_input(input))
        table = {
            "experiment": {
                "name": "run",
                "question": _question(measured, several=several),
                "warmup": warmup,
                "linger": grace,
                "quantile": quantile,
                "fingerprint": fingerprint and bool(out or save),
                "context_switches": context_switches,
                **({"trials": trials} if trials else {"budget": f"{default_s} s"}),
                **({"precision": precision} if precision else {}),
                "early": not (trials or several) and quantile == "median",
                **({"budget": budget} if budget else {}),
                **({"metric": [metric_name(m, known.metrics) for m in metric]} if metric else {}),
                **({"compare": compared} if several else {}),
            },
            "workload": [
                workload(
                    line.name, line.words, main, capture=capture, timeout=timeout,
                    input=given, hosts=network is not None, options=line.options,
                )
                if application is None
                else {
                    **line.options, "capture": capture,
                    **({"timeout": timeout} if timeout else {}),
                }
                for line in measured
            ],
            **where,
        }  # fmt: skip
        if several:
            refused = {
                "--save": save, "--quantile": quantile != "median", "--precision": precision,
            }  # fmt: skip
            run_table.check(platforms, measured, {o: bool(asked) for o, asked in refused.items()})
            code = run_table.run_table(
                table, measured, execution, wanted, export_json, named=bool(name)
            )
            raise typer.Exit(code)
        try:
            asked = experiment_file.from_table(table, COMMAND_LINE, known)
        except ExperimentError as error:
            raise in_options(error) from error
        _one(asked, measured[0], execution, wanted, main, save, export_json, named=bool(name))


def _question(measured: Sequence[lines.Line], *, several: bool) -> str:
    if len(measured) > 1:
        return "Do their times differ?"
    command = on_one_line(measured[0].text)
    if several:
        return f"Does the platform change the time of {command}?"
    return f"How long does {command} take?"


def _one(
    asked: Experiment,
    line: lines.Line,
    execution: Execution,
    wanted: Wanted,
    main: str,
    save: Path | None,
    export: str | None,
    *,
    named: bool,
) -> None:
    """Measure a single command on a single platform, and say what is known of it."""
    from tare.experiment import pipeline, plan
    from tare.experiment.fingerprints.machine.activity import Watch, others_share
    from tare.features.run import table as run_table
    from tare.features.run.progress import RunBar
    from tare.features.run.screen import as_row, show, summarize
    from tare.measure.comparison import session
    from tare.render.words import text

    prepared = pipeline.check(asked, network=execution.network)
    with wanted.folder() as folder:
        bar = RunBar(plan.metric(asked), asked.stopping)
        watch = Watch()
        ended, failure = session.conduct(prepared, folder, execution, bar)
        # A container engine's programs are not children of this process: their CPU time would
        # count as that of other programs.
        children = all(cell.platform == "bare" for cell in prepared.cells)
        results = prepared.results(folder)
        summary = summarize(results, ended, others_share(watch.activity()) if children else None)
        if summary.by_hand and not summary.good:
            raise KeyboardInterrupt
        spoken = "-" not in (wanted.json, wanted.markdown, export)
        if spoken:
            show(summary, wanted.out, main)
        if wanted.json is not None:
            console.write_json(summary.as_json(), wanted.json)
        if summary.good and wanted.markdown is not None:
            row, of = as_row(summary, line.name if named else line.text)
            failures = [] if summary.failures is None else [summary.failures]
            heads = run_table.heads_of("workload", None, of)
            console.write_text(
                run_table.markdown(heads, [row], failures), wanted.markdown, "--markdown"
            )
        if summary.good and export is not None:
            from tare.features.run.exports import as_hyperfine, trials_of

            console.write_json(as_hyperfine(trials_of(results), [line], named=named), export)
        if failure is not None:
            found = summary.failed
            if not summary.good:
                raise explained(failure, found, prepared)
            raise TrialError(failure.message, how_to_see(found))
        if wanted.report is not None:
            page = session.page(folder, results, (), wanted)
            console.err.print(f"Report  {page}")
        if save is not None:
            _save(results, save)
        if summary.short is not None:
            raise IncompleteError(text(summary.short), _more(summary, wanted.out))
        pipeline.check_same(summary.caveats, summary.levels_of, wanted.out, strict=wanted.strict)


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
    from tare.results.message import message

    if out and summary.is_complete:
        # Nothing is missing in this folder: what goes on with it measures as many once more.
        return text(message("run.anew"))
    # What a program wrote stands above, never in what is to be typed.
    command = again("run", {"--resume": None} if out else {})
    return text(message("run.repair", command=command))


def _save(results: Results, file: Path) -> None:
    """Add what was measured to a baseline, and say how many sessions it has."""
    from tare.experiment import plan
    from tare.measure import baseline
    from tare.render.words import text
    from tare.results.message import message
    from tare.statistics.sessions import FEWEST_SESSIONS

    whole = baseline.save(file, baseline.of(results, plan.metric(results.experiment)))
    n = len(whole.sessions)
    saved = message("run.saved", file=str(file), sessions=n, wanting=max(0, FEWEST_SESSIONS - n))
    console.err.print(f"Saved   {text(saved)}")


def total_trials(asked: int, folder: Path) -> int:
    """Return the good trials that every cell of a folder is to have after a session of so many.

    What an earlier session left unfinished is completed; else they come on top of what there is.
    """
    from tare.experiment import journal, plan_file
    from tare.experiment.session import folder as folders
    from tare.experiment.session.resume_state import past

    if not folders.has_begun(folder):
        return asked
    stored = plan_file.read(folder)
    good = past(journal.read_all(folder)).good
    done = [good.get(cell.cell, 0) for cell in stored.cells]
    before = stored.experiment.stopping.trials
    if before is not None and min(done) < before:
        return max(asked, before)
    return asked + max(done)
