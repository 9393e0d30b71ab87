"""An audit in words, the same for the terminal and the page."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tare.audit import VERDICTS, Audit, FileAudit
from tare.audit.comparison import ComparisonAudit
from tare.audit.series import SeriesAudit
from tare.audit.variance import VarianceAudit
from tare.render.words import listing
from tare.statistics.factorial import Effect
from tare.units import counted, percent, quantity

#: Shares below which an effect is not worth a word.
_LEAST_SHARE = 0.01
#: Half of an interval's width below which it is told as next to nothing.
_LEAST_HALF = 1e-4
#: Numbers, signs included, by which two sentences that say the same differ.
_NUMBER = re.compile(r"[+−-]?\d[\d.,]*(?:e[+-]?\d+)?")

T = TypeVar("T")


def uncompared(c: ComparisonAudit) -> str:
    """Tell why there is no ratio, and the difference where there is one."""
    d = c.difference
    if d is None:
        return f"not compared: {c.refusal}"
    middle, *ends = (
        told_quantity(x, c.first.series.unit) for x in (d.middle, d.low, d.high) if x is not None
    )
    bounds = f" [{', '.join(ends)}]" if ends else ""
    return f"{c.word}: difference {middle}{bounds} ({c.refusal})"


def told_quantity(value: float, unit: str | None, digits: int = 4) -> str:
    """Write a value with its unit; times in whichever of s, ms, µs and ns reads best."""
    return quantity(value, unit or "1", digits)


def told_median(s: SeriesAudit) -> str:
    """Write a median with its interval: "241.8 ms ±0.2 %"."""
    if s.n == 0:
        stated = s.series.reported.get("median", s.series.reported.get("mean"))
        known = stated is not None and math.isfinite(stated)
        return f"{told_quantity(stated or 0.0, s.series.unit)} (stated)" if known else "no values"
    value = told_quantity(s.median.estimate, s.series.unit)
    half = s.median.half_width
    if half is None:
        low, high = s.median.low, s.median.high
        if low is None or high is None:
            return f"{value} (no interval)"
        ends = ", ".join(told_quantity(x, s.series.unit) for x in (low, high))
        return f"{value} [{ends}]"
    return f"{value} ±{percent(half)}" if half >= _LEAST_HALF else f"{value} ±< 0.01 %"


def told_precision(precision: float) -> str:
    """Write a target: "±1 %"."""
    return f"±{100 * precision:.4g} %"


def told_runs(s: SeriesAudit) -> str:
    """Write how many runs the precision takes: "23", "23 (57 assured)", "about 1,200", "none".

    CONFIRM counts independent runs; of autocorrelated ones it takes more.
    """
    if s.runs_needed is None:
        return "–" if s.reached is None else "none: clock"
    if not s.reached:
        return f"about {s.runs_needed:,}"
    assured = s.repetitions.n_assured
    if assured is None:
        return f"{s.runs_needed:,}"
    return f"{s.runs_needed:,} ({math.ceil(assured * s.dependence):,} assured)"


@dataclass(frozen=True)
class Shared:
    """A sentence that several have in common, but for its numbers.

    Attributes
    ----------
    text : str
        As the first of them has it.
    names : tuple of str
        Of those that have it.
    varies : bool
        Whether the numbers differ.
    """

    text: str
    names: tuple[str, ...]
    varies: bool

    def told(self, noun: str, total: int) -> str:
        """Tell the sentence once, and of how many it is true."""
        n = len(self.names)
        if total == 1:
            return self.text
        which = f"All {total:,} {noun}" if n == total else f"{n:,} of {total:,} {noun}"
        if n == 1:
            which = self.names[0]
        elif self.varies:
            which += f", such as {self.names[0]}"
        return f"{which}: {self.text}"


def shared(
    some: Sequence[T], sentences: Callable[[T], Sequence[str]], name: Callable[[T], str]
) -> list[Shared]:
    """Put sentences that differ in their numbers only together, the most frequent first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in some:
        for text in sentences(one):
            found.setdefault(_NUMBER.sub("#", text), []).append((text, name(one)))
    groups = [
        Shared(
            text=told[0][0],
            names=tuple(dict.fromkeys(who for _, who in told)),
            varies=len({text for text, _ in told}) > 1,
        )
        for told in found.values()
    ]
    return sorted(groups, key=lambda g: -len(g.names))


