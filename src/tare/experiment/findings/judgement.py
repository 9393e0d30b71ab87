"""Is it different? The comparisons that an experiment with ``compare`` asks for, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import numpy as np

from tare.experiment import request_quantiles
from tare.experiment.findings import emulated_cpu
from tare.experiment.findings.cells import Basis, Cell, Pair, cells_of, values_of, verdict_words
from tare.experiment.findings.evidence import without_ratio
from tare.experiment.findings.failures import all_failed
from tare.experiment.findings.level_names import at_levels
from tare.experiment.findings.pairing import ERROR, confidence, reference_level
from tare.experiment.findings.side_failures import (
    LostCandidate,
    Side,
    SideFailures,
    lost_candidates,
)
from tare.experiment.results import STATUSES, Results
from tare.experiment.specification import Stopping
from tare.options.kinds import quantile_of
from tare.render.vocabulary import SPREADS, Words
from tare.results import phrases
from tare.results.finding import Column, interval_columns
from tare.results.message import Amount, Change, Chosen, Duration, Message, Ratio, Value, message
from tare.results.report import Gate
from tare.results.verdict import INCONCLUSIVE, GateAnswer, word_at_gate, worst
from tare.statistics.censored import has_killed
from tare.statistics.comparison import Comparison, compare, pairs_for_gate
from tare.statistics.intervals import FEWEST_FOR_RANGE, Interval, extremes_interval
from tare.statistics.pair_ratios import (
    mean_gate_refusal,
    pair_ratio,
    pairs_for_mean,
    pairs_needed,
)
from tare.statistics.sequential import FIRST_LOOK, Look, Sequential, compare_sequentially
from tare.statistics.signed_rank import fewest_pairs
from tare.statistics.spread import SpreadComparison, compare_spreads
from tare.statistics.statistic import FloatArray, Shift, exp
from tare.units import change_interval, chosen, contradicts, factor

_GATE_AT_GATE = (
    "the difference is too close to {margin} to settle it with more pairs: use another gate"
)
_DIFFERENCE_TEXTS = {
    "least": (
        "at least {pairs | counted('more pair')} are needed for a verdict{% if time %} ("
        "{time}){% endif %}"
    ),
    "more": ("about {pairs | about('more pair')} would settle it{% if time %} ({time}){% endif %}"),
    "more_for_gate": (
        "about {pairs | about('more pair')} would settle the gate{% if time %} ({time}){% endif %}"
    ),
    "least_for_gate": (
        "at least {pairs | counted('more pair')} are needed to judge the gate{% if time %} ("
        "{time}){% endif %}"
    ),
}
_ANSWER_TEXTS = {
    "differs": (
        "{second} is {verdict} than {first}{% if margin %} (within {margin}){% endif %}: {ratio}"
        "{% if exceeded is defined %}; {exceeded}{% endif %}"
    ),
    "equivalent": (
        "{second} is equivalent to {first} (within {margin}): {ratio}"
        "{% if exceeded is defined %}; {exceeded}{% endif %}"
    ),
    "inconclusive": (
        "inconclusive: {second} vs. {first} {ratio}{% if exceeded is defined %}; {exceeded}"
        "{% endif %}"
    ),
    "few": (
        "inconclusive: {second} vs. {first} {ratio} ({level}){% if word %}, {word} in all {n} "
        "pairs{% endif %}{% if exceeded is defined %}; {exceeded}{% endif %}"
    ),
}
_GATE_TEXTS = {
    "pass": (
        "{second} vs. {first} {ratio}, below {margin} {more} ({where})"
        "{% if trials is defined %}; {failed or 'none'} of {trials | counted('trial')} of "
        "{second} failed{% endif %}{% if exceeded is defined %}; {exceeded}{% endif %}"
    ),
    "fail": (
        "{second} is {more} than {first} by more than {margin}: {ratio} ({where})"
        "{% if exceeded is defined %}; {exceeded}{% endif %}"
    ),
    "inconclusive": (
        "{second} vs. {first} {ratio}, not yet above or below {margin} {more} ({where})"
        "{% if exceeded is defined %}; {exceeded}{% endif %}"
    ),
}

#: Difference in written bytes per trial, absolute and relative to the reference, from which on it
#: is reported.
_NOTABLE_BYTES, _NOTABLE_SHARE = 1 << 20, 0.1


@dataclass(frozen=True)
class Remedy:
    """What would settle a comparison, where it is not more pairs for the verdict.

    Attributes
    ----------
    said : Message
    pairs : int or None
        How many more pairs it takes; None: not known, or none would.
    refuses_mean : bool
        Whether the values refuse an interval of the mean, which a gate is on.
    """

    said: Message
    pairs: int | None = None
    refuses_mean: bool = False


@dataclass(frozen=True, eq=False)
class Difference:
    """What the values of two cells say about their ratio.

    Attributes
    ----------
    first, second : str
        What is compared, as people named it; the first is the reference.
    factor : str
        The one in which they differ.
    levels : mapping
        Levels of the second, all factors.
    comparison : Comparison
        Ratio with its interval, and the verdict.
    looks : tuple of Look
        How the interval narrowed; empty where n was fixed beforehand, or it is a baseline's.
    spread : SpreadComparison or None
        The p10–p90 ranges compared; None where they cannot be.
    first_values, second_values : array, shape (n,)
        Trial values; of common blocks and in order of time, unless ``paired`` is false.
    trials : tuple of int
        Numbers of the trials behind both.
    seconds : float
        What one more pair would take.
    basis : Basis
        Metric and source of the values.
    margin : float
        Relative difference of practical importance.
    method : str
        How the interval came about.
    counted : Message
        What it rests on: "24 pairs".
    """

    first: str
    second: str
    factor: str
    levels: Mapping[str, str]
    comparison: Comparison
    looks: tuple[Look, ...]
    spread: SpreadComparison | None
    first_values: FloatArray
    second_values: FloatArray
    trials: tuple[int, ...]
    seconds: float
    basis: Basis
    margin: float
    method: str
    counted: Message
    #: Values of both that levels are taken from, and what is known of their medians.
    level_values: tuple[FloatArray, FloatArray]
    medians: tuple[Interval, Interval]
    #: What a gate judges, and its ratio in logs: None where that is the pairs' median.
    gate_on: str = "median"
    gated: Shift | None = None
    #: The same of the means, for the hint that a gate on the median is blind to them.
    means: Shift | None = None
    paired: bool = True
    #: What infinite values of both exceed; NaN elsewhere.
    above: tuple[FloatArray, FloatArray] = (np.zeros(0), np.zeros(0))
    #: What would settle it, where it is not more pairs.
    remedy: Remedy | None = None
    #: That the values are quantiles of too few requests: no number of pairs decides anything.
    few: Message | None = None
    #: Failed trials of both sides; None: not known.
    failures: SideFailures | None = None
    #: Median bytes per trial that each side wrote; None: not recorded.
    written_bytes: tuple[float | None, float | None] = (None, None)
    #: What one more block takes besides the pair, where other cells are measured with it.
    others_seconds: float = 0.0

    @property
    def block_seconds(self) -> float:
        """What one more pair takes, with all that is measured in its block."""
        return self.seconds + self.others_seconds

    @property
    def estimate(self) -> Ratio:
        """The ratio with its interval."""
        return Ratio.of(self.comparison.ratio, self.comparison.low, self.comparison.high)

    @property
    def ratio(self) -> str:
        """The ratio with its interval, as a change: "+3.1 % [+2.2, +4.0]"."""
        c, extremes = self.comparison, self.extremes
        if extremes is None:
            return change_interval(c.ratio, c.low, c.high)
        within = change_interval(c.ratio, extremes.low, extremes.high)
        return f"{within} ({chosen(extremes.confidence)})"

    @cached_property
    def pair_ratios(self) -> FloatArray:
        """Ratio of each pair, in order of time; NaN where both were killed at a limit."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.second_values / self.first_values)

    @cached_property
    def extremes(self) -> Interval | None:
        """The interval between the extremes of 3 to 5 pairs, which decides nothing.

        Open above where runs of the second exceeded the time limit: their ratios are at least that
        of the limit. None where there are other numbers of pairs, the clock does not show the
        ratio, or a run of the first exceeded the limit.
        """
        c = self.comparison
        if not self.paired or self.few is not None or c.low is not None or c.tick is None:
            return None
        if c.killed[0]:
            return None
        second = self.second_values
        if c.killed[1]:
            second = np.where(np.isposinf(second), self.above[1], second)
        least = extremes_interval(second / self.first_values)
        if least is None or least.low is None or least.high is None:
            return None
        high = math.inf if c.killed[1] else least.high * (1 + c.tick)
        return replace(least, low=least.low / (1 + c.tick), high=high)

    @property
    def each_pair(self) -> Message | None:
        """The ratio of each pair, where they are too few for a verdict."""
        if self.extremes is None or any(self.comparison.killed):
            return None
        return message(
            "pairs: {ratios | join(', ')}", ratios=[*map(Change, self.pair_ratios.tolist())]
        )

    @property
    def words(self) -> Words:
        """What verdicts on it are called: a longer time is slower."""
        return verdict_words(self.basis)

    @property
    def answer(self) -> Message:
        """The verdict with its evidence."""
        verdict, extremes = self.comparison.verdict, self.extremes
        margin = Chosen(self.margin) if verdict.within_margin else None
        kind, more = "inconclusive", dict[str, Value](ratio=self.estimate)
        if verdict.differs:
            kind, more = "differs", {"verdict": self.words.of(verdict), "margin": margin, **more}
        elif verdict.conclusive:
            kind, more = "equivalent", {"margin": margin, **more}
        elif extremes is not None and extremes.low is not None and extremes.high is not None:
            higher, lower = extremes.low > 1, extremes.high < 1
            word = self.words.higher if higher else self.words.lower if lower else None
            ratio = Ratio.of(self.comparison.ratio, extremes.low, extremes.high)
            level = Chosen(extremes.confidence)
            kind, more = "few", {"ratio": ratio, "level": level, "word": word, "n": extremes.n}
        return message(
            _ANSWER_TEXTS[kind],
            second=self.second, first=self.first, **more, **self._exceeded,
        )  # fmt: skip

    @property
    def _exceeded(self) -> dict[str, Message]:
        """Count runs above the time limit for the answer, where only one side has them."""
        found = None if self.failures is None else self.failures.one_sided
        return {} if found is None else {"exceeded": found}

    @property
    def _has_bounds(self) -> bool:
        """Whether there are enough pairs for an interval, if only an open one."""
        return self.comparison.low is not None

    def needs_longer_limit(self, gate: float | None) -> bool:
        """Whether values above a time limit keep the gate, or without one the verdict, open."""
        is_open = (
            not self.comparison.verdict.conclusive
            if gate is None
            else self.gate(gate) == "inconclusive"
        )
        without_value = self.failures is not None and self.failures.gate == "inconclusive"
        if gate is not None and self.gated is not None:
            low, high = self.gated_bounds
            above = low == 0 or high == math.inf
        else:
            pairs = self.more_pairs(gate)
            above = any(self.comparison.killed) and pairs is None and self._has_bounds
        return is_open and (above or (gate is not None and without_value))

    @property
    def further(self) -> Message | None:
        """What would settle it, where it is inconclusive."""
        if self.few is not None:
            return self.few
        if self.remedy is not None and (self.gated or not self.comparison.verdict.conclusive):
            return self.remedy.said
        if self.gated is not None or self.comparison.verdict.conclusive:
            return None
        more, least = self.comparison.more_pairs, self._missing_pairs
        killed = self._has_bounds and any(self.comparison.killed)
        if more is None and (killed or least <= 0):
            return message(
                phrases.DIFFERENCE_LONGER_LIMIT
                if killed
                else "too few pairs to estimate how many more would settle it"
            )
        about, pairs = ("least", least) if more is None else ("more", more)
        return message(
            _DIFFERENCE_TEXTS[about], pairs=pairs, time=_time(pairs * self.block_seconds)
        )

    @property
    def medians_apart(self) -> Message | None:
        """The ratio of the medians where it differs, as between separated modes."""
        c = self.comparison
        if c.low is None or c.high is None or c.low <= c.median_ratio <= c.high:
            return None
        if not 0 < c.median_ratio < math.inf or math.isnan(c.ratio):
            return None
        if abs(math.log(c.median_ratio / c.ratio)) < math.log1p(self.margin) / 2:
            return None
        return message(
            "ratio of medians {ratio}: the values have separated modes or a skew that the "
            "typical pair does not show",
            ratio=Change(c.median_ratio),
        )

    @property
    def of_pairs(self) -> Message | None:
        """That the ratio is of pairs, where that of the medians seems to contradict it."""
        c, (first, second) = self.comparison, self.medians
        if not self.paired or not first.estimate or self.medians_apart is not None:
            return None
        if not math.isfinite(first.estimate + second.estimate + c.ratio):
            return None
        if not contradicts(second.estimate / first.estimate, c.ratio, c.low, c.high):
            return None
        return message("the ratio is that of pairs, the medians are of all trials")

    def settle(self, gate: float | None) -> Message | None:
        """Say what would settle the gate, or without one the verdict; None: it is conclusive."""
        if gate is None:
            return self.further
        if self.gate(gate) != "inconclusive":
            return None
        if self.needs_longer_limit(gate):
            return message("a longer --timeout would settle it")
        if self.few is not None or self.gated is not None or not self.paired:
            return self.further
        more, c = self.more_pairs(gate), self.comparison
        if more is None:
            return message(_GATE_AT_GATE, margin=Chosen(gate))
        is_estimated = c.low is not None or c.more_pairs is not None
        about = "more_for_gate" if is_estimated else "least_for_gate"
        return message(_DIFFERENCE_TEXTS[about], pairs=more, time=_time(more * self.block_seconds))

    def more_pairs(self, gate: float | None) -> int | None:
        """Return how many more pairs would settle the gate, or without one the verdict.

        None: none are needed, no number of pairs would settle it, or the number is not known.
        """
        c = self.comparison
        if gate is None or not self.paired or self.few is not None:
            return c.more_pairs
        if self.gate(gate) != "inconclusive":
            return None
        if self.gated is not None:
            # Pairs that settle the median do not settle another statistic.
            pairs = None if self.remedy is None else self.remedy.pairs
            return None if self.needs_longer_limit(gate) else pairs
        if c.low is None or c.high is None:
            # Without an interval, its width is estimated for the margin alone.
            return max(self._missing_pairs, 1) if c.more_pairs is None else c.more_pairs
        return self._more_by_median(gate)

    @property
    def pairs_for_interval(self) -> int:
        """Pairs that are missing for an interval, where more than that is not known; 0: none."""
        c = self.comparison
        waits = self.paired and self.few is None and self.gated is None and not any(c.killed)
        return max(0, self._missing_pairs) if waits and c.low is None and not c.more_pairs else 0

    @property
    def _missing_pairs(self) -> int:
        """Pairs that are missing for an interval at this confidence."""
        return max(FIRST_LOOK, fewest_pairs(1 - self.comparison.confidence)) - self.comparison.n

    def _more_by_median(self, gate: float) -> int | None:
        """Return how many more pairs would settle a gate on the median, which has an interval."""
        c = self.comparison
        if not c.low or c.high is None or math.isinf(c.high) or math.isnan(c.ratio):
            return None
        half = math.log(c.high / c.low) / 2
        more = pairs_for_gate(c.n, math.log(c.ratio), half, gate, (c.tick or 0.0) + c.gap)
        return more and max(more, c.fewest - c.n)

    def gate_answer(self, x: float) -> Message:
        """Answer a gate with its evidence."""
        if self.failures is not None and self.failures.gate is not None:
            return self.failures.reason
        if (why := self._mean_refusal) is not None:
            return message(
                "{second} vs. {first}: the means are not compared, {why}",
                second=self.second,
                first=self.first,
                why=why,
            )
        if self.gated is None:
            where = message(
                "median of {% if paired %}pairs{% else %}sessions{% endif %}", paired=self.paired
            )
            ratio = self.estimate
        else:
            needed, n = pairs_needed(quantile_of(self.gate_on)), len(self.first_values)
            if self.gated.low is None and n < needed:
                return message(
                    "{second} vs. {first}: {pairs | counted('pair')}, and an interval of the {on} "
                    "needs {needed}",
                    second=self.second,
                    first=self.first,
                    pairs=n,
                    on=self.gate_on,
                    needed=needed,
                )
            where = message("{on}", on=self.gate_on)
            ratio = _ratio(self.gated)
        answer = self.gate(x)
        side = None if self.failures is None else self.failures.candidate
        seen = {} if side is None else {"trials": side.trials, "failed": side.crashed}
        return message(
            _GATE_TEXTS[answer],
            where=where,
            second=self.second,
            more=self.words.higher,
            first=self.first,
            margin=Chosen(x),
            ratio=ratio,
            **(seen if answer == "pass" else {}),
            **self._exceeded,
        )

    @property
    def _mean_refusal(self) -> Message | None:
        """Why a gate on the mean has no bounds although there are enough pairs."""
        values = self.first_values, self.second_values
        if self.gate_on != "mean":
            return None
        if len(values[0]) < pairs_needed(None) and not any(self.comparison.killed):
            return None
        return mean_gate_refusal(*values)

    def gate(self, x: float) -> GateAnswer:
        """Answer a gate: by failed trials, or safely below 1 + x, safely above, or neither."""
        if self.failures is not None and (answer := self.failures.gate) is not None:
            return answer
        low, high = self.gated_bounds
        if low is None or high is None:
            return "inconclusive"
        if high < 1 + x:
            return "pass"
        return "fail" if low > 1 + x else "inconclusive"

    def word_at_gate(self, gate: float | None) -> str | None:
        """Return what stands in place of an inconclusive verdict where a gate is conclusive."""
        if gate is None or self.comparison.verdict.conclusive:
            return None
        return word_at_gate(self.gate(gate), failed=self.fails_by_trials)

    def gate_cells(self, gate: float | None) -> dict[str, str | float | None]:
        """Return what a table's row has of a gate: its ratio, a word for the verdict it settles."""
        word = self.word_at_gate(gate)
        cells: dict[str, str | float | None] = {} if word is None else {"verdict": word}
        if gate is not None and self.gated is not None:
            low, high = self.gated_bounds
            cells |= {"gated": self.gated_estimate, "gated_low": low, "gated_high": high}
        return cells

    @property
    def fails_by_trials(self) -> bool:
        """Whether a gate fails because trials of the candidate did."""
        return self.failures is not None and self.failures.gate == "fail"

    def verdict(self, gate: float | None) -> Message:
        """State the verdict with its evidence, in words that agree with the answer of a gate."""
        if self.gated is None and self.word_at_gate(gate) is None:
            return self.answer
        return message(
            "{% if word %}{second} vs. {first} {ratio}{% else %}{answer}{% endif %}"
            "{% if on %} (median of pairs; the gate is on the {on}){% elif word == 'failed' %} in "
            "trials that did not fail{% elif word %}, {word} of {margin}{% endif %}",
            word=self.word_at_gate(gate),
            answer=self.answer,
            second=self.second,
            first=self.first,
            ratio=self.estimate,
            on=None if self.gated is None else self.gate_on,
            margin=None if gate is None else Chosen(gate),
        )

    @property
    def gated_estimate(self) -> float:
        """The ratio that a gate judges; infinite where it is not known."""
        if self.gated is None:
            return math.inf if self.comparison.ratio is None else self.comparison.ratio
        return exp(self.gated.middle)

    @property
    def gated_bounds(self) -> tuple[float | None, float | None]:
        """Bounds of the ratio that a gate judges."""
        if self.gated is None:
            return self.comparison.low, self.comparison.high
        low, high = (None if x is None else exp(x) for x in (self.gated.low, self.gated.high))
        return low, high

    @property
    def means_apart(self) -> Message | None:
        """The ratio of the means where it is safely larger than that of the typical pair."""
        c, means = self.comparison, self.means
        if self.gated is not None or means is None or means.low is None or c.high is None:
            return None
        if math.exp(means.low) <= max(c.high, 1 + self.margin):
            return None
        return message(
            "the mean of {second} differs more: {ratio}, as some values are much larger (a "
            "gate sees it with --gate-on mean)",
            second=self.second,
            ratio=_ratio(means),
        )

    @property
    def written_apart(self) -> Message | None:
        """That the sides write amounts of output whose cost the times do not include."""
        first, second = self.written_bytes
        if first is None or second is None:
            return None
        if abs(second - first) < max(_NOTABLE_BYTES, _NOTABLE_SHARE * first):
            return None
        return message(
            "{second} writes {more} per run, {first} {less}; output that is discarded here "
            "takes longer on a terminal, pipe or disk",
            first=self.first,
            second=self.second,
            less=Amount(first, "bytes"),
            more=Amount(second, "bytes"),
        )

    @property
    def steadiness(self) -> Message:
        """The spreads of both compared."""
        s = self.spread
        if self.few is not None:
            return message("inconclusive: too few requests a trial")
        if any(self.comparison.killed):
            return message(
                "not compared: runs that exceeded the limit leave the p10–p90 range open"
            )
        if s is None:
            return message("not compared: sessions differ in it as well")
        if s.low is None:
            return message(
                "inconclusive: a spread needs at least {pairs} pairs", pairs=FEWEST_FOR_RANGE
            )
        return message(
            "{word}{% if margin %} (within {margin}){% endif %}: p10–p90 range {ratio}",
            word=SPREADS.of(s.verdict),
            margin=factor(s.margin) if s.verdict.within_margin else None,
            ratio=Ratio(s.ratio or 1, s.low, s.high),
        )


