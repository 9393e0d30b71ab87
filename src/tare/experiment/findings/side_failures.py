"""Failed trials of the two sides of a comparison, and what a gate makes of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare.experiment.findings.failures import Failure, all_failed, failures, reasons
from tare.experiment.time_limits import COUNTED
from tare.results.message import Chosen, Message, message
from tare.results.verdict import GateAnswer

if TYPE_CHECKING:
    from tare.experiment.results import Results

#: Faults by which a program is killed at a limit of its time: it would have taken longer. Where the
#: limit bounds the metric that is compared, the trial counts as a value above the limit instead.
_TIME_LIMITS = frozenset({"timeout", "cpu_time"})
#: One-sided level at which a candidate fails more often than a reference that fails as well.
_LEVEL = 0.05


@dataclass(frozen=True)
class Side:
    """Trials of one side of a comparison.

    Attributes
    ----------
    name : str
    trials : int
        How many ended.
    failures : tuple of Failure
        How some of them failed, the most frequent way first.
    exceeded : int
        How many were killed at a limit of the time that is compared.
    above_ns : float or None
        What these exceeded; None: there are none.
    """

    name: str
    trials: int
    failures: tuple[Failure, ...] = ()
    exceeded: int = 0
    above_ns: float | None = None

    @classmethod
    def of(cls, name: str, results: Results, levels: Mapping[str, str]) -> Side:
        """Collect the trials at some levels of the factors."""
        trials = results.trial_table.where(status={*COUNTED, "failed"}, **levels)
        killed = trials.where(status="killed")
        above = float(killed["above_ns"].min()) if killed else None
        return cls(name, len(trials), tuple(failures(results, trials)), len(killed), above)

    @property
    def killed(self) -> int:
        """How many were killed at a limit that says nothing of what is compared."""
        return sum(one.trials for one in self.failures if one.kind in _TIME_LIMITS)

    @property
    def crashes(self) -> tuple[Failure, ...]:
        """Failures of other kinds."""
        return tuple(one for one in self.failures if one.kind not in _TIME_LIMITS)

    @property
    def crashed(self) -> int:
        """How many failed otherwise."""
        return sum(one.trials for one in self.crashes)


@dataclass(frozen=True)
class SideFailures:
    """Failed trials of the reference and of the candidate."""

    reference: Side
    candidate: Side

    @property
    def gate(self) -> GateAnswer | None:
        """What a gate answers because of them; None: the values decide.

        A candidate that fails where the reference never does, or fails more often than chance
        gives (Fisher's exact test), never passes. Trials that were killed on one side at a limit
        of another time than the one that is compared leave it inconclusive: values of those that
        ended say nothing of a side from which some are missing.
        """
        first, second = self.reference, self.candidate
        if second.crashed and (not first.crashed or self._p_more() <= _LEVEL):
            return "fail"
        return "inconclusive" if self.hides_times else None

    @property
    def hides_times(self) -> bool:
        """Whether one side alone lacks the times of runs that a limit of another time killed."""
        return bool(self.reference.killed) != bool(self.candidate.killed)

    def _p_more(self) -> float:
        """Return the one-sided p-value that the candidate crashes as rarely as the reference."""
        first, second = self.reference, self.candidate
        crashed, trials = first.crashed + second.crashed, first.trials + second.trials
        tables = (
            math.comb(second.trials, k) * math.comb(first.trials, crashed - k)
            for k in range(second.crashed, min(crashed, second.trials) + 1)
        )
        return sum(tables) / math.comb(trials, crashed)

    @property
    def one_sided(self) -> Message | None:
        """Count the trials above the limit where only one side has them; None: both, or neither."""
        sides = [side for side in (self.reference, self.candidate) if side.exceeded]
        return exceeded(sides[0]) if len(sides) == 1 else None

    @property
    def two_sided(self) -> Message | None:
        """Count the trials above the limit where both sides have them."""
        sides = (self.reference, self.candidate)
        if not all(side.exceeded for side in sides):
            return None
        return message("{sides | join('; ')}", sides=[exceeded(side) for side in sides])

    @property
    def reason(self) -> Message:
        """Why they decide a gate, in a form that follows "the gate fails:"."""
        first, second = self.reference, self.candidate
        if self.gate == "fail":
            return message(
                "{second} failed in {failed} of {trials | counted('trial')}, {first} in "
                "{% if others %}{others} of {of}{% else %}none{% endif %}: {reason}"
                "{% if more %}, and {more | counted('other reason')}{% endif %}",
                second=second.name,
                failed=second.crashed,
                trials=second.trials,
                first=first.name,
                others=first.crashed,
                of=first.trials,
                reason=second.crashes[0].reason,
                more=len(second.crashes) - 1,
            )
        return self.killed_apart

    @property
    def killed_apart(self) -> Message:
        """Count the killed runs of the side that alone has them."""
        first, second = self.reference, self.candidate
        slow, other = (second, first) if second.killed else (first, second)
        return message(
            "{killed} of {trials | counted('trial')} of {name} were killed at the time "
            "limit, none of {other}",
            name=slow.name,
            killed=slow.killed,
            trials=slow.trials,
            other=other.name,
        )


def exceeded(side: Side) -> Message:
    """Count the trials of a side that were killed at a limit: "54 of 254 runs … exceeded 98 ms"."""
    return message(
        "{killed} of {trials | counted('run')} of {name} exceeded {limit}",
        killed=side.exceeded,
        trials=side.trials,
        name=side.name,
        limit=None if side.above_ns is None else Chosen(side.above_ns, "ns"),
    )


@dataclass(frozen=True)
class LostCandidate:
    """A candidate of which every trial failed, so that its times are compared with nothing."""

    failures: SideFailures

    @property
    def gate(self) -> GateAnswer:
        """What a gate answers because of it."""
        return self.failures.gate or "fail"

    @property
    def answer(self) -> Message:
        """The same with its evidence."""
        side = self.failures.candidate
        return message(
            "{all}: {reasons}",
            all=all_failed(side.trials, [side.name]),
            reasons=reasons(side.failures),
        )


def lost_candidates(
    results: Results, factor: str, reference: str, levels: Iterable[str]
) -> tuple[LostCandidate, ...]:
    """Return the candidates among the levels without a good trial, where the reference has some.

    One that could not be started is an error of the command line instead.
    """
    levels = list(levels)
    if reference in levels:
        return ()
    first = Side.of(reference, results, {factor: reference})
    sides = (Side.of(level, results, {factor: level}) for level in levels)
    return tuple(
        LostCandidate(SideFailures(first, side))
        for side in sides
        if any(one.ran for one in side.failures)
    )
