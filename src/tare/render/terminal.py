"""Rows of text as a table where the terminal has room, and one below the other where it has not."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

_INDENT = "    "
_GAP = "  "
#: Characters below which a column is no place for sentences.
_LEAST_FOLDED = 24

Row = Sequence[str]


def fitted(rows: Sequence[Row], width: int, left: int = 1) -> list[str]:
    """Return lines that are no wider than a terminal.

    Where there is no room, the text of a last column on the left is broken; else each row becomes
    a few lines of their own.

    Parameters
    ----------
    rows : sequence of sequence of str
        Heads first; the first cell of each row names it.
    width : int
        Of the terminal, in characters.
    left : int
        Columns that stand to the left in a table.
    """
    table = aligned(rows, left)
    if max(map(len, table)) <= width:
        return table
    last = len(rows[0]) - 1
    room = width - sum(size + len(_GAP) for size in _widths(rows)[:last])
    if left > last and room >= _LEAST_FOLDED:
        return aligned(_folded(rows, room), left)
    return _stacked(rows, width)


def aligned(rows: Sequence[Row], left: int = 1) -> list[str]:
    """Return rows with their columns below each other, the first ones to the left."""
    widths = _widths(rows)
    return [
        _GAP.join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


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