def _ratio(shift: Shift) -> Ratio:
    low, high = (None if x is None else exp(x) for x in (shift.low, shift.high))
    return Ratio.of(math.exp(shift.middle), low, high)


def _time(seconds: float) -> Duration | None:
    return Duration(seconds) if seconds else None


@lru_cache(maxsize=4)
def differences(results: Results) -> tuple[Difference, ...] | Message:
    """Compare what an experiment was asked to compare.

    Parameters
    ----------
    results : Results
        Of an experiment with ``compare``.

    Returns
    -------
    tuple of Difference, or str
        In the order of the experiment; or why nothing can be compared.
    """
    factor = results.experiment.stopping.compare
    assert factor is not None
    basis = values_of(results)
    if isinstance(basis, Message):
        return basis
    planned = _planned(results, factor)
    reference = reference_level(factor, planned)
    cells = cells_of(results, basis)
    pairs = [p for p in cells.pairs(factor, reference) if p.reference == reference]
    if not pairs:
        return _nothing_shared(results, factor, reference)
    if refused := without_ratio(pairs, cells):
        return message("nothing is compared: {why}", why=refused)
    candidates = [own for own, _ in results.cells(STATUSES) if str(own[factor]) != reference]
    level = confidence(len(candidates))
    # Where trials were killed, the upper ends of the ranges are not known.
    spread = [p for p in pairs if not any(p.killed)]
    spreads, _ = compare_spreads(
        [p.within_sessions for p in spread],
        results.experiment.parallel_growth,
        seed=results.experiment.seed,
    )
    by_pair = dict(zip(map(id, spread), spreads, strict=True))
    block_s = sum(cell.seconds for cell in cells.all)
    found = tuple(_difference(results, basis, p, by_pair.get(id(p)), level, block_s) for p in pairs)
    found = tuple(map(_without_survivors, found))
    few = request_quantiles.few_in(results, basis.metric)
    return found if few is None else tuple(_unjudged(one, few) for one in found)


