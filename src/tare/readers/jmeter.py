"""What JMeter writes for each request: a JTL, as CSV or as XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import roles as column_roles
from tare.readers import units, xml_file
from tare.readers.compression import take, unpacked
from tare.readers.csv_rows import CsvRows
from tare.readers.dates import Times
from tare.readers.format import HEAD, TABLE_OPTIONS, Format, Repeat
from tare.readers.long_table import LongTable
from tare.readers.readings import each_of
from tare.readers.rows import Chunk, Column, Levels, Rows, Want
from tare.readers.series import ColumnOptions, Imported
from tare.readers.text_file import head_text, label
from tare.readers.xml_file import Element
from tare.registry import Description
from tare.results.message import Message, message

#: Columns of a CSV, and the same as attributes of samples in XML since JMeter 2.1.
_ATTRIBUTES = {
    "timeStamp": "ts",
    "elapsed": "t",
    "label": "lb",
    "responseCode": "rc",
    "threadName": "tn",
    "success": "s",
    "bytes": "by",
    "Latency": "lt",
    "IdleTime": "it",
    "Connect": "ct",
}
#: Columns of a CSV without header begin with these; success is the first true or false.
_FIRST_COLUMNS = (
    "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName",
)  # fmt: skip
_UNITS = {
    **dict.fromkeys(("elapsed", "Latency", "IdleTime", "Connect"), "ms"),
    **dict.fromkeys(("bytes", "sentBytes"), "bytes"),
}
_NO_HEADER = re.compile(r"\d{13}([,;\t|])\d+\1.*\1(?:true|false)(?:\1|$)")
_SAMPLES = frozenset({"sample", "httpSample"})
#: Samples in XML that become rows at a time.
_BATCH = 1 << 14


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins with JMeter's root, the names of its columns, or a row of a request."""
    if head.lstrip()[:1] == b"<" or xml_file.root(head):
        return xml_file.root(head) == "testResults"
    first = head_text(head).lstrip("\ufeff").partition("\n")[0].strip()
    return _has_header(first) or _NO_HEADER.match(first) is not None


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read how long the requests of each label took, in order of their timestamps.

    ``columns`` name other columns for the values, series and order. Failed requests are left out
    in any case.
    """
    with unpacked(file) as source:
        head = take(file, source, HEAD)
    is_xml = head.lstrip()[:1] == b"<" or xml_file.root(head)
    rows: Rows = _XmlRows(file) if is_xml else CsvRows(file, [*_ATTRIBUTES])
    if rows.names[0] == "c1":
        names = _names_of(rows)
        rows.names, known = names, dict(zip(rows.names, names, strict=True))
        columns = _renamed(columns, known)
    named = replace(
        columns,
        value=columns.value or _column(file, rows, "elapsed"),
        group=columns.group or (() if columns.compare else (_column(file, rows, "label"),)),
    )
    roles, notes = column_roles.find(file, rows, named), []
    if columns.order is None and "timeStamp" in rows.names:
        order = rows.names.index("timeStamp")
        if Times().numbers(rows.sample()[order]) is None:
            notes.append(
                message(
                    "the timestamps are missing, or neither numbers nor ISO dates: values are in "
                    "the order of the file"
                )
            )
        else:
            roles = replace(roles, order=order)
    status = rows.names.index("success") if "success" in rows.names else None
    roles = replace(roles, status=status, codes=False, pooled=())
    value = rows.names[roles.value]
    unit = units.unit(_UNITS[value]) if value in _UNITS else None
    samples = LongTable(file, rows, roles, unit, "request")
    series = samples.series()
    return Imported(
        file=file,
        series=series,
        specification=each_of((len(one.values) for one in series), "request", "label"),
        failed=samples.failed(),
        notes=(*rows.notes, *notes, *samples.notes()),
    )


def _has_header(first: str) -> bool:
    separated = ({one.strip('" ') for one in first.split(mark)} for mark in ",;\t|")
    return any({"timeStamp", "elapsed", "label"} <= names for names in separated)


def _column(file: Path, rows: Rows, name: str) -> str:
    """Return the name of a column that must be there unless another was named for it."""
    if name not in rows.names:
        raise InputError(
            f"{file} has no column {name!r}",
            "jmeter.save.saveservice.* says what JMeter writes; or name --value and --group",
        )
    return name


def _names_of(rows: Rows) -> tuple[str, ...]:
    """Name the columns of a CSV without header as JMeter orders them, as far as is certain."""
    found = list(rows.names)
    found[: len(_FIRST_COLUMNS)] = _FIRST_COLUMNS[: len(found)]
    sampled = rows.sample()
    for i in range(len(_FIRST_COLUMNS), len(found)):
        if {cell.strip() for cell in sampled[i]} <= {"true", "false"}:
            found[i] = "success"
            break
    return tuple(found)


def _renamed(columns: ColumnOptions, known: Mapping[str, str]) -> ColumnOptions:
    """Replace c1, c2, … in options by the names that the columns have by now."""

    def name(given: str | None) -> str | None:
        return known.get(given, given) if given else given

    return replace(
        columns,
        value=name(columns.value),
        group=tuple(known.get(one, one) for one in columns.group),
        compare=tuple(known.get(one, one) for one in columns.compare),
        order=name(columns.order),
        trial=name(columns.trial),
        block=name(columns.block),
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
        return (
            [
                message(
                    "{n | counted('sample')} inside others, such as redirects and parts of "
                    "transactions, {% if n == 1 %}is{% else %}are{% endif %} not counted "
                    "separately",
                    n=self._inner,
                )
            ]
            if self._inner
            else []
        )

    def sample(self) -> list[list[str]]:
        """Return the attributes of the first samples, by column."""
        rows = next(self._batches(), None)
        if rows is None:
            raise InputError(f"{self._file} has no samples", "did the test execute a request?")
        return [_texts(rows, i) for i in range(len(self.names))]

    def chunks(self, wanted: Mapping[int, Want]) -> Iterator[Chunk]:
        """Go through all samples, with the columns that are wanted."""
        for rows in self._batches():
            yield _chunk(rows, wanted)

    def _batches(self) -> Iterator[list[Element]]:
        self._inner = 0
        rows: list[Element] = []
        for i, element in enumerate(xml_file.elements(self._file)):
            if i == 0:
                self._check_root(element)
            elif element.name in _SAMPLES:
                self._inner += _inner(element) if element.children else 0
                rows.append(element)
                if len(rows) == _BATCH:
                    yield rows
                    rows = []
        if rows:
            yield rows

    def _check_root(self, root: Element) -> None:
        if root.name != "testResults":
            raise InputError(
                f"{self._file}, line {root.line}: the root is <{label(root.name)}>, not"
                " <testResults>",
                "name the JTL that JMeter wrote",
            )


def _inner(element: Element) -> int:
    return sum((child.name in _SAMPLES) + _inner(child) for child in element.children)


def _chunk(rows: list[Element], wanted: Mapping[int, Want]) -> Chunk:
    columns: dict[int, Column] = {}
    for i, want in wanted.items():
        texts = _texts(rows, i)
        columns[i] = texts if want in {"number", "time"} else Levels.of(texts)
    lines = np.array([row.line for row in rows], dtype=np.int64)
    return Chunk(columns, len(rows), lambda index: lines[index])


def _texts(rows: list[Element], column: int) -> list[str]:
    attribute = [*_ATTRIBUTES.values()][column]
    return [row.attributes.get(attribute, "") for row in rows]


UNIT = Format(
    description=Description(
        name="jmeter",
        title="JMeter: a JTL, as CSV or XML",
        question="How long did each request take?",
        source="Apache JMeter, jmeter.save.saveservice.*",
    ),
    recognises=recognises,
    read=read,
    options=TABLE_OPTIONS,
    executions=message(
        "the file is one run of a test plan: its requests share that run. Run the plan 6 "
        "times, each with a file of its own, and audit the files together"
    ),
    repeat=Repeat("jmeter -n -t PLAN.jmx -l run$i.jtl", "run*.jtl", placeholders=("PLAN.jmx",)),
)
