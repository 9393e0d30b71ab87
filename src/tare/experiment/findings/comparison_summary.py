"""Many comparisons in short: how many cells have which verdict, the clearest with its numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tare.experiment.findings import phrases
from tare.experiment.findings.cells import Pair
from tare.experiment.findings.level_names import where
from tare.render.vocabulary import SPREADS, Words
from tare.results.message import Amount, Duration, Message, Ratio, message
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    LOWER_WITHIN,
    Verdict,
)
from tare.statistics.comparison import Comparison
from tare.statistics.spread import SpreadComparison
from tare.units import factor

#: Blocks below which a signed-rank interval has no bounds, and the error of a family.
FEWEST_BLOCKS = 6
_ERROR = 0.05

Compared = Sequence[tuple[Pair, Comparison | SpreadComparison]]


def blocks_said(pairs: Sequence[Pair]) -> Message:
    """Say how many blocks, or trials without common blocks, the pair with the fewest has."""
    fewest = min(min(len(p.first), len(p.second)) for p in pairs)
    paired = all(p.dependence is None for p in pairs)
    return message(
        phrases.BLOCKS
        if paired
        else "at least {n | counted('trial')} per cell, without common blocks",
        n=fewest,
    )


@dataclass(frozen=True)
class Telling:
    """How the comparisons of one question are summed up.

    Attributes
    ----------
    words : Words
        What verdicts are called.
    margin : str or None
        As verdicts within it name it; None: not named.
    quantity : str
        What the ratio is of, e.g. "p10–p90 range".
    varied : sequence of str
        Factors worth naming.
    """

    words: Words
    margin: str | None
    quantity: str
    varied: Sequence[str]

    def clauses(self, compared: Compared) -> list[Message]:
        """Say how many cells have each verdict, with the clearest one's interval."""
        by_verdict: dict[Verdict, list[tuple[Pair, Comparison | SpreadComparison]]] = {}
        for pair, c in compared:
            by_verdict.setdefault(c.verdict, []).append((pair, c))
        return [
            self._clause(verdict, by_verdict[verdict], len(compared))
            for verdict in _ORDER
            if verdict in by_verdict
        ]

    def _clause(self, verdict: Verdict, some: Compared, total: int) -> Message:
        if not verdict.conclusive:
            return message(
                "inconclusive in {share}{% if few and not more %} (too few trials)"
                "{% elif more %} ({more}){% endif %}",
                share=share(len(some), total),
                few=all(c.low is None for _, c in some),
                more=more(some),
            )
        # The clearest case stands for all; the table has the others.
        pair, c = max(some, key=lambda pc: distance(pc[1]))
        return message(
            "{verdict} in {share}{% if ratio %} ({quantity} {ratio}{% if where.levels %} "
            "{% if 'workload' in where.levels %}for {% endif %}{where}{% endif %}"
            "{% if several %}, the clearest{% endif %}){% endif %}",
            verdict=self.words.of(verdict, self.margin),
            share=share(len(some), total),
            quantity=self.quantity,
            ratio=Ratio.of(c.ratio or 1, c.low, c.high) if verdict.differs else None,
            where=where(pair.levels, self.varied),
            several=len(some) > 1,
        )


def distance(c: Comparison | SpreadComparison) -> float:
    """Return how far a ratio is from 1, in logs; of one that is open, its known bound."""
    ends = [c.ratio or 1, c.low or math.inf, math.inf if c.high is None else c.high]
    known = [abs(math.log(x)) for x in ends if math.isfinite(x)]
    return known[0] if known else 0.0


#: In which verdicts stand in a sentence: what differs first.
_ORDER = (HIGHER, LOWER, HIGHER_WITHIN, LOWER_WITHIN, EQUIVALENT, INCONCLUSIVE)


def more_trials(some: Compared) -> int | None:
    """Return how many more trials would settle these comparisons; None: not known."""
    return max((c.more_pairs for _, c in some if c.more_pairs is not None), default=None)


