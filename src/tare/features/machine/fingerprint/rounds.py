"""Which round is next, and when it is enough: blocks of every probe once, in random order.

Where 50 rounds of all fit the time, a probe leaves as soon as all of its figures are as exact as
asked; otherwise the number of rounds is fixed from what fits, before anybody has looked. What was
asked for by name, by somebody who waits for it, ends sooner, after a number fixed beforehand.
"""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from tare.agent import record
from tare.errors import AgentError
from tare.experiment import plan
from tare.experiment.fingerprints.machine.document import Problem
from tare.experiment.session.probing import Round, Turn
from tare.features.machine.fingerprint.choice import seconds
from tare.registry import Probe
from tare.render.words import text
from tare.results.message import Duration, message

#: Blocks after which it is known how many fit: the first one meets cold caches and empty disks.
_PLANNING = 2
#: Rounds from which on the stopping rule looks.
FIRST_LOOK = 50
#: Rounds that every probe is to have: an interval takes 6, and with 7 one may be far off.
_WANTED = 7
#: Rounds after which a requested probe is enough: where the stopping rule is applied, and where the
#: number is fixed. With 20 an interval spans the middle 10.
_SOON = 100
_SOON_FIXED = 20
#: Number of failures after which a probe is not tried again.
TRIES = 3
#: Share of the remaining time that rounds may be planned for, so that the last block is complete
#: although rounds vary.
_SAFE = 0.97
#: A round may take so much longer than it says, which is on an idle machine; and so many seconds
#: at least, by effort: one that is held up must not take the time of all others.
_PATIENCE = 10.0
_LEAST_TIMEOUT_S = {"brief": 1.0, "quick": 20.0, "whole": 20.0}


class Rounds:
    """The schedule of a session.

    Parameters
    ----------
    probes : sequence of Probe
        What to perform.
    effort : {"brief", "quick", "whole"}
        How much each round looks at.
    budget_s : float
        No round begins that would end after it, as far as known.
    seed : int
        Decides the order within blocks.
    precision : float or None
        Relative half-width of the intervals that is asked for; None: as many rounds as fit.
    soon : bool
        Whether to end after so many rounds, whatever the intervals are.
    """

    def __init__(
        self,
        probes: Sequence[Probe],
        effort: record.Effort,
        budget_s: float,
        seed: int,
        precision: float | None = 0.02,
        soon: bool = False,
    ) -> None:
        self._probes = {probe.name: probe for probe in probes}
        self._described = {probe.name: seconds(probe, effort) for probe in probes}
        #: Seconds of each probe's rounds.
        self._taken: dict[str, list[float]] = defaultdict(list)
        self._active = [probe.name for probe in probes if probe.repeats]
        self._once = [probe.name for probe in probes if not probe.repeats]
        self._effort = effort
        self._budget_s = budget_s
        self._seed = seed
        self._precision = precision
        self._soon = soon
        self._block: list[str] = []
        self._blocks = 0
        self._planned = False
        #: Rounds of each probe, where they are fixed; otherwise the stopping rule decides.
        self._quota: dict[str, int] | None = None
        self._begun: dict[str, int] = defaultdict(int)
        self._failures: dict[str, int] = defaultdict(int)
        self._values: dict[str, dict[tuple[str, tuple[int, ...]], list[float]]] = defaultdict(dict)
        self.problems: list[Problem] = []

    def perform(
        self,
        perform: Callable[[Turn], Round],
        ended: Callable[[Round, float], None],
        began: float,
    ) -> None:
        """Perform rounds until it is enough, or the time is over.

        Parameters
        ----------
        perform : callable
            Performs a round.
        ended : callable
            Called after each round with the seconds that are left.
        began : float
            When the time began, by the monotonic clock.
        """
        while (turn := self.next(time.monotonic() - began)) is not None:
            done = perform(turn)
            self.ended(done)
            ended(done, self.seconds_left(time.monotonic() - began))

    def next(self, elapsed_s: float) -> Turn | None:
        """Return the next round; None: it is over."""
        left_s = self._budget_s - elapsed_s
        if not self._block and self._active:
            self._begin_block(left_s)
        while self._block:
            name = self._block.pop(0)
            if self._fits(name, left_s):
                return self._turn(name)
            # Shorter ones may still fit, but each probe is to have its share of the time.
            self._untold(name)
            self._active = []
        while self._once:
            name = self._once.pop(0)
            if self._fits(name, left_s):
                return self._turn(name)
            self._untold(name)
        return None

    def ended(self, round: Round) -> None:
        """Take note of what a round brought."""
        name = round.probe
        for reading in round.readings:
            key = (reading.metric, reading.at)
            self._values[name].setdefault(key, []).append(reading.value)
        if round.readings:
            self._taken[name].append(round.seconds)
            return
        self._failures[name] += 1
        kinds = {fault.kind for fault in round.faults}
        # What was done in time before may be so again, on a machine that is busy now and then.
        hopeless = kinds & {"unavailable", "job"} or ("timeout" in kinds and not self._taken[name])
        if (hopeless or self._failures[name] >= TRIES) and name in self._active:
            self._active.remove(name)

    def seconds_left(self, elapsed_s: float) -> float:
        """Return about how long it still takes."""
        left_s = max(0.0, self._budget_s - elapsed_s)
        rest_s = sum(map(self._expected, self._once))
        if self._active and self._quota is None and not self._soon:
            return left_s
        for name in self._active:
            wanted = _SOON if self._quota is None else self._quota.get(name, 0)
            rounds = wanted - self._begun[name]
            rest_s += self._expected(name) * max(0, rounds)
        return min(left_s, rest_s)

    def _expected(self, name: str) -> float:
        """Return how long a round takes: the first one meets cold caches and empty disks."""
        taken = self._taken[name]
        warm = taken[1:] or taken
        return sum(warm) / len(warm) if warm else self._described[name]

    def _turn(self, name: str) -> Turn:
        number = self._begun[name]
        self._begun[name] += 1
        least_s = _LEAST_TIMEOUT_S[self._effort]
        return Turn(name, number, max(least_s, _PATIENCE * self._described[name]))

    def _fits(self, name: str, left_s: float) -> bool:
        """Tell whether there is time for a round; one that repeats is to be seen once anyway."""
        unseen = name in self._active and not self._begun[name]
        return self._expected(name) <= left_s or (unseen and left_s > 0)

    def _untold(self, name: str) -> None:
        if not self._begun[name]:
            expected_s = self._expected(name)
            why = message(
                "the time was too short, a round takes {takes}: --budget {budget}",
                takes=Duration(expected_s),
                budget=f"{math.ceil(self._budget_s + expected_s)}s",
            )
            self.problems.append(Problem(probe=name, why=text(why)))

    def _begin_block(self, left_s: float) -> None:
        if self._blocks >= _PLANNING and not self._planned:
            self._plan(left_s)
        if self._planned:
            self._active = [name for name in self._active if not self._enough(name)]
        self._block = list(self._active)
        random.Random(f"{self._seed}/order/{self._blocks}").shuffle(self._block)
        self._blocks += 1

    def _plan(self, left_s: float) -> None:
        """Fix the numbers of rounds where the stopping rule could not look at them."""
        self._planned = True
        left_s = max(0.0, _SAFE * left_s - sum(map(self._expected, self._once)))
        more = plan.fixed_trials(left_s, sum(map(self._expected, self._active)))
        n = self._blocks + more
        if n >= FIRST_LOOK and self._precision is not None:
            return
        if self._soon and n > _SOON_FIXED:
            self._quota = dict.fromkeys(self._active, _SOON_FIXED)
            return
        # On a machine as slow or as busy as that, short probes still get their interval; and what
        # is left of the last block is theirs.
        few = n < _WANTED
        self._quota = dict.fromkeys(self._active, self._blocks if few else n)
        left_s -= 0.0 if few else more * sum(map(self._expected, self._active))
        for name in sorted(self._active, key=self._expected):
            fits = plan.fixed_trials(left_s, self._expected(name))
            rounds = min(_WANTED - self._blocks if few else 1, fits)
            self._quota[name] += rounds
            left_s -= rounds * self._expected(name)

    def _enough(self, name: str) -> bool:
        if self._quota is not None:
            return self._begun[name] >= self._quota.get(name, 0)
        if self._soon and self._begun[name] >= _SOON:
            return True
        assert self._precision is not None
        return exact(self._probes[name], self._values[name], self._precision)


