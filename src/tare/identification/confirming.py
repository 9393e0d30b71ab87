"""Whether what rests brought back is what a bucket would have gathered in them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tare.identification.document import Shape
from tare.identification.observed import Observed
from tare.identification.spending import Spending
from tare.identification.steady import changing, falls_within
from tare.identification.telling import stamp
from tare.shaping.trace import QUANTUM_BITS
from tare.statistics.bucket import Refilling, refilling
from tare.statistics.levels import Levels
from tare.statistics.statistic import FloatArray
from tare.units import duration, percent, quantity

#: Relative difference, and standard errors, by which what came back may be off what a bucket would
#: have gathered.
_MATCH, _ERRORS = 0.06, 3.0
#: What came back tells something where it may be off by this share at most.
_SHARP = 0.25
#: Relative difference of the mean over rests of one length.
_CLOSE = 0.03
#: Share of the rests after which a prediction must be matched.
_MOSTLY = 0.8
#: Rests that differ by this factor are unequal: what does not gather tokens is refuted by them.
UNEQUAL = 1.5
#: Rests that must be matched by the low rate where none differs in length, and by any other rate.
_SEVERAL = 3
#: Standard errors above which something came back at all, and share of what the low rate would have
#: carried: less is other traffic, such as round trips that are measured.
_SEEN, _TRACE = 4.0, 0.002


@dataclass(frozen=True)
class Verdict:
    """What a fall is.

    Attributes
    ----------
    kind : str
    reasons : tuple of str
    filling : Refilling or None
        How the bucket fills, where that is identified.
    next_rest_s : float or None
        The rest that would tell, where it is not known whether it is a bucket.
    """

    kind: Shape
    reasons: tuple[str, ...]
    filling: Refilling | None = None
    next_rest_s: float | None = None


@dataclass(frozen=True, eq=False)
class _Returns:
    """What came back after each rest.

    Attributes
    ----------
    rest, fast : array, shape (n,)
        Seconds in which nothing was sent, and then at the high rate.
    total, sent, error : array, shape (n,)
        Bits that were sent then, those of them beyond the low rate, and their standard error.
    agreed : array, shape (n,)
        The standard error as far as rests agree with each other.
    meanwhile : array, shape (n,)
        Bits that went through in the rest.
    single : bool array, shape (n,)
        Whether the rest was in one piece.
    """

    rest: FloatArray
    fast: FloatArray
    total: FloatArray
    sent: FloatArray
    error: FloatArray
    agreed: FloatArray
    meanwhile: FloatArray
    single: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rest)

    def only(self, those: NDArray[np.bool_]) -> _Returns:
        """Return some of them."""
        return _Returns(*(getattr(self, field.name)[those] for field in fields(self)))

    def allowed(self, predicted: FloatArray) -> FloatArray:
        """Return by how much each may be off what is predicted."""
        # A piece may be hidden, and a shaper lets about one through before it shapes.
        return np.asarray(_MATCH * predicted + _ERRORS * self.error + QUANTUM_BITS)

    def match(self, predicted: FloatArray) -> FloatArray:
        """Whether each is what is predicted to be sent beyond the low rate."""
        return np.asarray(np.abs(self.sent - predicted) <= self.allowed(predicted))

    def balance(self, rate: float, gathered: FloatArray) -> FloatArray:
        """Whether each is what was gathered in the rest, and what still came back while it sent."""
        apart = np.abs(self.total - gathered - rate * self.fast)
        return np.asarray(apart <= self.allowed(gathered))


def judged(seen: Observed, levels: Levels, spent: Spending) -> Verdict:
    """Say whether a fall is a bucket that ran empty."""
    fell = _fell(spent)
    if len(seen.starts) == 1 and changing(seen, int(levels.fall[0])):
        return Verdict("stepped", ())
    if spent.first is not None and spent.first.beyond(spent.low_bps) < -_ERRORS * spent.first.error:
        # Less was sent than a bucket would have been given meanwhile.
        return Verdict("stepped", ())
    if (lost := _lost_height(seen, levels, spent)) is not None:
        return Verdict(
            "declining",
            (
                f"{fell}, but not in a step: at {lost} rate it loses height all along, as a "
                "machine does that grows hot. A bucket carries one rate until it is empty.",
            ),
        )
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
    return _brought_back(spent, fell)


def _fell(spent: Spending) -> str:
    if spent.falls_s <= spent.begin_s and not spent.hidden:
        return f"The rate begins at {quantity(spent.low_bps, 'bits/s')}, as if nothing was left"
    after = stamp(max(0.0, spent.falls_s - spent.begin_s))
    rates = f"from {quantity(spent.high_bps, 'bits/s')}"
    if not spent.hidden:
        rates += f" to {quantity(spent.low_bps, 'bits/s')}"
    return f"After {after} the rate fell {rates}"


def _lost_height(seen: Observed, levels: Levels, spent: Spending) -> str | None:
    """Return at which of the rates plateaus lose height; None: they do not."""
    depth = spent.high_bps - spent.low_bps
    low_from = np.minimum(levels.fall + 1, seen.ends)
    if falls_within(seen, seen.starts, levels.fall, depth):
        return "the high"
    return "the low" if falls_within(seen, low_from, seen.ends, depth) else None


def _once(seen: Observed, levels: Levels, spent: Spending, fell: str) -> Verdict:
    """Judge a fall after which no rest was followed by another."""
    last = int(np.flatnonzero(levels.dry)[-1])
    rest = _half_full(spent)
    if last + 1 < len(levels.dry):
        since = float(seen.trace.start_s[seen.index[seen.starts[last + 1]]])
        up = float(seen.trace.end_s[seen.index[-1]]) - since
        return Verdict(
            "drop",
            (
                f"{fell}: consistent with a bucket, not confirmed.",
                "After a rest it was back at the high rate, and did not fall again in "
                f"{duration(up)}: "
                "keep sending until it does.",
            ),
            next_rest_s=rest,
        )
    return Verdict(
        "drop",
        (
            f"{fell}, and did so once: consistent with a bucket, not confirmed. Contention, or a "
            "limit that was changed, would look the same.",
        ),
        next_rest_s=rest,
    )


def _half_full(spent: Spending) -> float | None:
    """Return a rest that would fill half of it, if it is a bucket."""
    if spent.first is None or spent.low_bps <= 0:
        return None
    return max(0.0, 0.5 * spent.first.beyond(spent.low_bps) / spent.low_bps) or None


def _returns(spent: Spending) -> _Returns:
    """Return what came back where there was a rest at all."""
    rest = np.array(
        [
            max(0.0, one.seconds - one.sent / spent.high_bps) if one.rest_s is None else one.rest_s
            for one in spent.refills
        ]
    )
    sent = np.array([one.sent for one in spent.refills])
    seconds = np.array([one.seconds for one in spent.refills])
    fast = seconds - rest
    return _Returns(
        rest=rest,
        fast=fast,
        total=sent,
        sent=sent - spent.low_bps * fast,
        error=np.array([one.error for one in spent.refills]),
        agreed=np.array([one.error for one in spent.agreed]),
        meanwhile=np.array(spent.meanwhile),
        single=np.array([one.rest_s is not None for one in spent.refills]),
    ).only(rest > 0)


def _brought_back(spent: Spending, fell: str) -> Verdict:
    """Judge what rests brought back."""
    back = _returns(spent)
    if len(back) == 0:
        return Verdict("drop", (f"{fell}: consistent with a bucket, not confirmed.",))
    least = np.maximum(_SEEN * back.agreed, _TRACE * spent.low_bps * back.rest)
    if not np.any(back.sent - back.meanwhile > least):
        return _nothing_back(spent, back, fell)
    found = _as_bucket(spent, back, fell)
    if found is not None:
        return found
    return _as_boost(spent, back, fell) or _otherwise(spent, back, fell)


def _as_bucket(spent: Spending, back: _Returns, fell: str) -> Verdict | None:
    """Return that it is a bucket, or would be if another rest agreed; None: it is none."""
    filling, closer = refilling(spent.refills), refilling(spent.agreed)
    if filling is None:
        return None
    if filling.capacity is None and closer is not None and closer.capacity is None:
        filling = closer
    low = spent.low_bps
    capacity = math.inf if filling.capacity is None else filling.capacity
    own = np.minimum(capacity, filling.rate * back.rest)
    partly = own < 0.95 * capacity
    if not partly.any() or float(back.balance(filling.rate, own).mean()) < _MOSTLY:
        return None
    some = back.only(partly)
    # A match that nothing could have missed confirms nothing.
    error = float(np.median(some.agreed / (low * some.rest))) / math.sqrt(len(some))
    if _MATCH + _ERRORS * error > _SHARP:
        rest = 2 * float(back.rest.max())
        return Verdict(
            "drop",
            (
                f"{fell}, and {_rests(some)} brought back about what a bucket would have gathered, "
                "too little to be sure of: consistent with a bucket, not confirmed. A longer rest, "
                f"{duration(rest)}, would tell.",
            ),
            next_rest_s=rest,
        )
    # What was sent over several rests together grows with time whatever shapes it.
    varied, several = _varied(some.rest[some.single]), len(some) >= _SEVERAL
    # Where the low rate is what comes back, nothing was fitted; any other rate that is fitted takes
    # one rest more to be refuted.
    at_low = float(some.match(low * some.rest).mean()) >= _MOSTLY
    fitted = varied and int(some.single.sum()) >= _SEVERAL and filling.rate <= (1 + _MATCH) * low
    # A boost that happens to be as large refutes itself only by a rest of another length.
    mean = float(np.mean(some.sent / (low * some.rest)))
    several = several and abs(mean - 1) <= _CLOSE + _ERRORS * error
    if fitted or (at_low and (varied or several)):
        return Verdict("bucket", (_confirmed(back, own, filling, fell),), filling)
    if not at_low and not varied:
        return None
    rest = _another(spent, some)
    rate = "the low rate" if at_low else quantity(filling.rate, "bits/s")
    return Verdict(
        "drop",
        (
            f"{fell}, and {_rests(some)} brought back what a bucket refilling at {rate} would have "
            f"gathered: probably a bucket. A rest of another length, {duration(rest)}, would "
            "confirm "
            "it.",
        ),
        next_rest_s=rest,
    )


def _varied(rests: FloatArray) -> bool:
    return len(rests) >= 2 and float(rests.max()) >= UNEQUAL * float(rests.min())


def _another(spent: Spending, back: _Returns) -> float:
    """Return a rest of another length than those that were, which does not fill it."""
    longest, shortest = float(back.rest.max()), float(back.rest.min())
    half = _half_full(spent)
    longer = 2 * UNEQUAL * shortest
    return longer if half is not None and longer <= 1.6 * half else longest / (2 * UNEQUAL)


def _as_boost(spent: Spending, back: _Returns, fell: str) -> Verdict | None:
    """Return that every burst begins alike, however long it rested; None: they differ."""
    each = float(np.median(back.sent))
    if each <= 0 or float(back.match(np.full(len(back), each)).mean()) < _MOSTLY:
        return None
    low, shortest = spent.low_bps, float(back.rest.min())
    held = None
    if spent.first is not None:
        held = spent.first.beyond(low)
    like_first = held is not None and abs(held - each) <= (
        _MATCH * each + _ERRORS * math.hypot(float(np.median(back.error)), _error(spent))
    )
    faster = each - _ERRORS * float(np.median(back.error)) > (1 + _MATCH) * low * shortest
    # As much as a bucket that fills at the low rate could not have gathered.
    if faster and (like_first or _varied(back.rest)):
        return Verdict(
            "boost",
            (
                f"Every burst begins at {quantity(spent.high_bps, 'bits/s')} and falls to "
                f"{quantity(low, 'bits/s')} after {quantity(each, 'bits')} sent beyond that "
                "rate, also after "
                f"a rest of {duration(shortest)}, in which no bucket fills so far: a boost of each "
                "burst.",
            ),
        )
    rest = 0.5 * min(shortest, each / low)
    would = f"A rest of {duration(rest)} would tell: only a bucket brings back less after it."
    if len(back) >= 2 and (like_first or _varied(back.rest)):
        return Verdict(
            "boost",
            (
                f"Every burst begins at {quantity(spent.high_bps, 'bits/s')} and falls to "
                f"{quantity(low, 'bits/s')} after {quantity(each, 'bits')} sent beyond that "
                "rate, however "
                f"long it rested: a boost of each burst, or a bucket that every rest has filled. "
                f"{would}",
            ),
            next_rest_s=rest,
        )
    if like_first:
        return Verdict(
            "drop",
            (
                f"{fell}, and {_rests(back)} brought back as much as there was at first: a bucket "
                f"that the rest has filled, or a limit that cools down in it. {would}",
            ),
            next_rest_s=rest,
        )
    return None


def _error(spent: Spending) -> float:
    return 0.0 if spent.first is None else spent.first.error


def _otherwise(spent: Spending, back: _Returns, fell: str) -> Verdict:
    """Judge what fits neither a bucket nor a boost."""
    low = spent.low_bps
    shares = back.sent / (low * back.rest)
    no_more = bool(np.all(back.sent <= low * back.rest + back.allowed(low * back.rest)))
    if no_more and not _varied(back.rest):
        rest = 0.5 * float(back.rest.min())
        return Verdict(
            "drop",
            (
                f"{fell}, and {_rests(back)} brought back {percent(float(np.median(shares)))} of "
                "what a bucket refilling at the low rate would have gathered: consistent with a "
                "bucket that fills more slowly, or that the rest has filled; not confirmed. A rest "
                f"of another length, {duration(rest)}, would tell.",
            ),
            next_rest_s=rest,
        )
    told = (
        f"{fell}, and what came back after rests fits no bucket: {percent(float(shares.min()))} "
        f"to {percent(float(shares.max()))} of what the low rate would have gathered"
    )
    order = np.argsort(back.rest, kind="stable")
    grows = np.all(np.diff(back.sent[order]) >= -back.allowed(back.sent)[order][1:])
    if no_more and grows and len(back) >= 2:
        return Verdict(
            "hysteresis",
            (
                f"{told}. Longer rests bring back more, but not in proportion: as a machine that "
                "cools down.",
            ),
        )
    return Verdict("contention", (f"{told}: others share the network, or its limit was changed.",))


def _nothing_back(spent: Spending, back: _Returns, fell: str) -> Verdict:
    rest, low, high = float(back.rest.max()), spent.low_bps, spent.high_bps
    least = 2 * _SEEN * float(back.error.min())
    if low * rest < least:
        longer = 2 * least / low
        return Verdict(
            "drop",
            (
                f"{fell}: consistent with a bucket, not confirmed.",
                f"What a rest of {duration(rest)} would bring back is too little to be seen: "
                "rest for "
                f"{duration(longer)}.",
            ),
            next_rest_s=longer,
        )
    burst = low * rest / max(high - low, 1e-9)
    return Verdict(
        "stepped",
        (
            f"{fell}, and a rest of {duration(rest)} brought nothing back, after which a "
            "bucket that "
            f"fills at that rate would have sent at the high rate for {duration(burst)}: "
            "others share "
            "the network, or its limit was changed.",
        ),
    )


def _rests(back: _Returns) -> str:
    if len(back) == 1:
        return f"a rest of {duration(float(back.rest[0]))}"
    return f"{len(back)} rests of {duration(float(np.median(back.rest)))}"


def _confirmed(back: _Returns, predicted: FloatArray, filling: Refilling, fell: str) -> str:
    shortest, longest = float(back.rest.min()), float(back.rest.max())
    rests = f"{len(back)} rests of {duration(shortest)}"
    if varied := _varied(back.rest):
        rests += f" to {duration(longest)}"
    apart = np.abs((back.total - filling.rate * back.fast) / np.maximum(predicted, 1e-9) - 1)
    off = percent(max(0.001, float(np.median(apart))))
    return (
        f"{fell}, and after {rests} it was back for as long as a bucket refilling at "
        f"{quantity(filling.rate, 'bits/s')} predicts (median error {off}): a token bucket."
        + ("" if varied else " A boost of just as much would look the same after rests so alike.")
    )
