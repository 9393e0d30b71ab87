"""Many comparisons in one sentence: how many cells say what, the clearest with its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tare.findings.cells import Pair
from tare.findings.phrasing import at_levels
from tare.render.vocabulary import SPREADS, Words
from tare.render.words import listing
from tare.results.verdict import EQUIVALENT, HIGHER, HIGHER_WITHIN, LOWER, LOWER_WITHIN, Verdict
from tare.statistics.comparison import Comparison
from tare.statistics.spread import SpreadComparison
from tare.units import change_interval, counted, duration, factor, percent

Compared = Sequence[tuple[Pair, Comparison | SpreadComparison]]


@dataclass(frozen=True)
class Telling:
    """How the comparisons of one question are told.

    Attributes
    ----------
    words : mapping
        Verdict to what it reads as, in the order in which they are told.
    quantity : str
        What the ratio is of, e.g. "p10–p90 range".
    limit : str
        Below what a difference does not matter: "2.0 %".
    varied : sequence of str
        Factors worth naming.
    """

    words: Mapping[Verdict, str]
    quantity: str
    limit: str
    varied: Sequence[str]

    def clauses(self, compared: Compared) -> str:
        """Tell how many cells have each verdict, with the clearest one's interval."""
        told = [
            self._clause(words, [pc for pc in compared if pc[1].verdict == verdict], len(compared))
            for verdict, words in self.words.items()
            if any(c.verdict == verdict for _, c in compared)
        ]
        waiting = [pc for pc in compared if not pc[1].verdict.conclusive]
        if waiting:
            told.append(self._undecided(waiting, len(compared)))
        return listing(told)

    def _clause(self, words: str, some: Compared, total: int) -> str:
        where = share_of(len(some), total)
        if all(not c.verdict.differs for _, c in some):
            return f"{words} in {where}"
        # The clearest case stands for all; the table has the others.
        pair, c = max(some, key=lambda pc: abs(math.log(pc[1].ratio or 1)))
        ratio = change_interval(c.ratio or 1, c.low, c.high)
        clearest = ", the clearest" if len(some) > 1 else ""
        at = at_levels(pair.levels, self.varied)
        return f"{words} in {where} ({self.quantity} {ratio} for {at}{clearest})"

    def _undecided(self, some: Compared, total: int) -> str:
        why = f"neither a difference nor one below {self.limit} is shown"
        if all(c.low is None for _, c in some):
            why = "too few trials"
        where = share_of(len(some), total)
        return f"inconclusive in {where} ({'; '.join([why, *filter(None, [needed(some)])])})"


def further(some: Compared) -> str:
    """Tell in brackets what would decide these comparisons; empty where nothing says."""
    told = needed(some)
    return f" ({told})" if told else ""


def needed(some: Compared) -> str:
    """Tell how many further trials, and how long, would decide these comparisons.

    Where there is no interval yet, its width says nothing: so many are needed for one.
    """
    wanting = [(p, c.more_pairs) for p, c in some if c.more_pairs is not None]
    if not wanting:
        return ""
    most = max(more for _, more in wanting)
    seconds = sum(more * p.seconds for p, more in wanting)
    time = f", {duration(seconds)} in all" if seconds else ""
    if all(c.low is None for _, c in some):
        return f"an interval needs {counted(most, 'further trial')} of a cell{time}"
    return f"about {counted(most, 'further trial')} of a cell would decide{time}"


def share_of(some: int, total: int) -> str:
    """Write how many of the cells: "the one cell", "all 6 cells", "2 of 6 cells"."""
    if some == total:
        return "the one cell" if total == 1 else f"all {total} cells"
    return f"{some} of {counted(total, 'cell')}"


def per_level(compared: Compared, tell: Callable[[str, Compared], str]) -> str:
    """Tell level by level of the compared factor."""
    levels = list(dict.fromkeys(p.level for p, _ in compared))
    return " ".join(tell(x, [pc for pc in compared if pc[0].level == x]) for x in levels)


def smallest_detectable(compared: Compared) -> str:
    """Tell what the comparisons without a difference could have shown."""
    seen = [c.detectable for _, c in compared if c.detectable is not None]
    if not seen:
        return ""
    return f"The smallest change that would have been seen is {percent(max(seen))}."


def spread_kind(margin: float) -> tuple[Words, str]:
    """Return what verdicts on spreads are called, and how their margin is written."""
    return SPREADS, factor(margin)


def spread_words(margin: float, reference: str | None = None) -> dict[Verdict, str]:
    """Write each verdict that decides, with what it is relative to; the factor is always named."""
    than, alike = ("", "") if reference is None else (f" than {reference}", f" as {reference}")
    within = f" (within {factor(margin)})"
    return {
        HIGHER: f"less stable{than}",
        LOWER: f"more stable{than}",
        HIGHER_WITHIN: f"less stable{than}{within}",
        LOWER_WITHIN: f"more stable{than}{within}",
        EQUIVALENT: f"as stable{alike}{within}",
    }
