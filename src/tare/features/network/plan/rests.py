"""How long to rest between trials, so that each begins with the budget that it needs.

A trial that empties a token bucket slows the next one down: repetitions are then no repetitions
(CLOUDNET, F4.4 and Figure 19). Everything here is arithmetic with the model, and takes the side of
caution: the lower end of budget and refill, and a trial that sends all at the end, in one burst.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Literal

import msgspec

from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint
from tare.render.words import sentences, text
from tare.results.message import Said, message

#: ``ample``: all trials together fit into a full bucket; ``rests``: each fits into a full one;
#: ``dry``: some empties even a full one; ``unseen``: no bucket was seen, and all trials together
#: stay below what was sent to look for one; ``beyond``: they do not.
Verdict = Literal["ample", "rests", "dry", "unseen", "beyond"]


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """A bucket as it is planned with; bits on the wire."""

    high_bps: float
    low_bps: float
    budget_bits: float
    refill_bps: float
    #: Assumptions in it; strings when read from a file.
    doubts: tuple[Said, ...] = ()

    def drawn_bits(self, spent_bits: float) -> float:
        """Return what sending so much in one burst takes out of it."""
        return spent_bits * max(0.0, 1 - self.refill_bps / self.high_bps)

    def refill_s(self, bits: float) -> float:
        """Return the rest after which so much is back."""
        return min(bits, self.budget_bits) / self.refill_bps

    def lasts_s(self, spent_bits: float) -> float:
        """Return how long sending so much takes, from a full bucket."""
        fast = self.budget_bits / max(1e-9, 1 - self.refill_bps / self.high_bps)
        if spent_bits <= fast:
            return spent_bits / self.high_bps
        return fast / self.high_bps + (spent_bits - fast) / self.low_bps


class TrialTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial of one cell sends."""

    cell: str
    #: Bits on the wire that the host with the most traffic sends per trial.
    bits: float
    #: Seconds per trial; None: not known.
    seconds: float | None
    #: Origin of these figures.
    source: Said


class TrialPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial of one cell means to the bucket."""

    cell: str
    spends_bits: float
    #: Most tokens that a trial takes out of the bucket, in bits; None: no bucket is known.
    draws_bits: float | None
    #: Whether a full bucket suffices for it; None: no bucket is known.
    suffices: bool | None
    #: Seconds after a trial until the bucket is full again.
    rest_s: float
    seconds: float | None
    #: Origin of ``spends_bits``; a string when read from a file.
    source: Said


class RestPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How an experiment is to rest."""

    version: int = 1
    verdict: Verdict
    trials: tuple[TrialPlan, ...]
    bucket: Bucket | None
    #: Trials of each cell; None: as many as the budget of time allows.
    n: int | None
    #: Out of the bucket for each cell once, and for the whole experiment.
    block_bits: float
    experiment_bits: float | None
    #: Blocks that fit into a full bucket without any rest; None: no bucket is known.
    blocks_without_rest: int | None
    #: Between trials.
    rest_s: float
    #: Shortest rest with which no trial depletes the bucket although initial budgets differ, in
    #: seconds; None: not shorter than the other rest, or n is not known.
    least_rest_s: float | None
    #: Duration of the whole experiment with its rests, in seconds; None: n or the time per trial is
    #: not known.
    total_s: float | None
    #: Reasons why the plan is uncertain; strings when read from a file.
    doubts: tuple[Said, ...] = ()

    def stored(self) -> RestPlan:
        """Return it as documents have it: with text."""
        bucket = self.bucket
        if bucket is not None:
            bucket = msgspec.structs.replace(bucket, doubts=tuple(sentences(bucket.doubts)))
        trials = tuple(msgspec.structs.replace(one, source=text(one.source)) for one in self.trials)
        doubts = tuple(sentences(self.doubts))
        return msgspec.structs.replace(self, bucket=bucket, trials=trials, doubts=doubts)


def bucket_of(found: NetworkFingerprint) -> Bucket | None:
    """Return the bucket of a fingerprint, by the careful end of each interval; None: none is known.

    Where refill was not seen, it is taken to be the low rate, as CLOUDNET found it; where only one
    drop was, what had been sent beyond that rate by then is taken to be the budget.
    """
    known = found.figures
    high, low, budget, refill = (
        known.get(f"bucket.{name}") for name in ("high", "low", "budget", "refill")
    )
    if high is None or (refill is None and low is None):
        return None
    budget_bits = _before_a_drop(found) if budget is None else _low(budget)
    if budget_bits is None:
        return None
    doubts = []
    if found.shaping is not None and found.shaping.kind == "drop":
        doubts.append(message("one drop was seen and no refill: it may be no bucket"))
    if budget is None:
        doubts.append(
            message(
                "budget unknown: assumed to be what was sent before the drop, beyond the low rate"
            )
        )
    if found.shaping is not None and found.shaping.capacity_shown is False:
        doubts.append(message("the bucket may hold more than the budget that was seen"))
    comes = refill or low
    if refill is None:
        doubts.append(message("refill unknown: assumed to be the low rate"))
    if comes is None or _low(comes) <= 0:
        return None
    return Bucket(
        high_bps=_high(high),
        low_bps=_low(low or comes),
        budget_bits=budget_bits,
        refill_bps=_low(comes),
        doubts=tuple(doubts),
    )


