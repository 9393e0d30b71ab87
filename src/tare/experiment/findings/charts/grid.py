"""Small multiples: a column for each level of a factor, a row for each group of the others."""

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
    columns : list of str
        Levels of the factor whose levels are the columns, in the order of the experiment.
    rows : list of (str, dict)
        What the cells of a row share, in words, and the cells by the level of that factor.
    left_out : list of str
        Rows beyond what one chart holds.
    """

    columns: list[str]
    rows: list[tuple[str, dict[str, Cell]]]
    left_out: list[str]

    @property
    def cells(self) -> list[Cell]:
        """Every cell that is drawn."""
        return [cell for _, by_level in self.rows for cell in by_level.values()]


def grid(cells: Cells, most: int = MOST_PANELS, factor: str = "platform", fewest: int = 1) -> Grid:
    """Arrange the cells that have good trials.

    Parameters
    ----------
    most : int
        Largest number of panels.
    factor : str
        The one whose levels are the columns.
    fewest : int
        Rows with fewer cells are not wanted: they are neither drawn nor named as left out.
    """
    groups = [(levels, row) for levels, row in cells.groups(factor) if len(row) >= fewest]
    if not groups:
        return Grid([], [], [])
    # The order of the cells: that of the experiment, the reference first.
    columns = [*dict.fromkeys(c.levels[factor] for c in cells.all)]
    columns = [level for level in columns if any(level in row for _, row in groups)]
    varied = [f for f in cells.varied if f != factor]
    alone = cells.results.experiment.workloads[0].name
    rows = [(at_levels(levels, varied) or alone, row) for levels, row in groups]
    chosen = _choose([levels for levels, _ in groups], most // len(columns))
    return Grid(
        columns,
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
    return (
        message(
            "not drawn, because there is no room: {% if more %}{names | join(', ')} and {more} "
            "more{% else %}{names | listing}{% endif %}",
            names=names[:_MOST_NAMES],
            more=more,
        ),
    )