def _without_survivors(found: Difference) -> Difference:
    """Leave the ratio open where one side lacks the runs that a limit of another time killed."""
    failures = found.failures
    if failures is None or not failures.hides_times:
        return found
    open_ = replace(
        found.comparison, ratio=math.nan, low=0.0, high=math.inf, gap=math.inf,
        killed=(failures.reference.killed, failures.candidate.killed),
    )  # fmt: skip
    return _without_verdict(replace(found, remedy=Remedy(failures.killed_apart)), open_)


def _unjudged(found: Difference, few: Message) -> Difference:
    """Leave the values, and take all that is concluded from them."""
    first, second = (median.refused(few) for median in found.medians)
    found = replace(found, few=few, medians=(first, second))
    return _without_verdict(found, replace(found.comparison, low=None, high=None))


def _without_verdict(found: Difference, comparison: Comparison) -> Difference:
    """Return a difference with a comparison from which nothing is concluded."""
    inconclusive = replace(
        comparison, p=1.0, p_adjusted=1.0, verdict=INCONCLUSIVE, more_pairs=None, detectable=None
    )
    return replace(found, looks=(), spread=None, gated=None, means=None, comparison=inconclusive)


def emulated_apart(results: Results) -> Message | None:
    """Say that emulated platforms are compared with nothing; None: others were compared."""
    return emulated_cpu.note(results) if results.experiment.stopping.compare == "platform" else None


