"""Delivers the report that a command returns: terminal, JSON, JUnit, Markdown and page."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from tare.cli import console
from tare.errors import StoreError, TareError, Typed
from tare.files import argument
from tare.results.report import Failure, Report

if TYPE_CHECKING:
    from rich.console import Console

    from tare.render.large_table import LargeTable

#: Under which an exception carries the report of what was measured before it.
_REPORT = "report"
#: Options whose value may be standard output, which the terminal's view then leaves to them.
_STREAMS = ("json", "junit", "markdown", "export_json")
#: Options of documents, in the order in which they are written.
_DOCUMENTS = ("json", "junit", "markdown")

#: Commands whose folder of results `tare experiment report` renders.
_DRAWN_AGAIN = {"run", "compare", "experiment run", "experiment report"}


#: What writes files, and returns which.
Write = Callable[[], list[Path]]


class Delivered(NamedTuple):
    """A report with what its command decides about files.

    ``large``: tables that only a page has, by the name of their finding. ``page``: file of a page
    that is written even if none was asked for. ``charts``: folder of charts, likewise.
    """

    report: Report
    large: Mapping[str, LargeTable] = MappingProxyType({})
    page: Path | None = None
    charts: Path | None = None


@contextlib.contextmanager
def reporting(made: Report | Delivered) -> Iterator[None]:
    """Let whatever is raised inside carry a report, which is delivered before the error."""
    try:
        yield
    except BaseException as error:
        vars(error).setdefault(_REPORT, _delivered(made))
        raise


def reported(error: BaseException | None) -> Delivered | None:
    """Return the report that an exception, or what caused it, carries."""
    while error is not None:
        if isinstance(found := vars(error).get(_REPORT), Delivered):
            return found
        error = error.__cause__
    return None


def _delivered(made: Report | Delivered) -> Delivered:
    return made if isinstance(made, Delivered) else Delivered(made)


def failed(report: Report, error: BaseException) -> Report:
    """Return a report that states what ended the command after it was made."""
    if not isinstance(error, TareError):
        return report
    failure = Failure(type(error).__name__, error.exit_code, error.message, error.hint)
    return msgspec.structs.replace(report, exit_code=error.exit_code, error=failure)


#: Calls what writes charts or a page, and returns the files.
Draw = Callable[[Callable[[], list[Path]]], list[Path]]


def _at_once(write: Callable[[], list[Path]]) -> list[Path]:
    with console.err.status("drawing the report"):
        return write()


def deliver(
    made: Report | Delivered,
    options: Mapping[str, Any],
    *,
    to: Console | None = None,
    draw: Draw = _at_once,
) -> int:
    """Print a report, write it wherever the options of its command ask for it.

    Every destination is tried, whatever becomes of the others.

    Parameters
    ----------
    made : Report or Delivered
    options : mapping
        Values of the command's options by name.
    to : Console, optional
        Where the terminal's view is printed; None: on standard output, unless that has a document.
    draw : callable
        Executes the writing of charts and pages; by default in this process.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    Exception
        The first one, where destinations could not be written.
    """
    delivered = _delivered(made)
    report = delivered.report
    if delivered.charts is not None:
        options = {**options, "out": delivered.charts}
    if delivered.page is not None and options.get("report") is None:
        options = {**options, "report": delivered.page}
    is_shown = to is not None or all(options.get(name) != "-" for name in _STREAMS)
    asked: list[Callable[[], None]] = []
    if is_shown and report.concludes:
        asked.append(partial(console.show, report, to=to or console.out))
    asked += [
        partial(_write, option, report, str(options[option]))
        # What concludes nothing has its figures in JSON; files for people say the error alone.
        for option in (_DOCUMENTS if _is_for_people(report) else ("json",))
        if options.get(option) is not None
    ]
    if _is_for_people(report):
        files_to = console.out if is_shown else console.err
        if options.get("charts") is not None:
            asked.append(partial(_draw_charts, report, options, draw, files_to))
        elif (page := _page(report, options)) is not None:
            asked.append(partial(_draw_page, report, page, delivered.large, draw, files_to))
    unwritten: list[Exception] = []
    for write in asked:
        try:
            write()
        except Exception as error:
            unwritten.append(error)
    if unwritten:
        raise unwritten[0]
    return report.exit_code


def deliver_saved(report: Report, file: Path, options: Mapping[str, Any], draw: Draw) -> None:
    """Deliver a report that was read from a file: with what ended its command, and its size."""
    deliver(report, options, draw=draw)
    if options.get("markdown") == "-":
        return
    if report.error is not None:
        console.out.print(f"Error: {report.error.message}", soft_wrap=True)
    if report.strip:
        strip = " · ".join(f"{name} {value}" for name, value in report.strip)
        console.out.print(strip, style="dim", soft_wrap=True)
    if options.get("report") is None and options.get("charts") is None:
        command = shlex.join(["tare", "report", argument(file), "--report", "report.html"])
        console.out.print(f"Next: {command}", soft_wrap=True)


def _is_for_people(report: Report) -> bool:
    return report.error is None or report.concludes


def _write(option: str, report: Report, destination: str) -> None:
    """Write the document of an option; what renders it is loaded only where it was asked for."""
    from tare.render import comment, files, junit

    match option:
        case "json":
            text = files.encode(report, indent=2)
        case "junit":
            text = junit.render(report)
        case _:
            text = comment.render(report)
    console.write_text(text, destination, f"--{option}")


def _draw_charts(report: Report, options: Mapping[str, Any], draw: Draw, to: Console) -> None:
    from tare.render import files

    folder = Path(options["out"])
    for file in draw(lambda: files.write_charts(report, options["charts"], folder)):
        to.print(f"Chart: {file}", soft_wrap=True)


def _draw_page(
    report: Report, page: Path, large: Mapping[str, LargeTable], draw: Draw, to: Console
) -> None:
    from tare.render import files

    try:
        written = draw(lambda: files.write(report, page, large))
    except StoreError as error:
        if report.command in _DRAWN_AGAIN and (page.parent / "journal").is_dir():
            again = shlex.join(["tare", "experiment", "report", str(page.parent)])
            raise StoreError(
                error.message, Typed(f"{again}   (after freeing some room)")
            ) from error
        raise
    to.print(f"Report: {written[0]}", soft_wrap=True)


def _page(report: Report, options: Mapping[str, Any]) -> Path | None:
    """Return the file of the page: as asked, or in the folder of the results where it stays."""
    asked, folder = options.get("report"), options.get("out")
    if asked is None and folder is not None and report.sections:
        return Path(folder) / "report.html"
    return None if asked is None else Path(asked)
