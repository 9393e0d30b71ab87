"""JSON that other tools wrote, alone or with text around it: parsed within limits, with paths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tare.errors import InputError
from tare.readers.compression import take, unpacked
from tare.readers.text_file import head_text, label, place, read_text, shown
from tare.results.message import Message, message

#: Largest text that is parsed. Nothing but ``{},`` takes 23 times its room (measured), so 3 GiB.
MOST_BYTES = 1 << 27
#: From here on nesting is called too deep, where the parser gave up.
DEEP = 200
#: Bytes of a file in which its first document is searched for.
_SEARCHED_BYTES = 1 << 20

#: What begins a document: an object, or a list of objects or lists. A log's "[INFO]" does not.
_OPENING = r'\{\s*(?:["}]|\Z)|\[\s*(?:[\[{\]]|\Z)'
_DOCUMENT = re.compile(_OPENING)
#: The same at the beginning of a line, which carriage returns end as well. JavaScript assigns it.
_LINE_OF_DOCUMENT = re.compile(rf"(?:\A|[\r\n])[ \t\ufeff]*(?:[\w.]+[ \t]*=[ \t]*)?(?={_OPENING})")
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]', re.DOTALL)
_LONG_INTEGER = re.compile(r"\d{4301}")  # Python refuses to convert more digits
_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
_REDO = "let the tool that wrote it write it again"


@dataclass(frozen=True)
class Node:
    """A value inside a JSON file, that knows where it is.

    Attributes
    ----------
    file : Path
    path : str
        Such as ``results[0].times``; empty for the whole.
    value : object
        As the parser made it. ``NaN`` and ``Infinity`` are floats, though JSON has neither:
        Python writes them, and whoever wants numbers tells them as a defect.
    notes : tuple of Message
        What was skipped around the documents of the file; of the first document alone.
    """

    file: Path
    path: str
    value: Any
    notes: tuple[Message, ...] = ()

    def wrong(self, what: str, hint: str | None = None) -> InputError:
        """Make the error that says what is wrong here."""
        where = f"{self.file}, {self.path}" if self.path else f"{self.file}"
        return InputError(f"{where}: {what}", hint or _REDO)

    def find(self, name: str) -> Node | None:
        """Return the value of a key, or None where there is none or it is null."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"expected an object, found {self._found()}")
        value = self.value.get(name)
        return None if value is None else Node(self.file, _below(self.path, name), value)

    def at(self, name: str) -> Node:
        """Return the value of a key that must be there."""
        found = self.find(name)
        if found is None:
            raise self.wrong(f"has no {name!r}", "is it whole, and of a version known here?")
        return found

    def each(self) -> Iterator[Node]:
        """Go through the elements of a list."""
        for index, value in enumerate(self.elements()):
            yield Node(self.file, f"{self.path}[{index}]", value)

    def pairs(self) -> Iterator[tuple[str, Node]]:
        """Go through the keys of an object."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"expected an object, found {self._found()}")
        for name, value in self.value.items():
            yield name, Node(self.file, _below(self.path, name), value)

    def elements(self) -> list[Any]:
        """Return a list as it is."""
        if not isinstance(self.value, list):
            raise self.wrong(f"expected a list, found {self._found()}")
        return self.value

    def text(self) -> str:
        """Return a text, fit to be shown."""
        if not isinstance(self.value, str):
            raise self.wrong(f"expected a text, found {self._found()}")
        return label(self.value)

    def word(self) -> str:
        """Return a text, number or truth value as a text, such as a parameter's level."""
        if isinstance(self.value, bool):
            return str(self.value).lower()
        if not isinstance(self.value, str | int | float):
            raise self.wrong(f"expected a text or a number, found {self._found()}")
        return label(self.value) if isinstance(self.value, str) else shown(self.value)

    def _found(self) -> str:
        return ("the text " if isinstance(self.value, str) else "") + shown(self.value)


def load(file: Path) -> Node:
    """Parse the only document of a JSON file; text before and after it is skipped.

    Raises
    ------
    InputError
        If there is no document or more than one, or if it ends early, is nested too deeply or is
        too large; names the place.
    """
    text = read_text(file, MOST_BYTES)
    found = _parsed(file, text)
    if len(found.values) > 1:
        raise InputError(
            f"{file} holds {len(found.values)} JSON documents: the second begins in"
            f" {place(text, found.starts[1])}",
            "write each run to a file of its own, and name them all: tare audit 1.json 2.json",
        )
    return Node(file, "", found.values[0], _skipped(text, found))


