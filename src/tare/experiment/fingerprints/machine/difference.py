"""Is it still the same machine? Fingerprints beside each other, metric by metric.

A machine varies by itself from one minute to the next by more than the rounds of one take show.
So a change counts only where it is shown in *every* pair of takes, is significant over the whole
family of metrics, and reaches beyond the margin of the metric with all of its interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from tare.experiment.fingerprints.machine.document import Fingerprint
from tare.registry import Probe
from tare.statistics.statistic import FloatArray

#: Of what is called a change, over all metrics that are compared.
ALPHA = 0.05
#: Where a probe says nothing of the smallest change that matters.
DEFAULT_MARGIN = 0.1

#: Facts of a moment, not of the machine.
_PASSING = frozenset({"load_average"})
#: How it was measured: attributes of a fingerprint, and facts that are none of the machine.
_SETTINGS = ("platform", "effort", "tare", "agent")
_SETTING_FACTS = ("seed", "memory_limit_bytes", "file_limit_bytes")

#: ``changed``: significant, and by more than the margin; ``same``: surely by less than it;
#: ``inconclusive``: neither. Of all metrics together: see :func:`overall`.
Verdict = Literal["changed", "same", "inconclusive"]

Fact = bool | int | float | str

#: Values of each round by metric: what one measuring of the machine brought.
Take = Mapping[str, Sequence[float]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What a metric says of its changes."""

    unit: str
    better: Literal["lower", "higher", "neither"]
    margin: float


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One metric, before and after."""

    metric: str
    unit: str
    #: Medians over all rounds.
    before: float
    after: float
    #: After over before: Hodges–Lehmann median over all pairs of rounds, with the hull of its
    #: intervals of all pairs of takes. It need not be the ratio of the two medians.
    ratio: float
    low: float | None
    high: float | None
    #: Adjusted by Holm over the metrics; the largest over the pairs of takes.
    p: float
    margin: float
    verdict: Verdict
    #: None: neither direction is better, or nothing changed.
    direction: Literal["better", "worse"] | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Two fingerprints beside each other."""

    #: Of all metrics together.
    verdict: Verdict
    #: Those that changed first, then by size.
    changes: tuple[Change, ...]
    #: Facts of the machine that both have and that differ: name, before, after.
    facts: dict[str, tuple[Fact, Fact]]
    #: How they were measured, where that differs.
    settings: dict[str, tuple[Fact, Fact]] = {}
    #: Facts of the machine that only one of the two has: that is no change.
    facts_of_one: tuple[str, ...] = ()
    #: Metrics that only one of the two has.
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    #: Metrics that both have, with values of which there is no ratio, such as 0.
    without_ratio: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[Change, ...]:
        """What changed by more than matters."""
        return tuple(c for c in self.changes if c.verdict == "changed")


def overall(changes: Sequence[Change]) -> Verdict:
    """Judge a machine by its metrics.

    ``changed`` where one has; ``same`` where none has and more are shown to be the same than are
    inconclusive: that nothing is shown is no sameness.
    """
    verdicts = [c.verdict for c in changes]
    if "changed" in verdicts:
        return "changed"
    return "same" if verdicts.count("same") > verdicts.count("inconclusive") else "inconclusive"


def differences(
    before: Sequence[Take], after: Sequence[Take], rules: Mapping[str, Rule], beside: int = 1
) -> tuple[Change, ...]:
    """Compare two groups of takes of a machine.

    Parameters
    ----------
    before, after : sequence of Take
        One or more takes on each side; metrics that some take lacks are left out.
    rules : mapping
        Rule by metric; metrics without one are left out.
    beside : int
        Comparisons that are made together, such as all pairs of sessions: they share the error.

    Returns
    -------
    tuple of Change
        In the order of the rules.

    Notes
    -----
    The ratio is the Hodges–Lehmann median of all rounds after over all before, and its interval
    inverts the Brunner–Munzel test. Over pairs of takes the test is that of an intersection: the
    largest p counts, and the hull of the intervals, in which the ratio over all of them lies. Over
    metrics, Holm; p is Welch's, of logs, since that of ranks cannot be small enough for a hundred
    metrics with seven rounds [2 / C(14, 7) = 0.0006].
    """
    # Here, since sessions ask this module for rules alone, and hold what it loads.
    from tare.statistics.holm import holm

    common = [m for m in rules if all(_usable(take.get(m)) for take in (*before, *after))]
    found = [_pairs(m, before, after) for m in common]
    adjusted = holm([p for *_, p in found]) if found else []
    return tuple(
        _change(metric, rules[metric], before, after, interval, min(1.0, beside * p))
        for metric, (interval, _), p in zip(common, found, adjusted, strict=True)
    )


