"""When is it enough? The stopping rule, and what a number of trials reached.

Source: chosen by simulation among seven rules; Geyer 1992 for the dependence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from tare.results.message import Amount, Deviation, Message, message
from tare.statistics import phrases
from tare.statistics.interim_analysis import (
    FIRST_LOOK,
    MEMORY,
    Target,
    early_size,
    first_look,
    look,
    next_look,
)
from tare.statistics.intervals import range_interval
from tare.statistics.series_intervals import interval_at_stop
from tare.statistics.statistic import FloatArray
from tare.statistics.steadiness import SAY, largest_change
from tare.statistics.ticks import tick_of
from tare.statistics.watched import watched_ranks

#: Trials below which a change of level is not looked for.
_FEWEST_FOR_CHANGE = 20

#: Reason why the target is not reached: the interval is too ``wide``; the clock is too ``coarse``;
#: the series is autocorrelated (``remembers``); it ``drifts`` or ``jumps`` by more than the target;
#: values are ``ordered``, with which ``anytime`` does not hold; the quantile is ``above`` the time
#: limit of the trials.
Why = Literal["wide", "coarse", "remembers", "drifts", "jumps", "ordered", "above"]
#: A reason with its message; None, None where nothing is in the way.
Refused = tuple[Why, Message] | tuple[None, None]
#: Why a cell stops: it has what was asked; it had as many trials as any cell gets; no further trial
#: will help; or, of a comparison, every verdict is safe, or what is compared with keeps failing.
Reason = Literal["target", "cap", "refused", "decided", "alone"]
_SPREAD_RESAMPLES = 499
#: Factor by which what stands for a value above a limit exceeds all others.
_BEYOND = 1e12


def unsteady(values: FloatArray, precision: float, quantile: float = 0.5) -> Refused:
    """Tell that a series drifts or jumps by more than a target, where that is certain enough.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    precision : float
        The relative change that matters.
    quantile : float
        Of which quantile; the median by default.

    Returns
    -------
    ("drifts" or "jumps", Message) or (None, None)
        With what to do; never below 20 trials.
    """
    return change(np.asarray(values, dtype=float), Target(precision, quantile))


def change(values: FloatArray, target: Target) -> Refused:
    """Tell that a series drifts or jumps by more than the target."""
    if len(values) < _FEWEST_FOR_CHANGE:
        return None, None
    found = largest_change(values, target.quantile)
    if found.statistic <= SAY or abs(found.size) <= target.precision:
        return None, None
    size = Deviation(found.size, "share")
    if found.kind == "drift":
        return "drifts", message(
            "this series drifts: {size} over {trials | counted('trial')}; warm up or rest longer",
            size=size,
            trials=found.place,
        )
    return "jumps", message(
        "this series jumps: {size} after trial {trial}; find out what happened then, or warm "
        "up longer",
        size=size,
        trial=found.place,
    )


def clock(values: FloatArray, target: Target) -> Refused:
    """Tell that no number of trials reaches the target, since the clock's tick is in the way."""
    tick, middle = tick_of(values, target.tick), float(np.quantile(values, target.quantile))
    if tick is None:
        return "coarse", message(phrases.UNRESOLVED, n=len(values))
    if tick <= target.precision * abs(middle):
        return None, None
    share = Amount(tick / abs(middle), "share") if middle else None
    return "coarse", message(
        "the clock's tick is {% if share %}{share} of{% else %}larger than{% endif %} the "
        "value: time more work at once, or with a finer clock",
        share=share,
    )


def dependence(n: int, tau: float, target: Target, *, refused: bool, enough: bool) -> Refused:
    """Tell that a series is autocorrelated, where that alone is in the way."""
    if refused and target.anytime:
        return "ordered", message(
            "trials are autocorrelated (dependence time {tau}) and not exchangeable: leave "
            "out anytime, or reset what they leave behind",
            tau=tau,
        )
    if tau > MEMORY or (n / tau < FIRST_LOOK and (enough or n >= target.cap)):
        return "remembers", message(
            "trials are autocorrelated: {n} count as about {effective} independent ones",
            n=n,
            effective=round(n / tau),
        )
    return None, None