def load_each(file: Path) -> list[Node]:
    """Parse all documents of a file to which a tool appended run by run, or line by line.

    The elements of a list, into which ``jq -s`` collects them, are documents as well. Text between
    documents is skipped. Raises as ``load`` does.
    """
    text = read_text(file, MOST_BYTES)
    found = _parsed(file, text)
    values: list[Any] = []
    for value in found.values:
        values += value if isinstance(value, list) else [value]
    paths = [""] if len(values) == 1 else [f"document {n + 1}" for n in range(len(values))]
    nodes = [Node(file, path, value) for path, value in zip(paths, values, strict=True)]
    if not nodes:
        raise Node(file, "", values).wrong("the list of documents is empty")
    return [replace(nodes[0], notes=_skipped(text, found)), *nodes[1:]]


def first_document(file: Path, most: int) -> bytes:
    """Return the beginning of the first document in a file's first MiB; empty if there is none."""
    with unpacked(file) as source:
        text = head_text(take(file, source, _SEARCHED_BYTES))
    has_document = "{" in text or "[" in text  # the expression takes 100 times as long
    found = _LINE_OF_DOCUMENT.search(text) if has_document else None
    return text[found.end() : found.end() + most].encode("utf-8", "replace") if found else b""


@dataclass
class _Documents:
    """Documents of a text, where each begins, and the places of the text between them."""

    values: list[Any] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    skipped: list[tuple[int, int]] = field(default_factory=list)


def _parsed(file: Path, text: str) -> _Documents:
    decoder = json.JSONDecoder()
    found = _Documents()
    at = _after_space(text, 0)
    try:
        while at < len(text):
            if _DOCUMENT.match(text, at):
                found.starts.append(at)
                value, at = decoder.raw_decode(text, at)
                found.values.append(value)
            else:
                line = _LINE_OF_DOCUMENT.search(text, at)
                found.skipped.append((at, line.end() if line else len(text)))
                at = found.skipped[-1][1]
            at = _after_space(text, at)
    except json.JSONDecodeError as error:
        raise _malformed(file, text, error) from error
    except RecursionError as error:
        where = place(text, _first_below(text, DEEP))
        raise InputError(
            f"{file}, {where}: nested deeper than any tool writes, more than {DEEP} levels", _REDO
        ) from error
    except ValueError as error:
        number = _LONG_INTEGER.search(text)
        where = place(text, number.start()) if number else "somewhere"
        raise InputError(f"{file}, {where}: a number of more than 4,300 digits", _REDO) from error
    if not found.values:
        raise InputError(
            f"{file}, line 1, column 1: not JSON (no line begins an object or a list of objects)",
            _REDO,
        )
    return found


def _skipped(text: str, found: _Documents) -> tuple[Message, ...]:
    """Say how many lines of other text there are around the documents, and what the first is."""
    lines = [line for start, end in found.skipped for line in text[start:end].splitlines()]
    lines = [line.strip() for line in lines if line.strip()]
    if not lines:
        return ()
    number = text.count("\n", 0, found.skipped[0][0]) + 1
    return (
        message(
            "{n | counted('line')} of other text around the JSON left out, the first is line "
            "{line}: {found}",
            n=len(lines),
            line=number,
            found=shown(lines[0]),
        ),
    )


def outline(head: bytes) -> set[str]:
    """Collect the paths of the keys in the beginning of a JSON text, whole or not.

    Returns
    -------
    set of str
        Such as ``results[].command``; a key that begins a list of objects is there as well.
        Empty where the text is no JSON.
    """
    text = head_text(head).lstrip("\ufeff \t\r\n")
    paths: set[str] = set()
    if text[:1] not in ("{", "["):
        return paths
    stack: list[str] = []
    key, last = "", ""
    for token in _TOKENS.findall(text):
        if token in "{[":
            stack.append(key + "[]" if token == "[" else key)
            key = stack[-1]
        elif token in "}]":
            if stack:
                stack.pop()
            key = stack[-1] if stack else ""
        elif token == ":":
            key = _below(stack[-1] if stack else "", last[1:-1])
            paths.add(key)
        elif token == ",":
            key = stack[-1] if stack else ""
        else:
            last = token
    return paths


def _below(path: str, name: str) -> str:
    plain = name.replace("_", "").replace("-", "").isalnum()
    step = name if plain else shown(name)
    return f"{path}.{step}" if path else step


def _malformed(file: Path, text: str, error: json.JSONDecodeError) -> InputError:
    where = place(text, error.pos)
    if error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip()):
        return InputError(
            f"{file} ends early: {where} is in the middle of something",
            "was the tool stopped while it wrote? " + _REDO.capitalize(),
        )
    found = shown(text[error.pos :].split("\n", 1)[0], 40)
    return InputError(
        f"{file}, {where}: not JSON ({error.msg}): {found}",
        "was it edited, or did another program write into it? " + _REDO.capitalize(),
    )


def _after_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _first_below(text: str, levels: int) -> int:
    depth = 0
    for found in _TOKENS.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found.group(), 0)
        if depth > levels:
            return found.start()
    return 0