def _nothing_shared(results: Results, factor: str, reference: str) -> Message:
    if apart := emulated_apart(results):
        return message("nothing is compared: {why}", why=apart)
    if hopeless := failing(results, factor):
        return message("nothing is compared: {why}", why=failing_trials(results, factor, hopeless))
    return message(
        "nothing is compared: {reference} shares no good block with any other", reference=reference
    )


def failing(results: Results, factor: str) -> list[str]:
    """Name the levels of a factor that have no trial with a value."""
    good = set(results.counted[factor])
    return [str(level) for level in results.levels(factor) if level not in good]


def _planned(results: Results, factor: str) -> list[str]:
    """Return the levels of a factor in the order of the plan's cells."""
    return list(dict.fromkeys(str(own[factor]) for own, _ in results.cells(STATUSES)))


@lru_cache(maxsize=4)
def lost(results: Results) -> tuple[LostCandidate, ...]:
    """Return the candidates that a gate judges without a comparison, as every trial failed."""
    factor = results.experiment.stopping.compare
    if factor is None or results.experiment.stopping.gate is None:
        return ()
    reference = reference_level(factor, _planned(results, factor))
    return lost_candidates(results, factor, reference, failing(results, factor))


def failing_trials(results: Results, factor: str, levels: list[str]) -> Message:
    """Say that all trials of some levels failed, as :func:`failing` names them."""
    number = len(results.trial_table.where(status="failed", **{factor: set(levels)}))
    return all_failed(number, levels, on="on" if factor == "platform" else "of")