def reasons(audit: Audit, verdict: str | None = None) -> list[tuple[str, Shared]]:
    """Give the reasons of all verdicts, each once, the worst first."""
    told = []
    for worst in reversed(VERDICTS) if verdict is None else (verdict,):
        some = [s for s in audit.series if s.trust.verdict == worst]
        told += [(worst, g) for g in shared(some, lambda s: s.trust.reasons, lambda s: s.name)]
    return told


def counts_of(some: Sequence[SeriesAudit]) -> str:
    """Count verdicts: "TRUST 3, DOUBT 20, REJECT 1 of 24 series"."""
    found = Counter[str](s.trust.verdict for s in some)
    if len(some) == 1:
        return "1 series"
    return f"{', '.join(f'{v} {found[v]:,}' for v in VERDICTS if found[v])} of {len(some):,} series"


def known_told(some: Sequence[SeriesAudit]) -> str:
    """Report how well the medians are known, whether or not they can be trusted."""
    halves = [h for s in some if s.n and (h := s.median.half_width) is not None]
    if not halves:
        return f"no interval of {'the' if len(some) == 1 else 'a'} median"
    return f"{'median' if len(some) == 1 else 'medians'} known to {_ends(halves)}"


def missed_told(some: Sequence[SeriesAudit], *, is_required: bool = False) -> str | None:
    """Report medians that are known less precisely than the target; None if all meet it.

    ``is_required``: whether somebody asked for it, so that it decides the exit code.
    """
    missed = [s for s in some if s.reached is False]
    if not missed:
        return None
    halves = [h for s in missed if (h := s.median.half_width) is not None]
    runs = [n for s in missed if (n := s.runs_needed) is not None]
    which = "the median is"
    if len(some) > 1:
        which = f"{len(missed):,} of {len(some):,} medians {'is' if len(missed) == 1 else 'are'}"
    target = told_precision(missed[0].repetitions.precision)
    told = []
    if runs:
        told.append(
            f"{'about' if len(runs) == 1 else 'up to about'} {max(runs):,} runs for {target}"
        )
    coarse = sum(s.clock_too_coarse for s in missed)
    if coarse:
        where = f" for {coarse:,} of them" if coarse < len(missed) else ""
        told.append(f"the clock is too coarse for {target}{where}, however many runs")
    required = f" ({target} was required: exit code 1)" if is_required else ""
    return f"{which} known to {_ends(halves)} only: {'; '.join(told)}{required}"


def _ends(halves: Sequence[float]) -> str:
    least, most = (f"±{percent(end)}" for end in (min(halves), max(halves)))
    return least if least == most else f"{least} to {most}"


#: How the worst verdict reads where some series have it, and where all have.
_OF_SOME = {"DOUBT": "to be doubted", "REJECT": "not fit to conclude from"}
_ANSWERS = {
    "TRUST": "These numbers can be trusted",
    "DOUBT": "These numbers are to be doubted",
    "REJECT": "These numbers are not fit to conclude from",
}


def headline(audit: Audit) -> str:
    """Answer whether the numbers can be trusted, in one or two sentences."""
    total = len(audit.series)
    missed = (
        missed_told(audit.series, is_required=audit.question.precision_required)
        if audit.verdict == "TRUST"
        else None
    )
    if missed is not None:
        return f"{_ANSWERS['TRUST']}, but {missed}."
    if total == 1:
        s = audit.series[0]
        return f"{_ANSWERS[audit.verdict]}: the median is {told_median(s)}, n = {s.n:,}."
    if audit.count(audit.verdict) == total:
        return f"{_ANSWERS[audit.verdict]}, all {total:,} series of them."
    worst = audit.count(audit.verdict)
    are = "is" if worst == 1 else "are"
    return (
        f"{worst:,} of {total:,} series {are} {_OF_SOME[audit.verdict]}: {counts_of(audit.series)}."
    )


