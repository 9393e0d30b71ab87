"""XML that somebody else wrote: streamed element by element, within limits, with no entities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import DefusedExpatParser

from tare.errors import InputError
from tare.readers.compression import packing, take, unpacked
from tare.readers.text_file import head_text, shown

#: Most that a packed file may hold: what is not packed has taken its room on a disk already.
MOST_BYTES = 1 << 30
#: No tool nests deeper.
MOST_DEPTH = 64
#: Elements within one element below the root.
MOST_DESCENDANTS = 100_000
#: Elements below the root that are waiting to be taken; the parser is fed so many bytes at once.
_FEED_BYTES = 1 << 18
#: Bytes without a start or an end of an element, such as one endless attribute.
_MOST_SILENT_BYTES = 64 << 20
#: What may stand before the root: declaration, comments, document type with what is in it.
_BEFORE_ROOT = re.compile(
    r"\s*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)", re.DOTALL
)
_ROOT = re.compile(r"\s*<([^\s/<>!?]+)")
_REDO = "let the tool that wrote it write it again"


# Not frozen, since a million of them are made.
@dataclass(slots=True)
class Element:
    """An element, without its text.

    Attributes
    ----------
    name : str
    attributes : mapping of str to str
    line : int
        Of the file, where it begins.
    children : list of Element
    """

    name: str
    attributes: Mapping[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def each(self, name: str) -> Iterator[Element]:
        """Go through the children of a name."""
        return (child for child in self.children if child.name == name)


def elements(file: Path) -> Iterator[Element]:
    """Go through the elements right below the root, each whole, the root itself (empty) first.

    Raises
    ------
    InputError
        If it is no XML, ends early, declares entities, is nested too deeply or, unpacked, is too
        large; names the line.
    """
    # BenchExec names its document type by an address. The parser does not load it: that it never
    # does for entities, whose declaration is refused besides.
    parser = DefusedExpatParser(forbid_entities=True, forbid_external=False)
    builder = _Builder(file, parser)
    parser.setContentHandler(builder)
    size = heard = silent = 0
    with unpacked(file) as source, file.open("rb") as raw:
        limit = MOST_BYTES if packing(raw.read(4)) else None
        while True:
            data = take(file, source, _FEED_BYTES, parser.getLineNumber())
            size += len(data)
            if limit is not None and size > limit:
                raise InputError(
                    f"{file} is larger than {limit >> 20} MiB unpacked", "unpack it first"
                )
            _feed(file, parser, data)
            silent = silent + len(data) if builder.heard == heard else 0
            heard = builder.heard
            if silent > _MOST_SILENT_BYTES:
                raise InputError(
                    f"{file}, line {parser.getLineNumber()}: more than"
                    f" {_MOST_SILENT_BYTES >> 20} MiB without an element",
                    _REDO,
                )
            yield from builder.take()
            if not data:
                break
    if not builder.heard:
        raise InputError(f"{file}, line 1: there is no element in it", _REDO)


def root(head: bytes) -> str | None:
    """Return the name of the root, from the beginning of a file; None if there is none in it."""
    text = head_text(head).lstrip("\ufeff")
    at = 0
    while before := _BEFORE_ROOT.match(text, at):
        at = before.end()
    found = _ROOT.match(text, at)
    return found[1] if found else None


class _Builder(ContentHandler):
    """Puts what the parser says together to elements."""

    def __init__(self, file: Path, parser: Any) -> None:
        super().__init__()
        self._file, self._parser = file, parser
        self._open: list[Element] = []
        self._ready: list[Element] = []
        self._within = 0
        #: Starts and ends so far.
        self.heard = 0

    def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802
        self.heard += 1
        line = self._parser.getLineNumber()
        element = Element(name, dict(attrs.items()), line)
        depth = len(self._open)
        if depth >= MOST_DEPTH:
            raise InputError(
                f"{self._file}, line {line}: nested deeper than {MOST_DEPTH} levels", _REDO
            )
        if depth == 0:
            self._ready.append(Element(name, element.attributes, line))
        elif depth > 1:
            self._within += 1
            if self._within > MOST_DESCENDANTS:
                first = self._open[1]
                raise InputError(
                    f"{self._file}, line {first.line}: <{shown(first.name)[1:-1]}> has more than"
                    f" {MOST_DESCENDANTS:,} elements in it",
                    _REDO,
                )
            self._open[-1].children.append(element)
        self._open.append(element)

    def endElement(self, name: str) -> None:  # noqa: N802
        self.heard += 1
        element = self._open.pop()
        if len(self._open) == 1:
            self._ready.append(element)
            self._within = 0

    def take(self) -> list[Element]:
        """Hand over what is whole."""
        ready, self._ready = self._ready, []
        return ready


def _feed(file: Path, parser: Any, data: bytes) -> None:
    try:
        if data:
            parser.feed(data)
        else:
            parser.close()
    except DefusedXmlException as error:
        raise InputError(
            f"{file}, line {parser.getLineNumber()}: declares entities, which no tool of results"
            f" does ({type(error).__name__})",
            "do not trust where it comes from",
        ) from error
    except SAXParseException as error:
        line, why = error.getLineNumber(), error.getMessage()
        if not data or why in ("no element found", "unclosed token"):
            raise InputError(f"{file} ends early, in line {line}: {why}", _REDO) from error
        hint = "is its encoding the one that its first line names?"
        raise InputError(
            f"{file}, line {line}, column {(error.getColumnNumber() or 0) + 1}: {why}",
            hint if "token" in why or "encoding" in why else _REDO,
        ) from error
    except (SAXException, ValueError, LookupError) as error:
        raise InputError(f"{file}, line {parser.getLineNumber()}: {error}", _REDO) from error
