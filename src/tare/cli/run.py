"""``tare run``: one command, on any platform stack."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Container, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tare import lease
from tare.cli import output
from tare.errors import ExperimentError, TrialError

#: How complaints name where the options come from.
COMMAND_LINE = "the command line"


def run(
    command: Annotated[
        list[str], typer.Argument(help="Command to measure, after `--`.", metavar="-- COMMAND…")
    ],
    platform: Annotated[
        str, typer.Option("--platform", "-p", help="Where: a stack of layers, outside-in.")
    ] = "bare",
    trials: Annotated[
        int | None,
        typer.Option("--trials", "-n", min=1, help="A fixed number, decided beforehand."),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Stop when the median is known this well.  [default: 2%]"),
    ] = None,
    quantile: Annotated[
        str, typer.Option(help="The quantile to know that well, such as p95.")
    ] = "median",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="What to know that well: wall, cpu, memory …; may be repeated.  [default: wall]"
        ),
    ] = None,
    anytime: Annotated[
        bool,
        typer.Option(
            "--anytime", help="Stop by a confidence sequence; for exchangeable trials only."
        ),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(help="Measure no longer than this.  [default: 60 s; with -n: no limit]"),
    ] = None,
    warmup: Annotated[
        int, typer.Option(min=0, help="Unmeasured executions before each measured one.")
    ] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Instances side by side.")] = 1,
    pinning: Annotated[str, typer.Option(help="none, spread or compact.")] = "none",
    timeout: Annotated[
        str | None, typer.Option(help="Kill an execution that takes longer.")
    ] = None,
    linger: Annotated[str, typer.Option(help="How long children may outlive the command.")] = "1 s",
    input: Annotated[
        str | None, typer.Option("--input", metavar="FILE", help="Standard input.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Image for a docker layer.")] = None,
    capture: Annotated[
        bool,
        typer.Option(
            "--capture", help="Keep what it prints, up to 1 MiB a stream, in --out DIR/output."
        ),
    ] = False,
    as_root: Annotated[
        bool, typer.Option("--as-root", help="Under sudo: run the command as root, not as you.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Keep journal and output here."),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="FILE", help="Trials, summary, facts; `-`: standard output."
        ),
    ] = None,
) -> None:
    """Measure one command: how long it takes, and how far that can be trusted.

    Example: tare run -- sleep 0.1
    """
    from tare import conclude, experiment_file, platforms
    from tare.catalogue import catalogue
    from tare.cli.progress import Bar
    from tare.cli.summary import show, summarize
    from tare.workloads.placeholders import literal

    known = catalogue()
    table = {
        "experiment": {
            "name": "run",
            "question": f"How long does {' '.join(command)} take?",
            "warmup": warmup,
            "linger": linger,
            "quantile": quantile,
            "anytime": anytime,
            **({"trials": trials} if trials else {"budget": "60 s"}),
            **({"precision": precision} if precision else {}),
            **({"budget": budget} if budget else {}),
            **({"metric": [_metric(m, known.metrics) for m in metric]} if metric else {}),
        },
        "workload": [
            {
                "name": Path(command[0]).name or "command",
                "command": [literal(word) for word in command],
                "capture": capture,
                # Elsewhere neither the directory nor what the environment names need exist.
                **(
                    {}
                    if platforms.own_files(platform)
                    else {"directory": literal(str(Path.cwd())), "inherit": ["*"]}
                ),
                **({"timeout": timeout} if timeout else {}),
                **({"input": literal(str(Path(input).resolve()))} if input else {}),
            }
        ],
        "factors": {"platform": [platform], "workers": [workers], "pinning": [pinning]},
        **({"platforms": {"docker": {"image": image}}} if image else {}),
    }
    if input is not None and not Path(input).is_file():
        raise ExperimentError(f"there is no file {input} to read as standard input")
    try:
        asked = experiment_file.from_table(table, COMMAND_LINE, known)
    except ExperimentError as error:
        raise ExperimentError(_as_option(error.message), error.hint) from error
    prepared = conclude.check(asked)
    with ExitStack() as stack:
        folder = out or stack.enter_context(_folder_in_memory())
        failure: TrialError | None = None
        ended = "failed"
        try:
            with Bar() as bar:
                ended = conclude.execute(prepared, folder, bar, as_root=as_root, teardown=True)
        except TrialError as error:
            # What failed, and how, is a result too.
            failure = error
        summary = summarize(folder, ended)
        if json is not None:
            output.write_json(summary.as_json(), json)
        if json != "-":
            show(summary, out, platform)
        if failure is not None:
            said = summary.evidence()
            if said:
                output.err.print(said)
            raise TrialError(failure.message, _hint(command, capture))


def _as_option(message: str) -> str:
    """Name an option where an experiment file would have the key of a table."""
    return re.sub(rf"^{COMMAND_LINE}: \w+(\[\d+\])?\.(\w+)(\[\d+\])?", r"--\2", message)


def _metric(asked: str, known: Container[str]) -> str:
    """Return the name of a metric that may have been asked for without its unit."""
    return next((name for unit in ("_ns", "_bytes") if (name := asked + unit) in known), asked)


def _hint(command: list[str], capture: bool) -> str | None:
    if len(command) == 1 and set(" |;&<>$") & set(command[0]):
        return f"a line for the shell needs a shell: tare run -- sh -c '{command[0]}'"
    return None if capture else "--capture shows what it said"


@contextlib.contextmanager
def _folder_in_memory() -> Iterator[Path]:
    """Give a folder for results that nobody keeps: no trial waits for a disk."""
    name = lease.new_name()
    with lease.hold(name):
        folder = Path("/dev/shm") / f"{name}-run"
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
