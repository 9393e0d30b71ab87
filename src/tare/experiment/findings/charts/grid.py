"""Small multiples: a column for each platform, a row for each group of the other levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.experiment.findings.cells import Cell, Cells
from tare.experiment.findings.level_names import at_levels
from tare.render.drawing import MOST_PANELS
from tare.results.message import Message, message

#: Levels at which nothing is added.
_PLAIN = {"load": "none", "pinning": "none", "size": "all"}
#: Rows without room that are named one by one.
_MOST_NAMES = 12


@dataclass(frozen=True)
class Grid:
    """Cells in rows and columns.

    Attributes
    ----------
    platforms : list of str
        The columns, in the order of the experiment.
    rows : list of (str, dict)
        What the cells of a row share, in words, and the cells by platform.
    left_out : list of str
        Rows beyond what one chart holds.
    """

    platforms: list[str]
    rows: list[tuple[str, dict[str, Cell]]]
    left_out: list[str]

    @property
    def cells(self) -> list[Cell]:
        """Every cell that is drawn."""
        return [cell for _, by_platform in self.rows for cell in by_platform.values()]


def grid(cells: Cells, most: int = MOST_PANELS) -> Grid:
    """Arrange all cells that have good trials, at most so many of them."""
    if not cells.all:
        return Grid([], [], [])
    platforms = list(dict.fromkeys(c.levels["platform"] for c in cells.all))
    varied = [f for f in cells.varied if f != "platform"]
    alone = cells.results.experiment.workloads[0].name
    rows = [
        (at_levels(levels, varied) or alone, by_platform)
        for levels, by_platform in cells.groups("platform")
    ]
    chosen = _choose([levels for levels, _ in cells.groups("platform")], most // len(platforms))
    return Grid(
        platforms,
        [row for i, row in enumerate(rows) if i in chosen],
        [name for i, (name, _) in enumerate(rows) if i not in chosen],
    )


def _choose(rows: Sequence[dict[str, str]], most: int) -> set[int]:
    """Take the plain rows first: no load, no pinning; evenly where not even those fit."""
    most = max(1, most)
    plain = [sum(levels.get(f) not in (None, v) for f, v in _PLAIN.items()) for levels in rows]
    order = sorted(range(len(rows)), key=lambda i: plain[i])
    first = [i for i in order if plain[i] == plain[order[0]]]
    if len(first) > most:
        return {first[int(i * len(first) / most)] for i in range(most)}
    return set(order[:most])


def left_out(names: Sequence[str]) -> tuple[Message, ...]:
    """Name the rows that are not drawn, the first of them where they are many."""
    if not names:
        return ()
    more = max(0, len(names) - _MOST_NAMES)
    return (message("chart.left_out", names=names[:_MOST_NAMES], more=more),)
