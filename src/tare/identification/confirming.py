"""Whether what a rest brought back is what a bucket would have gathered in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tare.identification.document import Shape
from tare.identification.observed import Observed
from tare.identification.spending import Spending
from tare.identification.steady import changing
from tare.identification.telling import span, stamp
from tare.shaping.rates import format_rate
from tare.statistics.bucket import Refilling, Stretch, refilling
from tare.statistics.levels import Levels
from tare.statistics.telling import percent

#: Relative difference of what was sent from what was predicted that is a match: of one rest, and
#: of several that agree with each other.
_MATCH, _MATCH_AMONG = 0.06, 0.1
#: Standard errors of what was sent by which it may differ beyond that.
_ERRORS = 3.0
#: Share of the rests after which a prediction must be matched.
_MOSTLY = 0.8
#: Rests of one length that must agree with each other where no rate predicts them.
_AGREE = 3
#: Intervals that a predicted burst must last to be seen at all.
_SEEN = 1.5
#: Rests within this factor are of one length.
_ALIKE = 1.2


@dataclass(frozen=True)
class Verdict:
    """What a fall is.

    Attributes
    ----------
    kind : {"drop", "bucket", "stepped"}
    reasons : tuple of str
    filling : Refilling or None
        How the bucket fills, where that is identified.
    held : (float, float) or None
        Where every rest filled the bucket, so that what comes back is not known: the least and the
        most that it holds.
    """

    kind: Shape
    reasons: tuple[str, ...]
    filling: Refilling | None = None
    held: tuple[float, float] | None = None


def judged(seen: Observed, levels: Levels, spent: Spending) -> Verdict:
    """Say whether a fall is a bucket that ran empty."""
    fell = _fell(seen, spent)
    if len(seen.starts) == 1 and changing(seen.rate, levels.fall[0]):
        return Verdict("stepped", ())
    if not spent.refills:
        return _once(seen, levels, spent, fell)
    if spent.hidden:
        return Verdict(
            "drop",
            (
                f"{fell}: consistent with a bucket, not confirmed.",
                "Every interval since then began with what came back in the rest before it, so "
                "that the low rate is not identifiable from this pattern; shorter intervals or a "
                "longer time of sending would show it.",
            ),
        )
    return _brought_back(seen, spent, fell)


def _brought_back(seen: Observed, spent: Spending, fell: str) -> Verdict:
    """Judge what rests brought back."""
    low = float(np.median(spent.low))
    short = all(one < _SEEN * seen.interval_s for one in spent.bursts_s)
    if short:
        return _nothing_back(seen, spent, low, fell)
    filling = refilling(spent.refills)
    at_low = [_matches(one.sent, low * one.seconds, one.error, _MATCH) for one in spent.refills]
    agreed = filling is not None and _agree(spent.refills, filling)
    if filling is not None and (np.mean(at_low) >= _MOSTLY or agreed):
        return Verdict("bucket", (_confirmed(spent.refills, filling, low, fell),), filling)
    held = _always_full(spent, low)
    if held is not None:
        return Verdict("bucket", (_full(spent, held, fell),), None, held)
    return _unexplained(spent, low, fell)


def _fell(seen: Observed, spent: Spending) -> str:
    after = stamp(spent.falls_s - spent.begin_s)
    rates = f"from {format_rate(float(np.median(spent.high)))}"
    if not spent.hidden:
        rates += f" to {format_rate(float(np.median(spent.low)))}"
    return f"After {after} the rate fell {rates}"


def _once(seen: Observed, levels: Levels, spent: Spending, fell: str) -> Verdict:
    """Judge a fall after which no rest was followed by another."""
    last = int(np.flatnonzero(levels.dry)[-1])
    if last + 1 < len(levels.dry):
        since = float(seen.trace.start_s[seen.index[seen.starts[last + 1]]])
        up = float(seen.trace.end_s[seen.index[-1]]) - since
        return Verdict(
            "drop",
            (
                f"{fell}: consistent with a bucket, not confirmed.",
                f"After a rest it was back at the high rate, and did not fall again in {span(up)}: "
                "keep sending until it does.",
            ),
        )
    return Verdict(
        "drop",
        (
            f"{fell}, and did so once: consistent with a bucket, not confirmed. Contention, or a "
            "limit that was changed, would look the same.",
        ),
    )


def _nothing_back(seen: Observed, spent: Spending, low: float, fell: str) -> Verdict:
    high = float(np.median(spent.high))
    rest = max((one.seconds for one in spent.refills), default=0.0)
    burst = low * rest / max(high - low, 1e-9)
    if burst < 2 * _SEEN * seen.interval_s:
        return Verdict(
            "drop",
            (
                f"{fell}: consistent with a bucket, not confirmed.",
                f"What a rest of {span(rest)} would bring back lasts no longer than an interval: "
                "rest longer, or measure in shorter intervals.",
            ),
        )
    return Verdict(
        "stepped",
        (
            f"{fell}, and a rest of {span(rest)} brought nothing back, after which a bucket that "
            f"fills at that rate would have sent at the high rate for {span(burst)}: others share "
            "the network, or its limit was changed.",
        ),
    )


def _matches(sent: float, predicted: float, error: float, within: float) -> bool:
    return abs(sent - predicted) <= within * predicted + _ERRORS * error


def _agree(refills: tuple[Stretch, ...], filling: Refilling) -> bool:
    """Whether rests agree on one rate, and on one capacity, well enough to be a bucket's."""
    predicted = []
    for one in refills:
        grown = filling.rate * one.seconds
        if filling.capacity is not None and one.rest_s is not None:
            burst = one.seconds - one.rest_s
            grown = min(filling.capacity, filling.rate * one.rest_s) + filling.rate * burst
        predicted.append(_matches(one.sent, grown, one.error, _MATCH_AMONG))
    rests = [one.rest_s for one in refills if one.rest_s]
    varied = len(rests) >= 2 and max(rests) >= _ALIKE * min(rests)
    enough = len(refills) >= _AGREE or (varied and len(refills) >= 2)
    return enough and float(np.mean(predicted)) >= _MOSTLY


