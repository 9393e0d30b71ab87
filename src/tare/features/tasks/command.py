"""``tare tasks``: programs on many inputs with expected outputs, a row each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tare.cli import console, options
from tare.cli.again import again as typed_again
from tare.cli.commands import Commands

app = Commands(
    no_args_is_help=True,
    help="""Run programs on many inputs and judge their outputs.

        tare tasks run examples/tasks.toml
    """,
)

File = Annotated[Path, typer.Argument(help="File with [tasks] (TOML).", metavar="FILE")]


@app.command()
def run(
    file: File,
    parallel: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Runs at a time. [default: of FILE]")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", "-n", metavar="N", min=1, help="Runs of each. [default: of FILE]"),
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
    json: options.Json = None,
) -> None:
    """Run every task with every program on every platform, and write the table.

    tare tasks run examples/tasks.toml --parallel 2
    """
    from tare.features.tasks import work
    from tare.features.tasks.progress import TasksBar

    folder = out or file.with_suffix("")
    again = typed_again("tasks run", {"--out": str(folder), "--resume": None})
    with TasksBar() as bar:
        prepared = work.prepare(file, skip_missing=skip_missing, parallel=parallel, trials=trials)
        for note in prepared.notes:
            bar.note(note.message)
        counts = work.execute(
            prepared, folder, bar, resume=resume, user=work.calling_user(as_root=as_root)
        )
    console.out.print(str(counts))
    console.out.print(again)
