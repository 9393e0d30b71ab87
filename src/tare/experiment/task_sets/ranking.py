"""Which configuration is best: every two compared over the tasks that both ran.

Solving more comes first, or scoring more where runs have scores and some answers are wrong. Where
neither is shown to do so, the one that takes less time on the tasks that both solve is the better
one, unless it solves or scores less: then neither is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tare.experiment.task_sets.outcomes import RESULTS, Measure, Pair, Scored, all_pairs, pairs
from tare.results.verdict import Verdict, judge
from tare.statistics.comparison import Comparison, compare
from tare.statistics.holm import holm
from tare.statistics.misjudgement import CONFIDENCE, FEWEST
from tare.statistics.scores import (
    IntArray,
    Ratio,
    SolvedDifference,
    changed_tasks,
    geometric_mean_ratio,
    interchanged,
    solved_difference,
)
from tare.statistics.statistic import FloatArray

#: Relative difference below which two times are the same for all practical purposes.
MARGIN = 0.02
#: p-values below it make a difference.
ALPHA = 1 - CONFIDENCE


@dataclass(frozen=True, eq=False)
class MeasureRatio:
    """What one of two configurations takes relative to the other, of one measure.

    Attributes
    ----------
    measure : Measure
    found : Ratio
        Second over first, over tasks that both solve.
    p : float
        That it is 1, adjusted by Holm's method over the pairs of a ranking; 1 without an interval.
    with_killed : Comparison or None
        Hodges–Lehmann median of the tasks' ratios, also of tasks that one of the two was killed at
        the limit of; None where there are no such tasks, or too few.
    """

    measure: Measure
    found: Ratio
    p: float
    with_killed: Comparison | None = None

    def verdict(self, margin: float) -> Verdict:
        """Judge the second, relative to the first."""
        like = self.found.ratio.like_these
        return judge(like.low, like.high, margin, different=self.p < ALPHA)


@dataclass(frozen=True, eq=False)
class Versus:
    """Two configurations compared over their tasks.

    Attributes
    ----------
    pair : Pair
    solved : SolvedDifference
        Second less first.
    ratios : tuple of MeasureRatio
        The scored time first.
    scores : (float, float) or None
        Of the first and the second on tasks that ran in both, where they rank.
    p_solved : float
        That both solve, or score, equally well; adjusted as the ratios of the scored time are and
        in one family with them; 1 where nothing differs.
    """

    pair: Pair
    solved: SolvedDifference
    ratios: tuple[MeasureRatio, ...]
    scores: tuple[float, float] | None
    p_solved: float

    @property
    def ratio(self) -> Ratio:
        """Ratio of the scored times."""
        return self.ratios[0].found

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
        """That both solve or score alike, not adjusted; None: nothing differs."""
        if self.scores is not None:
            return _chance_of_scores(self.pair) if _differences(self.pair).any() else None
        return self.p_of_solved

    @property
    def p_of_solved(self) -> float | None:
        """That both solve alike, not adjusted; None: no task is solved more often by one."""
        return _chance(self.pair, self.solved) if self.gained or self.lost else None

    @cached_property
    def believed(self) -> int | None:
        """Tasks that differ beyond chance; None: one run per task, or separate sessions."""
        if self.pair.apart:
            return None
        sure = changed_tasks(self.pair.first.outcomes, self.pair.second.outcomes).beyond_chance
        return None if sure is None else int(sure.sum())

    @property
    def better(self) -> Scored | None:
        """The one that is shown to be better; None: they cannot be distinguished."""
        first, second = self.pair.first, self.pair.second
        if self.p_solved < ALPHA:
            return second if self.lead > 0 else first
        if self.ratios[0].p < ALPHA:
            faster = 1 if self.ratio.ratio.estimate < 1 else -1
            # A test that is not significant does not show that both solve alike.
            if faster * self.lead >= 0:
                return second if faster > 0 else first
        return None

    @property
    def lead(self) -> float:
        """By how much the second scores, or solves, more."""
        if self.scores is not None:
            return self.scores[1] - self.scores[0]
        return self.solved.only_second - self.solved.only_first

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


#: Fractions of a point that a score may have.
_PARTS_OF_POINT = 1000


def _differences(pair: Pair) -> FloatArray:
    """Return by how much the second scores more on each task that ran in both."""
    one, two = (
        _points(side) / np.maximum(1, side.outcomes.runs) for side in (pair.first, pair.second)
    )
    return np.asarray((two - one)[pair.both])


def _points(one: Scored) -> FloatArray:
    """Return the score of each task, over all of its runs."""
    assert one.points is not None
    return np.asarray(one.points.sum(axis=1))


def _chance_of_scores(pair: Pair) -> float:
    whole = np.round(_differences(pair) * _PARTS_OF_POINT).astype(np.int64)
    return interchanged(whole).p


def versus(pair: Pair, *, by_score: bool = False) -> Versus:
    """Compare two configurations, by the scores of their runs or by what they solve."""
    first, second = pair.first, pair.second
    solved = solved_difference(first.outcomes, second.outcomes)
    ratios = [
        (one, geometric_mean_ratio(first.outcomes_by(one), second.outcomes_by(one)))
        for one in second.measures
        if one.key in first.values
    ]
    scores = None
    if by_score:
        scores = (
            float(_points(first)[pair.both].sum()),
            float(_points(second)[pair.both].sum()),
        )
    lead = solved.only_second - solved.only_first if scores is None else scores[1] - scores[0]
    p = _chance(pair, solved) if scores is None else _chance_of_scores(pair)
    return Versus(
        pair,
        solved,
        tuple(
            MeasureRatio(one, of, 1.0 if of.p is None else of.p, _with_killed(pair, one))
            for one, of in ratios
        ),
        scores,
        p if lead else 1.0,
    )


def _with_killed(pair: Pair, measure: Measure) -> Comparison | None:
    """Compare what tasks take that each of two solves or is killed at the limit of, not both."""
    own = next(one for one in pair.first.measures if one.key == measure.key)
    (first, least), (second, other) = (
        pair.first.with_killed(own),
        pair.second.with_killed(measure),
    )
    used = pair.both & ~np.isnan(first) & ~np.isnan(second)
    # Where both were killed, nothing is known of the ratio.
    used &= np.isfinite(first) | np.isfinite(second)
    killed = np.isinf(first[used]) | np.isinf(second[used])
    if not killed.any() or used.sum() < FEWEST:
        return None
    return compare(first[used], second[used], MARGIN, CONFIDENCE, limits=(least[used], other[used]))


def _adjusted(some: Sequence[Versus]) -> tuple[Versus, ...]:
    """Adjust what ranks, and each other measure for itself, over all pairs."""
    ranking = holm([p for one in some for p in (one.p_solved, one.ratios[0].p)])
    by_measure: dict[str, list[tuple[int, int]]] = {}
    for i, one in enumerate(some):
        for place, ratio in enumerate(one.ratios[1:], 1):
            by_measure.setdefault(ratio.measure.key, []).append((i, place))
    found = [list(one.ratios) for one in some]
    for i, ratios in enumerate(found):
        ratios[0] = replace(ratios[0], p=ranking[2 * i + 1])
    for places in by_measure.values():
        p = holm([found[i][place].p for i, place in places])
        for (i, place), adjusted in zip(places, p, strict=True):
            found[i][place] = replace(found[i][place], p=adjusted)
    return tuple(
        replace(one, p_solved=ranking[2 * i], ratios=tuple(ratios))
        for i, (one, ratios) in enumerate(zip(some, found, strict=True))
    )


@dataclass(frozen=True, eq=False)
class Ranking:
    """Configurations in order.

    Attributes
    ----------
    versus : tuple of Versus
        Every two, with adjusted p-values.
    tiers : tuple of tuple of Scored
        The best first, within a tier by score or share solved. Each is shown to be worse than the
        first one of every tier above its own.
    """

    versus: tuple[Versus, ...]
    tiers: tuple[tuple[Scored, ...], ...]

    @property
    def by_score(self) -> bool:
        """Whether scores rank, and not the number of solved tasks."""
        return any(one.scores is not None for one in self.versus)

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
        turned = versus(pair, by_score=other.scores is not None)
        ratios = zip(turned.ratios, other.ratios, strict=True)
        return replace(
            turned,
            p_solved=other.p_solved,
            ratios=tuple(replace(one, p=known.p) for one, known in ratios),
        )


def rank(compared: Sequence[Pair]) -> Ranking:
    """Rank the configurations of which every two are compared."""
    some = {one.number: one for two in compared for one in (two.first, two.second)}
    by_score = all(one.points is not None for one in some.values()) and any(
        one.counts[RESULTS.index("wrong")] for one in some.values()
    )
    adjusted = _adjusted([versus(pair, by_score=by_score) for pair in compared])
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
            -(one.score or 0.0) if by_score else 0.0,
            -float(outcomes.times_solved.sum()) / max(1, int(outcomes.runs.sum())),
            -wins[one.number],
            one.number,
        )

    tiers: list[list[Scored]] = []
    order = sorted(some.values(), key=place)
    for i, one in enumerate(order):
        # One that stands lower, and is not shown to be worse, is in the same tier.
        if tiers and any((tiers[-1][0].number, below.number) not in beaten for below in order[i:]):
            tiers[-1].append(one)
        else:
            tiers.append([one])
    return Ranking(adjusted, tuple(map(tuple, tiers)))


def rank_by_design(some: Sequence[Scored]) -> tuple[Ranking | None, list[Pair]]:
    """Rank all configurations of one session; of several, only what the design compares.

    Returns
    -------
    ranking : Ranking or None
        None where there is nothing to compare.
    compared : list of Pair
        Which pairs the design of the set compares.
    """
    compared = pairs(some)
    if not compared:
        return None, []
    # All pairs of several sessions would mix what changed between them with programs.
    apart = any(pair.apart for pair in compared)
    return rank(compared if apart else [*all_pairs(some)]), compared
