"""What a bucket holds, what comes back, what is left: each with an interval, or why not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tare.identification.confirming import Verdict
from tare.identification.document import Estimate
from tare.identification.estimates import DRAWS, normal, of_draws
from tare.identification.observed import Observed
from tare.identification.spending import Spending
from tare.statistics.bucket import Refilling
from tare.statistics.statistic import FloatArray
from tare.units import duration, quantity


@dataclass(frozen=True)
class Tokens:
    """As in the document; all None where nothing is known."""

    budget: Estimate | None = None
    refill: Estimate | None = None
    start: Estimate | None = None
    capacity_shown: bool | None = None
    left: Estimate | None = None
    full_after: Estimate | None = None
    reasons: tuple[str, ...] = ()


def tokens_of(seen: Observed, spent: Spending, verdict: Verdict) -> Tokens:
    """Say of a fall what is known of the bucket."""
    if verdict.filling is None:
        return Tokens(reasons=_conditional(spent) if verdict.kind == "drop" else ())
    return _filled(seen, spent, verdict.filling)


def _conditional(spent: Spending) -> tuple[str, ...]:
    """Say what a bucket would have held, if it was one."""
    first = spent.first
    if first is None or first.sent <= 0:
        return ("Budget and refill are not identifiable: it was not seen to be emptied.",)
    if spent.hidden:
        rates = [one.rate for one in spent.refills]
        if not rates:
            return ("Budget and refill are not identifiable from this pattern.",)
        rate = float(np.mean(rates))
        held = first.beyond(rate)
        return (
            "Budget and refill are not identifiable from this pattern, since a lower rate would "
            "look the same; if it is a bucket whose low rate is its refill, "
            f"{quantity(rate, 'bits/s')} "
            f"came back and it held {quantity(held, 'bits')}.",
        )
    low = spent.low_bps
    held = first.beyond(low)
    return (
        f"Budget and refill are not identifiable from one drop: {quantity(first.sent, 'bits')} had "
        f"been sent by then. If what comes back is the low rate, as CLOUDNET found on "
        f"EC2, the bucket held {quantity(held, 'bits')} and is full again after "
        f"{duration(held / low)} of "
        f"rest; if nothing came back meanwhile, it held {quantity(first.sent, 'bits')}.",
    )


def _filled(seen: Observed, spent: Spending, filling: Refilling) -> Tokens:
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
        reasons=_capacity(spent, filling, start, budget),
    )


def _start(
    spent: Spending, filling: Refilling, rate: FloatArray
) -> tuple[float | None, FloatArray]:
    """Return what was in the bucket at first."""
    first = spent.first
    if first is None:
        return None, np.zeros(DRAWS)
    sent = normal(first.sent, first.error, 1)
    return first.beyond(filling.rate), sent - rate * first.seconds


def _most(
    spent: Spending, filling: Refilling, rate: FloatArray, start: tuple[float | None, FloatArray]
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
    spent: Spending,
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


def _capacity(
    spent: Spending, filling: Refilling, start: float | None, budget: float
) -> tuple[str, ...]:
    if filling.capacity is not None:
        return (
            f"It holds {quantity(budget, 'bits')}: longer rests brought back no more than that.",
        )
    if start is not None and budget == start:
        return (
            f"It held {quantity(budget, 'bits')} at the start: all that it holds if it was "
            "full then. "
            "No rest was long enough to show more.",
        )
    return (
        f"It was not full when the trace began, and no rest was long enough to fill it: it holds "
        f"at least {quantity(budget, 'bits')}.",
    )
