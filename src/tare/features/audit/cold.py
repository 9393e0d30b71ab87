"""Is the first value of a series a cold start? Compared with others, and the same item later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from tare.features.audit.question import Question
from tare.features.audit.series import SeriesAudit
from tare.results.message import Message, message
from tare.statistics.statistic import median
from tare.units import change

#: Series with fewer trials say nothing of their first.
FEWEST = 6
#: Probability by chance below which the first values are told to be others.
_CHANCE = 0.001
#: Ratio to the rest from which it matters.
_MATTERS = 1.1


@dataclass(frozen=True, eq=False)
class First:
    """The first value of one series.

    Attributes
    ----------
    series : SeriesAudit
    value, rest : float
        The first, and the median of all others.
    largest : bool
        Whether no other is as large.
    expected : float or None
        What the block of the first takes in series where it does not come first, relative to the
        rest there, times the rest here; None where it always comes first, or blocks are not known.
    """

    series: SeriesAudit
    value: float
    rest: float
    largest: bool
    expected: float | None

    @property
    def ratio(self) -> float:
        """The first over the median of the rest."""
        return self.value / self.rest


@dataclass(frozen=True, eq=False)
class ColdStart:
    """The first values of all series.

    Attributes
    ----------
    firsts : tuple of First
    p : float
        Probability of so many first values being the largest of their series by chance.
    """

    firsts: tuple[First, ...]
    p: float

    @property
    def largest(self) -> int:
        """Series whose first value is the largest."""
        return sum(f.largest for f in self.firsts)

    @property
    def ratio(self) -> float:
        """Median over the series of the first over the rest."""
        return float(np.median([f.ratio for f in self.firsts]))

    @property
    def later(self) -> float | None:
        """Median over the series of what the same block takes later, over the rest."""
        known = [f.expected / f.rest for f in self.firsts if f.expected is not None]
        return float(np.median(known)) if known else None

    @property
    def found(self) -> bool:
        """Whether series begin cold."""
        return self.p < _CHANCE and self.ratio >= _MATTERS


def cold_start(series: Sequence[SeriesAudit]) -> ColdStart | None:
    """Look at the first value of every series; None where there is nothing to look at.

    Were the order of no account, the first of n would be the largest in one series of n: how
    many are by chance is a sum of such draws, bounded by the binomial of the mean.
    """
    some = [s for s in series if _fit(s)]
    if not some:
        return None
    firsts = tuple(_first(s, some) for s in some)
    chance = float(np.mean([1 / s.n for s in some]))
    count = sum(f.largest for f in firsts)
    return ColdStart(firsts, float(special.bdtrc(count - 1, len(some), chance)))


def _fit(s: SeriesAudit) -> bool:
    """Whether a series has times enough; of rates a cold start would be the least."""
    return (
        s.n >= FEWEST
        and s.series.lower_is_better is not False
        and not s.series.defects
        and float(s.trials.least.min()) > 0
    )


def _first(s: SeriesAudit, all_of_them: Sequence[SeriesAudit]) -> First:
    values, later = s.trials.least, _later(s, all_of_them)
    rest = median(values[1:])
    return First(
        series=s,
        value=float(values[0]),
        rest=rest,
        largest=bool(values[0] > values[1:].max()),
        expected=None if later is None else later * rest,
    )


def _later(s: SeriesAudit, all_of_them: Sequence[SeriesAudit]) -> float | None:
    """Median over the other series of the same block's value, relative to its series."""
    if s.trials.block is None:
        return None
    block = s.trials.block[0]
    found = []
    for other in all_of_them:
        blocks = other.trials.block
        if other is s or blocks is None or other.files != s.files or blocks[0] == block:
            continue
        at = np.flatnonzero(blocks == block)
        if len(at):
            values = other.trials.least
            found.append(float(values[at].mean() / np.median(values[1:])))
    return float(np.median(found)) if found else None


def begins(cold: ColdStart, what: str) -> Message:
    """Say how series begin; ``what`` a value is of, such as an item."""
    ratios = [f.ratio for f in cold.firsts]
    low, high = np.quantile(ratios, [0.1, 0.9])
    several = len(ratios) > 4
    return message(
        "the first {what} of a series is a cold start: {ratio} vs. the median of the others"
        "{% if low %} (p10–p90 {low} to {high}){% endif %}, the longest in {largest} of "
        "{series} series{% if later %}. The same {what} later in a series: {later} vs. the "
        "others there{% endif %}",
        what=what,
        ratio=change(cold.ratio),
        low=change(float(low)) if several else None,
        high=change(float(high)) if several else None,
        largest=cold.largest,
        series=len(cold.firsts),
        later=None if cold.later is None else change(cold.later),
    )


def item_name(question: Question) -> str:
    """Name what a value is of: a block where blocks are named, as they are items then."""
    return question.columns.block or "value"
