"""What a command that fails writes into the files that it was asked for: its error.

An earlier answer that stays in them would be taken for that of the command which failed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from tare import files
from tare.cli import console
from tare.errors import ExperimentError, StoreError
from tare.results.report import Envelope, Failure

#: Destination of each option that this process was given, and which file was there.
_asked: dict[str, tuple[str, tuple[int, ...] | None]] = {}


#: Name of the command that was typed.
_command = [""]


def remember(typed: Mapping[str, str], command: str = "") -> None:
    """Remember which files a command is to write.

    Raises
    ------
    ExperimentError
        If two of them are the same.
    StoreError
        If one is a symbolic link of another user.
    """
    _command[0] = command
    given = {
        name: typed[name]
        for name in _FORMATS
        # Another option in place of a value is refused later, and names no file.
        if typed.get(name) and not re.match("-.", typed[name])
    }
    for one in given.values():
        if one != "-":
            files.target(Path(one))
    _asked.update({name: (one, _file(one)) for name, one in given.items()})
    places = {name: one if one == "-" else os.path.realpath(one) for name, one in given.items()}
    for name, place in places.items():
        same = [f"--{other.replace('_', '-')}" for other in places if places[other] == place]
        if len(same) > 1 and place != os.devnull:
            _asked.clear()
            where = "standard output" if place == "-" else given[name]
            raise ExperimentError(
                f"{' and '.join(same)} would mix in {where}",
                f"give each a file of its own: {same[0]} FILE {same[1]} ANOTHER",
            )


def forget() -> None:
    """Begin a new command line."""
    _asked.clear()
    _command[0] = ""
    console.written.clear()


def write(failure: Failure) -> None:
    """Write an error wherever an answer was to be, unless that has been written already."""
    from tare.render.files import ENDINGS

    for option, (destination, before) in _asked.items():
        # Some answers are written by who knows their format.
        if destination in console.written or _file(destination) != before:
            continue
        format_ = _FORMATS[option] or ENDINGS.get(Path(destination).suffix.lower())
        if format_ is None:
            # A file that can hold no report is none, and stays as it is.
            continue
        text = _written(failure, format_)
        if destination == "-":
            with contextlib.suppress(OSError):
                console.print_text(text)
            continue
        path = Path(destination)
        try:
            files.write(files.target(path), text.encode(), "")
        except StoreError:
            # Printed is the first error alone. Without room for it, no earlier answer stays.
            if path.is_file() and not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.unlink()


def _file(destination: str) -> tuple[int, ...] | None:
    """Identify what a file holds, without reading it; None: there is none."""
    try:
        found = Path(destination).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


#: The format of each option's file; None: its name has that.
_FORMATS = {
    "json": "json",
    "junit": "junit",
    "markdown": "markdown",
    "export_json": "json",
    "report": None,
}


def _written(failure: Failure, format: str) -> str:
    """Write an error in a format; what renders it is loaded only for a file that was asked for."""
    from tare.render import comment, files, junit

    envelope = Envelope(command=_command[0], exit_code=failure.exit_code, error=failure)
    if format == "json":
        return files.encode(envelope, indent=2)
    return junit.failed(envelope) if format == "junit" else comment.failed(envelope, format)