@dataclass(frozen=True)
class Decision:
    """What the rule says of one cell.

    Attributes
    ----------
    stop : bool
        Whether the cell has what it needs, or never will.
    reason : {"target", "cap", "refused", "decided", "alone"} or None
        Why it stops.
    reached : float or None
        Relative half-width of the quantile's interval over all trials; None where there are
        too few.
    more_trials : int or None
        About how many trials the target still takes; None where it is met or cannot be said.
    why : {"wide", "remembers", "drifts", "jumps", "ordered", "above"} or None
        What speaks against calling the target reached, where it is more than that trials are
        missing; also told while the cell goes on.
    refusal : Message or None
        The same as a sentence, with what to do.
    """

    stop: bool
    reason: Reason | None = None
    reached: float | None = None
    more_trials: int | None = None
    why: Why | None = None
    refusal: Message | None = None


def together(decisions: Mapping[str, Decision]) -> Decision:
    """Put the decisions on several metrics of one cell together.

    Parameters
    ----------
    decisions : mapping
        Metric to decision, made with ``family`` the number of metrics.

    Returns
    -------
    Decision
        Stops where all stop, with the first reason that is not ``target``; what it reached is
        the widest of all, and what is missing the most that is missing.
    """
    if len(decisions) == 1:
        return next(iter(decisions.values()))
    all_of = list(decisions.values())
    reached = [d.reached for d in all_of]
    more = [d.more_trials for d in all_of if d.more_trials is not None]
    refusals = [
        message("{metric}: {why}", metric=metric, why=d.refusal)
        for metric, d in decisions.items()
        if d.refusal
    ]
    first = next((d for d in all_of if d.reason not in (None, "target")), all_of[0])
    stop = all(d.stop for d in all_of)
    return Decision(
        stop=stop,
        reason=first.reason if stop else None,
        reached=None if None in reached else max(r for r in reached if r is not None),
        more_trials=max(more) if more else None,
        why=next((d.why for d in all_of if d.why), None),
        refusal=message("{parts | join('; ')}", parts=refusals) if refusals else None,
    )


@dataclass(frozen=True)
class Look:
    """What the rule sees at one size: whether it is enough, or how many trials it will take."""

    tight: bool
    projected: int
    refused: bool = False
    why: Why | None = None
    refusal: Message | None = None


def decide_cell(values: FloatArray, target: Target) -> Decision:
    """Decide whether one cell has enough trials.

    The rule looks at the data at few sizes only: first at 50 trials, then where the last look
    projected the target, at least 1.1 and at most 2 times further; with ``target.early`` at those
    of :func:`early_size` before. The sizes follow from the data alone, so that asking after every
    trial is the same as asking at the looks.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time. Infinite: above a limit.
    target : Target
        What is asked of the cell. The first look at a quantile far out is where 10 trials are
        expected beyond it.

    Returns
    -------
    Decision
        Never ``target`` where the series drifts or jumps by more than the target, as far as that
        can be told from it; see :mod:`tare.statistics.steadiness`.

    Notes
    -----
    Simulated coverage of the interval at the stop, nominal 95 %: 94 % and more over twenty kinds of
    series at coefficients of variation of 1, 2 and 5 %, or a refusal; the table is printed by
    ``benchmarks/coverage.py``. What 50 trials cannot show cannot be held: of two levels that are
    each kept for 50 trials, the first look often sees one.
    """
    n = len(values)
    if np.isposinf(values).any():
        return _decide_above(values, target)
    reached = None
    if n:
        at_stop = interval_at_stop(
            values,
            target.quantile,
            anytime=target.anytime,
            family=target.family,
            tick=target.tick,
            early=target.precision if target.early else None,
        )
        reached = at_stop.half_width
    if early_size(values, target) is not None:
        return Decision(True, "target", reached)
    projected = _few_projection(values, reached, target)
    seen: Look | None = None
    for size, seen in looks(values, target):
        projected = max(seen.projected, n + 1)
        if seen.tight:
            return Decision(True, "target", reached)
        if seen.refused or size >= target.cap:
            reason: Reason = "refused" if seen.refused else "cap"
            return Decision(True, reason, reached, None, seen.why, seen.refusal)
    more = projected - n if projected > n else None
    why, refusal = (seen.why, seen.refusal) if seen else change(values, target)
    return Decision(False, None, reached, more, why, refusal)


