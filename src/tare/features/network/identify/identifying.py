"""What shapes the network that a trace was measured on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tare.experiment.fingerprints.network.identified import Estimate, Identification, Shape
from tare.features.network.identify.bursts import Observed, observe
from tare.features.network.identify.confirming import Verdict, judged
from tare.features.network.identify.estimates import estimate, of_level
from tare.features.network.identify.messages import rate_of, share_of
from tare.features.network.identify.spending import Balance, spending
from tare.features.network.identify.steady import BACK, comes_back, contended, outages, steady
from tare.features.network.identify.tokens import Tokens, tokens_of
from tare.networks.shaping.trace import Trace
from tare.results.message import Duration, Message, message
from tare.statistics.levels import two_levels

#: Intervals below which nothing is said.
_FEWEST = 6
#: Kinds that blame a network, and the share of the time of sending without CPU above which none is.
_BLAMED = ("stepped", "contention", "drifting", "declining", "hysteresis", "boost")
_SPOILED = 0.1


def identify(
    trace: Trace, key: Mapping[str, str], interface_bps: float | None = None
) -> Identification:
    """Say what shapes the network that a trace was measured on.

    Parameters
    ----------
    trace : Trace
        In order of time.
    key : mapping of str to str
        What tells it from other traces.
    interface_bps : float, optional
        What the interface can do, where it is known: a constant rate below it is a cap.

    Notes
    -----
    Where the trace tells what headers add, rates and amounts count them, as buckets do.
    A trace is a ``bucket`` only if a rest brought back what a bucket of these rates would have
    gathered in it; one fall alone is a ``drop``, since contention looks the same.
    """
    seen = observe(on_the_wire(trace))
    document = _Document(trace, seen, key)
    if len(seen.index) < _FEWEST:
        return document.too_short()
    found = _found(seen, document, interface_bps)
    share = starved_share(trace)
    return document.starved(share) if found.kind in _BLAMED and share > _SPOILED else found


def _found(seen: Observed, document: _Document, interface_bps: float | None) -> Identification:
    back = comes_back(seen)
    if back >= BACK:
        found = contended(seen, back)
        return document.of(found.kind, found.reasons)
    levels = two_levels(np.log(seen.rate), seen.starts)
    if levels is not None and not levels.returns:
        spent = spending(seen, levels)
        verdict = judged(seen, levels, spent)
        if verdict.reasons:
            return document.of_fall(spent, verdict)
    found = steady(seen, interface_bps)
    whole = seen.plateau(np.ones(len(seen.index), dtype=bool))
    high = of_level(whole) if found.one else None
    return document.of(found.kind, found.reasons, high=high)


def on_the_wire(trace: Trace) -> Trace:
    """Return a trace whose bits count headers, where it is known what these add."""
    return trace if trace.wire == 1 else replace(trace, bits=trace.bits * trace.wire, wire=1.0)


def starved_share(trace: Trace) -> float:
    """Return the share of the time of sending in which an end had no CPU."""
    if trace.starved is None or not trace.on_s.any():
        return 0.0
    return float(trace.on_s[trace.starved].sum() / trace.on_s.sum())


@dataclass(frozen=True, eq=False)
class _Document:
    """Writes what was found of one trace."""

    trace: Trace
    seen: Observed
    key: Mapping[str, str]

    def of_fall(self, spent: Balance, verdict: Verdict) -> Identification:
        """Fill in what a fall says, and what a bucket does."""
        reasons = (*verdict.reasons, *outages(self.seen))
        if verdict.kind in ("stepped", "contention"):
            return self.of(verdict.kind, reasons)
        known = tokens_of(self.seen, spent, verdict)
        low, high = spent.falls_between_s
        start = spent.begin_s
        empty = estimate(spent.falls_s - start, max(0.0, low - start), high - start, 1.0)
        levels = verdict.kind != "declining"
        return self.of(
            verdict.kind,
            (*verdict.reasons, *known.reasons, *outages(self.seen)),
            high=of_level(spent.high) if levels else None,
            low=of_level(spent.low) if levels and not spent.hidden else None,
            empty=empty if levels and spent.first is not None else None,
            tokens=known,
            next_rest_s=verdict.next_rest_s,
        )

    def of(
        self,
        kind: Shape,
        reasons: tuple[Message, ...],
        *,
        high: Estimate | None = None,
        low: Estimate | None = None,
        empty: Estimate | None = None,
        tokens: Tokens | None = None,
        next_rest_s: float | None = None,
    ) -> Identification:
        known = tokens or Tokens()
        return Identification(
            key=dict(self.key),
            kind=kind,
            high_gbps=high,
            low_gbps=low,
            time_to_empty_s=empty,
            budget_gbit=known.budget,
            refill_gbps=known.refill,
            start_gbit=known.start,
            capacity_shown=known.capacity_shown,
            left_gbit=known.left,
            full_after_s=known.full_after,
            next_rest_s=next_rest_s,
            reasons=reasons,
            intervals=len(self.trace),
            seconds=self.seen.seconds,
            outages=len(self.seen.outages),
        )

    def starved(self, share: float) -> Identification:
        """Say that the ends had no CPU to tell by."""
        reason = message(
            "an end had no CPU in {share} of the time of sending. Free CPUs on both ends and "
            "measure again",
            share=share_of(share),
        )
        return self.of("starved", (reason, *outages(self.seen)))

    def too_short(self) -> Identification:
        seen = self.seen
        if seen.outages and len(seen.index) == 0:
            return self.of("interrupted", (message("nothing got through in the whole trace"),))
        sent_s = float(seen.trace.on_s[seen.index].sum())
        bits = float(seen.trace.bits[seen.index].sum())
        reason = message(
            "data was sent without a pause in {n | counted('interval')}, at least {least} "
            "are needed (the trace lasts {time}{% if rate %}, in which the mean is {rate}"
            "{% endif %})",
            n=len(seen.index),
            least=_FEWEST,
            time=Duration(seen.seconds),
            rate=rate_of(bits / sent_s) if sent_s > 0 else None,
        )
        return self.of("noisy", (reason, *outages(seen)))
