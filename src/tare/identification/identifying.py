"""What shapes the network that a trace was measured on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tare.identification import telling
from tare.identification.confirming import Verdict, judged
from tare.identification.document import Estimate, Identification
from tare.identification.estimates import estimate, of_level
from tare.identification.observed import Observed, observe
from tare.identification.spending import Spending, spending
from tare.identification.steady import steady, told_outages
from tare.identification.tokens import Tokens, tokens_of
from tare.shaping.trace import Trace
from tare.statistics.levels import two_levels

#: Intervals below which nothing is said.
_FEWEST = 6


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
    if len(seen.index) < _FEWEST:
        return _too_short(seen, key)
    levels = two_levels(np.log(seen.rate), seen.starts)
    if levels is not None and not levels.returns:
        spent = spending(seen, levels)
        verdict = judged(seen, levels, spent)
        if verdict.kind != "stepped":
            return _shaped(seen, spent, verdict, key)
        if verdict.reasons:
            return _document(seen, key, "stepped", (*verdict.reasons, *told_outages(seen)))
    found = steady(seen, interface_bps)
    high = of_level(seen.rate) if found.one else None
    return _document(seen, key, found.kind, found.reasons, high=high)


def on_the_wire(trace: Trace) -> Trace:
    """Return a trace whose bits count headers, where it is known what these add."""
    return trace if trace.wire == 1 else replace(trace, bits=trace.bits * trace.wire, wire=1.0)


def _shaped(
    seen: Observed, spent: Spending, verdict: Verdict, key: Mapping[str, str]
) -> Identification:
    """Fill in what a fall says, and what a bucket does."""
    known = tokens_of(seen, spent, verdict)
    low, high = spent.falls_between_s
    fell = spent.first is not None
    start = spent.begin_s
    empty = estimate(spent.falls_s - start, max(0.0, low - start), high - start, 1.0)
    return _document(
        seen,
        key,
        verdict.kind,
        (*verdict.reasons, *known.reasons, *told_outages(seen)),
        high=of_level(spent.high),
        low=None if spent.hidden else of_level(spent.low),
        empty=empty if fell else None,
        tokens=known,
    )


def _document(
    seen: Observed,
    key: Mapping[str, str],
    kind: str,
    reasons: tuple[str, ...],
    *,
    high: Estimate | None = None,
    low: Estimate | None = None,
    empty: Estimate | None = None,
    tokens: Tokens | None = None,
) -> Identification:
    known = tokens or Tokens()
    return Identification(
        key=dict(key),
        kind=kind,  # type: ignore[arg-type]
        high_gbps=high,
        low_gbps=low,
        time_to_empty_s=empty,
        budget_gbit=known.budget,
        refill_gbps=known.refill,
        start_gbit=known.start,
        capacity_shown=known.capacity_shown,
        left_gbit=known.left,
        full_after_s=known.full_after,
        reasons=reasons,
        intervals=len(seen.trace),
        seconds=seen.seconds,
        outages=len(seen.outages),
    )


def _too_short(seen: Observed, key: Mapping[str, str]) -> Identification:
    if seen.outages and len(seen.index) == 0:
        reasons = ("Nothing got through in the whole trace.",)
        return _document(seen, key, "interrupted", reasons)
    reason = (
        f"In {len(seen.index)} intervals something was sent all along; fewer than {_FEWEST} say "
        f"nothing of what shapes a network ({telling.span(seen.seconds)} in all)."
    )
    return _document(seen, key, "noisy", (reason, *told_outages(seen)))
