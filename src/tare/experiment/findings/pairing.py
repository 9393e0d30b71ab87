"""Which cells are compared with which, how sure each verdict must be, and when it is safe.

The stopping rule of a comparison and the finding about it use the same rules: what was safe when
the trials ended is what is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tare.experiment.findings.cells import compared
from tare.experiment.findings.level_names import where
from tare.experiment.metrics import tick
from tare.experiment.plan import Plan, metric
from tare.experiment.results import REFERENCES
from tare.experiment.specification import Cell
from tare.experiment.time_limits import above_of
from tare.render.words import text
from tare.results.message import Message, Ratio, message
from tare.statistics.comparison import pairs_for_gate
from tare.statistics.sequential import FIRST_LOOK, Sequential, compare_sequentially
from tare.statistics.statistic import FloatArray
from tare.statistics.stopping import Decision

#: Probability that any comparison of an experiment alarms where nothing differs.
ERROR = 0.05


def confidence(comparisons: int) -> float:
    """Confidence of each of some comparisons that one error is shared over."""
    return 1 - ERROR / max(1, comparisons)


def reference_level(factor: str, levels: Sequence[str]) -> str:
    """Level of a factor that the others are compared with: the usual one, or the first."""
    usual = REFERENCES.get(factor)
    return usual if usual is not None and usual in levels else levels[0]


def compared_cells(cells: Sequence[Cell], factor: str) -> list[tuple[Cell, Cell]]:
    """Pair every cell with the one that has the factor's reference level and is like it."""
    levels = [cell.levels() for cell in cells]
    return [(cells[first], cells[second]) for first, second in compared(levels, factor)]


def stopping_rule(
    made: Plan, report: Callable[[str], None]
) -> Callable[..., Mapping[int, Decision]]:
    """Return the rule by which an experiment with ``compare`` ends.

    Parameters
    ----------
    made : Plan
        With the cells, the factor to compare, margin and gate.
    report : callable
        Gets the estimate of the comparison that is furthest from a verdict, after each analysis.

    Returns
    -------
    callable
        Block and value of good trials by cell, to a decision by cell: all stop together, when
        every verdict is safe.
    """
    factor = made.experiment.stopping.compare
    assert factor is not None
    pairs = compared_cells(made.cells, factor)
    rule = _Rule(made, pairs)

    def decide(values: Mapping[int, list[tuple[int, float]]]) -> Mapping[int, Decision]:
        left = [(a, b) for a, b in pairs if a.cell in values and b.cell in values]
        if not left:
            return dict.fromkeys(values, Decision(stop=True, reason="alone"))
        found = [(b, rule.look(a, b, values)) for a, b in left]
        known = [(cell, s) for cell, s in found if s is not None]
        if rule.looked:
            furthest = max(known, key=lambda one: (not one[1].stop, _width(one[1])))
            report(text(_estimate(factor, *furthest, made.experiment.stopping.gate)))
        # A mean or a quantile far out is judged once: nobody may look at it before.
        once = made.experiment.stopping.gate_on != "median"
        safe = not once and all(s is not None and s.stop for _, s in found)
        more = [s.comparison.more_pairs or 0 for _, s in known if not s.stop]
        safety = Decision(
            stop=safe, reason="decided" if safe else None, more_trials=max(more, default=0) or None
        )
        return dict.fromkeys(values, safety)

    return decide


class _Rule:
    """Looks at pairs only when a look is due."""

    def __init__(self, made: Plan, pairs: Sequence[tuple[Cell, Cell]]) -> None:
        self._experiment = made.experiment
        self._metric = metric(made.experiment)
        self._tick = tick(self._metric)
        self._confidence = confidence(len(pairs))
        self._last: dict[tuple[int, int], Sequential] = {}
        #: Whether anything new was looked at since this was last asked.
        self._looked = False

    @property
    def looked(self) -> bool:
        looked, self._looked = self._looked, False
        return looked

    def look(
        self, a: Cell, b: Cell, values: Mapping[int, list[tuple[int, float]]]
    ) -> Sequential | None:
        """Compare the common blocks of two cells, or give what the last look saw.

        Returns
        -------
        Sequential or None
            None where there are no pairs, or values of 0, which have no ratio.
        """
        key, last = (a.cell, b.cell), self._last.get((a.cell, b.cell))
        first, second = common(values[a.cell], values[b.cell])
        if last is not None and (last.stop or len(first) < (last.next_look or 0)):
            return last
        if not len(first) or min(first.min(), second.min()) <= 0:
            return None
        limits = self._above(a), self._above(b)
        stopping, margin = self._experiment.stopping, self._experiment.margin
        last = compare_sequentially(
            first, second, margin, self._confidence, stopping.gate, tick=self._tick,
            first_look=stopping.min_trials or FIRST_LOOK, limits=limits,
        )  # fmt: skip
        self._last[key], self._looked = last, True
        return last

    def _above(self, cell: Cell) -> float:
        """Return what the values of killed trials of a cell exceed; NaN: none is killed."""
        above = above_of(self._experiment, cell.workload, cell.workers, self._metric)
        return math.nan if above is None else above


def common(
    first: Sequence[tuple[int, float]], second: Sequence[tuple[int, float]]
) -> tuple[FloatArray, FloatArray]:
    """Values of the blocks that both cells have, in order of time."""
    a, b = dict(first), dict(second)
    blocks = sorted(a.keys() & b.keys())
    return np.array([a[x] for x in blocks]), np.array([b[x] for x in blocks])


def _width(found: Sequential) -> float:
    c = found.comparison
    return c.high / c.low if c.low and c.high is not None else math.inf


def _estimate(factor: str, cell: Cell, found: Sequential, gate: float | None) -> Message:
    """Report the ratio with its interval.

    An analysis that may spend no error has no interval. All earlier ones cover the ratio at the
    same time, so the last of them is shown, with the estimate moved into it.
    """
    c = found.comparison
    ratio, more = Ratio.of(c.ratio, c.low, c.high), c.more_pairs
    for look in reversed(found.looks):
        if look.low is not None and look.high is not None:
            # Of NaN, max and min return the first argument.
            middle = min(max(c.ratio, look.low), look.high)
            ratio = Ratio.of(middle, look.low, look.high)
            if gate is not None and 0 < look.low <= look.high < math.inf:
                half = math.log(look.high / look.low) / 2
                more = pairs_for_gate(look.n, math.log(middle), half, gate)
            break
    return message(
        "{level} {ratio}{% if more %}, about {more | about('more pair')}{% endif %}",
        level=cell.levels()[factor] if factor == "workload" else where(cell.levels(), [factor]),
        ratio=ratio,
        more=more,
    )