def _decide_above(values: FloatArray, target: Target) -> Decision:
    """Decide of a cell some of whose values are only known to exceed a limit, and infinite.

    Ranks are enough for a quantile's interval. Where it is open, the target is not reached; where
    even its lower bound is above the limit at every n together, no number of trials reaches it.
    """
    n, killed = len(values), np.isposinf(values)
    ordered = np.sort(values)
    refused = Decision(
        True, "refused", None, None, "above",
        message("{killed} of {n | counted('run')} exceeded the time limit; give a longer "
            "--timeout", killed=int(killed.sum()), n=n),
    )  # fmt: skip
    ranks = watched_ranks(n, target.quantile)
    if ranks is not None and math.isinf(ordered[ranks[0] - 1]):
        return refused
    # Beyond all others, so that ranks are the same, and an interval that ends there is too wide.
    scale = float(np.abs(values[~killed]).max(initial=1.0))
    tick = tick_of(values[~killed], target.tick)
    found = decide_cell(np.where(killed, _BEYOND * scale, values), replace(target, tick=tick))
    is_above = math.isinf(ordered[math.ceil((n - 1) * target.quantile)])
    # A change of level between known values and others has no size.
    if found.stop and (is_above or found.why in ("drifts", "jumps")):
        return refused
    if is_above or found.reached is None or found.reached > 1:
        found = replace(found, reached=None, more_trials=None)
    return found if found.stop else replace(found, why=None, refusal=None)


def looks(values: FloatArray, target: Target) -> Iterator[tuple[int, Look]]:
    """Go over the sizes at which the rule looks at a series, up to its length or its stop."""
    size = min(FIRST_LOOK if target.anytime else first_look(target.quantile), target.cap)
    while size <= len(values):
        seen = _look(np.ascontiguousarray(values[:size], dtype=float).tobytes(), target)
        yield size, seen
        if seen.tight or seen.refused or size >= target.cap:
            return
        size = next_look(size, seen.projected, target)


def decide(
    values: Mapping[int, Sequence[tuple[int, float]]], target: Target
) -> dict[int, Decision]:
    """Decide for every cell; blocks go on until all of them say stop.

    Parameters
    ----------
    values : mapping
        Cell to its trial values, each with the block that it belongs to, in order of time.
    target : Target
        What is asked of each.

    Returns
    -------
    dict
        Cell to decision.
    """
    return {
        cell: decide_cell(np.array([v for _, v in pairs], dtype=float), target)
        for cell, pairs in values.items()
    }


def spread_target(margin: float) -> float:
    """Target for the spread's interval of one cell, in log units, given the margin of a ratio.

    Half the margin: two such cells give a ratio known to about 0.7 margins, so that equal cells
    are usually told to be.
    """
    return math.log1p(margin) / 2


def _few_projection(values: FloatArray, reached: float | None, target: Target) -> int:
    """Trials that both targets will take, before the first look: for an n fixed beforehand."""
    n = len(values)
    projected = _projection(n, reached, target.precision, first_look(target.quantile))
    if target.spread is not None:
        width = _spread_half_width(values, 1.0) if n else None
        wide = FIRST_LOOK if width is None else _projection(n, width, target.spread)
        projected = max(projected, wide)
    return projected


def _projection(n: int, half_width: float | None, target: float, least: int = FIRST_LOOK) -> int:
    if half_width is None or n == 0:
        return max(least, n + 1)
    return math.ceil(n * (half_width / target) ** 2)


@lru_cache(maxsize=4096)
def _look(data: bytes, target: Target) -> Look:
    """Look at one series at one size; cached, since every later call passes here again."""
    values = np.frombuffer(data, dtype=float)
    n = len(values)
    seen = look(values[None], target)
    memory, tight, projected = float(seen.memory[0]), bool(seen.tight[0]), int(seen.projected[0])
    if target.spread is not None:
        width = _spread_half_width(values, float(seen.tau[0]))
        tight = tight and width is not None and width <= target.spread
        more = 2 * n if width is None else math.ceil(n * (width / target.spread) ** 2)
        projected = max(projected, more)
    why, refusal = clock(values, target)
    if why is not None:
        return Look(False, projected, True, why, refusal)
    if tight:
        return Look(True, projected)
    refused = bool(seen.refused[0])
    why, refusal = change(values, target)
    if why is None:
        enough = bool(seen.half_width[0] <= target.precision)
        why, refusal = dependence(n, memory, target, refused=refused, enough=enough)
    if why is None and n >= target.cap:
        why = "wide"
        refusal = message(
            "≈ {trials | counted('trial')} would reach the target, more than any series "
            "gets: relax it",
            trials=projected,
        )
    return Look(False, projected, refused, why, refusal)


def _spread_half_width(values: FloatArray, tau: float) -> float | None:
    # What a clock adds to a spread, more trials do not take away.
    interval = range_interval(values, resamples=_SPREAD_RESAMPLES, tick=0.0)
    if interval.low is None or interval.high is None or interval.low <= 0:
        return 0.0 if interval.high == 0 else None
    return math.log(interval.high / interval.low) / 2 * math.sqrt(tau)
