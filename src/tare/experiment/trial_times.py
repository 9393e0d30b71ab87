"""How long trials took, and how long those that are missing take, as far as these tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tare.experiment import journal
from tare.experiment.specification import Cell

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

#: A level of a workload counts so many times as much as another one where it is not known which
#: of both takes long: a service and a command differ more than platforms do.
_OF_WORKLOADS = 3.0


class Trial(NamedTuple):
    """What one trial took."""

    cell: int
    #: Without the starts of instances.
    seconds: float
    starts_s: float
    good: bool = True


class Reader:
    """Follows the lines of a journal, and returns each trial when it has ended."""

    def __init__(self) -> None:
        self._begun: journal.TrialStart | None = None
        self._starts_s = 0.0

    def trial(self, line: journal.Line) -> Trial | None:
        """Return the trial that ends with a line, unless it was a rehearsal."""
        match line:
            case journal.TrialStart():
                self._begun, self._starts_s = line, 0.0
            case journal.InstanceStart():
                # Several start at the same time.
                self._starts_s = max(self._starts_s, line.start_ns / 1e9)
            case journal.TrialEnd() if (begun := self._begun) and not begun.rehearsal:
                seconds = (line.monotonic_ns - begun.monotonic_ns) / 1e9 - self._starts_s
                return Trial(begun.cell, seconds, self._starts_s, line.status == "ok")
        return None


class TrialTimes:
    """Durations of trials by cell, over all sessions.

    The first trial of a cell in a session stands apart: it starts instances, and finds cold caches.
    """

    def __init__(self) -> None:
        #: Sums of seconds, of seconds of starts among them, and numbers.
        self._first = _Sums()
        self._later = _Sums()
        self._failed = _Sums()
        #: Cells of which a trial ended in this session.
        self._seen: set[int] = set()

    def begin_session(self) -> None:
        """Take what follows as the trials of another session."""
        self._seen = set()

    def add(self, trial: Trial) -> None:
        """Count a trial."""
        to = self._later if trial.cell in self._seen else self._first
        (to if trial.good else self._failed).add(trial)
        self._seen.add(trial.cell)

    def left_s(
        self, cells: Sequence[Cell], missing: Mapping[int, float], *, fresh: bool
    ) -> dict[int, float]:
        """Return the seconds that the missing trials of some cells will take, by cell.

        Parameters
        ----------
        cells : sequence of Cell
            All of the experiment, in the order of their numbers.
        missing : mapping
            Trials by number of the cell.
        fresh : bool
            Whether each trial starts instances of its own.
        """
        each = self.each_s(cells, missing, fresh=fresh)
        return {
            cell: n * each[cell] + self._extra_s(cell, each[cell], n) for cell, n in missing.items()
        }

    def each_s(
        self, cells: Sequence[Cell], wanted: Mapping[int, float], *, fresh: bool
    ) -> dict[int, float]:
        """Return how long one trial of a cell takes, but the first; 0 where nothing tells."""
        known = {c: s for c in range(len(cells)) if (s := self._known_s(c, fresh)) is not None}
        if not known or all(cell in known for cell in wanted):
            return {cell: known.get(cell, 0.0) for cell in wanted}
        return of_all_cells(cells, known, set(known))

    def _known_s(self, cell: int, fresh: bool) -> float | None:
        if (later := self._later.mean(cell)) is not None:
            return later.seconds + later.starts_s
        # Of what failed it is only known that it fails as fast.
        alone = self._first.mean(cell) or self._failed.mean(cell)
        return None if alone is None else alone.seconds + (alone.starts_s if fresh else 0.0)

    def _extra_s(self, cell: int, each_s: float, missing: float) -> float:
        """Return how much longer the first of the missing trials takes than those after it."""
        first = self._first.mean(cell)
        if cell in self._seen or first is None or not missing:
            return 0.0
        return first.seconds + first.starts_s - each_s


class _Sums:
    def __init__(self) -> None:
        self._of: defaultdict[int, tuple[float, float, int]] = defaultdict(lambda: (0.0, 0.0, 0))

    def add(self, trial: Trial) -> None:
        seconds, starts_s, n = self._of[trial.cell]
        self._of[trial.cell] = (seconds + trial.seconds, starts_s + trial.starts_s, n + 1)

    def mean(self, cell: int) -> Trial | None:
        if cell not in self._of:
            return None
        seconds, starts_s, n = self._of[cell]
        return Trial(cell, seconds / n, starts_s / n)


def of_all_cells(
    cells: Sequence[Cell], executed: Mapping[int, float], first: set[int]
) -> dict[int, float]:
    """Return the seconds of a trial of each cell: as executed, or as its levels tell.

    Parameters
    ----------
    cells : sequence of Cell
    executed : mapping
        Seconds by number of the cell.
    first : set of int
        Those that tell of levels; the others, whether these add up or multiply.
    """
    # Imported only where it is needed, since it takes time.
    import numpy as np

    columns: dict[tuple[str, str], int] = {}
    for cell in cells:
        for level in cell.levels().items():
            columns.setdefault(level, len(columns))
    weights = np.array([_OF_WORKLOADS if name == "workload" else 1.0 for name, _ in columns])
    places = np.array([[columns[level] for level in cell.levels().items()] for cell in cells])
    seconds = np.array([max(1e-6, executed.get(cell.cell, 0.0)) for cell in cells])
    known = np.array([cell.cell in executed for cell in cells])
    alone = np.array([cell.cell in first for cell in cells]) & known
    # Of few cells, as a factor may have as many levels as there may be cells.
    rows = np.zeros((alone.sum(), len(columns)))
    np.put_along_axis(rows, places[alone], weights[places[alone]], axis=1)

    def fitted(values: FloatArray) -> FloatArray:
        # About their mean, so that a level that was not executed is like the others.
        mean = values[alone].mean()
        effects = np.linalg.lstsq(rows, values[alone] - mean, rcond=None)[0] * weights
        return np.asarray(mean + effects[places].sum(axis=1))

    added = np.maximum(fitted(seconds), seconds[alone].min() / 2)
    multiplied = np.exp(fitted(np.log(seconds)))
    # By how much of the way from sums to products the others are best told.
    others = known & ~alone
    way = np.log(multiplied / added)
    seen = np.log(seconds / added)[others] @ way[others]
    length = way[others] @ way[others]
    share = min(1.0, max(0.0, seen / length)) if length else 0.5
    found = added * np.exp(share * way)
    return {c.cell: executed.get(c.cell, float(s)) for c, s in zip(cells, found, strict=True)}
