"""``tare compare``: is it different? Commands interleaved until the verdict is safe."""

from __future__ import annotations

import secrets
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tare.cli import console, lines, options, quantities
from tare.cli.command_line import given, how_to_see, places, workload
from tare.cli.standard_input import standard_input
from tare.errors import ExperimentError, TrialError, UsageError
from tare.measure.comparison.session import (
    Execution,
    Wanted,
    check_complete,
    check_report,
    differences_in,
    measure,
    prepare,
)
from tare.results.verdict import GATE_CODES

#: Metrics of which a larger value is slower, as they are asked for; others end in _ns.
_TIMES = ("wall", "cpu")


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
    metric: Annotated[str, typer.Option(metavar="METRIC", help="wall, cpu, memory …")] = "wall",
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
) -> None:
    """Compare commands.

    Is one slower, by how much, and how certain is that? Trials are interleaved until the verdict is
    conclusive, or the budget ends. For hyperfine's options see
    docs/how-to/from-hyperfine.md.

        tare compare 'sleep 0.1' 'sleep 0.103'
    """
    from tare.experiment.findings.difference import question
    from tare.render.words import text

    if resume:
        if out is None:
            raise ExperimentError("--resume goes on with what a folder holds", "add --out DIR")
        from tare.experiment import plan_file
        from tare.experiment.session import folder

        if folder.has_begun(out):
            seed = plan_file.read(out).experiment.seed if seed is None else seed
        elif out.exists():
            folder.check_free(out, resume=True)
        if baseline is not None:
            raise ExperimentError(
                "--resume and --baseline exclude each other: the new session is what is compared",
                "leave --resume out, and choose another --out",
            )
    console.check_writable(json, junit, markdown, report)
    check_report(report)
    around = lines.Around(
        setup or (), prepare or (), conclude or (), cleanup or (), shell, ignore_failure,
        directory or (),
    )  # fmt: skip
    measured = lines.typed(commands, around, name or (), (), several=True)
    _check_quotes([line.words for line in measured], platform)
    names = [line.name for line in measured]
    _check_number(names, baseline)
    if gate_on is not None and (gate is None or baseline is not None):
        raise ExperimentError(
            "--gate-on needs --gate, and commands that are measured together",
            "tare compare --gate 3% --gate-on mean 'cmd a' 'cmd b'",
        )
    if gate_on is not None and trials is not None:
        _check_enough(gate_on, trials)
    if bisect and gate is None:
        raise UsageError("--bisect needs --gate, which says what is bad", "--gate 2%")
    least = None if gate is None else quantities.share("--gate", gate, 10)
    wanted = Wanted(least, out, report, json, junit, markdown, ctx.obj, strict, str(ctx.info_name))
    where = places([platform], workers, pinning, image, size, network, hosts, serve or ())
    with standard_input(input) as given_input:
        table: dict[str, Any] = {
            "experiment": {
                "name": "compare",
                "question": text(
                    question(
                        names[1:] or names,
                        names[0] if baseline is None else "the baseline",
                        wanted.gate,
                        "slower" if metric in _TIMES or metric.endswith("_ns") else "higher",
                    )
                ),
                "metric": metric,
                "margin": margin,
                "warmup": warmup,
                "linger": grace,
                "fingerprint": fingerprint and bool(out or baseline),
                "context_switches": context_switches,
                "seed": secrets.randbits(48) if seed is None else seed,
                **given({"inputs": inputs, "budget": budget}),
            },
            "workload": [
                workload(
                    line.name,
                    line.words,
                    platform,
                    capture=capture,
                    timeout=timeout,
                    input=given_input,
                    placeholders=inputs is not None,
                    hosts=network is not None,
                    options=line.options,
                )
                for line in measured
            ],
            **where,
        }
        execution = Execution(
            resume=resume, as_root=as_root, capture=capture, kept=out is not None,
            supplies=ctx.obj, network=network_fingerprint,
        )  # fmt: skip
        if baseline is not None:
            from tare.features.compare.against_baseline import against

            raise typer.Exit(against(table, baseline, baseline_name, trials, execution, wanted))
        table["experiment"] |= {
            "compare": "workload",
            **given({"trials": trials, "min_trials": min_trials, "gate": gate, "gate_on": gate_on}),
            **({} if trials or budget else {"budget": "10 s"}),
        }
        raise typer.Exit(_interleaved(table, execution, wanted, bisect=bisect))


def _check_enough(gate_on: str, trials: int) -> None:
    """Refuse fewer pairs than what the gate judges needs for an interval."""
    from tare.experiment.file import kinds
    from tare.statistics.pair_ratios import pairs_needed

    try:
        quantile = kinds.quantile_of(kinds.GATE_ON.read(gate_on))
    except ValueError:
        return  # the file's own message says what is expected
    needed = 0 if quantile == 0.5 else pairs_needed(quantile)
    if trials < needed:
        raise ExperimentError(
            f"a gate on {gate_on} needs {needed} pairs at least, and -n asks for {trials}",
            f"-n {needed}, or more",
        )


def _interleaved(
    table: dict[str, Any], execution: Execution, wanted: Wanted, *, bisect: bool
) -> int:
    from tare.experiment.findings.failures import failures
    from tare.experiment.findings.judgement import failing, failing_trials, lost
    from tare.features.compare.screen import tell
    from tare.render.words import text

    prepared = prepare(table, execution.network)
    with wanted.folder() as folder:
        ended, failure = measure(prepared, folder, execution)
        results = prepared.results(folder)
        found = differences_in(results, folder, execution, ended)
        code = tell(found, results, ended, folder, wanted)
        if bisect and any(d.failures is not None and d.failures.gate for d in found):
            # Failed trials of one side alone show no difference in time.
            code = GATE_CODES["inconclusive"]
        if failure is not None:
            raise failure
        hopeless = failing(results, "workload")
        if hopeless:
            # The gate has answered for it, and the other comparisons are printed.
            if lost(results) or code == GATE_CODES["fail"]:
                return code
            raise TrialError(
                f"nothing is compared with {hopeless[0]}: "
                + text(failing_trials(results, "workload", hopeless)),
                how_to_see(failures(results)),
            )
        check_complete(results, execution, code, ended)
        return code


def _check_quotes(words: Sequence[Sequence[str]], platform: str) -> None:
    """Refuse the words of one command, which would be taken for several commands."""
    from tare import platforms

    if platforms.own_files(platform) or any(len(some) > 1 for some in words):
        return
    (program, *others) = (some[0] for some in words)
    argument = next((o for o in others if "/" not in o and shutil.which(o) is None), None)
    if argument is not None and shutil.which(program) is not None:
        whole = shlex.quote(shlex.join(word for some in words for word in some))
        raise ExperimentError(
            f"{argument} is no command, and each command is one word: put it in quotes",
            f"tare compare {whole} 'ANOTHER COMMAND'",
        )


def _check_number(names: Sequence[str], baseline: Path | None) -> None:
    if baseline is None and len(names) < 2:
        raise ExperimentError(
            "there is only one command, and nothing to compare it with",
            "tare compare './old' './new'   (each command in quotes)",
        )
    if baseline is not None and len(names) > 1:
        raise ExperimentError(
            f"there are {len(names)} commands, and one is compared with a baseline",
            "leave --baseline out: commands measured together are compared better",
        )