def _difference(
    results: Results,
    basis: Basis,
    pair: Pair,
    spread: SpreadComparison | None,
    level: float,
    block_s: float,
) -> Difference:
    asked, (first, second) = results.experiment, pair.trial_values
    looked = asked.stopping.trials is None
    if looked:
        found = _sequential(results, pair, level, basis.tick)
        comparison, looks = found.comparison, found.looks
        rests = message(
            "{pairs | counted('pair')}{% if analyses %} after {analyses} interim "
            "{% if analyses == 1 %}analysis{% else %}analyses{% endif %}{% endif %}",
            pairs=comparison.n,
            analyses=len(looks),
        )
    else:
        comparison = pair.sides.compare(asked.margin, level)
        looks = ()
        ends = earlier_ends(results)
        rests = (
            message(
                "{pairs | counted('pair')}, number raised after "
                "{verdicts | counted('earlier verdict')}",
                pairs=comparison.n,
                verdicts=ends,
            )
            if ends
            else message("{pairs | counted('pair')}, number fixed beforehand", pairs=comparison.n)
        )
    if pair.levels_of is not None:
        rows = pair.level_rows
        limits = pair.above[0][rows], pair.above[1][rows]
        apart = compare(first[rows], second[rows], asked.margin, level, limits=limits)
        comparison = replace(
            comparison, cliffs_delta=apart.cliffs_delta, median_ratio=apart.median_ratio
        )
    levels = pair.compared_levels
    of_reference = {**pair.levels, pair.factor: pair.reference}
    of_first = _cell(results, basis, of_reference)
    of_second = _cell(results, basis, levels)
    gated = None
    if asked.stopping.gate_on != "median":
        judged = quantile_of(asked.stopping.gate_on)
        gated = pair_ratio(
            first, second, judged, level, tick=basis.tick, seed=asked.seed, limits=pair.above
        )
    others = [f for f in results.varied if f != pair.factor]
    at = at_levels(pair.levels, others) if others else ""
    second_name = f"{pair.level} ({at})" if at else pair.level
    return Difference(
        first=pair.reference,
        second=second_name,
        factor=pair.factor,
        levels=levels,
        comparison=comparison,
        looks=looks,
        spread=spread,
        first_values=first,
        second_values=second,
        above=pair.above,
        trials=pair.trials,
        seconds=pair.seconds,
        others_seconds=max(0.0, block_s - pair.seconds),
        basis=basis,
        margin=asked.margin,
        method=_SEQUENTIAL if looked else _FIXED,
        counted=rests,
        level_values=(of_first.trial_values, of_second.trial_values),
        medians=(of_first.median, of_second.median),
        gate_on=asked.stopping.gate_on,
        gated=gated,
        means=pair_ratio(first, second, tick=basis.tick, limits=pair.above),
        remedy=None
        if gated is None
        else _more_for_gate(gated, first, second, block_s, asked.stopping),
        failures=SideFailures(
            Side.of(pair.reference, results, of_reference), Side.of(second_name, results, levels)
        ),
        written_bytes=(_written_bytes(results, of_reference), _written_bytes(results, levels)),
    )


