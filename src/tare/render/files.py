"""Files of a report: a page, a Markdown document, its charts, or the document itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import TemplateError

from tare import extras, files
from tare.decoding import DecodeError, decode
from tare.errors import InputError, StoreError
from tare.render import comment, data, junit, words
from tare.render.large_table import LargeTable
from tare.render.tables import lay
from tare.results.finding import Table
from tare.results.message import Message
from tare.results.report import FORMAT, VERSION, Entry, Envelope, Failure, Report

#: Formats of a report by the ending of its file.
ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
#: Formats of charts alone, in a folder.
CHARTS = ("svg", "png")
#: Of a saved document that is read.
MOST_BYTES = 1 << 25
_MOST_CHARACTERS = 10_000
_MOST_CHARTS, _MOST_COLUMNS = 1_000, 500
#: Characters of its entries, and of each of its tables, with the blanks that align them.
_MOST_ALIGNED = 10_000_000
#: Of the reason why one cannot be rendered.
_MOST_REASON = 100
#: What comes of messages and tables that no tare wrote.
UNWRITABLE = (ArithmeticError, LookupError, RecursionError, TemplateError, TypeError, ValueError)
_OPTION = "name a file that ends in .html or .md, or in .json to render it later"
_FAILED = "{} is of a command that failed: {}"
#: Charts are written under their names.
_NAME = re.compile(r"\w[\w.-]{0,99}")


def format_of(destination: Path) -> str:
    """Return the format that a file's name asks for.

    Raises
    ------
    StoreError
        If there is none.
    TareError
        If the format needs an extra that is not installed.
    """
    found = ENDINGS.get(destination.suffix.lower())
    if found is None:
        raise StoreError(f"{destination} ends neither in .html, .md nor .json", _OPTION)
    if found == "markdown":
        extras.need("vl_convert")
    return found


def write(
    document: Report, destination: Path, large: Mapping[str, LargeTable] | None = None
) -> list[Path]:
    """Write a report; a Markdown document has its charts in a folder beside it.

    Parameters
    ----------
    document : Report
    destination : Path
    large : mapping, optional
        Large tables by the name of their finding; a page alone has them.

    Returns
    -------
    list of Path
        What was written, the report itself first.

    Raises
    ------
    StoreError
        If the file's name has another ending, or it cannot be written.
    """
    from tare.render import html, markdown

    format = format_of(destination)
    if format == "html":
        return [_whole(destination, html.render(document, large))]
    if format == "json":
        return [_whole(destination, encode(document))]
    folder = destination.with_name(f"{destination.stem}-charts")
    drawn = write_charts(document, "svg", folder)
    return [_whole(destination, markdown.render(document, folder.name)), *drawn]


def write_charts(document: Report, format: str, folder: Path) -> list[Path]:
    """Write every chart of a report as SVG or PNG into a folder.

    Raises
    ------
    StoreError
        If one cannot be written.
    """
    from tare.render import pictures

    try:
        return pictures.write(document, format, folder)
    except OSError as error:
        raise StoreError(
            f"cannot write into {folder}: {error.strerror}",
            "name a folder for the charts with --out",
        ) from error


def plain(document: Envelope) -> dict[str, Any]:
    """Return a document as JSON has it: figures at the top level, each message with its text."""
    made: dict[str, Any] = {}
    for key, value in data.builtins(document).items():
        further = value if key == "figures" else {key: value}
        both = {*further} & {*made, *document.__struct_fields__} - {key}
        assert not both, f"figures have the names of fields: {both}"
        made |= further
    return made


def encode(document: Envelope, indent: int | None = None) -> str:
    """Write a document as JSON."""
    encoded = msgspec.json.encode(plain(document))
    if indent is None:
        return encoded.decode()
    return msgspec.json.format(encoded, indent=indent).decode() + "\n"


def load(file: Path) -> Report:
    """Read a document that was saved as JSON, perhaps on another machine.

    Raises
    ------
    InputError
        If it is no such document, or of another version.
    """
    hint = "a file that --report FILE.json wrote"
    content = files.read_input(file, MOST_BYTES, hint)
    try:
        found = decode(content, _Saved)
        if found.format != FORMAT:
            raise InputError(f"{file} is no saved report", hint)
        if found.error is not None and found.question is None:
            raise InputError(_FAILED.format(file, found.error.message), hint)
        version = found.version
        if version != VERSION:
            raise InputError(
                f"{file} is of version {version}, and this tare reads version {VERSION}",
                "render it with the tare that wrote it",
            )
        known = set(Report.__struct_fields__)
        others = {k: v for k, v in decode(content, dict[str, Any]).items() if k not in known}
        # Commands of a file from elsewhere are not proposed as tare's own.
        document = msgspec.structs.replace(decode(content, Report), figures=others, next_steps=())
    except DecodeError as error:
        raise InputError(f"{file} is no saved report: {error}", hint) from error
    _check(document, file)
    return document


class _Saved(msgspec.Struct):
    version: int
    format: str = ""
    error: Failure | None = None
    question: Any = None


def _check(document: Report, file: Path) -> None:
    """Refuse what cannot be rendered: messages without words, names that are no names of files."""
    messages = list(_messages(document))
    if not all(one.text for one in messages):
        raise InputError(f"{file} has a message without its text")
    if not (document.answers or document.entries or document.cells):
        why = document.error
        raise InputError(
            f"{file} has no answer" if why is None else _FAILED.format(file, why.message)
        )
    if len(words.text(document.question)) > _MOST_CHARACTERS:
        raise InputError(f"{file} has a question of more than {_MOST_CHARACTERS:,} characters")
    for one in document.comparisons:
        if one.ratio is not None and one.ratio <= 0:
            raise InputError(f"{file} has a ratio of {one.ratio}, which none is")
    names = Counter(figure.name for figure in document.charts)
    if names.total() > _MOST_CHARTS:
        raise InputError(f"{file} has more than {_MOST_CHARTS:,} charts")
    for name, n in names.items():
        if n > 1:
            raise InputError(f"{file} has several charts of the name {name!r}")
        if not _NAME.fullmatch(name):
            raise InputError(f"{file} has a chart of the name {name!r}, which names no file")
    try:
        for said in messages:
            words.text(said)
        _check_size(document, file)
        comment.render(document)
        junit.render(document)
    except UNWRITABLE as error:
        raise InputError(
            f"{file} has what this tare cannot render: {type(error).__name__}: "
            f"{' '.join(str(error).split())[:_MOST_REASON]}",
            "render it with the tare that wrote it",
        ) from error


def _check_size(document: Report, file: Path) -> None:
    """Refuse entries and tables that would take too much memory once they are aligned."""
    entries = [*document.entries, *(Entry("", step.said) for step in document.next_steps)]
    lines = sum(1 + len(one.picture) for one in entries)
    written = sum(len(words.text(one.said)) + sum(map(len, one.picture)) for one in entries)
    if lines * max((len(one.label) for one in entries), default=0) + written > _MOST_ALIGNED:
        raise InputError(f"{file} has entries of more than {_MOST_ALIGNED:,} aligned characters")
    for table in _tables(document):
        if len(table.columns) > _MOST_COLUMNS:
            raise InputError(f"{file} has a table of more than {_MOST_COLUMNS} columns")
        laid = lay(table)
        heads = tuple(head.title for head in laid.heads)
        width = sum(max(map(len, column)) for column in zip(heads, *laid.rows, strict=True))
        if width * (1 + len(laid.rows)) > _MOST_ALIGNED:
            raise InputError(
                f"{file} has a table of more than {_MOST_ALIGNED:,} aligned characters"
            )


def _tables(document: Report) -> Iterator[Table]:
    alone = (document.cells, document.stops, *document.machine, *document.further)
    yield from (one for one in alone if one is not None)
    for section in document.sections:
        yield from section.finding.tables


def _messages(value: object) -> Iterator[Message]:
    match value:
        case Message():
            yield value
        case msgspec.Struct():
            for name in value.__struct_fields__:
                yield from _messages(getattr(value, name))
        case dict():
            for one in value.values():
                yield from _messages(one)
        case list() | tuple():
            for one in value:
                yield from _messages(one)


def _whole(path: Path, text: str) -> Path:
    # A word of the command line may be bytes that are no character.
    content = text.encode(errors="backslashreplace")
    files.write(files.target(path), content, "choose another place")
    return path
