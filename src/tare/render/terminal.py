"""Rows of text as a table where the terminal has room, and one below the other where it has not."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

_INDENT = "    "
_GAP = "  "
#: Characters below which a column is no place for sentences.
_LEAST_FOLDED = 24

#: How a cell begins that is a number.
_NUMBER = re.compile(r"[-−+±×≈≤≥<>~(]*\s*\d")

Row = Sequence[str]


def fitted(rows: Sequence[Row], width: int, left: int = 1) -> list[str]:
    """Return lines that are no wider than a terminal.

    Where there is no room, the words of a last column are broken; else each row becomes a few lines
    of its own.

    Parameters
    ----------
    rows : sequence of sequence of str
        Heads first; the first cell of each row names it.
    width : int
        Of the terminal, in characters.
    left : int
        Columns that are names, whatever they begin with.
    """
    table = aligned(rows, left)
    if max(map(len, table)) <= width:
        return table
    last = len(rows[0]) - 1
    room = width - sum(size + len(_GAP) for size in _widths(rows)[:last])
    if _is_words(rows, last, left) and room >= _LEAST_FOLDED:
        return aligned(_folded(rows, room), left, last_is_words=True)
    return _stacked(rows, width)


def aligned(rows: Sequence[Row], left: int = 1, *, last_is_words: bool = False) -> list[str]:
    """Return rows with their columns below each other: words to the left, numbers to the right."""
    columns = [(width, _is_words(rows, i, left)) for i, width in enumerate(_widths(rows))]
    if last_is_words:
        columns[-1] = (columns[-1][0], True)
    return [
        _GAP.join(
            cell.ljust(width) if words else cell.rjust(width)
            for cell, (width, words) in zip(row, columns, strict=True)
        ).rstrip()
        for row in rows
    ]


def _is_words(rows: Sequence[Row], column: int, left: int) -> bool:
    cells = [row[column] for row in rows[1:]]
    numbers = any(map(_NUMBER.match, cells)) or not any(cell[:1].isalpha() for cell in cells)
    return column < left or not numbers


def _widths(rows: Sequence[Row]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _folded(rows: Sequence[Row], room: int) -> list[Row]:
    """Break the text of the last column into rows that have nothing else."""
    folded: list[Row] = []
    for *first, text in rows:
        lines = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
        folded.append((*first, lines[0]))
        folded += [(*("" for _ in first), line) for line in lines[1:]]
    return folded


def _stacked(rows: Sequence[Row], width: int) -> list[str]:
    """Write each row as its name and, below it, every other cell after its head."""
    heads, *others = rows
    lines = []
    for name, *cells in others:
        # What has no head, such as a verdict, stands beside the name.
        unnamed = [cell for head, cell in zip(heads[1:], cells, strict=True) if cell and not head]
        lines += textwrap.wrap(_GAP.join([name, *unnamed]), width, subsequent_indent=_INDENT)
        named = [f"{head} {cell}" for head, cell in zip(heads[1:], cells, strict=True) if head]
        lines += textwrap.wrap(
            " · ".join(named), width, initial_indent=_INDENT, subsequent_indent=_INDENT
        )
    return lines
