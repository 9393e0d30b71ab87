"""``tare compare``: is it different? Commands interleaved until the verdict is safe."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tare.cli import output
from tare.cli.command_line import (
    COMMAND_LINE,
    as_option,
    factors,
    folder_in_memory,
    given,
    metric_name,
    split,
    workload,
)
from tare.errors import ExperimentError, InterruptError, TrialError

if TYPE_CHECKING:
    from tare.conclude import Prepared
    from tare.findings.judgement import Difference
    from tare.results import Results

#: Of a command that stands for itself as a name.
_LONGEST_NAME = 48


@dataclass(frozen=True)
class _Wanted:
    """Where the answer goes."""

    gate: float | None
    out: Path | None
    report: Path | None
    json: str | None
    junit: Path | None
    markdown: str | None


def compare(
    commands: Annotated[
        list[str],
        typer.Argument(
            help="Commands, each in quotes; the first is what the others are compared with.",
            metavar="'CMD A' 'CMD B'…",
        ),
    ],
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="What to call the commands, once for each, in their order."),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="What to compare: wall, cpu, memory, or any metric.")
    ] = "wall",
    margin: Annotated[
        str, typer.Option(help="Smallest difference that matters; below it is the same.")
    ] = "2%",
    gate: Annotated[
        str | None,
        typer.Option(help="For CI: exit 0 if not slower by this, 1 if slower, 2 if undecided."),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", "-n", min=1, help="A fixed number of pairs, without peeking."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Measure no longer than this.  [default: 60 s; with -n: no limit]"),
    ] = None,
    platform: Annotated[
        str, typer.Option("--platform", "-p", help="Where: a stack of layers, outside-in.")
    ] = "bare",
    warmup: Annotated[
        int, typer.Option(min=0, help="Unmeasured executions before each measured one.")
    ] = 0,
    inputs: Annotated[
        int | None,
        typer.Option(
            min=1, help="{seed} in a command is a number, the same in a pair, of so many in turn."
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Instances side by side.")] = 1,
    pinning: Annotated[str, typer.Option(help="none, spread or compact.")] = "none",
    timeout: Annotated[
        str | None, typer.Option(help="Kill an execution that takes longer.")
    ] = None,
    linger: Annotated[str, typer.Option(help="How long children may outlive a command.")] = "1 s",
    input: Annotated[
        str | None, typer.Option("--input", metavar="FILE", help="Standard input.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Image for a docker layer.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of the order in pairs.  [default: random]")
    ] = None,
    capture: Annotated[
        bool,
        typer.Option(
            "--capture", help="Keep what they print, up to 1 MiB a stream, in --out DIR/output."
        ),
    ] = False,
    as_root: Annotated[
        bool, typer.Option("--as-root", help="Under sudo: run commands as root, not as you.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Keep trials and report here."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the comparison in --out DIR.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report, one page, here.")
    ] = None,
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Verdicts and values; `-`: standard output."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Verdicts as JUnit XML, for CI.")
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Verdicts as a comment for GitHub; `-`: standard output."
        ),
    ] = None,
) -> None:
    """Compare commands: is one slower, by how much, and how sure is that.

    Example: tare compare 'sleep 0.1' 'sleep 0.103'
    """
    from tare import plan

    if resume:
        if out is None:
            raise ExperimentError("--resume goes on with what a folder holds", "add --out DIR")
        seed = plan.read(out).experiment.seed if seed is None else seed
    words = [split(command) for command in commands]
    names = _names(commands, words, name or [])
    if len(commands) < 2:
        raise ExperimentError(
            "there is only one command, and nothing to compare it with",
            "tare compare './old' './new'   (each command in quotes)",
        )
    prepared = _prepare(
        {
            "experiment": {
                "name": "compare",
                "question": f"Is {' or '.join(names[1:])} different from {names[0]}?",
                "compare": "workload",
                "metric": metric,
                "margin": margin,
                "warmup": warmup,
                "linger": linger,
                "seed": secrets.randbits(48) if seed is None else seed,
                **given({"trials": trials, "gate": gate, "inputs": inputs}),
                **given({"budget": budget or (None if trials else "60 s")}),
            },
            "workload": [
                workload(
                    label, some, platform, capture=capture, timeout=timeout, input=input,
                    placeholders=inputs is not None,
                )
                for label, some in zip(names, words, strict=True)
            ],
            **factors(platform, workers, pinning, image),
        }
    )  # fmt: skip
    gated = prepared.experiment.stopping.gate
    wanted = _Wanted(gated, out, report, json, junit, markdown)
    with ExitStack() as stack:
        folder = out or stack.enter_context(folder_in_memory())
        ended = _measure(prepared, folder, resume=resume, as_root=as_root, capture=capture)
        results, found = _differences(folder, capture)
        code = _tell(found, results, ended, folder, wanted)
    raise typer.Exit(code)


def _names(commands: Sequence[str], words: Sequence[Sequence[str]], asked: list[str]) -> list[str]:
    """Return what the commands are called: as asked, by program, by what they are, by number."""
    if asked:
        if len(asked) != len(commands):
            raise ExperimentError(
                f"there are {len(asked)} names for {len(commands)} commands",
                "one --name for each command, in their order",
            )
        if len(set(asked)) < len(asked):
            raise ExperimentError("two commands have the same --name", "give each its own")
        return asked
    programs = [Path(some[0]).name or some[0] for some in words]
    whole = [" ".join(" ".join(command.split()).split()) for command in commands]
    for tried in (programs, whole):
        if len(set(tried)) == len(tried) and all(len(one) <= _LONGEST_NAME for one in tried):
            return tried
    return [f"{program} ({number})" for number, program in enumerate(programs, 1)]


def _prepare(table: dict[str, Any]) -> Prepared:
    from tare import conclude, experiment_file
    from tare.catalogue import catalogue

    known = catalogue()
    asked = table["experiment"]
    asked["metric"] = metric_name(asked["metric"], known.metrics)
    try:
        return conclude.check(experiment_file.from_table(table, COMMAND_LINE, known))
    except ExperimentError as error:
        raise ExperimentError(as_option(error.message), error.hint) from error


def _measure(
    prepared: Prepared, folder: Path, *, resume: bool, as_root: bool, capture: bool
) -> str:
    from tare import conclude
    from tare.cli.progress import Bar

    try:
        with Bar() as bar:
            return conclude.execute(
                prepared, folder, bar, resume=resume, as_root=as_root, teardown=True
            )
    except KeyboardInterrupt as error:
        raise InterruptError(
            f"interrupted; what was measured is in {folder}, where --out was given",
            "the same line with --out DIR --resume goes on with it",
        ) from error
    except TrialError as error:
        _say_evidence(folder)
        raise TrialError(
            error.message, None if capture else "--capture shows what it said"
        ) from error


def _say_evidence(folder: Path) -> None:
    from tare import store
    from tare.cli.verdict import evidence

    said = evidence(store.load(folder))
    if said:
        output.err.print(said)


def _differences(folder: Path, capture: bool) -> tuple[Results, tuple[Difference, ...]]:
    from tare import store
    from tare.cli.verdict import evidence, problems
    from tare.findings.judgement import differences

    results = store.load(folder)
    found = differences(results)
    if isinstance(found, str):
        for line in problems(results):
            output.err.print(line)
        said = evidence(results)
        if said:
            output.err.print(said)
        hint = "--metric wall" if capture else "--capture shows what a command that failed said"
        raise TrialError(found, hint)
    return results, found


def _tell(
    found: tuple[Difference, ...], results: Results, ended: str, folder: Path, wanted: _Wanted
) -> int:
    """Print, write what was asked for, and return the exit code."""
    from tare.cli import verdict
    from tare.findings.judgement import GATE_CODES, worst
    from tare.report import comment, junit

    if wanted.json is not None:
        output.write_json(verdict.as_json(found, results, ended, wanted.gate), wanted.json)
    if wanted.junit is not None:
        output.write_text(junit.render(found, wanted.gate), str(wanted.junit), "--junit")
    if wanted.markdown is not None:
        output.write_text(
            comment.render(found, results, wanted.gate), wanted.markdown, "--markdown"
        )
    if "-" not in (wanted.json, wanted.markdown):
        verdict.show(found, results)
        for line in verdict.problems(results):
            output.out.print(line)
        if wanted.gate is not None:
            output.out.print(verdict.gate_line(found, wanted.gate))
        page = _page(folder, wanted)
        output.out.print(_next(found, page, wanted), style="dim", soft_wrap=True)
    else:
        _page(folder, wanted)
    if wanted.gate is None:
        return 0
    return GATE_CODES[worst([d.gate(wanted.gate) for d in found])]


def _page(folder: Path, wanted: _Wanted) -> Path | None:
    """Write the report where one was asked for, or where the folder stays."""
    from tare import conclude
    from tare import report as pages

    if wanted.report is None and wanted.out is None:
        return None
    with output.err.status("drawing the page"):
        answers = conclude.answers(folder)
        return pages.write(folder, "html", wanted.report, answers.findings)[0]


def _next(found: Sequence[Difference], page: Path | None, wanted: _Wanted) -> str:
    waiting = [d for d in found if d.further and d.comparison.more_pairs]
    if waiting:
        more = sum((d.comparison.more_pairs or 0) * d.seconds for d in waiting)
        kept = f" --out {wanted.out} --resume" if wanted.out else ""
        return f"Next     tare compare --budget '{output.seconds(max(1.0, 1.5 * more))}'{kept} …"
    if page is not None:
        return f"Report   {page}"
    return "Next     tare compare --out DIR …   (keeps the trials, draws the page)"
