"""What a command that fails writes into the files that it was asked for: its error.

An earlier answer that stays in them would be taken for that of the command which failed.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tare import files
from tare.cli import console
from tare.errors import BuildError, ExperimentError, StoreError
from tare.render.escaping import harmless
from tare.results.report import Envelope, Failure

#: Destination of each option that this process was given, and which file was there.
_asked: dict[str, tuple[str, tuple[int, ...] | None]] = {}


#: Name of the command that was typed.
_command = [""]


def remember(params: Mapping[str, Any], command: str = "") -> None:
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
        name: str(params[name])
        for name in _FORMATS
        # Another option in place of a value is refused later, and names no file.
        if params.get(name) is not None and not re.match("-.", str(params[name]))
    }
    for one in given.values():
        if one != "-":
            files.target(Path(one))
    _asked.update({name: (one, _file(one)) for name, one in given.items()})
    destinations = list(given.values())
    for one in destinations:
        if destinations.count(one) > 1 and one != os.devnull:
            options = [
                f"--{name.replace('_', '-')}" for name in _FORMATS if str(params.get(name)) == one
            ]
            _asked.clear()
            raise ExperimentError(
                f"{' and '.join(options)} would mix in {'standard output' if one == '-' else one}",
                f"give each a file of its own: {options[0]} FILE {options[1]} ANOTHER",
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
        text = _NOTES[format_](failure)
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


#: Elements of JUnit, and their counts, for the exit codes of a gate; others are errors.
_JUNIT_OUTCOMES = {1: ("failure", "failures"), 2: ("skipped", "skipped")}
#: What a comment says for the exit codes of a gate, of which every trial of a candidate failed, and
#: of a build.
_GATE_HEADINGS = {
    1: "❌ gate fails",
    2: "❔ gate is inconclusive",
    BuildError.exit_code: "❌ does not build",
    BuildError.base_exit_code: "❔ the base does not build",
}


def _json(failure: Failure) -> str:
    from tare.render import files

    envelope = Envelope(command=_command[0], exit_code=failure.exit_code, error=failure)
    return files.encode(envelope, indent=2)


def _junit(failure: Failure) -> str:
    outcome, count = _JUNIT_OUTCOMES.get(failure.exit_code, ("error", "errors"))
    counts = {"tests": "1", "failures": "0", "errors": "0", "skipped": "0", "time": "0"}
    counts[count] = "1"
    # Loaded only for a file that was asked for.
    from xml.etree import ElementTree as Xml

    from tare.render.junit import CI_CASE, CI_SUITE, possible

    root = Xml.Element("testsuites", name="tare", attrib=counts)
    is_ci = _command[0] == "ci"
    suite_name, of = (
        (CI_SUITE, CI_CASE) if is_ci else ("tare", {"classname": "tare", "name": "tare"})
    )
    suite = Xml.SubElement(root, "testsuite", name=suite_name, attrib=counts)
    case = Xml.SubElement(suite, "testcase", attrib={**of, "time": "0"})
    message = possible(failure.message)
    element = Xml.SubElement(case, outcome, type=failure.type, message=message)
    element.text = possible(failure.hint or "")
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _markdown(failure: Failure) -> str:
    lines = [failure.message, *([f"try: {failure.hint}"] if failure.hint else [])]
    body = harmless("\n".join(lines))
    longest = max((len(found) for found in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    answer = _GATE_HEADINGS.get(failure.exit_code, "tare failed")
    return f"### {answer} (exit code {failure.exit_code})\n\n{fence}\n{body}\n{fence}\n"


def _page(failure: Failure) -> str:
    import html

    body = html.escape(_markdown(failure))
    return (
        "<!doctype html><meta charset=utf-8><title>tare failed</title>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<pre style='white-space: pre-wrap; overflow-wrap: anywhere'>{body}</pre>\n"
    )


#: The format of each option's file; None: its name has that.
_FORMATS = {
    "json": "json",
    "junit": "junit",
    "markdown": "markdown",
    "export_json": "json",
    "report": None,
}
_NOTES: dict[str, Callable[[Failure], str]] = {
    "json": _json,
    "junit": _junit,
    "markdown": _markdown,
    "html": _page,
}
