"""Rows of text that a character separates: comma, semicolon, tab or bar."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tare.errors import InputError
from tare.readers.blocks import HEAD_BYTES, Block, Text
from tare.readers.cells import ABSENT, MOST_CHARACTERS, is_number
from tare.readers.parsing import Marks, Parser, Ragged
from tare.readers.rows import Chunk, Want, consecutive
from tare.readers.text_file import shown
from tare.results.message import Message, message

#: More columns than a long table has.
MOST_COLUMNS = 10_000
#: Rows from the beginning that columns are judged by.
_SAMPLE = 1000
_SEPARATORS = ",;\t|"
_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*[^\d.,\s]{0,12}\s*")
#: Number that is ambiguous: the comma may be decimal or separate thousands.
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*[^\d.,\s]{0,12}\s*")
#: Excel reads the separator of a CSV file from a first line such as ``sep=;``.
_EXCEL = re.compile(r"\ufeff?sep=([\t !#-~])\s*")
_DECIMAL_COMMA = re.compile(r"(\s*[-+]?\d*),(?=\d)")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_POINT = re.compile(r"\s*[-+]?\d*\.\d+.*")
#: Numbers with separators of thousands, which are the keys.
_GROUPED = {
    ".": r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?",
    ",": r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?",
}
#: What may be a whole number whose thousands a point separates, or one with three decimals.
_GROUP = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")


class CsvRows:
    """A long table as text."""

    place = "line"

    def __init__(self, file: Path, expected: Sequence[str] = ()) -> None:
        self._text = Text(file)
        self._is_latin = False
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
            self._text.note(
                message(
                    "the first line holds numbers, so there is no header: columns are {first}"
                    "{% if last %} to {last}{% endif %}",
                    first=names[0],
                    last=last,
                )
            )
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
        columns = self._by_column([row for _, row in rows[:_SAMPLE]])
        self._marks = {i: _marks(self._separator, cells) for i, cells in enumerate(columns)}
        self._sampled = [
            [_as_number(cell, self._marks[i]) for cell in cells] for i, cells in enumerate(columns)
        ]
        if any(marks.decimal_comma for marks in self._marks.values()):
            self._text.note(message("numbers have a decimal comma"))

    @property
    def notes(self) -> list[Message]:
        """What was odd about it."""
        return self._text.notes

    def sample(self) -> list[list[str]]:
        """Return the cells of the first rows, by column."""
        return self._sampled

    def chunks(self, wanted: Mapping[int, Want]) -> Iterator[Chunk]:
        """Go through all rows, with the columns that are wanted."""
        width = len(self.names)
        for i in (i for i, want in wanted.items() if want == "number"):
            self._refuse_ambiguous(i)
        with Parser(self._separator, width, wanted, self._marks) as parser:
            for whole in self._text.blocks():
                block = self._after_header(whole)
                if block.data and not block.data.isspace():
                    yield self._chunk(self._utf8(block), parser)

    def _by_column(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the cells of each column; rows may lack cells."""
        width = len(self.names)
        columns = zip(*([*row[:width], *[""] * (width - len(row))] for row in rows), strict=True)
        return [[*column] for column in columns]

    def _refuse_ambiguous(self, column: int) -> None:
        """Refuse numbers such as ``1.234`` if other cells show that the point groups thousands.

        Raises
        ------
        InputError
            If another column has decimal commas, or whole numbers of three digits stand with them.
        """
        cells = [cell.strip() for cell in self._sampled[column] if cell.strip() not in ABSENT]
        pointed = [cell for cell in cells if "." in cell]
        others = [cell for cell in cells if "." not in cell]
        if not pointed or not all(map(_GROUP.fullmatch, pointed)):
            return
        commas = any(m.decimal_comma for i, m in self._marks.items() if i != column)
        whole = bool(others) and all(one.isdecimal() and 3 <= len(one) <= 6 for one in others)
        if commas or whole:
            raise InputError(
                f"{self._file}: the point in {pointed[0]} may be of decimals or of thousands"
                f" (column {shown(self.names[column])})",
                "write numbers without separators of thousands",
            )

    def _after_header(self, block: Block) -> Block:
        if block.line >= self._begin:
            return block
        at = 0
        for _ in range(self._begin - block.line):
            at = block.data.find(b"\n", at) + 1
        return Block(block.data[at:], self._begin, block.lines - (self._begin - block.line))

    def _chunk(self, block: Block, parser: Parser) -> Chunk:
        parsed = parser.parse(block.data)
        if isinstance(parsed, Ragged):
            raise self._ragged(block, parsed)
        lines = parsed.lines
        if lines is None:
            return Chunk(parsed.columns, parsed.rows, consecutive(block.line))
        return Chunk(parsed.columns, parsed.rows, lambda index: lines[index] + block.line)

    def _utf8(self, block: Block) -> Block:
        """Read what is no UTF-8 as Latin-1, in which every byte is a character."""
        try:
            if not block.data.isascii():
                block.data.decode()
        except UnicodeDecodeError as error:
            if not self._is_latin:
                self._is_latin = True
                line = block.line + block.data.count(b"\n", 0, error.start)
                self._text.note(
                    message("line {line} is not UTF-8: the file is read as Latin-1", line=line)
                )
            return Block(block.data.decode("latin-1").encode(), block.line, block.lines)
        return block

    def _ragged(self, block: Block, row: Ragged) -> InputError:
        where = f"{self._file}, line {block.line + row.line}"
        if row.is_open:
            return InputError(
                f"{where}: a quotation mark is never closed",
                "close it, or write it twice within quotation marks",
            )
        if row.cells > len(self.names):
            hint = f"quote cells that have a {self._separator!r} in them"
        else:
            hint = "if it is the last line, the file was cut off"
        return InputError(
            f"{where} has {row.cells} value{'s' * (row.cells != 1)},"
            f" but there are {len(self.names)} columns",
            hint,
        )


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


