"""What was found of one trace: what ``tare net identify --json`` writes of each series."""

from __future__ import annotations

from typing import Literal

import msgspec

from tare.render.words import sentences
from tare.results import phrases
from tare.results.message import Amount, Message, Said, message

#: ``drop``: it fell, as where a bucket is empty, but nothing tells that from contention yet;
#: ``bucket``: emptied, and rests of unequal length brought back what it would have gathered;
#: ``boost``: every burst begins at the high rate, however long it rested; ``declining``: it falls
#: slowly while it sends, ``hysteresis``: what rests bring back fits no bucket, both as machines
#: that grow hot; ``drifting``: a slow change; ``stepped``: from one rate to another, once or a few
#: times; ``contention``: up and down between rates all the time; ``capped``: one fixed rate from
#: the start, below what the interface can do; ``interrupted``: outages, and no change of rate;
#: ``starved``: the ends had no CPU to tell by.
Shape = Literal[
    "constant",
    "noisy",
    "drifting",
    "stepped",
    "contention",
    "drop",
    "bucket",
    "boost",
    "declining",
    "hysteresis",
    "capped",
    "interrupted",
    "starved",
]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A value with its 95 % interval."""

    value: float
    ci: tuple[float, float]

    def amount(self, unit: str) -> Amount:
        """Return it in a unit that is 10⁻⁹ of its own, such as bits or ns; nothing is below 0."""
        value, low, high = (1e9 * max(0.0, one) for one in (self.value, *self.ci))
        return Amount(value, unit, low, high)


class Identification(msgspec.Struct, frozen=True, kw_only=True):
    """What shapes one trace; None: not identifiable from it, ``reasons`` say why."""

    key: dict[str, str]
    kind: Shape
    high_gbps: Estimate | None
    low_gbps: Estimate | None
    #: From the first interval to the end of the last fast one.
    time_to_empty_s: Estimate | None
    budget_gbit: Estimate | None
    refill_gbps: Estimate | None
    #: In the bucket when the trace began.
    start_gbit: Estimate | None = None
    #: Whether `budget_gbit` is all that the bucket holds, since a longer rest brought no more; else
    #: it is the most that was seen in it, and all of it only if it was full then. None: no budget.
    capacity_shown: bool | None = None
    #: At the end of the trace, in the bucket; and the rest after which it is full.
    left_gbit: Estimate | None = None
    full_after_s: Estimate | None = None
    #: Where it is not known whether it is a bucket: the rest after which sending would tell.
    next_rest_s: float | None = None
    #: What speaks for the kind, and why what is None is not known; as stored, sentences.
    reasons: tuple[Said, ...]
    #: Of the trace: intervals, seconds, outages.
    intervals: int
    seconds: float
    outages: int = 0
    #: Bits on the wire for each bit of the rates and amounts: 1, as they count headers where the
    #: trace tells what these add.
    wire: float = 1.0

    def stored(self) -> Identification:
        """Return it as documents have it: its reasons are sentences."""
        return msgspec.structs.replace(self, reasons=tuple(sentences(self.reasons)))

    @property
    def is_known(self) -> bool:
        """Whether there was enough to say anything."""
        return self.kind != "noisy" or self.high_gbps is not None


def kind_of(one: Identification) -> Message:
    """Say what shapes a trace."""
    return (
        message(phrases.NET_KIND_TEXTS[one.kind])
        if one.is_known
        else message("inconclusive: too few intervals")
    )


class Quartiles(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity over the series of one type; `n` counts those in which it is identifiable."""

    n: int
    median: float
    p25: float
    p75: float
    min: float
    max: float


class TypeSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The series of one instance type; None: not identifiable in any of them."""

    #: Levels of the grouping columns without the last one, which names the instance.
    key: dict[str, str]
    series: int
    #: Number of series by kind.
    kinds: dict[str, int]
    high_gbps: Quartiles | None
    low_gbps: Quartiles | None
    budget_gbit: Quartiles | None
    refill_gbps: Quartiles | None
    time_to_empty_s: Quartiles | None