def _always_full(spent: Spending, low: float) -> tuple[float, float] | None:
    """Return the bounds of what a bucket holds that every rest has filled, if that fits."""
    if spent.first is None:
        return None
    rests = [one for one in spent.refills if one.rest_s]
    start = spent.first.sent - low * spent.first.seconds
    for one in rests:
        rest = one.rest_s or 0.0
        held = one.sent - low * (one.seconds - rest)
        apart = abs(held - start)
        allowed = _MATCH * start + _ERRORS * np.hypot(one.error, spent.first.error)
        if start <= 0 or apart > allowed or held > low * rest:
            return None
    if not rests:
        return None
    # What comes back is at least what the shortest rest brought, and at most the low rate.
    shortest = min(rests, key=lambda one: one.rest_s or 0.0)
    most = spent.first.sent / (1 + spent.first.seconds / (shortest.rest_s or 1.0))
    return min(start, most), max(start, most)


def _confirmed(refills: tuple[Stretch, ...], filling: Refilling, low: float, fell: str) -> str:
    n = len(refills)
    rests = f"{n} rests" if n > 1 else f"a rest of {span(refills[0].rest_s or 0.0)}"
    apart = [abs(one.sent / _grown(one, filling, n, low) - 1) for one in refills]
    off = percent(max(0.001, float(np.median(apart))))
    by = "refilling at the low rate" if n == 1 else f"refilling at {format_rate(filling.rate)}"
    return (
        f"{fell}, and after {rests} it was back for as long as a bucket {by} predicts, within "
        f"{off}{' in the middle' if n > 1 else ''}: a token bucket."
    )


def _grown(one: Stretch, filling: Refilling, n: int, low: float) -> float:
    """Return what a stretch should have sent; one alone is predicted by the low rate."""
    rate = low if n == 1 else filling.rate
    grown = rate * one.seconds
    if filling.capacity is not None and one.rest_s is not None:
        grown = min(grown, filling.capacity + rate * (one.seconds - one.rest_s))
    return grown


def _full(spent: Spending, held: tuple[float, float], fell: str) -> str:
    rest = min(one.rest_s for one in spent.refills if one.rest_s)
    least = held[0] / rest
    return (
        f"{fell}, and after a rest of {span(rest)} as much was sent again before it fell: a token "
        f"bucket that the rest had filled. Its refill is not identifiable from that: at least "
        f"{format_rate(least)}, at most the low rate; a shorter rest would show it."
    )


def _unexplained(spent: Spending, low: float, fell: str) -> Verdict:
    shares = [one.sent / (low * one.seconds) for one in spent.refills]
    if len(spent.refills) == 1 and shares[0] <= 1 + _MATCH_AMONG:
        return Verdict(
            "drop",
            (
                f"{fell}, and a rest brought back {percent(shares[0])} of what a bucket refilling "
                "at the low rate would have gathered: consistent with a bucket that fills more "
                "slowly, not confirmed. A second rest, half as long, would tell.",
            ),
        )
    return Verdict(
        "stepped",
        (
            f"{fell}, and what came back after rests fits no bucket: {percent(min(shares))} to "
            f"{percent(max(shares))} of what the low rate would have gathered. Others share the "
            "network, or its limit was changed.",
        ),
    )
