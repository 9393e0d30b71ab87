"""Which configuration is best: every two compared over the tasks that both ran.

Solving more comes first. Where two solve equally well as far as tests show, the one that takes
less time on the tasks that both solve is the better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tare.experiment.task_sets.outcomes import Measure, Pair, Scored
from tare.statistics.holm import holm
from tare.statistics.misjudgement import CONFIDENCE
from tare.statistics.scores import (
    IntArray,
    Ratio,
    SolvedDifference,
    changed_tasks,
    geometric_mean_ratio,
    solved_difference,
)

#: p-values below it make a difference.
ALPHA = 1 - CONFIDENCE


@dataclass(frozen=True, eq=False)
class Versus:
    """Two configurations compared over their tasks.

    Attributes
    ----------
    pair : Pair
    solved : SolvedDifference
        Second less first.
    ratios : tuple of (Measure, Ratio)
        Second over first, over tasks that both solve; the scored time first.
    p_solved, p_time : float
        That both solve equally well, and take the same scored time; 1 where nothing differs or
        there are too few tasks. Adjusted by Holm's method over all pairs of a ranking.
    """

    pair: Pair
    solved: SolvedDifference
    ratios: tuple[tuple[Measure, Ratio], ...]
    p_solved: float
    p_time: float

    @property
    def ratio(self) -> Ratio:
        """Ratio of the scored times."""
        return self.ratios[0][1]

    @cached_property
    def tasks(self) -> int:
        """Tasks that ran in both."""
        return int(self.pair.both.sum())

    @cached_property
    def differ(self) -> int:
        """Tasks that end differently."""
        return int(self.pair.different.sum())

    @cached_property
    def alone(self) -> int:
        """Tasks that ran in one of them only."""
        ran = self.pair.first.outcomes.runs > 0, self.pair.second.outcomes.runs > 0
        return int((ran[0] != ran[1]).sum())

    @cached_property
    def gained(self) -> int:
        """Tasks that the second solves more often."""
        return int((self._by_task > 0).sum())

    @cached_property
    def lost(self) -> int:
        """Tasks that the first solves more often."""
        return int((self._by_task < 0).sum())

    @property
    def p(self) -> float | None:
        """That both solve alike, not adjusted; None: no task is solved more often by one."""
        return _chance(self.pair, self.solved) if self.gained or self.lost else None

    @cached_property
    def believed(self) -> int | None:
        """Tasks that may be believed to differ; None: single runs, or runs apart, cannot tell."""
        if self.pair.apart:
            return None
        sure = changed_tasks(self.pair.first.outcomes, self.pair.second.outcomes).beyond_chance
        return None if sure is None else int(sure.sum())

    @property
    def better(self) -> Scored | None:
        """The one that is shown to be better; None: they cannot be told apart."""
        first, second = self.pair.first, self.pair.second
        if self.p_solved < ALPHA:
            return second if self.solved.only_second > self.solved.only_first else first
        if self.p_time < ALPHA:
            return second if self.ratio.ratio.estimate < 1 else first
        return None

    @cached_property
    def _by_task(self) -> IntArray:
        """By how many runs the second solves each task more often; above 0: it does."""
        first, second = self.pair.first.outcomes, self.pair.second.outcomes
        # Of shares of runs, without rounding: one side may have more runs of a task.
        difference = second.times_solved * first.runs - first.times_solved * second.runs
        return np.asarray(difference * self.pair.both)


def _chance(pair: Pair, found: SolvedDifference) -> float:
    # What a session has in common is in all of its trials: between sessions, tasks are what counts.
    within = None if pair.apart else found.these
    return (within or found.like_these).p


def versus(pair: Pair) -> Versus:
    """Compare two configurations."""
    first, second = pair.first, pair.second
    solved = solved_difference(first.outcomes, second.outcomes)
    ratios = tuple(
        (one, geometric_mean_ratio(first.outcomes_by(one), second.outcomes_by(one)))
        for one in second.measures
        if one.key in first.values
    )
    p_time = ratios[0][1].p
    differs = solved.only_first != solved.only_second
    return Versus(
        pair,
        solved,
        ratios,
        _chance(pair, solved) if differs else 1.0,
        1.0 if p_time is None else p_time,
    )


@dataclass(frozen=True, eq=False)
class Ranking:
    """Configurations in order.

    Attributes
    ----------
    versus : tuple of Versus
        Every two, with adjusted p-values.
    tiers : tuple of tuple of Scored
        The best first. Each is shown to be worse than the first one of the tier above it; within
        a tier none is shown to be worse than its first.
    """

    versus: tuple[Versus, ...]
    tiers: tuple[tuple[Scored, ...], ...]

    @property
    def order(self) -> tuple[Scored, ...]:
        """All, the best first."""
        return tuple(one for tier in self.tiers for one in tier)

    def of(self, pair: Pair) -> Versus:
        """Return the comparison of a pair, whichever of the two is its reference."""
        numbers = (pair.first.number, pair.second.number)
        found = {(v.pair.first.number, v.pair.second.number): v for v in self.versus}
        if numbers in found:
            return found[numbers]
        other = found[numbers[::-1]]
        return replace(versus(pair), p_solved=other.p_solved, p_time=other.p_time)


def rank(compared: Sequence[Pair]) -> Ranking:
    """Rank the configurations of which every two are compared."""
    found = [versus(pair) for pair in compared]
    p = holm([p for one in found for p in (one.p_solved, one.p_time)])
    adjusted = tuple(
        replace(one, p_solved=p[2 * i], p_time=p[2 * i + 1]) for i, one in enumerate(found)
    )
    some = {one.number: one for two in compared for one in (two.first, two.second)}
    wins = dict.fromkeys(some, 0)
    beaten = set()
    for pair in adjusted:
        if (better := pair.better) is not None:
            (worse,) = pair.pair.numbers - {better.number}
            wins[better.number] += 1
            wins[worse] -= 1
            beaten.add((better.number, worse))

    def place(one: Scored) -> tuple[float, ...]:
        outcomes = one.outcomes
        return (
            -wins[one.number],
            -float(outcomes.times_solved.sum()) / max(1, int(outcomes.runs.sum())),
            one.number,
        )

    tiers: list[list[Scored]] = []
    for one in sorted(some.values(), key=place):
        if tiers and (tiers[-1][0].number, one.number) not in beaten:
            tiers[-1].append(one)
        else:
            tiers.append([one])
    return Ranking(adjusted, tuple(map(tuple, tiers)))
