"""Whether what rests brought back is what a bucket would have gathered in them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tare.experiment.fingerprints.network.identified import Shape
from tare.features.network.identify.bursts import Observed
from tare.features.network.identify.messages import bits_of, rate_of, share_of, stamp
from tare.features.network.identify.spending import Balance
from tare.features.network.identify.steady import changing, falls_within
from tare.networks.shaping.trace import QUANTUM_BITS
from tare.results.message import Duration, Message, message
from tare.statistics.bucket import Refilling, refilling
from tare.statistics.levels import Levels
from tare.statistics.statistic import FloatArray

_FALL_SHARED = "others share the network, or its limit was changed"

#: Relative difference, and standard errors, by which what came back may be off what a bucket would
#: have gathered.
_MATCH, _ERRORS = 0.06, 3.0
#: Largest relative uncertainty of refilled tokens with which they confirm or refute a bucket.
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
    reasons : tuple of Message
    filling : Refilling or None
        How the bucket fills, where that is identified.
    next_rest_s : float or None
        The rest that would tell, where it is not known whether it is a bucket.
    """

    kind: Shape
    reasons: tuple[Message, ...]
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


def judged(seen: Observed, levels: Levels, spent: Balance) -> Verdict:
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
                fell,
                message(
                    "it is no step: at the {rate} rate it falls all along, as with thermal "
                    "throttling. A bucket carries one rate until it is empty",
                    rate=lost,
                ),
            ),
        )
    if not spent.refills:
        return _once(seen, levels, spent, fell)
    if spent.hidden:
        return Verdict(
            "drop",
            (
                fell,
                message(
                    "the low rate is not identifiable from this pattern: every interval began with "
                    "what the bucket refilled before it. Shorter intervals or longer sending would "
                    "show it"
                ),
            ),
        )
    return _brought_back(spent, fell)


def _fell(spent: Balance) -> Message:
    low = None if spent.hidden else rate_of(spent.low_bps)
    if spent.falls_s <= spent.begin_s and low is not None:
        return message("the rate begins at {low}, as with an empty bucket", low=low)
    after = stamp(max(0.0, spent.falls_s - spent.begin_s))
    return message(
        "after {time} the rate fell from {high}{% if low %} to {low}{% endif %}",
        time=after,
        high=rate_of(spent.high_bps),
        low=low,
    )


def _lost_height(seen: Observed, levels: Levels, spent: Balance) -> str | None:
    """Return at which of the rates plateaus lose height; None: they do not."""
    depth = spent.high_bps - spent.low_bps
    low_from = np.minimum(levels.fall + 1, seen.ends)
    if falls_within(seen, seen.starts, levels.fall, depth):
        return "high"
    return "low" if falls_within(seen, low_from, seen.ends, depth) else None


def _once(seen: Observed, levels: Levels, spent: Balance, fell: Message) -> Verdict:
    """Judge a fall after which no rest was followed by another."""
    last = int(np.flatnonzero(levels.dry)[-1])
    rest = _half_full(spent)
    if last + 1 < len(levels.dry):
        since = float(seen.trace.start_s[seen.index[seen.starts[last + 1]]])
        up = float(seen.trace.end_s[seen.index[-1]]) - since
        again = message(
            "after an idle period it was back at the high rate and did not fall again in "
            "{time}. Keep sending until it does",
            time=Duration(up),
        )
        return Verdict("drop", (fell, again), next_rest_s=rest)
    return Verdict(
        "drop",
        (fell, message("it fell once. Contention, or a changed limit, would look the same")),
        next_rest_s=rest,
    )


def _half_full(spent: Balance) -> float | None:
    """Return a rest that would fill half of it, if it is a bucket."""
    if spent.first is None or spent.low_bps <= 0:
        return None
    return max(0.0, 0.5 * spent.first.beyond(spent.low_bps) / spent.low_bps) or None


def _returns(spent: Balance) -> _Returns:
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


def _brought_back(spent: Balance, fell: Message) -> Verdict:
    """Judge what rests brought back."""
    back = _returns(spent)
    if len(back) == 0:
        return Verdict("drop", (fell,))
    least = np.maximum(_SEEN * back.agreed, _TRACE * spent.low_bps * back.rest)
    if not np.any(back.sent - back.meanwhile > least):
        return _nothing_back(spent, back, fell)
    found = _as_bucket(spent, back, fell)
    if found is not None:
        return found
    return _as_boost(spent, back, fell) or _otherwise(spent, back, fell)


def _as_bucket(spent: Balance, back: _Returns, fell: Message) -> Verdict | None:
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
        little = message(
            "{idle} refilled about as much as a bucket would, too little to be conclusive. "
            "An idle period of {next} would settle it",
            idle=_idle(some),
            next=Duration(rest),
        )
        return Verdict("drop", (fell, little), next_rest_s=rest)
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
        return Verdict("bucket", (fell, *_confirmed(back, own, filling)), filling)
    if not at_low and not varied:
        return None
    rest = _another(spent, some)
    probable = message(
        "{idle} refilled what a bucket would at {% if rate %}{rate}{% else %}the low rate"
        "{% endif %}: probably a bucket. An idle period of another length, {next}, would "
        "confirm it",
        idle=_idle(some),
        rate=None if at_low else rate_of(filling.rate),
        next=Duration(rest),
    )
    return Verdict("drop", (probable, fell), next_rest_s=rest)


