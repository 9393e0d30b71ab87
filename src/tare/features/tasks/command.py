"""``tare tasks``: programs on many inputs with expected outputs, a row each."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare.cli import console
from tare.cli.again import again as typed_again
from tare.cli.call import Call
from tare.cli.delivery import Delivered, reporting
from tare.errors import IncompleteError, InterruptError, TrialError, Typed, UsageError
from tare.features.tasks.options import ExportOptions, Metric, ReportOptions, RunOptions
from tare.options.command import Entry, Group, command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.features.tasks.runs import Runs

#: The page of one folder; and of several, in the first, which keeps its own.
PAGE, JOINED = "report.html", "joined.html"

GROUP = Group(
    help="""Run programs on many inputs and judge their outputs.

        tare tasks run examples/tasks.toml
    """,
    commands={
        name: Entry(f"tare.features.tasks.command:{name}") for name in ("run", "report", "export")
    },
)


@command(RunOptions)
def run(given: RunOptions, call: Call) -> Delivered:
    """Run every task with every program on every platform.

    tare tasks run examples/tasks.toml --parallel 2
    """
    from tare.features.tasks import work
    from tare.features.tasks.progress import TasksBar
    from tare.platforms import users

    user = None if given.as_root else users.calling_user()
    folder = given.out or given.file.with_suffix("")
    again = typed_again("tasks run", {"--out": str(folder), "--resume": None})
    try:
        with TasksBar() as bar:
            prepared = work.prepare(
                given.file,
                skip_missing=given.skip_missing,
                parallel=given.parallel,
                trials=given.trials,
                user=user,
            )
            for note in prepared.notes:
                bar.note(note.message)
            work.execute(prepared, folder, bar, resume=given.resume, user=user)
    except KeyboardInterrupt as error:
        shows = shlex.join(["tare", "tasks", "report", str(folder)])
        raise InterruptError(
            f"interrupted; all runs that had ended are kept in {folder}",
            Typed(f"{again}   (goes on; {shows} shows what there is)"),
        ) from error
    made, runs = _report([folder], given.metric, "tasks run")
    made = made._replace(page=folder / PAGE)
    with reporting(made):
        _check_broken(runs, given.metric)
        _check_complete(runs, again)
    return made


@command(ReportOptions)
def report(given: ReportOptions, call: Call) -> Delivered:
    """Compare task sets, one or several, and write the table.

    Also while they still run.

        tare tasks report monday tuesday --report both.html
    """
    from tare.render import files

    if given.report is not None:
        files.format_of(given.report)
    page = given.folders[0] / (PAGE if len(given.folders) == 1 else JOINED)
    return _report(given.folders, given.metric, "tasks report")[0]._replace(page=page)


@command(ExportOptions)
def export(given: ExportOptions, call: Call) -> None:
    """Export all runs, a row each.

    tare tasks export results --file runs.csv
    tare tasks export results --benchexec xml
    """
    from tare.features.tasks import benchexec as files_of_benchexec
    from tare.features.tasks import exports
    from tare.features.tasks.folder import load

    runs = load(given.folders)
    if given.benchexec is not None:
        if given.file != "-":
            raise UsageError("--file and --benchexec exclude each other", "leave one of them out")
        written = files_of_benchexec.write(runs, given.benchexec)
        for path in written:
            console.err.print(f"Wrote {path}.")
        files = shlex.join(map(str, written))
        console.err.print(f"Next: table-generator {files}", soft_wrap=True)
        return
    exports.write(runs, given.file)
    if given.file != "-":
        console.err.print(f"Wrote {given.file}.")


def _check_complete(runs: Runs, again: str) -> None:
    """Raise where some runs have no result; ``again`` does them again."""
    for result, what in (("lost", "lost by their platform"), ("unchecked", "not checked")):
        count = int((runs.table["result"] == result).sum())
        if count:
            raise IncompleteError(
                f"{count} of {len(runs.table)} runs {'was' if count == 1 else 'were'} {what}; "
                f"the table has the reasons",
                Typed(f"{again}   (does them again)"),
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


def _report(folders: Sequence[Path], metric: Metric, command: str) -> tuple[Delivered, Runs]:
    """Return what follows from the runs of task sets, and the runs."""
    from tare.features.tasks import page
    from tare.features.tasks.folder import load

    again = shlex.join(["tare", "tasks", "report", *map(str, folders), "--metric", metric])
    with console.err.status("working out the answers"):
        runs = load(folders)
        made, large = page.make(runs, metric, again)
    return Delivered(msgspec.structs.replace(made, command=command), large), runs
