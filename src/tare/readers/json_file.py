"""JSON that somebody else wrote: read within limits, and walked with the path to each value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.errors import InputError
from tare.readers.text_file import head_text, label, place, read_text, shown

#: Largest text that is parsed. Nothing but ``{},`` takes 23 times its room (measured), so 3 GiB.
MOST_BYTES = 1 << 27
#: From here on nesting is called too deep, where the parser gave up.
DEEP = 200

_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]', re.DOTALL)
_LONG_INTEGER = re.compile(r"\d{4301}")  # Python refuses to convert more digits
_SPACE = re.compile(r"[ \t\r\n]*")
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
    """

    file: Path
    path: str
    value: Any

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
    """Parse a JSON file.

    Raises
    ------
    InputError
        If it is no JSON, ends early, is nested too deeply or is too large; names the place.
    """
    text = read_text(file, MOST_BYTES)
    return Node(file, "", _parsed(file, text, 0, 1)[0])


def load_each(file: Path) -> list[Node]:
    """Parse what a tool appended to one file, run by run or line by line; as ``load``.

    What stands before the first brace, such as a tool's warnings, is passed over.
    """
    text = read_text(file, MOST_BYTES)
    found = re.search(r"^\s*\{", text, re.MULTILINE)
    values = _parsed(file, text, found.start() if found else 0, None)
    paths = [""] if len(values) == 1 else [f"document {n + 1}" for n in range(len(values))]
    return [Node(file, path, value) for path, value in zip(paths, values, strict=True)]


def _parsed(file: Path, text: str, start: int, most: int | None) -> list[Any]:
    decoder = json.JSONDecoder()
    values: list[Any] = []
    try:
        start = _after_space(text, start)
        while start < len(text) or not values:
            if len(values) == most:
                raise json.JSONDecodeError("Extra data", text, start)
            value, start = decoder.raw_decode(text, start)
            values.append(value)
            start = _after_space(text, start)
    except json.JSONDecodeError as error:
        raise _malformed(file, text, error) from error
    except RecursionError as error:
        where = place(text, _first_below(text, DEEP))
        raise InputError(
            f"{file}, {where}: nested deeper than any tool writes, more than {DEEP} levels", _REDO
        ) from error
    except ValueError as error:
        found = _LONG_INTEGER.search(text)
        where = place(text, found.start()) if found else "somewhere"
        raise InputError(f"{file}, {where}: a number of more than 4,300 digits", _REDO) from error
    return values


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
    return InputError(f"{file}, {where}: not JSON ({error.msg})", _REDO)


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
