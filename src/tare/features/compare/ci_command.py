"""``tare ci``: is a commit slower? Two commits are built, and compared as by ``tare compare``."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from tare.cli import console, lines, options
from tare.cli.command_line import begin_budget
from tare.errors import UsageError
from tare.features.compare import revisions
from tare.features.compare.command import compare
from tare.platforms import users
from tare.results.report import Report

#: Trials of which one fails in 99 % of comparisons if a tenth of all do: 1 − 0.9⁴⁴.
_MIN_TRIALS = 44
_BUDGET = "60 s"
#: Options that tare compare does not have.
_OWN = ("command", "build", "base", "head")


def ci(
    ctx: typer.Context,
    command: Annotated[
        list[str], typer.Argument(help="Command to measure in both.", metavar="-- COMMAND")
    ],
    build: Annotated[
        str | None, typer.Option(metavar="LINE", help="Shell line that builds a commit.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="REV",
            help="Reference. [default: where head left the default branch]",
        ),
    ] = None,
    head: Annotated[str, typer.Option(metavar="REV", help="Candidate.")] = "HEAD",
    gate: Annotated[
        str,
        typer.Option(
            metavar="PERCENT", help="Exit 0 if not slower by this, 1 if slower, 2 if inconclusive."
        ),
    ] = "5%",
    gate_on: Annotated[
        str | None,
        options.rare("--gate-on", metavar="STATISTIC", help="median, mean, p90 …"),
    ] = None,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="cpu, wall, memory …")] = "cpu",
    trials: options.Trials = None,
    min_trials: options.MinTrials = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Time limit without builds. [default: 60 s; none with -n]"
        ),
    ] = None,
    timeout: options.Timeout = None,
    seed: options.Seed = None,
    size: options.Size = "all",
    workers: options.Workers = 1,
    pinning: options.Pinning = "none",
    bisect: options.Bisect = False,
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
    input: lines.Input = None,
) -> Report:
    """Compare two commits.

    Is a commit slower than another? Both are built in folders outside your work tree, which are
    removed afterwards, and their runs are interleaved.

        tare ci --build 'make -j2' --gate 2% -- ./bench --size 3
    """
    given = locals()
    if bisect and (base is None or base.startswith(("HEAD", "@"))):
        raise UsageError(
            "--bisect needs a good commit that stays the same while git moves HEAD",
            "--base TAG   (or a hash, or a branch)",
        )
    if users.calling_user() is not None:
        raise UsageError("tare ci builds commits, and builds nothing as root", "without sudo")
    console.check_writable(json, junit, markdown, report)
    candidate = revisions.resolve(head)
    reference = revisions.resolve(base) if base is not None else revisions.default_base(candidate)
    if head == "HEAD" and not bisect and revisions.is_changed():
        console.err.print("Note: changes that are not committed are not measured.")
    words = command[0] if len(command) == 1 else shlex.join(command)
    try:
        split = shlex.split(words)
    except ValueError:
        split = []  # as a shell may read it; otherwise the command is refused as it is below
    revisions.check_paths(split)
    with revisions.checked_out(reference, candidate) as both:
        for one in both if build else ():
            with console.err.status(f"building {one.name}"):
                revisions.build(one, str(build))
        # A shell may define it, and what runs first may make it.
        if split and not (shell or setup or prepare):
            revisions.check_program(*both, split[0])
        begin_budget()
        # As parsed: ctx.params has the texts that were typed.
        shared = {name: given[name] for name in ctx.params if name not in _OWN}
        return compare(
            ctx,
            [words, words],
            **shared
            | {
                "name": [one.name for one in both],
                "directory": [str(one.directory) for one in both],
                "metric": [metric],
                "min_trials": min_trials or (None if bisect or trials else _MIN_TRIALS),
                "budget": budget or (None if trials else _BUDGET),
            },
        )
