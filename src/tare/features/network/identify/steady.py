"""What shapes a trace that does not fall from one rate to another: one rate, noise, steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tare.experiment.fingerprints.network.identified import Shape
from tare.features.network.identify.bursts import Observed
from tare.features.network.identify.estimates import SHARED_S, level
from tare.features.network.identify.messages import rate_of, share_of, stamp
from tare.results.message import Chosen, Duration, Message, message
from tare.statistics.changes import Changes, changes
from tare.statistics.dependence import short_dependence
from tare.statistics.robust import robust_sd
from tare.statistics.segmentation import best_cut, residuals_of_lines
from tare.statistics.statistic import FloatArray

#: Relative SD up to which a rate is constant.
_CONSTANT = 0.05
#: Relative change of level that is a step.
_STEP = 0.1
#: Share of the trace that must be at other levels, so that it is not a few dips.
_LASTS = 0.05
#: Intervals that are slower by as much from which on they are told.
_DIPS = 3
#: Turns of direction from which on levels go up and down.
_TURNS = 2
#: Two rates that a trace jumps between: intervals at least, share of the fewer, robust SDs that
#: they are apart, and share of all that may lie in the middle half between them.
_TWO_FEWEST, _TWO_SHARE, _TWO_APART, _TWO_BETWEEN = 20, 0.1, 5.0, 0.05
#: Share of the distance of the levels by which plateaus may lose height, and standard errors; and
#: of how many intervals half of one must be to say so.
_SLOPE, _CLEAR, _HALF = 0.1, 4.0, 6
#: Largest ratio of the residual SD of a line to that of steps at which the line fits as well.
_ABOUT = 1.2
#: Intervals that a rate stays after a jump; how large jumps are, of its logarithm, and in SDs of
#: neighbours; and how often it comes back while it sends where others share the network.
_STAYS, _JUMP, _JUMP_SDS = 3, math.log(1.25), 6.0
BACK = 2
#: Moments and rates that are named.
_MOST_TIMES, _MOST_RATES = 5, 6
#: Share of what the interface can do up to which one rate is a cap.
_CAPPED = 0.9


@dataclass(frozen=True)
class Steady:
    """A kind that has one level, or none that lasts.

    Attributes
    ----------
    kind : str
    reasons : tuple of Message
    one : bool
        Whether one level stands for the whole trace.
    """

    kind: Shape
    reasons: tuple[Message, ...]
    one: bool


def steady(seen: Observed, interface_bps: float | None) -> Steady:
    """Say what a trace without a bucket's fall is."""
    rate, first = _apart(seen, 0, len(seen.index))
    found = changes(rate, precision=_STEP)
    if _off(len(rate), found) > _LASTS:
        points = tuple(int(first[p]) for p in found.points)
        if (smooth := _smooth(seen, points, found.levels)) is not None:
            return smooth
        shape: Shape = "contention" if _goes_back(found.levels) else "stepped"
        return Steady(shape, _stepped(seen, points, found.levels, shape), False)
    if (two := _two_rates(rate)) is not None:
        return Steady("contention", (two, *outages(seen)), False)
    middle = float(np.median(rate))
    reasons = list(outages(seen))
    if abs(found.drift or 0.0) > _STEP:
        drift = float(found.drift or 0)
        reasons.append(
            message(
                "the rate {% if rises %}rises{% else %}falls{% endif %} by {drift} from the "
                "beginning to the end",
                rises=drift > 0,
                drift=share_of(abs(drift)),
            )
        )
        return Steady("drifting", tuple(reasons), False)
    return _one_rate(seen, rate, middle, reasons, interface_bps)


def _one_rate(
    seen: Observed,
    rate: FloatArray,
    middle: float,
    reasons: list[Message],
    interface_bps: float | None,
) -> Steady:
    """Say how steady one rate is."""
    sd = float(np.clip(rate, 0.5 * middle, 1.5 * middle).std()) / middle
    usual = robust_sd(rate, middle) / middle
    dips = int((rate < (1 - _STEP) * middle).sum())
    if dips >= _DIPS and 4 * usual < _STEP:
        lasted = Duration(dips * max(seen.interval_s, SHARED_S))
        reasons.append(
            message(
                "it is more than {limit} slower for {time} in all", limit=Chosen(_STEP), time=lasted
            )
        )
    # The one that the document has, where intervals lie unevenly about their median.
    value = level(seen.plateau(np.ones(len(seen.index), dtype=bool))).value
    reasons.append(
        message(
            "it {% if varies %}varies about{% else %}stays at{% endif %} {rate} with a "
            "standard deviation of {sd}",
            varies=sd > _CONSTANT,
            rate=rate_of(value),
            sd=share_of(sd),
        )
    )
    if seen.outages:
        reasons.append(message("there is no other change of rate"))
        return Steady("interrupted", tuple(reasons), True)
    if sd > _CONSTANT:
        reasons.append(message("no fall from one rate to another is shown"))
        return Steady("noisy", tuple(reasons), True)
    reasons.append(message("no change is shown in {time}", time=Duration(seen.seconds)))
    if interface_bps is not None and middle < _CAPPED * interface_bps:
        reasons.append(
            message(
                "that is {share} of the interface's {interface}: it is capped from the start",
                share=share_of(middle / interface_bps),
                interface=rate_of(interface_bps),
            )
        )
        return Steady("capped", tuple(reasons), True)
    if interface_bps is None:
        reasons.append(
            message("whether that is a cap is unknown without the interface's line rate")
        )
    return Steady("constant", tuple(reasons), True)


