"""Is it different yet? Pairs compared at few looks, whose verdict holds in spite of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import special

from tare.registry import Description, Parameter
from tare.statistics.comparison import Comparison, compare, detectable_change, judge
from tare.statistics.sequential_boundaries import History, level, spent
from tare.statistics.signed_rank import signed_rank_interval, signed_rank_level, signed_rank_p
from tare.statistics.statistic import FloatArray, Statistic

#: Pairs at the first look, and by how much the next looks grow.
FIRST_LOOK = 7
GROWTH = 1.2


@dataclass(frozen=True)
class Look:
    """What one look at the pairs saw.

    Attributes
    ----------
    n : int
        Pairs.
    level : float
        Two-sided level that the look may take; 0 where none was left.
    low, high : float or None
        Bounds of the ratio at that level; None where n is too small for it.
    """

    n: int
    level: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Sequential:
    """A comparison that may be asked for after every pair.

    Attributes
    ----------
    comparison : Comparison
        As of the last look: ``n`` is its size, ``low`` and ``high`` are the sequential interval.
    stop : bool
        Whether the verdict (or the answer of the gate) is safe, so that no more pairs are needed.
    next_look : int or None
        Pairs at which it will be looked again; None where there is nothing more to look at.
    looks : tuple of Look
        All looks, in order.
    """

    comparison: Comparison
    stop: bool
    next_look: int | None
    looks: tuple[Look, ...]


def compare_sequentially(
    first: FloatArray,
    second: FloatArray,
    margin: float = 0.02,
    confidence: float = 0.95,
    gate: float | None = None,
    final: bool = False,
) -> Sequential:
    """Compare two cells, pair by pair, and say whether the verdict is safe.

    Parameters
    ----------
    first, second : array, shape (n,)
        Positive trial values in order of time; the i-th of both belong to one block, within
        which a coin flip chose the order.
    margin : float
        Relative difference of practical importance.
    confidence : float
        That no look alarms where nothing differs, and that the interval at the stop covers.
    gate : float, optional
        Stop where the ratio is safely below or above 1 + gate, instead of at a verdict.
    final : bool
        Whether the pairs end here for a reason that is not their values, such as a budget:
        what is left of the error is then spent at once.

    Returns
    -------
    Sequential
        Depends on the values only; asking after every pair is the same as asking at the looks.
    """
    d = np.log(second) - np.log(first)
    looks: list[Look] = []
    stop = False
    for look in _walk(d, margin, confidence, final):
        looks.append(look)
        stop = _decides(look, margin, gate)
        if stop:
            break
    n = looks[-1].n if looks else len(d)
    comparison = _conclude(first[:n], second[:n], looks, margin, confidence)
    following = None if stop or final else _next(looks[-1].n if looks else 0)
    return Sequential(comparison, stop, following, tuple(looks))


def _next(n: int) -> int:
    return FIRST_LOOK if n < FIRST_LOOK else math.ceil(n * GROWTH)


def _decides(look: Look, margin: float, gate: float | None) -> bool:
    if look.low is None or look.high is None:
        return False
    if gate is not None:
        return look.high < 1 + gate or look.low > 1 + gate
    different = look.low > 1 or look.high < 1
    return judge(look.low, look.high, margin, different=different) != "not decided"


def _walk(d: FloatArray, margin: float, confidence: float, final: bool) -> Iterator[Look]:
    history: History = ()
    n = FIRST_LOOK
    while n <= len(d):
        history, look = _look(d[:n].tobytes(), history, margin, confidence, False)
        if not (final and n == len(d)):
            yield look
        n = _next(n)
    if final and len(d) > 0:
        if history and history[-1][0] == len(d):
            history = history[:-1]
        yield _look(d.tobytes(), history, margin, confidence, True)[1]


@lru_cache(maxsize=4096)
def _look(
    data: bytes, history: History, margin: float, confidence: float, final: bool
) -> tuple[History, Look]:
    d = np.frombuffer(data, dtype=float)
    n = len(d)
    alpha = 1 - confidence
    share = n / _horizon(d, margin, confidence)
    spend = alpha if final else alpha * min(0.95, math.log1p((math.e - 1) * share))
    a = level(history, n, max(spend, spent(history)))
    bounds = signed_rank_interval(d, 1 - a) if a > 0 else None
    achieved = signed_rank_level(n, a)
    z = float(-special.ndtri(achieved / 2)) if achieved > 0 else 12.0
    low, high = (None, None) if bounds is None else (math.exp(bounds[0]), math.exp(bounds[1]))
    return (*history, (n, z)), Look(n, a, low, high)


def _horizon(d: FloatArray, margin: float, confidence: float) -> int:
    """Pairs after which every effect is decided, from the spread and the margin alone."""
    bounds = signed_rank_interval(d, 0.8)
    if bounds is None:
        return FIRST_LOOK
    error = (bounds[1] - bounds[0]) / 2 / 1.2816 * math.sqrt(len(d))
    z = float(-special.ndtri((1 - confidence) / 2)) + 0.4
    return max(FIRST_LOOK, math.ceil((2 * z * error / math.log1p(margin)) ** 2))


def _conclude(
    first: FloatArray, second: FloatArray, looks: list[Look], margin: float, confidence: float
) -> Comparison:
    alone = compare(first, second, margin, confidence, interval=lambda d, c: None)
    look = looks[-1] if looks else Look(len(first), 0.0, None, None)
    low, high = look.low, look.high
    if low is None or high is None:
        return replace(alone, p=1.0, p_adjusted=1.0, verdict="not decided")
    different = low > 1 or high < 1
    verdict = judge(low, high, margin, different=different)
    d = np.log(second) - np.log(first)
    alpha = 1 - confidence
    p = signed_rank_p(d) ** (math.log(alpha) / math.log(look.level))
    p = min(p, float(np.nextafter(alpha, 0))) if different else max(p, alpha)
    half = math.log(high / low) / 2
    more = max(1, _horizon(d, margin, confidence) - len(d))
    return replace(
        alone,
        low=low,
        high=high,
        p=p,
        p_adjusted=p,
        verdict=verdict,
        more_pairs=more if verdict == "not decided" else None,
        detectable=detectable_change(half, 1 - look.level),
    )


UNIT = Statistic(
    description=Description(
        name="sequential",
        title="Group-sequential signed-rank comparison with a practical margin",
        question="Is it different yet?",
        parameters=(
            Parameter(
                name="margin",
                meaning="relative difference below which two cells are the same",
                unit="1",
                default=0.02,
                minimum=0.0,
            ),
        ),
        source="Lan and DeMets 1983; Jennison and Turnbull 1989; Hodges and Lehmann 1963",
    ),
    methods=(compare_sequentially,),
)
