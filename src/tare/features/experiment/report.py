"""``tare report``: a saved report, rendered on whatever machine."""

from __future__ import annotations

import math
import multiprocessing
import resource
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tare.cli import console, options
from tare.cli.delivery import deliver_saved
from tare.errors import InputError, StoreError

if TYPE_CHECKING:
    from tare.cli.delivery import Write
    from tare.results.report import Report

#: A file from elsewhere may ask for charts that take for ever, or all memory.
_DRAWN_WITHIN_S = 60.0


def report(
    file: Annotated[
        Path, typer.Argument(help="Saved by --report FILE.json of any command.", metavar="FILE")
    ],
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Page: .html, .md, or .json.")
    ] = None,
    charts: options.Charts = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for --charts. [default: charts]"),
    ] = None,
    junit: options.JUnit = None,
    markdown: options.Markdown = None,
) -> None:
    """Render a saved report, also one of another machine.

    tare report demo.json --report demo.html
    """
    from tare.render import files

    options.check_charts(charts, out, report)
    if report is not None:
        files.format_of(report)
    console.check_writable(report, junit, markdown)
    saved = _loaded(file)
    is_judged = bool(saved.comparisons or saved.lost)
    if (junit or (markdown and not saved.cells)) and not is_judged:
        raise InputError(
            f"{file} compares nothing that a CI could judge", "a file of tare compare --report"
        )
    given: dict[str, Any] = {"report": report, "junit": junit, "markdown": markdown}
    if charts is not None:
        given |= {"charts": charts, "out": out or Path("charts")}
    pictures = report is None or files.format_of(report) == "markdown"
    deliver_saved(saved, file, given, lambda write: _drawn(write, file, as_pictures=pictures))


def _loaded(file: Path) -> Report:
    """Read the report; of another file, say which command reads it."""
    from tare import readers
    from tare.render import files

    try:
        return files.load(file)
    except InputError as error:
        # What this command refuses is not to be given to it again.
        hint = None if readers.is_report(file) else readers.command_for(file)
        raise InputError(error.message, hint or error.hint) from error


def _drawn(write: Write, file: Path, *, as_pictures: bool = False) -> list[Path]:
    """Write files in a process of its own, which is ended where it takes too long.

    Raises
    ------
    StoreError
        If they cannot be written.
    InputError
        If what the file asks for cannot be rendered.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_draw, args=(write, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(_DRAWN_WITHIN_S) else "it takes too long"
    except EOFError:
        found = "what renders it has crashed"
    finally:
        child.kill()
        child.join()
    if isinstance(found, StoreError):
        raise found
    if isinstance(found, str):
        raise InputError(
            f"{file} cannot be rendered: {found}",
            "--report FILE.html has no pictures" if as_pictures else None,
        )
    return [Path(path) for path in found]


def _draw(write: Write, to: Connection) -> None:
    # Ends it, too, where what waits for it was killed.
    most_s = math.ceil(_DRAWN_WITHIN_S)
    resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s))
    try:
        to.send([str(path) for path in write()])
    except StoreError as error:
        to.send(error)
    except BaseException as error:
        to.send(" ".join(f"{type(error).__name__}: {error}".split())[:200])
