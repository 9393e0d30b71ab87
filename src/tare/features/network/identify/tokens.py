"""What a bucket holds, what comes back, what is left: each with an interval, or why not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tare.experiment.fingerprints.network.identified import Estimate
from tare.features.network.identify.bursts import Observed
from tare.features.network.identify.confirming import Verdict
from tare.features.network.identify.estimates import DRAWS, normal, of_draws
from tare.features.network.identify.messages import bits_of, rate_of
from tare.features.network.identify.spending import Balance
from tare.results.message import Duration, Message, message
from tare.statistics.bucket import Refilling
from tare.statistics.statistic import FloatArray


@dataclass(frozen=True)
class Tokens:
    """As in the document; all None where nothing is known."""

    budget: Estimate | None = None
    refill: Estimate | None = None
    start: Estimate | None = None
    capacity_shown: bool | None = None
    left: Estimate | None = None
    full_after: Estimate | None = None
    reasons: tuple[Message, ...] = ()


def tokens_of(seen: Observed, spent: Balance, verdict: Verdict) -> Tokens:
    """Say of a fall what is known of the bucket."""
    if verdict.filling is None:
        return Tokens(reasons=_conditional(spent) if verdict.kind == "drop" else ())
    return _filled(seen, spent, verdict.filling)


def _conditional(spent: Balance) -> tuple[Message, ...]:
    """Say what a bucket would have held, if it was one."""
    first = spent.first
    if first is None or first.sent <= 0:
        return (
            message("budget and refill are not identifiable: it was never seen to be depleted"),
        )
    if spent.hidden:
        rates = [one.rate for one in spent.refills]
        if not rates:
            return (message("budget and refill are not identifiable from this pattern"),)
        rate = float(np.mean(rates))
        held = first.beyond(rate)
        return (
            message(
                "budget and refill are not identifiable from this pattern, since a lower rate "
                "would look the same. If the low rate is the refill, the bucket refills at "
                "{rate} and held {held}",
                rate=rate_of(rate),
                held=bits_of(held),
            ),
        )
    low = spent.low_bps
    held = first.beyond(low)
    return (
        message(
            "one drop, after {sent}, cannot separate budget from refill. If it refills at "
            "the low rate, as on EC2 (CLOUDNET), the bucket held {held} and is full after an "
            "idle period of {idle}. If it does not refill, it held {sent}",
            sent=bits_of(first.sent),
            held=bits_of(held),
            idle=Duration(float(held / low)),
        ),
    )


def _filled(seen: Observed, spent: Balance, filling: Refilling) -> Tokens:
    rate = normal(filling.rate, filling.rate_error, 0)
    start, start_draws = _start(spent, filling, rate)
    if filling.capacity is not None:
        budget, budget_draws = (
            filling.capacity,
            normal(filling.capacity, filling.capacity_error or 0.0, 2),
        )
    else:
        budget, budget_draws = _most(spent, filling, rate, (start, start_draws))
    left, left_draws = _left(seen, spent, filling.rate, rate, (budget, budget_draws))
    missing = np.maximum(0.0, budget_draws - left_draws) / rate
    return Tokens(
        budget=of_draws(budget, budget_draws),
        refill=of_draws(filling.rate, rate),
        start=None if start is None else of_draws(max(0.0, start), start_draws),
        capacity_shown=filling.capacity is not None,
        left=of_draws(left, left_draws),
        full_after=of_draws(max(0.0, budget - left) / filling.rate, missing, 1.0),
        reasons=(_capacity(filling, start, budget),),
    )


def _start(spent: Balance, filling: Refilling, rate: FloatArray) -> tuple[float | None, FloatArray]:
    """Return what was in the bucket at first."""
    first = spent.first
    if first is None:
        return None, np.zeros(DRAWS)
    sent = normal(first.sent, first.error, 1)
    return first.beyond(filling.rate), sent - rate * first.seconds


def _most(
    spent: Balance, filling: Refilling, rate: FloatArray, start: tuple[float | None, FloatArray]
) -> tuple[float, FloatArray]:
    """Return the most that was seen in the bucket: at first, or after its longest rest."""
    rested = [one for one in spent.refills if one.rest_s]
    longest = max((one.rest_s or 0.0 for one in rested), default=0.0)
    after = filling.rate * longest
    if start[0] is not None and start[0] >= after:
        return start[0], start[1]
    return after, rate * longest


def _left(
    seen: Observed,
    spent: Balance,
    rate: float,
    rates: FloatArray,
    budget: tuple[float, FloatArray],
) -> tuple[float, FloatArray]:
    """Follow the bucket from when it was empty last to the end of the trace."""
    trace = seen.trace
    since = int(np.searchsorted(trace.start_s, spent.empty_s - 1e-9))
    left, draws, at = 0.0, np.zeros(DRAWS), spent.empty_s
    # Interval by interval only since then, which is a rest and a burst at most.
    for k in range(since, len(trace)):
        waited = float(trace.end_s[k]) - at
        sent = float(trace.bits[k]) if np.isfinite(trace.bits[k]) else 0.0
        left = min(budget[0], max(0.0, left + rate * waited - sent))
        draws = np.minimum(budget[1], np.maximum(0.0, draws + rates * waited - sent))
        at = float(trace.end_s[k])
    return left, draws


def _capacity(filling: Refilling, start: float | None, budget: float) -> Message:
    if filling.capacity is not None:
        return message(
            "it holds {budget}: longer idle periods refilled no more", budget=bits_of(budget)
        )
    if start is not None and budget == start:
        return message(
            "it held {budget} at the start, its capacity if it was full then. No idle period "
            "was long enough to show more",
            budget=bits_of(budget),
        )
    return message(
        "it holds at least {budget}: it was not full at the start, and no idle period was "
        "long enough to fill it",
        budget=bits_of(budget),
    )