def more(some: Compared) -> Message | None:
    """Say how many more trials, and how long, would settle these comparisons; None: not known.

    Where there is no interval yet, its width says nothing: so many are needed for one.
    """
    wanting = [(c.more_pairs, p.seconds) for p, c in some if c.more_pairs is not None]
    return more_said(wanting, few=all(c.low is None for _, c in some))


def more_said(wanting: Sequence[tuple[int, float]], *, few: bool) -> Message | None:
    """Say how many more trials settle comparisons, and how long they take in all; None: none do.

    ``wanting``: of each, its trials and the seconds of one. ``few``: so many give an interval.
    """
    if not wanting:
        return None
    seconds = sum(trials * each for trials, each in wanting)
    return message(
        "{% if few %}an interval needs {% elif trials <= 100000 %}≈ {% endif %}"
        "{% if trials > 100000 %}more than 100,000 more trials per cell: measure on a quieter "
        "machine{% else %}{trials | about('more trial')} per cell{% if time %}, {time} in all"
        "{% endif %}{% endif %}",
        trials=max(trials for trials, _ in wanting),
        time=Duration(seconds) if seconds else None,
        few=few,
    )


def corrected(found: Collection[Comparison | SpreadComparison]) -> tuple[Message, ...]:
    """Say why comparisons are inconclusive whose intervals exclude 0, or which have none."""
    said: list[Message] = []
    blocks = min((c.n for c in found), default=0)
    of_values = all(isinstance(c, Comparison) for c in found)
    waiting = [c for c in found if not c.verdict.conclusive]
    if of_values and blocks < FEWEST_BLOCKS and any(c.low is None for c in waiting):
        said.append(
            message(
                "an interval needs ≥ {needed} common blocks, {blocks} so far",
                needed=FEWEST_BLOCKS,
                blocks=blocks,
            )
        )
    apart = [c for c in waiting if (c.low or 0) > 1 or (c.high is not None and c.high < 1)]
    if apart:
        needed = blocks_needed(len(found))
        few = of_values and blocks < needed
        said.append(
            message(
                "{some} of {of | counted('interval')} {% if some == 1 %}shows{% else %}show"
                "{% endif %} a change. {% if needed %}A verdict on "
                "{of | counted('comparison')} needs ≥ {needed} common blocks, and there are "
                "{blocks}{% else %}Corrected for {of | counted('comparison')} (Holm), that "
                "is no verdict{% endif %}",
                some=len(apart),
                of=len(found),
                needed=needed if few else None,
                blocks=blocks,
            )
        )
    return tuple(said)


def blocks_needed(comparisons: int) -> int:
    """Fewest blocks of which a signed-rank test can decide, after Holm over some comparisons."""
    n = FEWEST_BLOCKS
    while comparisons * 2.0 ** (1 - n) >= _ERROR:
        n += 1
    return n


def share(some: int, total: int) -> Message:
    """Say how many of the cells: "the only cell", "both cells", "all 6 cells", "2 of 6 cells"."""
    return message(
        "{% if some < total %}{some} of {total | counted('cell')}{% elif total == 1 %}the "
        "only cell{% elif total == 2 %}both cells{% else %}all {total} cells{% endif %}",
        some=some,
        total=total,
    )


def smallest_detectable(compared: Compared) -> Message | None:
    """Say what the comparisons without a difference could have shown; None: not known."""
    seen = [c.detectable for _, c in compared if c.detectable is not None]
    if not seen:
        return None
    return message("Smallest detectable change: {change}", change=Amount(max(seen), "share"))


def by_level(compared: Compared) -> dict[str, Compared]:
    """Part comparisons by the level of the compared factor."""
    levels = dict.fromkeys(p.level for p, _ in compared)
    return {level: [pc for pc in compared if pc[0].level == level] for level in levels}


def spread_kind(margin: float) -> tuple[Words, str]:
    """Return what verdicts on spreads are called, and how their margin is written."""
    return SPREADS, factor(margin)
