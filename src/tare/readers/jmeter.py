"""What JMeter writes for each request: a JTL, as CSV or as XML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from tare.errors import InputError
from tare.readers import table, units, xml_file
from tare.readers.compression import take, unpacked
from tare.readers.csv_rows import CsvRows
from tare.readers.dates import Times
from tare.readers.format import HEAD, Format
from tare.readers.long_table import LongTable
from tare.readers.readings import each_of
from tare.readers.roles import Roles
from tare.readers.rows import Chunk, Rows, Want
from tare.readers.series import Columns, Imported
from tare.readers.text_file import head_text, label
from tare.readers.xml_file import Element
from tare.registry import Description
from tare.results.message import Message, message

_WANTED: dict[str, Want] = {
    "timeStamp": "number",
    "elapsed": "number",
    "label": "level",
    "success": "level",
}
#: The same, as attributes of samples in XML since JMeter 2.1.
_ATTRIBUTES = {"timeStamp": "ts", "elapsed": "t", "label": "lb", "success": "s"}
_SAMPLES = frozenset({"sample", "httpSample"})
#: Samples in XML that become rows at a time.
_BATCH = 1 << 14


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins with JMeter's root, or the names of JMeter's columns."""
    if head.lstrip()[:1] == b"<" or xml_file.root(head):
        return xml_file.root(head) == "testResults"
    return _has_header(head_text(head).lstrip("\ufeff").partition("\n")[0].strip())


def read(file: Path, columns: Columns) -> Imported:
    """Read how long the requests of each label took, in order of their timestamps."""
    with unpacked(file) as source:
        head = take(file, source, HEAD)
    if head.lstrip()[:1] == b"<" or xml_file.root(head):
        return _read(file, _XmlRows(file))
    if columns != Columns():
        # Who names columns wants a table; a JTL has many numbers in it.
        return table.read(file, columns)
    return _read(file, CsvRows(file, [*_WANTED]))


def _has_header(first: str) -> bool:
    separated = ({one.strip('" ') for one in first.split(mark)} for mark in ",;\t|")
    return any({"timeStamp", "elapsed", "label"} <= names for names in separated)


def _read(file: Path, rows: Rows) -> Imported:
    index = {name: i for i, name in enumerate(rows.names) if name in _WANTED}
    for name in ("elapsed", "label"):
        if name not in index:
            raise InputError(
                f"{file} has no column {name!r}",
                "jmeter.save.saveservice.* says what JMeter writes; or name --value and --group",
            )
    order, notes = index.get("timeStamp"), []
    if order is not None and Times().numbers(rows.sample().columns[order]) is None:
        order, notes = None, [message("interop.jmeter.order")]
    roles = Roles(index["elapsed"], (index["label"],), order, status=index.get("success"))
    samples = LongTable(file, rows, roles, units.unit("ms"), "request")
    series = samples.series()
    return Imported(
        file=file,
        series=series,
        specification=each_of((len(one.values) for one in series), "request", "label"),
        notes=(*rows.notes, *notes, *samples.notes()),
    )


class _XmlRows:
    """The samples right below the root; those inside others are parts of them."""

    names: tuple[str, ...] = tuple(_ATTRIBUTES)
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
        chunk = next(self.chunks({}), None)
        if chunk is None:
            raise InputError(f"{self._file} has no samples", "did the test execute a request?")
        return chunk

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
    for i, (name, attribute) in enumerate(_ATTRIBUTES.items()):
        texts = pa.array([row.attributes.get(attribute, "") for row in rows], pa.string())
        columns[i] = texts.dictionary_encode() if _WANTED[name] == "level" else texts
    lines = np.array([row.line for row in rows], dtype=np.int64)
    return Chunk(columns, len(rows), lambda index: lines[index])


UNIT = Format(
    description=Description(
        name="jmeter",
        title="JMeter: a JTL, as CSV or XML",
        question="How long did each request take?",
        source="Apache JMeter, jmeter.save.saveservice.*",
    ),
    recognises=recognises,
    read=read,
)
