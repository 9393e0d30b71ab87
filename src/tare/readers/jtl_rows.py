"""Samples of a JTL in XML as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from tare.errors import InputError
from tare.readers import xml_file
from tare.readers.rows import Chunk, Want
from tare.readers.text_file import label
from tare.readers.xml_file import Element
from tare.results.message import Message, message

NAMES = ("timeStamp", "elapsed", "label", "success")
#: The attributes, as they have been called since JMeter 2.1, and before.
_ATTRIBUTES = (("ts", "timeStamp"), ("t", "time"), ("lb", "label"), ("s", "success"))
_SAMPLES = frozenset({"sample", "httpSample", "sampleResult"})
_BATCH = 1 << 14


class JtlRows:
    """The samples right below the root; those inside others are parts of them."""

    names: tuple[str, ...] = NAMES
    place = "line"

    def __init__(self, file: Path) -> None:
        self._file = file
        self._inner = 0

    @property
    def notes(self) -> list[Message]:
        """What was left out."""
        return [message("interop.jmeter.inner", n=self._inner)] if self._inner else []

    def sample(self) -> Chunk:
        """Return rows from the beginning."""
        return next(self.chunks({}))

    def chunks(self, wanted: Mapping[int, Want]) -> Iterator[Chunk]:
        """Go through all samples; every column comes, whatever is wanted."""
        self._inner = 0
        rows: list[Element] = []
        for i, element in enumerate(xml_file.elements(self._file)):
            if i == 0:
                self._check_root(element)
            elif element.name in _SAMPLES:
                self._inner += _inner(element) if element.children else 0
                rows.append(element)
                if len(rows) == _BATCH:
                    yield _chunk(rows)
                    rows = []
        if rows:
            yield _chunk(rows)

    def _check_root(self, root: Element) -> None:
        if root.name != "testResults":
            raise InputError(
                f"{self._file}, line {root.line}: the root is <{label(root.name)}>, not"
                " <testResults>",
                "name the JTL that JMeter wrote",
            )


def _inner(element: Element) -> int:
    return sum((child.name in _SAMPLES) + _inner(child) for child in element.children)


def _chunk(rows: list[Element]) -> Chunk:
    columns: dict[int, pa.Array] = {}
    for i, names in enumerate(_ATTRIBUTES):
        now, before = names
        found = [r.attributes.get(now) or r.attributes.get(before, "") for r in rows]
        texts = pa.array(found, pa.string())
        columns[i] = texts.dictionary_encode() if NAMES[i] in ("label", "success") else texts
    lines = np.array([row.line for row in rows], dtype=np.int64)
    return Chunk(columns, len(rows), lambda index: lines[index])