def _written_bytes(results: Results, levels: Mapping[str, str]) -> float | None:
    written = results.values("written_bytes").where(**levels)["value"]
    return float(np.median(written)) if len(written) else None


def _more_for_gate(
    shift: Shift, first: FloatArray, second: FloatArray, seconds: float, stopping: Stopping
) -> Remedy | None:
    """Return what would settle a gate on the mean or on a quantile."""
    if stopping.gate is None:
        return None
    n, quantile = len(first), quantile_of(stopping.gate_on)
    more = pairs_needed(quantile) - n
    is_refused = more <= 0 or has_killed(first, second)
    if is_refused and shift.low is None and quantile is None:
        pairs = pairs_for_mean(first, second)
        time = pairs and _time(pairs * seconds)
        refused = message(
            "use --gate-on median or --gate-on p90{% if pairs %}; on the mean it takes about "
            "{pairs | counted('more pair')}{% if time %} ({time}){% endif %}{% endif %}",
            pairs=pairs,
            time=time,
        )
        return Remedy(refused, pairs, refuses_mean=True)
    if shift.low is not None and shift.high is not None:
        half, gate = (shift.high - shift.low) / 2, math.log1p(stopping.gate)
        if shift.high < gate or shift.low > gate or not math.isfinite(half + shift.middle):
            return None
        needed = pairs_for_gate(n, shift.middle, half, stopping.gate, shift.gap)
        if needed is None:
            return Remedy(message(_GATE_AT_GATE, margin=Chosen(stopping.gate)))
        more = needed
    if more <= 0:
        return None
    time = _time(more * seconds)
    return Remedy(message(_DIFFERENCE_TEXTS["more_for_gate"], pairs=more, time=time), more)


