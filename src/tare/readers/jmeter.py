"""What JMeter writes for each request: a JTL, as CSV or as XML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tare.errors import InputError
from tare.readers import table, units, xml_file
from tare.readers.cells import Cells
from tare.readers.compression import take, unpacked
from tare.readers.csv_rows import CsvRows
from tare.readers.dates import Times
from tare.readers.format import HEAD, Format
from tare.readers.gathering import Fault, Faults, Gathering, Parting, in_order
from tare.readers.readings import each_of, failed, immeasurable, left_out
from tare.readers.rows import Chunk, Rows, Want
from tare.readers.series import Columns, Imported, IntArray, Series
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
_FAULTS = ("not_a_number", "immeasurable", "negative", "no_timestamp")


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
    samples = _Samples(file, rows, index)
    series = samples.series()
    return Imported(
        file=file,
        series=series,
        specification=each_of((len(one.values) for one in series), "request", "label"),
        notes=(*rows.notes, *samples.notes()),
    )


class _Samples:
    """One pass over the samples."""

    def __init__(self, file: Path, rows: Rows, index: dict[str, int]) -> None:
        self._file, self._rows, self._index = file, rows, index
        self._cells = Cells(units.unit("ms"))
        self._times: Times | None = Times() if "timeStamp" in index else None
        self._parting = Parting(file, [index["label"]])
        self._faults = {name: Faults() for name in _FAULTS}
        self._failed = Faults()
        self._rows_read = 0

    def series(self) -> tuple[Series, ...]:
        gathering = Gathering([np.float64, np.float64])
        for chunk in self._rows.chunks({i: _WANTED[name] for name, i in self._index.items()}):
            self._add(chunk, gathering)
        values, stamps = gathering.finish()
        if not values:
            raise InputError(f"{self._file} has no samples", "did the test execute a request?")
        return tuple(
            self._made(i, key[0], values[i], stamps[i]) for i, key in enumerate(self._parting.keys)
        )

    def notes(self) -> list[Message]:
        notes = []
        if self._times is None and "timeStamp" in self._index:
            notes.append(message("interop.jmeter.order"))
        count = sum(fault.count for fault in self._failed.of.values())
        if count:
            notes.append(failed(count, self._rows_read, "request"))
        return notes

    def _add(self, chunk: Chunk, gathering: Gathering) -> None:
        series = self._parting.series(chunk)
        assert series is not None
        self._rows_read += chunk.rows
        values, _ = self._cells.numbers(chunk.columns[self._index["elapsed"]])
        good = self._succeeded(chunk)
        self._count(self._failed, ~good, series, chunk)
        stamps = self._stamps(chunk)
        bad = (~np.isfinite(values), immeasurable(values), values < 0, np.isnan(stamps))
        for why, those in zip(_FAULTS, bad, strict=True):
            self._count(self._faults[why], those & good, series, chunk)
            good &= ~those
        gathering.add(series[good], len(self._parting.keys), [values[good], stamps[good]])

    def _succeeded(self, chunk: Chunk) -> NDArray[np.bool_]:
        if "success" not in self._index:
            return np.ones(chunk.rows, dtype=bool)
        column = chunk.columns[self._index["success"]]
        good = [str(one).strip().lower() != "false" for one in column.dictionary.to_pylist()]
        return np.asarray(np.array([*good, True])[np.asarray(column.indices)])

    def _stamps(self, chunk: Chunk) -> NDArray[np.float64]:
        """Return the times of a chunk; without any, all samples are at one time, in file order."""
        if self._times is not None:
            found = self._times.numbers(chunk.columns[self._index["timeStamp"]])
            if found is not None:
                return found
            self._times = None
        return np.zeros(chunk.rows)

    @staticmethod
    def _count(faults: Faults, those: NDArray[np.bool_], series: IntArray, chunk: Chunk) -> None:
        found = np.flatnonzero(those)
        if len(found):
            faults.add(series[found], chunk.lines, found)

    def _made(self, i: int, name: str, values: Any, stamps: Any) -> Series:
        faults = {why: found.of[i] for why, found in self._faults.items() if i in found.of}
        failures = self._failed.of.get(i, Fault())
        total = len(values) + failures.count + sum(fault.count for fault in faults.values())
        values, stamps = in_order(self._file, stamps, [values, stamps])
        failure = failed(failures.count, total, "request", at=failures.where("line"))
        return Series(
            key={"label": label(name)},
            values=values,
            metric="elapsed",
            unit="s",
            lower_is_better=True,
            position=None if self._times is None else stamps,
            defects=tuple(
                left_out(fault.count, total, why, fault.where("line"))
                for why, fault in faults.items()
            ),
            notes=(failure,) if failures.count else (),
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
