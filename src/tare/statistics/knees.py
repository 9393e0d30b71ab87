"""Where does a latency staircase rise? Sizes of caches, and the latency of each, from the curve.

Source: Saavedra and Smith 1995; change points: Jackson and others 2005.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import isotonic_regression

from tare.results.message import Amount, Message, message
from tare.statistics.segmentation import penalty, segment_ends, slopes
from tare.statistics.statistic import FloatArray

#: Points an octave of the even grid that the curve is put on.
_GRID = 8
#: Fewest sizes, and octaves that they must span, to look for a staircase in.
_FEWEST = 8
_NARROWEST = 2.0
#: Shortest plateau, in octaves, and its steepest slope, in factors of e an octave.
_SHORTEST = 0.75
_STEEPEST = 0.25
#: Plateaus closer than this factor are one: misses of the TLB raise a latency by less, the next
#: cache by more.
_SAME = 1.6
#: Slowest rise between two plateaus, in factors of e an octave: what rises more slowly is a slope.
_RISE = 0.5
#: Squared error that one more change point must be worth, on top of the noise: half an octave
#: that is off by a sixth.
_WORTH = 0.05
#: Widest rise, in octaves, from a tenth of the loads missing to nine tenths, of a cache that ends
#: clearly, and of one cache alone.
_CLEAR = 1.5
_WIDEST = 2.0
#: Caches that a machine has. Where as many are found, a wide rise hides no other: a last cache that
#: others use as well ends slowly, too.
_USUAL = 3


@dataclass(frozen=True)
class Level:
    """One cache.

    Attributes
    ----------
    size_bytes : float
        Where half of the loads miss it.
    size_interval : tuple of float
        Sizes at which a tenth and nine tenths of the loads miss it: its end lies between.
    latency_ns : float or None
        Median over its plateau; None where it has none.
    clear : bool
        Whether it has a plateau of an octave and its rise is a narrow one. Otherwise the size is
        what is effective of a cache that others use as well, not what is built in.
    """

    size_bytes: float
    size_interval: tuple[float, float]
    latency_ns: float | None
    clear: bool


@dataclass(frozen=True)
class Staircase:
    """What a curve of latency over size shows.

    Attributes
    ----------
    levels : tuple of Level
        Caches, nearest first; none where the curve has no knee.
    memory_latency_ns : float or None
        Median over the last octave, where the curve ends on a plateau: memory's, if its sizes go
        beyond the last cache.
    sentence : Message
        What it means.
    """

    levels: tuple[Level, ...]
    memory_latency_ns: float | None
    sentence: Message


@dataclass(frozen=True)
class _Plateau:
    """Indices of the grid, the end excluded, and the log latency: over all of it, and at first."""

    start: int
    end: int
    all: float
    first: float


def knees(sizes_bytes: FloatArray, latency_ns: FloatArray) -> Staircase:
    """Find the caches in a curve of latency over size.

    Change points in the level of log latency over log size part plateaus from rises; each knee is
    in the middle of its rise, where half of the loads miss.

    Parameters
    ----------
    sizes_bytes, latency_ns : array, shape (n,)
        The curve, in any order; what is not positive and finite is left out. At least four sizes an
        octave are wanted. Medians over rounds, where there are several.

    Returns
    -------
    Staircase
    """
    curve = _curve(np.asarray(sizes_bytes, dtype=float), np.asarray(latency_ns, dtype=float))
    if curve is None:
        return Staircase((), None, message("these sizes are too few to look for caches in"))
    plateaus = _plateaus(curve)
    hidden = len(plateaus) <= _USUAL
    levels = tuple(
        level for a, b in pairwise(plateaus) for level in _levels_between(curve, a, b, hidden)
    )
    memory = None
    if plateaus and plateaus[-1].end == len(curve.x):
        last = curve.y[max(plateaus[-1].start, len(curve.y) - _GRID) :]
        memory = math.exp(float(np.median(last)))
    return Staircase(levels, memory, _sentence(levels, memory))


@dataclass(frozen=True)
class _Curve:
    """Log2 of size on an even grid, and log latency there: as it is, and never falling."""

    x: FloatArray
    y: FloatArray
    rising: FloatArray


def _curve(sizes: FloatArray, latency: FloatArray) -> _Curve | None:
    good = np.isfinite(sizes) & np.isfinite(latency) & (sizes > 0) & (latency > 0)
    at, where = np.unique(np.log2(sizes[good]), return_inverse=True)
    if len(at) < _FEWEST or at[-1] - at[0] < _NARROWEST:
        return None
    logs = np.log(latency[good])
    y = np.array([float(np.median(logs[where == i])) for i in range(len(at))])
    padded = np.concatenate([y[:1], y, y[-1:]])
    y = np.median([padded[:-2], padded[1:-1], padded[2:]], axis=0)  # single outliers
    x = np.arange(at[0], at[-1] + 1e-9, 1 / _GRID)
    return _Curve(x, np.interp(x, at, y), np.interp(x, at, isotonic_regression(y).x))


def _plateaus(curve: _Curve) -> list[_Plateau]:
    """Find where the curve is level, near enough and long enough."""
    rising = curve.rising
    noise = float(np.median(np.abs(np.diff(rising)))) ** 2
    ends = segment_ends(rising, _WORTH + penalty(len(rising), noise), 2)
    parts = [_plateau(curve, a, b) for a, b in pairwise([0, *ends])]
    found = [part for part in parts if _level(curve, part)]
    while len(found) > 1:
        steps = [_step(curve, a, b) for a, b in pairwise(found)]
        least = int(np.argmin(steps))
        if steps[least] >= math.log(_SAME):
            break
        found[least : least + 2] = [_plateau(curve, found[least].start, found[least + 1].end)]
    return [plateau for plateau in found if _level(curve, plateau)]


def _step(curve: _Curve, a: _Plateau, b: _Plateau) -> float:
    """Log of the factor between two plateaus; none where it is a slope that parts them."""
    rise = curve.rising[b.start] - curve.rising[a.end - 1]
    slope = rise / (curve.x[b.start] - curve.x[a.end - 1])
    return b.all - a.all if slope >= _RISE else 0.0


def _level(curve: _Curve, part: _Plateau) -> bool:
    long = float(curve.x[part.end - 1] - curve.x[part.start])
    slope = _GRID * float(slopes(curve.rising[part.start : part.end]))
    return long >= _SHORTEST and slope <= _STEEPEST


def _plateau(curve: _Curve, start: int, end: int) -> _Plateau:
    y = curve.y[start:end]
    return _Plateau(start, end, float(np.median(y)), float(np.median(y[:_GRID])))


def _levels_between(curve: _Curve, a: _Plateau, b: _Plateau, hidden: bool) -> list[Level]:
    """Return the cache of plateau `a`, and one more where the rise to `b` hides another."""
    low, high = math.exp(a.all), math.exp(b.first)
    begin, middle, end = (_crossing(curve, low + part * (high - low)) for part in (0.1, 0.5, 0.9))
    if end - begin <= _WIDEST or not hidden:
        clear = end - begin <= _CLEAR and curve.x[a.end - 1] - curve.x[a.start] >= 1
        return [_cache(begin, middle, end, low, clear)]
    leaves = [_crossing(curve, factor * low) for factor in (1.25, 2.0, 3.0)]
    return [
        _cache(leaves[0], leaves[1], leaves[2], low, clear=False),
        _cache(max(begin, leaves[1]), max(middle, leaves[2]), end, None, clear=False),
    ]


def _cache(begin: float, middle: float, end: float, latency: float | None, clear: bool) -> Level:
    return Level(2**middle, (2**begin, 2**end), latency, bool(clear))


def _crossing(curve: _Curve, latency: float) -> float:
    """Log2 of the size at which the curve goes through a latency."""
    x, y = curve.x, curve.rising
    after = int(np.searchsorted(y, math.log(latency)))
    if after == 0 or after == len(y):
        return float(x[min(after, len(x) - 1)])
    below, above = math.exp(y[after - 1]), math.exp(y[after])
    share = (latency - below) / (above - below)
    return float(x[after - 1] + share * (x[after] - x[after - 1]))


def _sentence(levels: tuple[Level, ...], memory: float | None) -> Message:
    if not levels:
        return message("the latency has no knee over these sizes: no cache ends among them")
    return message(
        "caches end at {caches | join(', ')}{% if memory %}; beyond, a load takes {memory}"
        "{% endif %}{% if unclear %}; “about”: it ends gradually, as others use it too or "
        "pages lie at random{% endif %}",
        caches=[
            message(
                "{% if not clear %}about {% endif %}{size} ({% if latency %}{latency}"
                "{% else %}no plateau{% endif %})",
                size=Amount(level.size_bytes, "bytes"),
                clear=level.clear,
                latency=None if level.latency_ns is None else Amount(level.latency_ns, "ns"),
            )
            for level in levels
        ],
        memory=None if memory is None else Amount(memory, "ns"),
        unclear=any(not level.clear for level in levels),
    )
