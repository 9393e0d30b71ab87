"""Of which trials the end of standard error is read, so that a failure comes with its words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tare.agent import record
from tare.experiment.journal import SPEAKING
from tare.experiment.specification import Cell

#: Trials that are read after a failure without words. Of a command that fails every third time,
#: 3 in 10,000 do not fail again within so many; it then begins anew with the next failure.
MOST = 20

#: A fault's kind, and what it says happened, in which exit code and signal differ.
_Same = tuple[str, str]


class ErrorCapture:
    """Decides, cell by cell, whether the next trial's standard error is read.

    A pipe takes the place of ``/dev/null`` then, which a program can notice. So nothing is read
    before the first failure; after one, only until a failure of the same kind was read, or for as
    few trials as :data:`MOST`. A level of which no trial was good may be given up before any of
    its cells fails twice: its next trial is read, whichever cell it is of.

    Parameters
    ----------
    varied : iterable of str
        Factors that have several levels.
    """

    def __init__(self, varied: Iterable[str] = ()) -> None:
        self._varied = frozenset(varied)
        #: Failures that were read, by cell.
        self._read: dict[int, set[_Same]] = defaultdict(set)
        #: Failures that were not, and how many trials are still read for each.
        self._waiting: dict[int, dict[_Same, int]] = defaultdict(dict)
        #: Levels that had a good trial, and those with a failure of which none was read.
        self._good: set[tuple[str, str]] = set()
        self._unread: set[tuple[str, str]] = set()

    def wants(self, cell: Cell) -> bool:
        """Tell whether the next trial of a cell is to be read."""
        return bool(self._waiting[cell.cell] or self._levels(cell) & self._unread - self._good)

    def ended(self, cell: Cell, fault: record.Fault | None, *, good: bool, captured: bool) -> None:
        """Take note of a trial that is over.

        Parameters
        ----------
        cell : Cell
        fault : record.Fault or None
            Why it failed; None: it did not, or no program had a part in it.
        good : bool
            Whether it did not.
        captured : bool
            Whether its standard error was read.
        """
        waiting = self._waiting[cell.cell]
        if captured:
            self._waiting[cell.cell] = waiting = {f: n - 1 for f, n in waiting.items() if n > 1}
        if good:
            self._good |= self._levels(cell)
        if fault is None or fault.kind not in SPEAKING:
            return
        same = fault.kind, fault.message
        if captured:
            self._read[cell.cell].add(same)
            waiting.pop(same, None)
            self._unread -= self._levels(cell)
        elif same not in self._read[cell.cell]:
            waiting[same] = MOST
            self._unread |= self._levels(cell)

    def _levels(self, cell: Cell) -> set[tuple[str, str]]:
        return {key for key in cell.levels().items() if key[0] in self._varied}
