"""``tare report``: a saved report, rendered on whatever machine."""

from __future__ import annotations

import math
import multiprocessing
import resource
import shlex
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.cli import console
from tare.cli.call import Call
from tare.cli.delivery import deliver_saved
from tare.errors import InputError, StoreError, Typed
from tare.features.experiment.charts import check_charts
from tare.options import kinds, shared
from tare.options.command import command
from tare.options.option import Options, argument, like

if TYPE_CHECKING:
    from tare.cli.delivery import Write
    from tare.results.report import Report

#: A file from elsewhere may ask for charts that take for ever, or all memory.
_DRAWN_WITHIN_S = 60.0


class ReportOptions(Options):
    """Options of ``tare report``."""

    file: Path = argument(
        kinds.PATH, "FILE", "Saved by --report FILE.json of any command.", is_required=True,
    )  # fmt: skip
    out: Path | None = like(shared.OUT, help="Folder for --charts.", shown="charts")
    charts: str | None = shared.CHARTS
    report: Path | None = like(shared.REPORT, help="Page: .html, .md, or .json.")
    markdown: str | None = shared.MARKDOWN
    junit: Path | None = shared.JUNIT


@command(ReportOptions)
def report(given: ReportOptions, call: Call) -> None:
    """Render a saved report, also one of another machine.

    tare report demo.json --report demo.html
    """
    from tare.render import files

    file, page = given.file, given.report
    check_charts(given.charts, given.out, page)
    if page is not None:
        files.format_of(page)
    console.check_writable(page, given.junit, given.markdown)
    saved = _loaded(file)
    is_judged = bool(saved.comparisons or saved.lost)
    if (given.junit or (given.markdown and not saved.tables)) and not is_judged:
        raise InputError(
            f"{file} compares nothing that a CI could judge",
            Typed(shlex.join(["tare", "report", str(file), "--report", f"{file.stem}.html"])),
        )
    asked: dict[str, Any] = {"report": page, "junit": given.junit, "markdown": given.markdown}
    if given.charts is not None:
        asked |= {"charts": given.charts, "out": given.out or Path("charts")}
    pictures = page is None or files.format_of(page) == "markdown"
    deliver_saved(saved, file, asked, lambda write: _drawn(write, file, as_pictures=pictures))


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
            "write an HTML page with --report, which has no pictures" if as_pictures else None,
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