def lost(turn: Turn, error: AgentError) -> Round:
    """Return a round that the agent has not survived."""
    why = text(message("it ended the agent: {why}", why=error.message))
    fault = record.Fault(id=0, kind="job", message=why)
    return Round(probe=turn.probe, number=turn.number, seconds=0.0, readings=(), faults=(fault,))


def exact(
    probe: Probe,
    values: Mapping[tuple[str, tuple[int, ...]], Sequence[float]],
    precision: float,
) -> bool:
    """Tell whether all figures of a probe are as exact as asked, or will never be.

    A curve counts by its level, which is the geometric mean of a round's points.
    """
    series = [some for (metric, _), some in values.items() if not _curved(probe, metric)]
    for metric in probe.metrics:
        if metric.axes and not metric.listed:
            points = [some for (name, _), some in values.items() if name == metric.name]
            series.append(_level(points))
    return all(_settled(some, precision) for some in series)


def _curved(probe: Probe, name: str) -> bool:
    return any(m.name == name and m.axes and not m.listed for m in probe.metrics)


def _level(points: Sequence[Sequence[float]]) -> list[float]:
    """Return one value a round, of the points that every round has."""
    longest = max(map(len, points), default=0)
    whole = [some for some in points if len(some) == longest and all(v > 0 for v in some)]
    return [
        math.exp(sum(math.log(some[k]) for some in whole) / len(whole))
        for k in range(longest if whole else 0)
    ]


def _settled(values: Sequence[float], precision: float) -> bool:
    if len(values) < FIRST_LOOK:
        return not values
    if len(set(values)) == 1 or sorted(values)[len(values) // 2] == 0:
        return True  # it never varies, or there is nothing that it could be relative to
    import numpy as np

    from tare.statistics import stopping
    from tare.statistics.interim_analysis import Target

    return stopping.decide_cell(np.array(values, dtype=float), Target(precision)).stop
