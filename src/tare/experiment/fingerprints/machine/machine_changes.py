"""Was it the same machine in all sessions? What was probed before and after each, judged alike.

What a machine does while others use it says nothing of the machine itself. So a change counts only
where no take that shows it was disturbed, and never by one take, which another program decides in
seconds: between sessions both must have been probed before *and* after, and within a session what
differs must be there when it is looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import msgspec

from tare.experiment.fingerprints.machine.activity import busy, share
from tare.experiment.fingerprints.machine.difference import (
    Change,
    Rule,
    Take,
    Verdict,
    differences,
    overall,
)
from tare.experiment.journal import Activity

#: Why a difference that was seen is not called a change: others used the machine while it was
#: probed (``busy``), or it rests on ``one take``.
Why = Literal["busy", "one take"]


@dataclass(frozen=True)
class Taken:
    """One take of the machine's fingerprint, and how busy the machine was; None: not recorded."""

    figures: Take
    activity: Activity | None = None

    @property
    def disturbed(self) -> bool:
        """Whether others used the machine; of what was not recorded, nothing is held against it."""
        return self.activity is not None and busy(self.activity)


@dataclass(frozen=True)
class Probed:
    """What a session found of the machine, by moment, each with its repetitions in their order."""

    before: tuple[Taken, ...] = ()
    after: tuple[Taken, ...] = ()

    @property
    def moments(self) -> tuple[tuple[Taken, ...], ...]:
        """The takes that count, of each moment that there was."""
        return tuple(_calmest(some) for some in (self.before, self.after) if some)


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What one comparison of takes says of the machine."""

    #: One: before and after its trials; two: one session beside the other.
    sessions: tuple[int, ...]
    changes: tuple[Change, ...]
    verdict: Verdict
    #: Where a difference was seen that is not called a change.
    why: Why | None = None
    #: Of the take that was disturbed most; None where none was.
    activity: Activity | None = None

    @property
    def differing(self) -> tuple[Change, ...]:
        """What differs by more than matters, whatever that is due to."""
        return tuple(c for c in self.changes if c.verdict == "changed")


def judge(sessions: Mapping[int, Probed], rules: Mapping[str, Rule]) -> tuple[Judged, ...]:
    """Compare before with after in each session, and every session with every other.

    Parameters
    ----------
    sessions : mapping
        By number.
    rules : mapping
        What matters of each metric.

    Returns
    -------
    tuple of Judged
        Sessions by themselves first. All comparisons share one error.
    """
    moments = {number: sessions[number].moments for number in sorted(sessions)}
    alone = [n for n, some in moments.items() if len(some) > 1]
    pairs = [(a, b) for a, b in combinations(moments, 2) if moments[a] and moments[b]]
    beside = len(alone) + len(pairs)
    found = [_judged((n,), moments[n][:1], moments[n][1:], rules, beside) for n in alone]
    return (*found, *(_judged((a, b), moments[a], moments[b], rules, beside) for a, b in pairs))


_Moments = tuple[tuple[Taken, ...], ...]


def _judged(
    sessions: tuple[int, ...],
    first: _Moments,
    second: _Moments,
    rules: Mapping[str, Rule],
    beside: int,
) -> Judged:
    sides = (first, second)
    before, after = ([take for moment in side for take in moment] for side in sides)
    changes = differences([t.figures for t in before], [t.figures for t in after], rules, beside)
    disturbed = [t.activity for t in (*before, *after) if t.activity is not None and t.disturbed]
    why: Why | None = None
    verdict = overall(changes)
    # In a session it must be there when it is looked at again, between two before and after.
    single = len(before) + len(after) < 3 if len(sessions) < 2 else min(map(len, sides)) < 2
    if verdict == "changed" and single:
        verdict, why = "inconclusive", "one take"
    elif verdict == "changed" and disturbed:
        verdict, why = "inconclusive", "busy"
    return Judged(
        sessions=sessions,
        changes=changes,
        verdict=verdict,
        why=why,
        activity=max(disturbed, key=share, default=None),
    )


def _calmest(some: tuple[Taken, ...]) -> tuple[Taken, ...]:
    """Return those that nobody disturbed, otherwise the one that was disturbed least."""
    calm = tuple(one for one in some if not one.disturbed)
    return calm or (min(some, key=lambda one: share(one.activity) if one.activity else 0.0),)
