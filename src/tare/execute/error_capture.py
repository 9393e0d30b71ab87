"""Of which trials the end of standard error is read, so that a failure comes with its words."""

from __future__ import annotations

from collections import defaultdict

from tare import record
from tare.journal import SPEAKING

#: Trials that are read after a failure without words. Of a command that fails every third time,
#: 3 in 10,000 do not fail again within so many; it then begins anew with the next failure.
MOST = 20

#: A fault's kind, and what it says happened, in which exit code and signal differ.
_Same = tuple[str, str]


class ErrorCapture:
    """Decides, cell by cell, whether the next trial's standard error is read.

    A pipe takes the place of ``/dev/null`` then, which a program can notice. So nothing is read
    before the first failure; after one, only until a failure of the same kind was read, or for as
    few trials as :data:`MOST`.
    """

    def __init__(self) -> None:
        #: Failures that were read, by cell.
        self._read: dict[int, set[_Same]] = defaultdict(set)
        #: Failures that were not, and how many trials are still read for each.
        self._waiting: dict[int, dict[_Same, int]] = defaultdict(dict)

    def wants(self, cell: int) -> bool:
        """Tell whether the next trial of a cell is to be read."""
        return bool(self._waiting[cell])

    def ended(self, cell: int, fault: record.Fault | None, *, captured: bool) -> None:
        """Take note of a trial that is over.

        Parameters
        ----------
        cell : int
        fault : record.Fault or None
            Why it failed; None: it did not, or no program had a part in it.
        captured : bool
            Whether its standard error was read.
        """
        waiting = self._waiting[cell]
        if captured:
            self._waiting[cell] = waiting = {f: n - 1 for f, n in waiting.items() if n > 1}
        if fault is None or fault.kind not in SPEAKING:
            return
        same = fault.kind, fault.message
        if captured:
            self._read[cell].add(same)
            waiting.pop(same, None)
        elif same not in self._read[cell]:
            waiting[same] = MOST
