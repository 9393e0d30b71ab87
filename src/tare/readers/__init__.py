"""Results that other tools wrote, one file a format, all read into the same series."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tare.errors import InputError, Typed
from tare.experiment import plan_file
from tare.readers import asv, json_file, screen_text, tare_documents
from tare.readers.compression import take, unpacked
from tare.readers.format import HEAD, TABLE_OPTIONS, Format, Repeat
from tare.readers.series import (
    ColumnOptions,
    Defect,
    Imported,
    Series,
    Specification,
    TaskRuns,
)
from tare.registry import units_of

__all__ = [
    "ColumnOptions",
    "Defect",
    "Format",
    "Repeat",
    "Imported",
    "Series",
    "Specification",
    "TaskRuns",
    "command_for",
    "is_report",
    "read",
    "recognise",
    "require_used",
]


def read(file: Path, columns: ColumnOptions | None = None, format: str | None = None) -> Imported:
    """Read a file of results.

    Parameters
    ----------
    file : Path
        Packed or not; or a folder, where a format is one.
    columns : ColumnOptions, optional
        What the columns of a table mean.
    format : str, optional
        Name of the format; by default the one that recognises the file.

    Raises
    ------
    InputError
        If the file cannot be read, is of no known format, or is wrong somewhere; names the place.
    """
    columns = columns or ColumnOptions()
    name = recognise(file, format)
    unit = units_of("format")[name]
    found: Imported = unit.read(file, columns)
    # JMeter's reader reads tables as well, and says so.
    return found if found.format else replace(found, format=name, executions=unit.executions)


def recognise(file: Path, format: str | None = None) -> str:
    """Return the name of the format of a file: the one given, or the one that recognises it.

    Raises
    ------
    InputError
        If the file cannot be read, or its format or the named one is unknown.
    """
    check_regular(file)
    formats: dict[str, Format] = units_of("format")
    if format in formats:
        return format
    if format is not None:
        raise InputError(
            f"there is no format {format!r}", f"name one with --format: {', '.join(formats)}"
        )
    head = _head(file)
    found = next((name for name in formats if formats[name].recognises(head, file)), None)
    tasks = tare_documents.task_set(head, file) if found in (None, "table") else None
    if tasks is not None:
        raise InputError(f"{file} holds runs of a task set, which are judged by tasks", tasks)
    if found is None and (printed := screen_text.printed_by(head)):
        raise InputError(f"{file} is what {printed[0]} prints for people", printed[1])
    if found is None:
        raise InputError(
            f"{file} is of no format that is known here",
            tare_documents.command(head, file)
            or asv.results_beside(file)
            or f"name it with --format: {', '.join(formats)}",
        )
    return found


def require_used(files: Sequence[Path], columns: ColumnOptions, format: str | None = None) -> None:
    """Refuse options that none of the files' formats uses.

    Raises
    ------
    InputError
        Names the option, and what the executions of that format are.
    """
    formats: dict[str, Format] = units_of("format")
    units = [formats[recognise(file, format)] for file in files]
    used = frozenset().union(*(unit.options for unit in units))
    for option in sorted(TABLE_OPTIONS - used):
        if getattr(columns, option):
            typed, title = f"--{option.replace('_', '-')}", units[0].description.title
            raise InputError(
                f"{typed} has no effect: {files[0]} is no table ({title.partition(':')[0]})",
                f"leave {typed} out",
            )


def command_for(file: Path) -> str | None:
    """Return what to type for a file that is no saved report; None: nothing is known of it."""
    head = _known_head(file)
    if head is None:
        return None
    if plan_file.is_fleet(file):
        return Typed(f"tare fleet report {shlex.quote(str(file))}   (it holds a fleet)")
    if (file / plan_file.FILE).is_file():
        return Typed(
            f"tare experiment report {shlex.quote(str(file))}   (it holds measured trials)"
        )
    if (tasks := tare_documents.task_set(head, file)) is not None:
        return tasks
    if any(unit.recognises(head, file) for unit in units_of("format").values()):
        return Typed(f"tare audit {shlex.quote(str(file))}   (it holds results)")
    return tare_documents.command(head, file)


def is_report(file: Path) -> bool:
    """Tell whether a file calls itself a saved report."""
    head = _known_head(file)
    return head is not None and tare_documents.is_report(head)


def _known_head(file: Path) -> bytes | None:
    """Return the beginning of a file; None of what cannot be read."""
    try:
        check_regular(file)
        return _head(file)
    except InputError:
        return None


def check_regular(file: Path) -> None:
    """Refuse what may be read only once, or for ever: pipes, terminals, devices.

    Raises
    ------
    InputError
        If it is neither a file nor a folder; before it is opened, which would wait for a pipe.
    """
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise InputError(
            f"{file} is no regular file, and is read more than once",
            "write it to a file first: COMMAND >results; tare audit results",
        )


def _head(file: Path) -> bytes:
    """Return the beginning that formats are recognised by, unpacked; nothing of a folder.

    Of a file in which only the first JSON document is of a format, that is its beginning.
    """
    if file.is_dir():
        return b""
    with unpacked(file) as source:
        head = take(file, source, HEAD)
    if not head.strip():
        raise InputError(f"{file} is empty", "let the tool that wrote it write it again")
    tools = [unit for name, unit in units_of("format").items() if name != "table"]
    if not any(unit.recognises(head, file) for unit in tools):
        inner = json_file.first_document(file, HEAD)
        if inner and any(unit.recognises(inner, file) for unit in tools):
            return inner
    return head