def precision_told(audit: Audit) -> str | None:
    """Tell how exactly the medians are known; None where that is in the headline, or unknown.

    Trust says nothing of it: a few sound values may still know their median badly.
    """
    halves = [s.median.half_width for s in audit.series]
    known = [h for h in halves if h is not None]
    if len(audit.series) == 1 or not known:
        return None
    reached = sum(h <= audit.question.precision for h in known)
    span = f"±{percent(min(known))} to ±{percent(max(known))}"
    target = told_precision(audit.question.precision)
    unknown = len(halves) - len(known)
    rest = f", {unknown:,} have no interval" if unknown else ""
    return (
        f"Medians are known to {span}, {reached:,} of {len(halves):,} to {target} or better{rest}."
    )


def told_comparison(c: ComparisonAudit) -> str:
    """Name a comparison: "docker beside bare (workers 1)"."""
    return f"{c.b} beside {c.a}" + (f" ({c.where})" if c.where else "")


def clearest(some: Sequence[ComparisonAudit], most: int) -> list[ComparisonAudit]:
    """Choose the comparisons that differ most clearly, in their order."""

    def weight(i: int) -> tuple[bool, float]:
        found = some[i].location
        if found is None or not found.verdict.differs:
            return True, 0.0
        return False, -abs(math.log(found.ratio))

    return [some[i] for i in sorted(sorted(range(len(some)), key=weight)[:most])]


def comparisons_told(some: Sequence[ComparisonAudit]) -> str:
    """Count the verdicts of all comparisons."""
    found = Counter(c.word for c in some)
    total = counted(len(some), "comparison")
    if len(found) == 1:
        return f"{next(iter(found)).capitalize()} in {'all ' if len(some) > 1 else ''}{total}."
    return f"Of {total}: {listing(f'{n:,} {word}' for word, n in found.most_common())}."


def stability_told(some: Sequence[ComparisonAudit]) -> str | None:
    """Count STABILITY's words; None where nothing has them."""
    told = []
    for of, words in (("mean", [c.mean for c in some]), ("SD", [c.sd for c in some])):
        found = Counter(w for w in words if w)
        if found:
            told.append(f"{of} {listing(f'{w} {n:,}' for w, n in found.most_common())}")
    return f"As STABILITY would say, of all values pooled: {'; '.join(told)}." if told else None


def variance_told(v: VarianceAudit) -> str:
    """Tell what explains the variance, largest share first, and the same of the ranks."""
    d = v.decomposition
    worth = sorted((e for e in d.effects if e.share >= _LEAST_SHARE), key=lambda e: -e.share)
    if not worth:
        return (
            f"None of {listing(v.factors)} explains 1 % of the variance of {v.metric}: "
            f"{percent(d.within)} is between trials of the same cell."
        )
    shares = [f"{_effect(e)} {percent(e.share)}" for e in worth[1:]]
    told = listing(
        [f"{_effect(worth[0])} explains {percent(worth[0].share)} of the variance", *shares]
    )
    small = [_effect(e) for e in d.effects if e.share < _LEAST_SHARE]
    rest = f"; {listing(small)} less than 1 %" if small else ""
    by_rank = sorted(d.effects, key=lambda e: -e.rank_share)[:3]
    ranks = listing(f"{_effect(e)} {percent(e.rank_share)}" for e in by_rank)
    return (
        f"{told}{rest}; {percent(d.within)} is between trials of the same cell. "
        f"Of the ranks, where extremes weigh no more than others: {ranks}."
    )


def _effect(effect: Effect) -> str:
    return " with ".join(effect.factors)


def specification_told(file: FileAudit) -> str:
    """Tell what a file says of its numbers, and what it leaves out."""
    score = file.score
    if not score.missing:
        return f"says all that a reader needs ({score.points} of {score.of})"
    return f"does not say its {listing(score.missing)} ({score.points} of {score.of})"
