"""What commands print: reports for people, JSON for programs, progress with time left."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tare import files, units
from tare.cli import terminated
from tare.errors import StoreError, Typed

if TYPE_CHECKING:
    from rich.console import Console

    from tare.results.report import Report

    out: Console
    err: Console


def __getattr__(name: str) -> Any:
    """Load the consoles when something is printed: help and completion print without them."""
    if name not in ("out", "err"):
        raise AttributeError(name)
    from tare.cli import terminal

    return getattr(terminal, name)


#: Style of a line by its emphasis.
_STYLES = {"strong": "bold", "quiet": "dim"}


def print_text(text: str) -> None:
    """Write to standard output as it is."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        terminated.reader_gone()


#: Whether notes and progress are left out (--quiet).
is_quiet = False


def note(text: str) -> None:
    """Print a note on standard error, in one line; nothing with --quiet."""
    if not is_quiet:
        from tare.cli import terminal

        terminal.err.print(f"Note: {text}", soft_wrap=True)


#: Where answers have been written.
written: set[str] = set()


def check_writable(*files: Path | str | None) -> None:
    """Refuse before measuring what could not be written after it.

    Raises
    ------
    StoreError
        If there is no folder for a file, or it may not be written to.
    """
    for file in files:
        if file is None or file == "-":
            continue
        folder = Path(file).absolute().parent
        if not folder.is_dir():
            raise StoreError(
                f"cannot write {file}: there is no folder {folder}",
                Typed(f"mkdir -p {shlex.quote(str(folder))}"),
            )
        if not os.access(folder, os.W_OK) or Path(file).is_dir():
            raise StoreError(f"cannot write {file}", "choose another file")


def show(report: Report, *, to: Console | None = None) -> None:
    """Print a report; with --quiet without its notes, except those that are emphasised."""
    from tare.cli import terminal
    from tare.render import screen

    to = to or terminal.out
    width = terminal.line_width(to)
    if is_quiet:
        shown = (one for one in report.entries if one.label != "Note" or one.emphasis == "strong")
        report = msgspec.structs.replace(report, entries=tuple(shown))
    for line in screen.lines(report, width):
        # A table fits already, and a terminal breaks entries and commands itself.
        is_whole = report.is_labelled or line.emphasis == "quiet" or len(line.text) <= width
        style = None if line.emphasis is None else _STYLES[line.emphasis]
        to.print(line.text, style=style, soft_wrap=is_whole)


def write_json(value: Any, destination: str) -> None:
    """Write a value as JSON to a file, or to standard output where it is ``-``."""
    write_text(json_text(value), destination, "--json")


def json_text(value: Any) -> str:
    """Return a value as JSON, indented by two."""
    from tare.render import data

    return msgspec.json.format(msgspec.json.encode(data.builtins(value)), indent=2).decode() + "\n"


def write_text(text: str, destination: str, option: str) -> None:
    """Write a text to a file, or to standard output where it is ``-``."""
    hint = f"choose another {option} FILE"
    if destination == "-":
        try:
            print_text(text)
        except OSError as error:
            # Without its cause: the folder of the results has room.
            raise StoreError(f"cannot write standard output: {error.strerror}", hint) from None
    else:
        files.write(files.target(Path(destination)), text.encode(), hint)
    written.add(destination)


def seconds(value: float) -> str:
    """Return how long it still takes: ``85 s``, ``4 min 10 s``, ``under 1 s``."""
    return "under 1 s" if value < 1 else units.duration(round(value))


def about(value: float) -> str:
    """Return a duration that is estimated: ``about 85 s``, ``under 1 s``."""
    told = seconds(value)
    return told if value < 1 else f"about {told}"
