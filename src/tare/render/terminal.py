"""Rows of text as a table where the terminal has room, and one below the other where it has not."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

_INDENT = "    "


def fitted(rows: Sequence[tuple[str, ...]], width: int, left: int = 1) -> list[str]:
    """Return lines that are no wider than a terminal.

    Parameters
    ----------
    rows : sequence of tuple of str
        Heads first; the first cell of each row names it.
    width : int
        Of the terminal, in characters.
    left : int
        Columns that stand to the left in a table.
    """
    table = aligned(rows, left)
    if max(map(len, table)) <= width:
        return table
    heads, *others = rows
    lines = []
    for name, *cells in others:
        # What has no head, such as a verdict, stands beside the name.
        beside = [cell for head, cell in zip(heads[1:], cells, strict=True) if cell and not head]
        lines += textwrap.wrap("  ".join([name, *beside]), width, subsequent_indent=_INDENT)
        told = [f"{head} {cell}" for head, cell in zip(heads[1:], cells, strict=True) if head]
        lines += textwrap.wrap(
            " · ".join(told), width, initial_indent=_INDENT, subsequent_indent=_INDENT
        )
    return lines


def aligned(rows: Sequence[tuple[str, ...]], left: int) -> list[str]:
    """Return rows with their columns below each other, the first ones to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