def _cell(results: Results, basis: Basis, levels: Mapping[str, str]) -> Cell:
    """Return the cell from which levels are taken: of all sessions, where that one has none."""
    return next(
        cell
        for some in (results.of_levels, results)
        for cell in cells_of(some, basis).all
        if cell.levels == levels
    )


_PAIRED = "Hodges–Lehmann median of paired log-ratios on common blocks, "
_SEQUENTIAL = f"{_PAIRED}median-unbiased at the stop, group-sequential signed-rank interval"
_FIXED = f"{_PAIRED}signed-rank interval"


def _sequential(results: Results, pair: Pair, level: float, tick: float | None) -> Sequential:
    """Compare as the stopping rule did; where it was cut short, spend what error is left."""
    asked = results.experiment
    stopping = asked.stopping
    judge_pairs = partial(
        compare_sequentially, *pair.trial_values, asked.margin, level, stopping.gate, tick=tick,
        first_look=stopping.min_trials or FIRST_LOOK, limits=pair.above,
    )  # fmt: skip
    found = judge_pairs()
    return found if found.stop or not _over(results) else judge_pairs(final=True)


def _over(results: Results) -> bool:
    """Tell whether the last session came to its end, rather than being cut off."""
    if not results.sessions or "reason" not in results.sessions:
        return True
    return results.ended in ("finished", "budget")