def _smooth(seen: Observed, points: tuple[int, ...], levels: tuple[float, ...]) -> Steady | None:
    """Return that steps are none: the rate changes all along; None: they are."""
    cuts = np.union1d(seen.starts, np.array(points, dtype=np.int64))
    begins, ends = cuts, np.append(cuts[1:], len(seen.rate))
    depth = max(levels) - min(levels)
    fastest, slowest = rate_of(max(levels)), rate_of(min(levels))
    slow = message(
        "the rate changes slowly, between {fastest} and {slowest}", fastest=fastest, slowest=slowest
    )
    drifting = Steady("drifting", (slow, *outages(seen)), False)
    if _is_line(seen, begins, ends):
        return drifting
    falls = falls_within(seen, begins, ends, depth)
    if not falls and not falls_within(seen, begins, ends, depth, -1):
        return None
    if falls and _recovers(seen, depth):
        falling = message(
            "while it sends, the rate falls slowly from {fastest} to {slowest}, and idle "
            "periods restore it, as with thermal throttling",
            fastest=fastest,
            slowest=slowest,
        )
        return Steady("declining", (falling, *outages(seen)), False)
    return drifting


def _is_line(seen: Observed, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> bool:
    """Whether one line through all of the time describes the rate about as well as steps do."""
    time = seen.trace.start_s[seen.index]
    line = np.polyval(np.polyfit(time - time[0], seen.rate, 1), time - time[0])
    steps = np.concatenate(
        [np.full(b - a, seen.rate[a:b].mean()) for a, b in zip(begins, ends, strict=True)]
    )
    beside_line, beside_steps = float((seen.rate - line).std()), float((seen.rate - steps).std())
    return beside_line <= _ABOUT * beside_steps


def _recovers(seen: Observed, depth: float) -> bool:
    """Whether bursts begin faster than those before ended."""
    ends = [seen.rate[a:b] for a, b in zip(seen.starts, seen.ends, strict=True) if b - a >= _HALF]
    up = [
        float(np.median(after[:_HALF]) - np.median(before[-_HALF:]))
        for before, after in pairwise(ends)
    ]
    return bool(up) and float(np.mean(up)) > _SLOPE * depth


def changing(seen: Observed, fall: int) -> bool:
    """Whether there are further steps before or after a single fall."""
    # What lies next to the fall may be a mixture of both levels.
    parts = (_apart(seen, 0, max(0, fall - 1)), _apart(seen, fall + 2, len(seen.index)))
    return any(_off(len(one), changes(one, precision=_STEP)) > _LASTS for one, _ in parts)


def comes_back(seen: Observed) -> int:
    """Count how often the rate falls and comes back, each time to stay, while data is being sent.

    No bucket does that, and nothing that only rests bring back.
    """
    bursts = [
        np.log(_apart(seen, int(a), int(b))[0]) for a, b in zip(seen.starts, seen.ends, strict=True)
    ]
    bursts = [one for one in bursts if len(one) >= 2 * _STAYS + 1]
    if not bursts:
        return 0
    apart = np.concatenate([np.abs(np.diff(one)) for one in bursts])
    least = max(_JUMP, _JUMP_SDS * robust_sd(apart, 0.0) / math.sqrt(2))
    count = 0
    for one in bursts:
        middles = np.median(np.lib.stride_tricks.sliding_window_view(one, _STAYS), axis=1)
        steps = middles[_STAYS:] - middles[:-_STAYS]
        signs = np.sign(steps) * (np.abs(steps) > least)
        turns = signs[np.flatnonzero(np.diff(signs, prepend=0.0))]
        turns = turns[turns != 0]
        count += int(((turns[1:] > 0) & (turns[:-1] < 0)).sum())
    return count


def contended(seen: Observed, count: int) -> Steady:
    """Say that the rate goes up and down while data is being sent."""
    high, low = (rate_of(one) for one in np.quantile(seen.rate, [0.95, 0.05]))
    recovers = message(
        "while it sends, the rate falls and recovers {n} times, between {high} and {low}, as "
        "where others share the network or noise is autocorrelated",
        n=count,
        high=high,
        low=low,
    )
    return Steady("contention", (recovers, *outages(seen)), False)


def falls_within(
    seen: Observed, begins: NDArray[np.int64], ends: NDArray[np.int64], depth: float, sign: int = 1
) -> bool:
    """Whether what should be plateaus loses height all along, by a share of a depth.

    Parameters
    ----------
    seen : Observed
    begins, ends : int array
        Of each plateau, in ``seen.index``.
    depth : float
        Bits a second.
    sign : {1, -1}
        Whether they fall, or rise.
    """
    rates = (sign * _apart(seen, int(a), int(b))[0] for a, b in zip(begins, ends, strict=True))
    pieces = [one for one in rates if len(one) >= 2 * _HALF]
    if not pieces:
        return False
    halves = [(one[: len(one) // 2], one[-(len(one) // 2) :]) for one in pieces]
    weights = np.array([len(first) for first, _ in halves], dtype=float)
    lost = np.array([first.mean() - second.mean() for first, second in halves])
    residuals = np.concatenate(
        [residuals_of_lines(one - one.mean()) for pair in halves for one in pair]
    )
    height = float(lost @ weights / weights.sum())
    error = float(residuals.std()) * math.sqrt(2 * short_dependence(residuals) / weights.sum())
    return height > max(_SLOPE * depth, _CLEAR * error)


def _apart(seen: Observed, first: int, end: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return rates of times so long that neighbours share no noise, and where each begins."""
    at = seen.index[first:end]
    if len(at) == 0:
        return np.empty(0), np.empty(0, dtype=np.int64)
    seconds = seen.trace.on_s[at]
    group = np.floor((np.cumsum(seconds) - seconds) / SHARED_S + 1e-6)
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    sums = np.add.reduceat(seen.trace.bits[at], begins) / np.add.reduceat(seconds, begins)
    return sums, begins + first


def _off(n: int, found: Changes) -> float:
    """Return the share of the trace that is at levels other than the one it is at mostly."""
    if not found.points:
        return 0.0
    lengths = np.diff([0, *found.points, n])
    levels = np.array(found.levels)
    order = np.argsort(levels)
    middle = levels[order][np.searchsorted(np.cumsum(lengths[order]), n / 2)]
    return float(lengths[np.abs(levels / middle - 1) > _STEP].sum()) / n


def outages(seen: Observed) -> tuple[Message, ...]:
    """Say when nothing got through."""
    if not seen.outages:
        return ()
    n = len(seen.outages)
    lost = sum(end - start for start, end in seen.outages)
    longest = max(seen.outages, key=lambda one: one[1] - one[0])
    last = seen.outages[-1][1] >= float(seen.trace.end_s[-1]) - 1e-9
    start, end, lasted = stamp(longest[0]), stamp(longest[1]), Duration(lost)
    if n > 1:
        return (
            message(
                "nothing got through {n} times, {lasted} in all. The longest outage was from "
                "{start} to {end}",
                n=n,
                lasted=lasted,
                start=start,
                end=end,
            ),
        )
    return (
        message(
            "nothing got through for {lasted}, from {start} to {% if end %}{end}{% else %}the "
            "end of the trace{% endif %}",
            lasted=lasted,
            start=start,
            end=None if last else end,
        ),
    )


def _goes_back(levels: tuple[float, ...]) -> bool:
    """Whether levels go up and down, and come back to where they were."""
    steps = np.diff(np.log(np.maximum(levels, 1e-9)))
    large = steps[np.abs(steps) > _STEP]
    return int((np.diff(np.sign(large)) != 0).sum()) >= _TURNS


def _two_rates(rate: FloatArray) -> Message | None:
    """Say between which two rates a trace jumps, and the share of the lower; None: it does not."""
    x = np.sort(np.log(rate))
    n = len(x)
    if n < _TWO_FEWEST:
        return None
    at = best_cut(x)
    low, high = x[:at], x[at:]
    apart = float(np.median(high) - np.median(low))
    within = max(robust_sd(low), robust_sd(high))
    few = min(at, n - at) / n
    if few < _TWO_SHARE or apart < _STEP or apart < _TWO_APART * within:
        return None
    # Between two rates there is next to nothing; between the halves of one there is most.
    between = (x > np.median(low) + apart / 4) & (x < np.median(high) - apart / 4)
    if float(between.mean()) > _TWO_BETWEEN:
        return None
    return message(
        "the rate jumps between {high} and {low} ({share} of the time at the lower), as "
        "where others share the network or noise is autocorrelated",
        high=rate_of(np.exp(np.median(high))),
        low=rate_of(np.exp(np.median(low))),
        share=share_of(at / n),
    )


def _stepped(
    seen: Observed, points: tuple[int, ...], levels: tuple[float, ...], shape: Shape
) -> tuple[Message, ...]:
    at = [stamp(float(seen.trace.start_s[seen.index[p]])) for p in points]
    changed = message(
        "the rate changes {n | counted('time')} (at {at | join(', ')}{% if more_times %}, …"
        "{% endif %}), between {rates | join(', ')}{% if more_rates %}, …{% endif %}. One "
        "bucket does not explain that: {% if shared %}others share the network{% else %}its "
        "limit was changed, others came or left{% endif %}, or noise is autocorrelated",
        n=len(points),
        at=at[:_MOST_TIMES],
        more_times=len(at) > _MOST_TIMES,
        rates=[rate_of(one) for one in levels[:_MOST_RATES]],
        more_rates=len(levels) > _MOST_RATES,
        shared=shape == "contention",
    )
    return (changed, *outages(seen))