def _varied(rests: FloatArray) -> bool:
    return len(rests) >= 2 and float(rests.max()) >= UNEQUAL * float(rests.min())


def _another(spent: Balance, back: _Returns) -> float:
    """Return a rest of another length than those that were, which does not fill it."""
    longest, shortest = float(back.rest.max()), float(back.rest.min())
    half = _half_full(spent)
    longer = 2 * UNEQUAL * shortest
    return longer if half is not None and longer <= 1.6 * half else longest / (2 * UNEQUAL)


def _as_boost(spent: Balance, back: _Returns, fell: Message) -> Verdict | None:
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
    boost = message(
        "every burst begins at {high} and falls to {low} after {sent} beyond that rate",
        high=rate_of(spent.high_bps),
        low=rate_of(low),
        sent=bits_of(each),
    )
    # As much as a bucket that fills at the low rate could not have gathered.
    if faster and (like_first or _varied(back.rest)):
        not_refilled = message(
            "no bucket would have refilled so far in an idle period of {shortest}",
            shortest=Duration(shortest),
        )
        return Verdict("boost", (boost, not_refilled))
    rest = 0.5 * min(shortest, each / low)
    settle = message(
        "an idle period of {next} would settle it: only a bucket refills less in it",
        next=Duration(rest),
    )
    if len(back) >= 2 and (like_first or _varied(back.rest)):
        either = message("a bucket that every idle period filled would look the same")
        return Verdict("boost", (boost, either, settle), next_rest_s=rest)
    if like_first:
        full = message(
            "{idle} refilled as much as there was at first: a bucket that was full again, or "
            "a limit that cools down",
            idle=_idle(back),
        )
        return Verdict("drop", (fell, full, settle), next_rest_s=rest)
    return None


def _error(spent: Balance) -> float:
    return 0.0 if spent.first is None else spent.first.error


def _otherwise(spent: Balance, back: _Returns, fell: Message) -> Verdict:
    """Judge what fits neither a bucket nor a boost."""
    low = spent.low_bps
    shares = back.sent / (low * back.rest)
    no_more = bool(np.all(back.sent <= low * back.rest + back.allowed(low * back.rest)))
    if no_more and not _varied(back.rest):
        rest = 0.5 * float(back.rest.min())
        slower = message(
            "{idle} refilled {share} of what a bucket would at the low rate. A bucket that "
            "refills more slowly, or that was full, would look the same. An idle period of "
            "another length, {next}, would settle it",
            idle=_idle(back),
            share=share_of(np.median(shares)),
            next=Duration(rest),
        )
        return Verdict("drop", (fell, slower), next_rest_s=rest)
    unlike = message(
        "what idle periods refilled fits no bucket: {least} to {most} of what the low rate "
        "would have refilled",
        least=share_of(shares.min()),
        most=share_of(shares.max()),
    )
    order = np.argsort(back.rest, kind="stable")
    grows = np.all(np.diff(back.sent[order]) >= -back.allowed(back.sent)[order][1:])
    if no_more and grows and len(back) >= 2:
        return Verdict(
            "hysteresis",
            (
                fell,
                unlike,
                message(
                    "longer idle periods refill more, but not in proportion, as with a machine "
                    "that "
                    "cools down"
                ),
            ),
        )
    return Verdict("contention", (fell, unlike, message(_FALL_SHARED)))


def _nothing_back(spent: Balance, back: _Returns, fell: Message) -> Verdict:
    rest, low, high = float(back.rest.max()), spent.low_bps, spent.high_bps
    least = 2 * _SEEN * float(back.error.min())
    if low * rest < least:
        longer = 2 * least / low
        unseen = message(
            "the refill in an idle period of {time} is too small to be seen. An idle period "
            "of {next} would show it",
            time=Duration(rest),
            next=Duration(longer),
        )
        return Verdict("drop", (fell, unseen), next_rest_s=longer)
    burst = low * rest / max(high - low, 1e-9)
    nothing = message(
        "an idle period of {time} refilled nothing. A bucket would have sent at the high "
        "rate for {burst} after it",
        time=Duration(rest),
        burst=Duration(burst),
    )
    return Verdict("stepped", (fell, nothing, message(_FALL_SHARED)))


def _idle(back: _Returns) -> Message:
    usual = Duration(float(np.median(back.rest)))
    return message(
        "{% if n == 1 %}an idle period of {time}{% else %}{n} idle periods of {time}{% endif %}",
        n=len(back),
        time=usual,
    )


def _confirmed(back: _Returns, predicted: FloatArray, filling: Refilling) -> tuple[Message, ...]:
    varied = _varied(back.rest)
    apart = np.abs((back.total - filling.rate * back.fast) / np.maximum(predicted, 1e-9) - 1)
    confirmed = message(
        "after {n | counted('idle period')} of {shortest}{% if longest %} to {longest}"
        "{% endif %} it was fast for as long as a bucket that refills at {rate} predicts "
        "(median error {error})",
        n=len(back),
        shortest=Duration(float(back.rest.min())),
        longest=Duration(float(back.rest.max())) if varied else None,
        rate=rate_of(filling.rate),
        error=share_of(max(0.001, float(np.median(apart)))),
    )
    return (
        (confirmed,)
        if varied
        else (
            confirmed,
            message(
                "a boost of that size would look the same after idle periods of such similar "
                "lengths"
            ),
        )
    )