def earlier_ends(results: Results) -> int:
    """Count the sessions before the last that came to an end, and were judged there.

    Of a fixed number, those that had all of a smaller one.
    """
    if "reason" not in results.sessions:
        return 0
    end = "budget" if results.experiment.stopping.trials is None else "finished"
    return [*results.sessions["reason"][:-1]].count(end)


def judged_before(results: Results) -> Message | None:
    """Say how often a comparison that was judged earlier may raise a false alarm; None: once."""
    ends = earlier_ends(results)
    if not ends:
        return None
    return message(
        "the comparison was also judged at the end of {sessions | counted('earlier session')}"
        ". The probability of any false alarm is not {error} but up to {most}",
        sessions=ends,
        error=Chosen(ERROR),
        most=Chosen(ERROR * (1 + ends)),
    )


def gate_columns(stopping: Stopping) -> tuple[Column, ...]:
    """Return the columns of the ratio that a gate judges, where that is not the pairs' median."""
    if stopping.gate is None or stopping.gate_on == "median":
        return ()
    return interval_columns("gated", f"ratio of the {stopping.gate_on}", "ratio", "gated_")


def is_inconclusive(results: Results) -> bool:
    """Whether the gate, or without one any comparison, is inconclusive."""
    found, gate = differences(results), results.experiment.stopping.gate
    compared = () if isinstance(found, Message) else found
    if gate is None:
        return not compared or any(not d.comparison.verdict.conclusive for d in compared)
    if not (compared or lost(results)):
        return True
    return gate_of(compared, lost(results), gate).answer == "inconclusive"


def gate_of(found: Sequence[Difference], without: Sequence[LostCandidate], gate: float) -> Gate:
    """Answer a gate for all candidates, by the worst of them, with its evidence.

    Of several with the same answer, one of which every trial failed (``without``) is worst, then
    the largest ratio.
    """
    answers = [(one.gate, one.answer) for one in without]
    by_ratio = sorted(found, key=lambda d: d.gated_estimate, reverse=True)
    answers += [(d.gate(gate), d.gate_answer(gate)) for d in by_ratio]
    answer = worst([one for one, _ in answers])
    reason = next(said for one, said in answers if one == answer)
    return Gate(gate, answer, reason, len(answers))
