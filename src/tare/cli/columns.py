"""Rows of text as a table where the terminal has room, and one below the other where it has not."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tare.cli.calibrate_screen import aligned

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