def _marks(separator: str, cells: Sequence[str]) -> Marks:
    """Return how the numbers of a column are written.

    They have separators of thousands where one has a decimal mark as well, or several of them.
    """
    short = [cell.strip() for cell in cells if len(cell) <= MOST_CHARACTERS]
    found = [cell for cell in short if cell not in ABSENT]
    for mark, decimal in ((".", ","), (",", ".")):
        grouped = re.compile(_GROUPED[mark])
        clear = (c for c in found if c.count(mark) > 1 or (mark in c and decimal in c))
        numbers = (grouped.fullmatch(c) or is_number(c.replace(decimal, ".", 1)) for c in found)
        if any(map(grouped.fullmatch, clear)) and all(numbers):
            without = [_without_thousands(cell, mark) for cell in found]
            return Marks(_decimal_comma(separator, without), mark)
    # A point in such a column can only separate thousands.
    comma = _decimal_comma(separator, found)
    return Marks(comma, "." if comma else None)


def _decimal_comma(separator: str, cells: Sequence[str]) -> bool:
    """Whether numbers have a decimal comma: some have, and none has a point.

    Between commas, numbers of thousands are quoted for theirs as well.
    """
    found = [c for c in cells if _COMMA.fullmatch(c)]
    if separator == "," and all(_THOUSANDS.fullmatch(c) for c in found):
        return False
    return bool(found) and not any(_POINT.fullmatch(c) for c in cells)


def _as_number(cell: str, marks: Marks) -> str:
    """Return a cell as a number with a decimal point, where it is one."""
    if marks.thousands is not None:
        cell = _without_thousands(cell, marks.thousands)
    return _with_point(cell) if marks.decimal_comma else cell


def _without_thousands(cell: str, mark: str) -> str:
    """Return a number without the separators of its thousands; other text as it is."""
    grouped = re.fullmatch(_GROUPED[mark], cell.strip()) is not None
    return cell.replace(mark, "") if grouped else cell


def _is_cut_by_commas(names: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row has too many cells, perhaps since commas were meant to be those of decimals."""
    pairs = itertools.pairwise(cell.strip() for cell in row)
    return len(row) > len(names) and any(
        whole.lstrip("+-").isdecimal() and part.isdecimal() for whole, part in pairs
    )


def _with_point(cell: str) -> str:
    """Replace the decimal comma of the number that a cell begins with by a point."""
    found = _DECIMAL_COMMA.match(cell)
    return f"{found[1]}.{cell[found.end() :]}" if found else cell
