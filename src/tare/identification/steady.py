"""What shapes a trace that does not fall from one rate to another: one rate, noise, steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tare.identification.document import Shape
from tare.identification.observed import Observed
from tare.identification.telling import span, stamp
from tare.shaping.rates import format_rate
from tare.statistics.changes import Changes, changes
from tare.statistics.statistic import FloatArray
from tare.statistics.telling import percent

#: Relative SD up to which a rate is constant.
_CONSTANT = 0.05
#: Relative change of level that is a step.
_STEP = 0.1
#: Share of the trace that must be at other levels, so that it is not a few dips.
_LASTS = 0.05
#: Intervals that are slower by as much from which on they are told.
_DIPS = 3
#: Share of what the interface can do up to which one rate is a cap.
_CAPPED = 0.9


@dataclass(frozen=True)
class Steady:
    """A kind that has one level, or none that lasts.

    Attributes
    ----------
    kind : str
    reasons : tuple of str
    one : bool
        Whether one level stands for the whole trace.
    """

    kind: Shape
    reasons: tuple[str, ...]
    one: bool


def steady(seen: Observed, interface_bps: float | None) -> Steady:
    """Say what a trace without a bucket's fall is."""
    rate = seen.rate
    found = changes(rate, precision=_STEP)
    if _off(len(rate), found) > _LASTS:
        return Steady("stepped", _stepped(seen, found.points, found.levels), False)
    middle = float(np.median(rate))
    sd = float(np.clip(rate, 0.5 * middle, 1.5 * middle).std()) / middle
    reasons = list(told_outages(seen))
    drifts = abs(found.drift or 0.0) > _STEP
    if drifts:
        reasons.append(f"The rate drifts by {percent(found.drift or 0, sign=True)} over the trace.")
    usual = 1.4826 * float(np.median(np.abs(rate / middle - 1)))
    dips = int((rate < (1 - _STEP) * middle).sum())
    if dips >= _DIPS and 4 * usual < _STEP:
        lasted = span(dips * seen.interval_s)
        reasons.append(f"For {lasted} in all it is more than {percent(_STEP)} slower.")
    spread = f"It stays at {format_rate(middle)} with a standard deviation of {percent(sd)}"
    if seen.outages and not drifts:
        reasons.append(f"{spread}; there is no other change of rate.")
        return Steady("interrupted", tuple(reasons), True)
    if drifts or sd > _CONSTANT:
        reasons.append(f"{spread}; no fall from one rate to another is shown.")
        return Steady("noisy", tuple(reasons), True)
    reasons.append(f"{spread}: no change is shown in {span(seen.seconds)}.")
    if interface_bps is not None and middle < _CAPPED * interface_bps:
        share = percent(middle / interface_bps)
        reasons.append(
            f"That is {share} of the {format_rate(interface_bps)} that the interface can do: it is "
            "held there from the start."
        )
        return Steady("capped", tuple(reasons), True)
    if interface_bps is None:
        reasons.append(
            "Whether that is a cap is not known: nothing says what the interface can do."
        )
    return Steady("constant", tuple(reasons), True)


def changing(rate: FloatArray, fall: int) -> bool:
    """Whether there are steps beside one fall: before it, or after it."""
    # What lies next to the fall may be a mixture of both levels.
    parts = (rate[: max(0, fall - 1)], rate[fall + 2 :])
    return any(_off(len(one), changes(one, precision=_STEP)) > _LASTS for one in parts)


def _off(n: int, found: Changes) -> float:
    """Return the share of the trace that is at levels other than the one it is at mostly."""
    if not found.points:
        return 0.0
    lengths = np.diff([0, *found.points, n])
    levels = np.array(found.levels)
    order = np.argsort(levels)
    middle = levels[order][np.searchsorted(np.cumsum(lengths[order]), n / 2)]
    return float(lengths[np.abs(levels / middle - 1) > _STEP].sum()) / n


def told_outages(seen: Observed) -> tuple[str, ...]:
    """Tell when nothing got through."""
    if not seen.outages:
        return ()
    n = len(seen.outages)
    lost = sum(end - start for start, end in seen.outages)
    longest = max(seen.outages, key=lambda one: one[1] - one[0])
    last = seen.outages[-1][1] >= float(seen.trace.end_s[-1]) - 1e-9
    where = "to the end of the trace" if n == 1 and last else f"to {stamp(longest[1])}"
    if n == 1:
        return (f"Nothing got through from {stamp(longest[0])} {where}: {span(lost)}.",)
    return (
        f"Nothing got through {n} times, {span(lost)} in all; the longest from "
        f"{stamp(longest[0])} {where}.",
    )


def _stepped(seen: Observed, points: tuple[int, ...], levels: tuple[float, ...]) -> tuple[str, ...]:
    at = [stamp(float(seen.trace.start_s[seen.index[p]])) for p in points]
    listed = ", ".join(format_rate(one) for one in levels[:6]) + (", …" if len(levels) > 6 else "")
    when = ", ".join(at[:5]) + (", …" if len(at) > 5 else "")
    return (
        f"The rate changes {len(points)} time{'s' * (len(points) != 1)} (at {when}), between "
        f"{listed}, in ways that one bucket does not explain: others share the network, or "
        "its limit was changed.",
        *told_outages(seen),
    )
