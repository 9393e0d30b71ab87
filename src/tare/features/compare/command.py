"""``tare compare``: is it different? Commands interleaved until the verdict is safe."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from tare.cli import console, lines, options
from tare.cli.standard_input import standard_input
from tare.measure.comparison.execution import Execution
from tare.measure.comparison.session import (
    check,
    check_report,
    conclude,
    differences_in,
    measure,
    prepare,
)
from tare.results.report import Report
from tare.results.verdict import GATE_CODES


def compare(
    ctx: typer.Context,
    commands: Annotated[
        list[str],
        typer.Argument(
            help="Commands, each in quotes; the first is the reference.",
            metavar="'CMD A' 'CMD B'…",
        ),
    ],
    name: lines.Name = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help="wall (default), cpu, memory …; repeatable."),
    ] = None,
    margin: Annotated[
        str, typer.Option(metavar="PERCENT", help="Smallest difference that matters.")
    ] = "2%",
    gate: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="For CI: exit 0 if not slower by this, 1 if slower, 2 if inconclusive.",
        ),
    ] = None,
    gate_on: Annotated[
        str | None,
        typer.Option(
            metavar="STATISTIC",
            hidden=True,
            help="Statistic that the gate judges: median, mean, p90 … [default: median]",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="DIR|FILE", help="Compare one command with stored sessions."),
    ] = None,
    baseline_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", hidden=True, help="Command of the baseline, if it has several."
        ),
    ] = None,
    inputs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Replaces {seed} in a command by one of N seeds; both commands of a pair get the "
            "same one.",
        ),
    ] = None,
    trials: options.Trials = None,
    min_trials: options.MinTrials = None,
    budget: options.Budget = None,
    timeout: options.Timeout = None,
    seed: options.Seed = None,
    platform: options.Platform = "bare",
    image: options.Image = None,
    size: options.Size = "all",
    workers: options.Workers = 1,
    pinning: options.Pinning = "none",
    network: options.Network = None,
    as_root: options.AsRoot = False,
    strict: options.Strict = False,
    bisect: options.Bisect = False,
    out: options.Out = None,
    resume: options.Resume = False,
    capture: options.Capture = False,
    fingerprint: options.Fingerprint = True,
    report: options.Report = None,
    markdown: options.Markdown = None,
    junit: options.JUnit = None,
    json: options.Json = None,
    warmup: options.Warmup = 0,
    setup: lines.Setup = None,
    prepare: lines.Prepare = None,
    conclude: lines.Conclude = None,
    cleanup: lines.Cleanup = None,
    shell: lines.Shell = None,
    ignore_failure: lines.IgnoreFailure = None,
    directory: lines.Directory = None,
    input: lines.Input = None,
    hosts: options.Hosts = None,
    serve: options.Serve = None,
    grace: options.Grace = "1 s",
    network_fingerprint: options.NetworkFingerprint = None,
    context_switches: options.ContextSwitches = True,
    steady: options.HiddenSteady = False,
) -> Report:
    """Compare commands.

    Is one slower, by how much, and how certain is that? Trials are interleaved until the verdict is
    conclusive, or the budget ends. For hyperfine's options see
    docs/how-to/from-hyperfine.md.

        tare compare 'sleep 0.1' 'sleep 0.103'
    """
    typed = locals()  # options by name
    from tare.features.compare import work

    console.check_writable(json, junit, markdown, report)
    check_report(report)
    with standard_input(input) as given_input:
        asked = work.ask(commands, typed | {"input": given_input})
        execution = Execution(
            ctx.obj, resume, as_root, capture, out, report, network_fingerprint, gate=asked.gate,
            strict=strict, command=str(ctx.info_name),
        )  # fmt: skip
        if baseline is not None:
            from tare.features.compare.against_baseline import against

            made = against(asked.table, baseline, baseline_name, trials, execution)
        else:
            made = _interleaved(asked.table, execution)
        # Failed trials of one side show git bisect no difference in time.
        by_failures = made.lost or any(one.failing == "failed" for one in made.comparisons)
        code = GATE_CODES["inconclusive"]
        return msgspec.structs.replace(made, exit_code=code) if bisect and by_failures else made


def _interleaved(table: dict[str, Any], execution: Execution) -> Report:
    prepared = prepare(table, execution.network)
    with execution.folder() as folder:
        ended, failure = measure(prepared, folder, execution)
        results = prepared.results(folder)
        found = differences_in(results, folder, execution, ended)
        complete = partial(check, results, execution, ended, failure)
        return conclude(found, results, ended, folder, execution, complete)