def compare(before: Fingerprint, after: Fingerprint, probes: Mapping[str, Probe]) -> Difference:
    """Compare two fingerprints.

    Parameters
    ----------
    before, after : Fingerprint
    probes : mapping
        What the agent's probes say of their metrics.
    """
    a, b = before.metrics, after.metrics
    rules = {m: rule(m, a[m].unit, probes) for m in a if m in b and a[m].unit == b[m].unit}
    changes = differences(
        [{m: a[m].values for m in rules}], [{m: b[m].values for m in rules}], rules
    )
    return Difference(
        verdict=overall(changes),
        changes=tuple(sorted(changes, key=_prominence)),
        facts=_common(_machine(before), _machine(after)),
        settings=_common(_settings(before), _settings(after)),
        facts_of_one=tuple(sorted(_machine(before).keys() ^ _machine(after).keys())),
        only_before=tuple(sorted(set(a) - set(rules))),
        only_after=tuple(sorted(set(b) - set(rules))),
        without_ratio=tuple(sorted(set(rules) - {c.metric for c in changes})),
    )


def _machine(one: Fingerprint) -> dict[str, Fact]:
    apart = {*_PASSING, *_SETTING_FACTS}
    return {name: one.facts[name] for name in sorted(one.facts) if name not in apart}


def _settings(one: Fingerprint) -> dict[str, Fact]:
    told = {name: getattr(one, name) for name in _SETTINGS}
    return told | {name: one.facts[name] for name in _SETTING_FACTS if name in one.facts}


def _common(before: Mapping[str, Fact], after: Mapping[str, Fact]) -> dict[str, tuple[Fact, Fact]]:
    """Return what both have, where it differs."""
    return {
        name: (was, after[name])
        for name, was in before.items()
        if name in after and was != after[name]
    }


def rule(metric: str, unit: str, probes: Mapping[str, Probe]) -> Rule:
    """Find what a probe says of a metric, or of the curve that the metric was taken from."""
    listed = [m for probe in probes.values() for m in probe.metrics if _below(metric, m.name)]
    if listed:
        nearest = max(listed, key=lambda m: len(m.name))
        # A size found from a curve of latencies has the curve's margin, but no direction.
        better = nearest.better if nearest.unit == unit else "neither"
        return Rule(unit=unit, better=better, margin=nearest.margin)
    return Rule(unit=unit, better="neither", margin=DEFAULT_MARGIN)


def _below(metric: str, name: str) -> bool:
    return metric == name or metric.startswith(f"{name}.")


def _usable(values: Sequence[float] | None) -> bool:
    """Ratios need values above zero."""
    return values is not None and len(values) > 0 and all(v > 0 for v in values)


Pairs = tuple[tuple[float, float] | None, float]


def _pairs(metric: str, before: Sequence[Take], after: Sequence[Take]) -> Pairs:
    """Return the hull of the intervals over all pairs of takes, in logs, and the largest p."""
    from tare.statistics.brunner_munzel import brunner_munzel_interval

    hull: tuple[float, float] | None = (math.inf, -math.inf)
    largest = 0.0
    for one in before:
        for other in after:
            a, b = np.log(np.array(one[metric])), np.log(np.array(other[metric]))
            largest = max(largest, _p(a, b))
            found = brunner_munzel_interval(a, b)
            if found is None:
                hull = None
            elif hull is not None:
                hull = (min(hull[0], found[1]), max(hull[1], found[2]))
    return hull, largest


def _p(first: FloatArray, second: FloatArray) -> float:
    """Two-sided p of "the means are equal"; what never varies differs surely or not at all."""
    if len(first) < 2 or len(second) < 2:
        return 1.0
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return float(first[0] == second[0])
    from scipy import special  # which a session that only measures does without

    # Welch's test.
    a, b = (float(np.var(x, ddof=1)) / len(x) for x in (first, second))
    freedom = (a + b) ** 2 / (a**2 / (len(first) - 1) + b**2 / (len(second) - 1))
    distance = abs(float(first.mean() - second.mean())) / math.sqrt(a + b)
    return float(2 * special.stdtr(freedom, -distance))


def _sd(values: FloatArray) -> float:
    return float(np.std(values, ddof=1))


def _change(
    metric: str,
    rule: Rule,
    before: Sequence[Take],
    after: Sequence[Take],
    hull: tuple[float, float] | None,
    p: float,
) -> Change:
    from tare.statistics.brunner_munzel import median_difference

    first, second = (np.sort(_rounds(metric, takes)) for takes in (before, after))
    verdict: Verdict = "inconclusive"
    if hull is not None:
        limit = math.log1p(rule.margin)
        if p <= ALPHA and (hull[0] > limit or hull[1] < -limit):
            verdict = "changed"
        elif -limit < hull[0] and hull[1] < limit:
            verdict = "same"
    direction: Literal["better", "worse"] | None = None
    if hull is not None and verdict == "changed" and rule.better != "neither":
        direction = "better" if (hull[0] > 0) == (rule.better == "higher") else "worse"
    return Change(
        metric=metric,
        unit=rule.unit,
        before=float(np.median(first)),
        after=float(np.median(second)),
        ratio=math.exp(median_difference(np.log(first), np.log(second))),
        low=None if hull is None else math.exp(hull[0]),
        high=None if hull is None else math.exp(hull[1]),
        p=p,
        margin=rule.margin,
        verdict=verdict,
        direction=direction,
    )


def _rounds(metric: str, takes: Sequence[Take]) -> FloatArray:
    return np.array([value for take in takes for value in take[metric]])


def _prominence(change: Change) -> tuple[int, float]:
    order = {"changed": 0, "inconclusive": 1, "same": 2}
    return order[change.verdict], -abs(math.log(change.ratio))
