"""What to measure next, so that a bucket is known, or known not to be there, as soon as can be."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np

from tare.experiment.fingerprints.network.identified import Estimate, Identification
from tare.features.network.identify.bursts import Observed, drained_at, observe
from tare.features.network.identify.estimates import of_level
from tare.features.network.identify.identifying import identify
from tare.features.network.identify.spending import Balance, spending
from tare.networks.shaping.trace import QUANTUM_BITS, Trace
from tare.results.message import Amount, Duration, Message, message
from tare.statistics.levels import two_levels

#: Intervals that a phase of sending lasts at least, and seconds; and its share of what was sent.
_SOME, _SOME_S, _SHARE = 10, 2.0, 0.1
#: Intervals at the low rate before it is left, and pieces of acknowledgements that they carry.
_LOW, _PIECES = 12, 100
#: Intervals that a burst after a rest should last, least and most, and pieces that it carries more.
_BURST, _LONGEST, _BURST_PIECES = 20, 400, 16
#: Shares of what the bucket seems to hold that the first rest brings back at most, and any.
_PART, _MOST_PART = 0.3, 0.75
#: Factors on the first rest: unequal, so that what gathers no tokens is refuted.
_FACTORS = (1.0, 2.5, 1.6, 0.7, 2.0, 1.25)
#: Rests after which another would not help.
_RESTS = 6
#: Seconds of sending before which it is not said that there is no bucket.
_VERDICT_S = 30.0


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """What to do next; ask again with the trace when it is done.

    Attributes
    ----------
    action : {"send", "rest", "done"}
        Send at full speed, send nothing, or end.
    seconds : float
        For how long; 0 where it is done.
    why : Message
    """

    action: Literal["send", "rest", "done"]
    seconds: float
    why: Message


def next_phase(trace: Trace, most_s: float = 3600.0, precision: float = 0.02) -> Next:
    """Say what to do next to learn what shapes a network.

    Full speed until the rate falls or ``most_s`` have been sent; then rests, each followed by full
    speed until the bucket is empty once more, until the intervals are narrower than the precision.

    Parameters
    ----------
    trace : Trace
        So far, rests included; may be empty.
    most_s : float
        How long to send at most before it is said that no bucket was seen.
    precision : float
        Half the width of the intervals that are aimed at, relative.
    """
    seen = observe(trace)
    sent_s = float(trace.on_s.sum())
    if len(seen.index) < _SOME:
        return _more(seen, sent_s, most_s, message("the first seconds show the rate"))
    found = identify(trace, {})
    levels = two_levels(np.log(seen.rate), seen.starts)
    if found.kind == "starved" and sent_s < most_s:
        return _send(seen, message("an end had no CPU: only more sending shows the network"))
    # Of one burst alone it is not to be told whether steps in it are noise: a rest tells more.
    rested = len(seen.starts) > 1
    if levels is None or levels.returns or (rested and found.kind not in _FALLS):
        return _not_fallen(seen, found, sent_s, most_s)
    spent = spending(seen, levels)
    if _resting(trace):
        return _send(seen, message("the idle period is over: sending shows the refill"))
    if spent.empty_s < float(trace.end_s[-1]) - 1e-6:
        return _back(seen, sent_s, most_s)
    return _after_low(seen, spent, found, precision)


#: Kinds of falls of which rests tell more.
_FALLS = ("drop", "bucket", "boost", "hysteresis")


def _back(seen: Observed, sent_s: float, most_s: float) -> Next:
    """Go on until the rate that a rest brought back falls again."""
    if sent_s >= 2 * most_s:
        return _done(message("it did not fall again in {time}", time=Duration(most_s)))
    return _more(
        seen, sent_s, 2 * most_s, message("it is back at the high rate: send until it falls again")
    )


def _after_low(seen: Observed, spent: Balance, found: Identification, precision: float) -> Next:
    if spent.hidden:
        return _send(seen, message("more sending shows the low rate by itself"))
    rests = len(spent.refills)
    few = len(spent.low) < _LOW or float(spent.low.bits.sum()) < _PIECES * QUANTUM_BITS
    if few or (not rests and _loose(of_level(spent.low), precision)):
        return _send(seen, message("more sending makes the low rate precise"))
    if (why := _enough(found, rests, precision)) is not None:
        return _done(why)
    seconds = _rest_s(seen, spent, found, precision)
    if found.kind == "bucket":
        return Next(
            action="rest",
            seconds=seconds,
            why=message("another idle period makes the refill precise"),
        )
    return Next(
        action="rest",
        seconds=seconds,
        why=message("if it is a bucket, it refills at the low rate in an idle period"),
    )


def _enough(found: Identification, rests: int, precision: float) -> Message | None:
    """Return why no other idle period is needed; None: one is."""
    wanted = (found.high_gbps, found.low_gbps, found.budget_gbit, found.refill_gbps)
    if found.kind == "bucket" and not any(_loose(one, precision) for one in wanted):
        return message("high, low, budget and refill are as precise as required")
    if found.kind == "boost" and found.next_rest_s is None:
        return message("every burst is fast at first, after any idle period: no bucket")
    return (
        message("more than {n | counted('idle period')} would add little", n=rests)
        if rests >= _RESTS
        else None
    )


def _rest_s(seen: Observed, spent: Balance, found: Identification, precision: float) -> float:
    """Return a rest that is long enough to be seen, and too short to fill the bucket."""
    high, low = spent.high_bps, spent.low_bps
    noise = float(np.std(spent.high.rates)) / high
    count = min(_LONGEST, max(_BURST, math.ceil((2 * noise / precision) ** 2)))
    wanted = max(count * seen.interval_s * (high - low) / low, _BURST_PIECES * QUANTUM_BITS / low)
    held = math.inf
    if spent.first is not None:
        held = max(0.0, spent.first.beyond(low)) / low
    first = min(wanted, _PART * held)
    seconds = min(_FACTORS[len(spent.refills) % len(_FACTORS)] * first, _MOST_PART * held)
    if found.next_rest_s is not None and spent.refills:
        seconds = min(found.next_rest_s, _MOST_PART * held)
    # What waits in buffers goes through first: only then it rests.
    return max(seconds, 3 * seen.interval_s) + _draining_s(seen, low)


def _draining_s(seen: Observed, low_bps: float) -> float:
    """Return how long something still came through after bursts, at most."""
    trace, longest = seen.trace, 0.0
    for end in seen.ends:
        at = int(seen.index[end - 1])
        last = drained_at(trace, at, low_bps)
        longest = max(longest, float(trace.end_s[last] - trace.end_s[at]))
    return longest


#: Kinds that say that no bucket shapes a network.
_NO_BUCKET = ("stepped", "contention", "declining")


def _not_fallen(seen: Observed, found: Identification, sent_s: float, most_s: float) -> Next:
    if found.kind in _NO_BUCKET and sent_s >= min(_VERDICT_S, most_s):
        return _done(message("no bucket explains how the rate changes"))
    if sent_s >= most_s:
        sent = Amount(float(seen.sent[-1]), "bits")
        return _done(
            message(
                "no bucket was seen within {sent}, sent in {time}", sent=sent, time=Duration(sent_s)
            )
        )
    return _more(seen, sent_s, most_s, message("no fall so far: a bucket would not be empty yet"))


def _more(seen: Observed, sent_s: float, most_s: float, why: Message) -> Next:
    least = max(_SOME * seen.interval_s, _SOME_S)
    seconds = min(max(least, _SHARE * sent_s), max(least, most_s - sent_s))
    return Next(action="send", seconds=seconds, why=why)


def _send(seen: Observed, why: Message) -> Next:
    return Next(action="send", seconds=max(_SOME * seen.interval_s, _SOME_S), why=why)


def _done(why: Message) -> Next:
    return Next(action="done", seconds=0.0, why=why)


def _resting(trace: Trace) -> bool:
    return bool(trace.on_s[-1] == 0)


def _loose(known: Estimate | None, precision: float) -> bool:
    if known is None or known.value <= 0:
        return True
    return known.ci[1] - known.ci[0] > 2 * precision * known.value