def _before_a_drop(found: NetworkFingerprint) -> float | None:
    """Return the bits that a bucket would have held at least, if a drop was its end."""
    shaping = found.shaping
    if shaping is None or shaping.kind != "drop" or shaping.time_to_empty_s is None:
        return None
    high, low = shaping.high_gbps, shaping.low_gbps
    if high is None or low is None:
        return None
    beyond = 1e9 * shaping.wire * (high.ci[0] - low.ci[1])
    return max(0.0, beyond * shaping.time_to_empty_s.ci[0]) or None


def _low(figure: Figure) -> float:
    return figure.value if figure.ci is None else figure.ci[0]


def _high(figure: Figure) -> float:
    return figure.value if figure.ci is None else figure.ci[1]


def plan(
    bucket: Bucket | None,
    spendings: Sequence[TrialTraffic],
    n: int | None,
    seen_bits: float | None = None,
) -> RestPlan:
    """Work out how an experiment is to rest.

    Parameters
    ----------
    bucket : Bucket or None
        None: none was seen.
    spendings : sequence of TrialTraffic
        One a cell.
    n : int or None
        Trials of each cell.
    seen_bits : float, optional
        Without a bucket: what was sent to look for one.
    """
    if bucket is None:
        return _without(spendings, n, seen_bits or 0.0)
    trials = tuple(_trial(bucket, one) for one in spendings)
    drawn = [one.draws_bits or 0.0 for one in trials]
    block = sum(drawn)
    whole = None if n is None else n * block
    dry = any(not one.suffices for one in trials)
    ample = whole is not None and whole <= bucket.budget_bits and not dry
    rest_s = 0.0 if ample else max((one.rest_s for one in trials), default=0.0)
    least = None
    if whole is not None and not dry and not ample and n is not None:
        gaps = max(1, n * len(trials) - 1)
        # All but one trial's worth may be drawn down; beyond, rests have to bring it.
        lacking = whole - bucket.budget_bits + max(drawn)
        least_s = min(lacking, whole) / (gaps * bucket.refill_bps)
        least = least_s if least_s < 0.9 * rest_s else None
    return RestPlan(
        verdict="dry" if dry else "ample" if ample else "rests",
        trials=trials,
        bucket=bucket,
        n=n,
        block_bits=block,
        experiment_bits=whole,
        blocks_without_rest=None if block <= 0 else int(bucket.budget_bits / block),
        rest_s=float(ceil(rest_s)),
        # To the second it may be no less.
        least_rest_s=None if least is None or ceil(least) >= ceil(rest_s) else float(ceil(least)),
        total_s=_total(trials, n, rest_s),
        doubts=bucket.doubts,
    )


def _trial(bucket: Bucket, one: TrialTraffic) -> TrialPlan:
    draws = bucket.drawn_bits(one.bits)
    return TrialPlan(
        cell=one.cell,
        spends_bits=one.bits,
        draws_bits=draws,
        suffices=draws <= bucket.budget_bits,
        rest_s=bucket.refill_s(draws),
        seconds=one.seconds if one.seconds is not None else bucket.lasts_s(one.bits),
        source=one.source,
    )


def _without(spendings: Sequence[TrialTraffic], n: int | None, seen_bits: float) -> RestPlan:
    trials = tuple(
        TrialPlan(
            cell=one.cell, spends_bits=one.bits, draws_bits=None, suffices=None, rest_s=0.0,
            seconds=one.seconds, source=one.source,
        )
        for one in spendings
    )  # fmt: skip
    block = sum(one.bits for one in spendings)
    whole = None if n is None else n * block
    return RestPlan(
        verdict="unseen" if whole is not None and whole <= seen_bits else "beyond",
        trials=trials,
        bucket=None,
        n=n,
        block_bits=block,
        experiment_bits=whole,
        blocks_without_rest=None if block <= 0 else int(seen_bits / block),
        rest_s=0.0,
        least_rest_s=None,
        total_s=_total(trials, n, 0.0),
    )


def _total(trials: Sequence[TrialPlan], n: int | None, rest_s: float) -> float | None:
    known = [one.seconds for one in trials if one.seconds is not None]
    if n is None or len(known) < len(trials):
        return None
    return n * (sum(known) + len(trials) * ceil(rest_s))
