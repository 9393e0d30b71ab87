"""``tare tasks``: programs on many inputs with expected outputs, a row each."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tare.cli import console, options
from tare.cli.again import again as typed_again
from tare.cli.commands import Commands
from tare.cli.delivery import Delivered, reporting
from tare.errors import IncompleteError, InterruptError, TrialError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.features.tasks.configurations import Metric
    from tare.features.tasks.runs import Runs

#: The page of one folder; and of several, in the first, which keeps its own.
PAGE, JOINED = "report.html", "joined.html"

app = Commands(
    no_args_is_help=True,
    help="""Run programs on many inputs and judge their outputs.

        tare tasks run examples/tasks.toml
    """,
)

Folders = Annotated[
    list[Path], typer.Argument(help="Folders of task sets, joined by task.", metavar="DIR…")
]
Scored = Annotated[
    str, typer.Option("--metric", metavar="cpu|wall", help="Time that scores are about.")
]


@app.command()
def run(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="File with [tasks] (TOML).", metavar="FILE")],
    parallel: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Runs at a time. [default: of FILE]")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials", "-n", metavar="N", min=1, help="Runs of each task. [default: of FILE]"
        ),
    ] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out platforms that are missing.")
    ] = False,
    as_root: options.AsRoot = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder for the results. [default: FILE less .toml]"
        ),
    ] = None,
    resume: options.Resume = False,
    metric: Scored = "cpu",
    json: options.Json = None,
) -> Delivered:
    """Run every task with every program on every platform.

    tare tasks run examples/tasks.toml --parallel 2
    """
    from tare.features.tasks import work
    from tare.features.tasks.progress import TasksBar
    from tare.platforms import users

    of = _metric(metric)
    user = None if as_root else users.calling_user()
    folder = out or file.with_suffix("")
    ctx.params["report"] = folder / PAGE
    again = typed_again("tasks run", {"--out": str(folder), "--resume": None})
    try:
        with TasksBar() as bar:
            prepared = work.prepare(
                file, skip_missing=skip_missing, parallel=parallel, trials=trials, user=user
            )
            for note in prepared.notes:
                bar.note(note.message)
            work.execute(prepared, folder, bar, resume=resume, user=user)
    except KeyboardInterrupt as error:
        shows = shlex.join(["tare", "tasks", "report", str(folder)])
        raise InterruptError(
            f"interrupted; all runs that had ended are kept in {folder}",
            f"{again}   (goes on)   or: {shows}",
        ) from error
    made, runs = _report([folder], of, "tasks run")
    with reporting(made):
        _check_broken(runs, of)
        _check_complete(runs, again)
    return made


@app.command()
def report(
    ctx: typer.Context,
    folders: Folders,
    metric: Scored = "cpu",
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Page: .html, .md, or .json. [default: DIR/report.html; of several, joined.html]",
        ),
    ] = None,
    json: options.Json = None,
) -> Delivered:
    """Compare task sets, one or several, and write the table.

    Also while they still run.

        tare tasks report monday tuesday --report both.html
    """
    from tare.render import files

    page = folders[0] / (PAGE if len(folders) == 1 else JOINED)
    # Without the option, the page is written all the same.
    ctx.params["report"] = report or page
    files.format_of(ctx.params["report"])
    return _report(folders, _metric(metric), "tasks report")[0]


@app.command()
def export(
    folders: Folders,
    file: Annotated[
        str,
        typer.Option(
            metavar="FILE|-", help="Write .csv, .json, .parquet (extra tables); -: CSV to stdout."
        ),
    ] = "-",
    benchexec: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Instead: BenchExec's XML, for its table-generator."),
    ] = None,
) -> None:
    """Export all runs, a row each.

    tare tasks export results --file runs.csv
    tare tasks export results --benchexec xml
    """
    from tare.features.tasks import benchexec as files_of_benchexec
    from tare.features.tasks import exports
    from tare.features.tasks.folder import load

    runs = load(folders)
    if benchexec is not None:
        if file != "-":
            raise UsageError("--file and --benchexec exclude each other", "leave one of them out")
        written = files_of_benchexec.write(runs, benchexec)
        for path in written:
            console.err.print(f"Wrote {path}.")
        files = shlex.join(map(str, written))
        console.err.print(f"Next: table-generator {files}", soft_wrap=True)
        return
    exports.write(runs, file)
    if file != "-":
        console.err.print(f"Wrote {file}.")


def _check_complete(runs: Runs, again: str) -> None:
    """Raise where some runs have no result; ``again`` does them again."""
    for result, what in (("lost", "lost by their platform"), ("unchecked", "not checked")):
        count = int((runs.table["result"] == result).sum())
        if count:
            raise IncompleteError(
                f"{count} of {len(runs.table)} runs {'was' if count == 1 else 'were'} {what}; "
                f"the table has the reasons",
                f"{again}   (does them again)",
            )


def _check_broken(runs: Runs, metric: Metric) -> None:
    """Raise where every run of a configuration crashed alike, with what to do about it."""
    from tare.features.tasks.caveats import remedy
    from tare.features.tasks.configurations import scored
    from tare.render.words import listing, text

    broken = [one for one in scored(runs, metric) if one.broken is not None]
    if broken:
        hint = remedy(*broken)
        raise TrialError(
            f"all runs of {listing(one.label for one in broken)} crashed alike: {broken[0].broken}",
            None if hint is None else text(hint),
        )


def _metric(given: str) -> Metric:
    from tare.features.tasks.configurations import METRICS

    for one in METRICS:
        if given == one:
            return one
    raise UsageError(f"--metric {given!r} is none of {', '.join(METRICS)}", "--metric wall")


def _report(folders: Sequence[Path], metric: Metric, command: str) -> tuple[Delivered, Runs]:
    """Return what follows from the runs of task sets, and the runs."""
    from tare.features.tasks import page
    from tare.features.tasks.folder import load

    again = shlex.join(["tare", "tasks", "report", *map(str, folders), "--metric", metric])
    with console.err.status("working out the answers"):
        runs = load(folders)
        made, large = page.make(runs, metric, again)
    return Delivered(msgspec.structs.replace(made, command=command), large), runs
