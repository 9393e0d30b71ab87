"""Rows of text that a character separates: comma, semicolon, tab or bar."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from tare.errors import InputError
from tare.readers.blocks import HEAD_BYTES, Block, Text
from tare.readers.cells import ABSENT, MOST_CHARACTERS, is_number, texts
from tare.readers.rows import Chunk, Want, consecutive
from tare.readers.series import IntArray
from tare.readers.text_file import shown
from tare.results.message import Message, message

#: More columns than a long table has.
MOST_COLUMNS = 10_000
#: Rows from the beginning that columns are judged by.
_SAMPLE = 1000
_SEPARATORS = ",;\t|"
_TYPES = {
    "number": pa.float64(),
    "integer": pa.int64(),
    "level": pa.dictionary(pa.int32(), pa.string()),
}
_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*[^\d.,\s]{0,12}\s*")
#: What may as well be a whole number whose thousands a comma separates.
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*[^\d.,\s]{0,12}\s*")
#: Excel reads the separator of a CSV file from a first line such as ``sep=;``.
_EXCEL = re.compile(r"\ufeff?sep=(.)\s*")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_POINT = re.compile(r"\s*[-+]?\d*\.\d+.*")
#: Numbers with separators of thousands, which are the keys.
_GROUPED = {
    ".": r"[-+]?\d{1,3}(?:\.\d{3})+(?:,\d+)?",
    ",": r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?",
}


class CsvRows:
    """A long table as text."""

    place = "line"

    def __init__(self, file: Path, expected: Sequence[str] = ()) -> None:
        self._text = Text(file)
        self._file = file
        head = self._text.head()
        self._separator, rows = _separated(file, head)
        first, cells = rows[0]
        #: Line of the first row of values.
        self._begin = first
        if _is_header([cells for _, cells in rows[:2]], expected):
            names = [cell.strip() or f"c{i}" for i, cell in enumerate(cells, 1)]
            rows = rows[1:]
            self._begin = first + _lines_of(head, first, self._separator)
        else:
            names = [f"c{i}" for i in range(1, len(cells) + 1)]
            last = names[-1] if len(names) > 1 else None
            self._text.note(message("interop.csv.no_header", first=names[0], last=last))
        if not rows and len(head) < HEAD_BYTES // 4:
            raise InputError(f"{file} has a header and no rows", "let it be written again")
        if not rows:
            raise InputError(
                f"{file}, line {self._begin} is longer than {HEAD_BYTES >> 20} MiB, or a quotation"
                " mark in it is never closed",
                "is it a table of lines?",
            )
        if rows and self._separator == "," and _is_cut_by_commas(names, rows[0][1]):
            raise InputError(
                f"{file}, line {rows[0][0]} has {len(rows[0][1])} values, but there are"
                f" {len(names)} columns",
                "if its numbers have decimal commas: write points, or semicolons between columns",
            )
        self.names = tuple(names)
        self._thousands = _thousands(rows[:_SAMPLE])
        self._sampled = [
            (line, [self._ungrouped(cell) for cell in cells]) for line, cells in rows[:_SAMPLE]
        ]
        self._comma = _decimal_comma(self._separator, self._sampled)
        if self._comma:
            self._text.note(message("interop.csv.decimal_comma"))

    @property
    def notes(self) -> list[Message]:
        """What was odd about it."""
        return self._text.notes

    def sample(self) -> Chunk:
        """Return the first rows as text."""
        columns = {
            i: texts([cells[i] if i < len(cells) else "" for _, cells in self._sampled])
            for i in range(len(self.names))
        }
        lines = np.array([line for line, _ in self._sampled])
        return Chunk(self._with_points(columns), len(lines), lambda index: lines[index])

    def chunks(self, wanted: Mapping[int, Want]) -> Iterator[Chunk]:
        """Go through all rows, with the columns that are wanted."""
        for whole in self._text.blocks():
            block = self._after_header(whole)
            if block.data and not block.data.isspace():
                yield self._chunk(self._without_thousands(block), wanted)

    def _ungrouped(self, cell: str) -> str:
        """Return a number without the separators of its thousands; other text as it is."""
        mark = self._thousands
        grouped = mark is not None and re.fullmatch(_GROUPED[mark], cell.strip()) is not None
        return cell.replace(mark or "", "") if grouped else cell

    def _without_thousands(self, block: Block) -> Block:
        """Return a block whose numbers have no separators of thousands."""
        mark = self._thousands
        if mark is None:
            return block
        # Where commas separate columns, those of thousands are in quotation marks.
        ends = '"' if self._separator == mark else f'"\n{re.escape(self._separator)}'
        cell = re.compile(rf"(?:(?<=[{ends}])|^) *{_GROUPED[mark]} *(?=[{ends}\r]|$)".encode())
        return replace(block, data=cell.sub(lambda m: m[0].replace(mark.encode(), b""), block.data))

    def _after_header(self, block: Block) -> Block:
        if block.line >= self._begin:
            return block
        at = 0
        for _ in range(self._begin - block.line):
            at = block.data.find(b"\n", at) + 1
        return Block(block.data[at:], self._begin, block.lines - (self._begin - block.line))

    def _chunk(self, block: Block, wanted: Mapping[int, Want]) -> Chunk:
        types: dict[int, pa.DataType] = {i: _TYPES[want] for i, want in wanted.items()}
        try:
            table = self._parsed(block, types)
        except pa.ArrowInvalid as error:
            block = self._utf8(block)
            self._find_ragged(block)
            table = self._parsed_as_far_as_numbers_go(block, types, error)
        columns = {i: _one(table.column(f"{i}")) for i in wanted}
        if block.lines == table.num_rows:
            return Chunk(columns, table.num_rows, consecutive(block.line))
        return Chunk(columns, table.num_rows, lambda index: self._lines(block)[index])

    def _parsed(self, block: Block, types: Mapping[int, pa.DataType]) -> pa.Table:
        return arrow_csv.read_csv(
            pa.BufferReader(block.data),
            arrow_csv.ReadOptions(
                column_names=[f"{i}" for i in range(len(self.names))], block_size=4 << 20
            ),
            arrow_csv.ParseOptions(
                delimiter=self._separator, newlines_in_values=b'"' in block.data
            ),
            arrow_csv.ConvertOptions(
                include_columns=[f"{i}" for i in types],
                column_types={f"{i}": type_ for i, type_ in types.items()},
                null_values=ABSENT,
                decimal_point="," if self._comma else ".",
            ),
        )

    def _parsed_as_far_as_numbers_go(
        self, block: Block, types: Mapping[int, pa.DataType], error: pa.ArrowInvalid
    ) -> pa.Table:
        """Parse again with those columns as text that do not hold numbers alone."""
        types = dict(types)
        for i, type_ in types.items():
            if pa.types.is_dictionary(type_):
                continue
            try:
                self._parsed(block, {i: type_})
            except pa.ArrowInvalid:
                types[i] = pa.string()
        try:
            table = self._parsed(block, types)
        except pa.ArrowInvalid:
            raise InputError(
                f"{self._file}, after line {block.line}: {shown(str(error), 200)}",
                "is it a table with the same columns in each line?",
            ) from error
        written = {i: table.column(f"{i}") for i in types if types[i] == pa.string()}
        for i, text in self._with_points(written).items():
            table = table.set_column(table.schema.get_field_index(f"{i}"), f"{i}", text)
        return table

    def _with_points(self, columns: Mapping[int, pa.Array]) -> dict[int, pa.Array]:
        import pyarrow.compute as pc

        if not self._comma:
            return dict(columns)
        return {i: pc.replace_substring_regex(t, r"^(\s*[-+]?\d*),(\d)", r"\1.\2")
                for i, t in columns.items()}  # fmt: skip

    def _utf8(self, block: Block) -> Block:
        """Read what is no UTF-8 as Latin-1, in which every byte is a character."""
        try:
            block.data.decode()
        except UnicodeDecodeError as error:
            line = block.line + block.data.count(b"\n", 0, error.start)
            self._text.note(message("interop.csv.latin", line=line))
            return Block(block.data.decode("latin-1").encode(), block.line, block.lines)
        return block

    def _find_ragged(self, block: Block) -> None:
        """Raise where a row has more or fewer values than there are columns."""
        for line, cells in self._walk(block):
            if len(cells) > len(self.names):
                hint = f"quote cells that have a {self._separator!r} in them"
            else:
                hint = "if it is the last line, the file was cut off"
            if len(cells) != len(self.names):
                raise InputError(
                    f"{self._file}, line {line} has {len(cells)} value{'s' * (len(cells) != 1)},"
                    f" but there are {len(self.names)} columns",
                    hint,
                )

    def _lines(self, block: Block) -> IntArray:
        return np.array([line for line, _ in self._walk(block)], dtype=np.int64)

    def _walk(self, block: Block) -> Iterator[tuple[int, list[str]]]:
        text = io.StringIO(block.data.decode("utf-8", "replace"), newline="")
        yield from _walked(self._file, text, self._separator, block.line)


def _walked(
    file: Path, text: io.StringIO, separator: str, line: int
) -> Iterator[tuple[int, list[str]]]:
    """Go through rows one by one, with the line that each begins at; empty lines are no rows."""
    reader = csv.reader(text, delimiter=separator)
    before = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(f"{file}, line {line + before}: {error}", "is it a table?") from error
        if cells is None:
            return
        if cells:
            yield line + before, cells
        before = reader.line_num


def _separated(file: Path, head: str) -> tuple[str, list[tuple[int, list[str]]]]:
    """Choose the separator, and take the beginning apart with it."""
    lines = head.split("\n", 64)
    skipped = 0
    while skipped < len(lines) and (not lines[skipped].strip() or lines[skipped][:1] == "#"):
        skipped += 1
    separators = _SEPARATORS
    if skipped < len(lines) and (excel := _EXCEL.fullmatch(lines[skipped])):
        separators, skipped = excel[1], skipped + 1
    if skipped == len(lines):
        raise InputError(f"{file} has no rows", "name a table with a header")
    first = lines[skipped]
    if max(first.count(one) for one in _SEPARATORS) >= MOST_COLUMNS:
        raise InputError(
            f"{file}, line {skipped + 1} has more than {MOST_COLUMNS:,} columns",
            "a long table has one value a row: reshape it",
        )
    whole = len(head) < HEAD_BYTES // 4 or head.endswith("\n")
    body = head.split("\n", skipped)[skipped]
    if not whole:
        if "\n" not in body:
            raise InputError(f"{file}, line {skipped + 1} is longer than {HEAD_BYTES >> 20} MiB",
                             "is it a table of lines?")  # fmt: skip
        body = body[: body.rfind("\n") + 1]
    best = ","
    most: tuple[float, int] = (0.0, 0)
    parted: list[tuple[int, list[str]]] = []
    for separator in separators:
        rows = _beginning(file, body, separator, skipped + 1)
        width = len(rows[0][1]) if rows else 0
        alike = sum(len(cells) == width for _, cells in rows) / max(1, len(rows))
        score = (alike if width > 1 else 0.0, width)
        if not parted or score > most:
            best, most, parted = separator, score, rows
    if not parted:
        raise InputError(f"{file} has no rows", "name a table with a header")
    return best, parted


def _beginning(file: Path, body: str, separator: str, line: int) -> list[tuple[int, list[str]]]:
    rows = []
    try:
        for row in _walked(file, io.StringIO(body, newline=""), separator, line):
            rows.append(row)
            if len(rows) > _SAMPLE:
                break
    except InputError:
        return rows
    return rows


def _lines_of(head: str, first: int, separator: str) -> int:
    """Count the lines of the header, whose names may be of several."""
    body = head.split("\n", first - 1)[first - 1]
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator)
    next(reader)
    return reader.line_num


def _is_header(rows: Sequence[Sequence[str]], expected: Sequence[str]) -> bool:
    """Whether the first row has names: no number in it, or a text above a number (``50%``)."""
    first = rows[0]
    if any(cell.strip() in expected for cell in first):
        return True
    numbers = [[is_number(cell.replace(",", ".", 1)) for cell in row] for row in rows]
    if not any(numbers[0]):
        return True
    pairs = zip(first, numbers[0], numbers[-1], strict=False)
    return any(
        below and not above and cell.strip() not in ABSENT and _LETTERS.search(cell)
        for cell, above, below in pairs
    )


def _thousands(rows: Sequence[tuple[int, list[str]]]) -> str | None:
    """Return what separates thousands; None where no number has it with a decimal mark."""
    cells = [cell.strip() for _, row in rows for cell in row if len(cell) <= MOST_CHARACTERS]
    for mark, decimal in ((".", ","), (",", ".")):
        grouped = (c for c in cells if mark in c and decimal in c)
        if any(re.fullmatch(_GROUPED[mark], c) for c in grouped):
            return mark
    return None


def _decimal_comma(separator: str, rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Whether numbers have a decimal comma: some have, and none has a point.

    Between commas, numbers of thousands are quoted for theirs as well.
    """
    cells = [cell for _, row in rows for cell in row if len(cell) <= MOST_CHARACTERS]
    found = [c for c in cells if _COMMA.fullmatch(c)]
    if separator == "," and all(_THOUSANDS.fullmatch(c) for c in found):
        return False
    return bool(found) and not any(_POINT.fullmatch(c) for c in cells)


def _is_cut_by_commas(names: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row has too many cells, perhaps since commas were meant to be those of decimals."""
    pairs = itertools.pairwise(cell.strip() for cell in row)
    return len(row) > len(names) and any(
        whole.lstrip("+-").isdecimal() and part.isdecimal() for whole, part in pairs
    )


def _one(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
