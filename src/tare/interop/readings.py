"""Finite values of what a file holds in place of numbers, and what was wrong with the rest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tare.interop import units
from tare.interop.series import Defect, FloatArray, IntArray, Series
from tare.interop.text_file import shown

#: Sizes of what is measured; its squares are numbers, too.
SMALLEST, LARGEST = 1e-100, 1e100
#: What is told of others.
IMMEASURABLE = "beyond 1e100 or below 1e-100, which nothing measures"


@dataclass(frozen=True, eq=False)
class Readings:
    """Numbers fit to be values.

    Attributes
    ----------
    values : array, shape (n,)
        Finite, and not negative unless that was allowed.
    kept : int array, shape (n,)
        The place of each in the list that was read.
    defects : tuple of Defect
        What was left out, by kind of fault.
    """

    values: FloatArray
    kept: IntArray
    defects: tuple[Defect, ...]


def immeasurable(values: FloatArray) -> NDArray[np.bool_]:
    """Mark numbers, but zero, that are larger or smaller than anything measured."""
    sizes = np.abs(values)
    return np.isfinite(values) & ((sizes > LARGEST) | ((sizes < SMALLEST) & (sizes > 0)))


def readings(
    raw: Sequence[object],
    where: str | Callable[[int], str],
    scale: float | FloatArray = 1.0,
    negative: bool = False,
) -> Readings:
    """Take what are numbers from a list that should hold nothing else.

    Parameters
    ----------
    raw : sequence
        As parsed; texts, truth values and nulls are not numbers.
    where : str or callable
        The path of the list, or a function from an index to the place of that element.
    scale : float or array, shape (n,)
        What to multiply by, such as 1e-9 for nanoseconds.
    negative : bool
        Whether values below 0 can be.
    """
    at = where if callable(where) else (lambda index: f"{where}[{index}]")
    numbers = [number(value) for value in raw]
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array(numbers, dtype=float) * scale
    faults = {
        "not a number": np.isnan(values),
        "infinite or beyond what a double holds": np.isinf(values),
        IMMEASURABLE: immeasurable(values),
        "negative, which cannot be": (values < 0) & np.isfinite(values) & (not negative),
    }
    defects = []
    for fault, those in faults.items():
        if those.any():
            first = int(np.flatnonzero(those)[0])
            defects.append(
                Defect(
                    "corrupt",
                    f"{int(those.sum())} of {len(raw)} values left out: {fault}"
                    f" ({at(first)} is {shown(raw[first])}).",
                )
            )
    kept = np.flatnonzero(~np.logical_or.reduce(list(faults.values())))
    return Readings(values[kept], kept.astype(np.int64), tuple(defects))


def number(value: object) -> float:
    """Convert a parsed number; NaN for all that is none, infinity for what is too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def stated(pairs: Mapping[str, object], scale: float = 1.0) -> dict[str, float]:
    """Keep of the statistics that a file states those that are finite numbers."""
    found = {name: number(value) * scale for name, value in pairs.items()}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def per_operation(text: str) -> tuple[str, float, bool | None]:
    """Understand a unit such as ``ns/op``, ``ops/us``, ``B/op`` or ``MB/s``.

    Returns
    -------
    unit : str
        The unit to turn values into; the one that was given where it is not known.
    scale : float
        What to multiply by.
    lower_is_better : bool or None
    """
    spelt = text.replace("/sec", "/s")
    if spelt.startswith("ops/"):
        time = units.unit(spelt.removeprefix("ops/"))
        return ("1/s", 1 / time.factor, False) if time and time.base == "s" else (text, 1.0, None)
    found = units.unit(spelt.removesuffix("/op"))
    if found is None:
        return text, 1.0, True if spelt == "allocs/op" else None
    return found.base, found.factor, not found.base.endswith("/s")


def told_apart(series: Iterable[Series]) -> tuple[Series, ...]:
    """Add an occurrence to the keys of series that nothing else tells apart."""
    seen: Counter[tuple[object, ...]] = Counter()
    apart = []
    for one in series:
        name = (one.metric, *sorted(one.key.items()))
        seen[name] += 1
        again = {"occurrence": str(seen[name])} if seen[name] > 1 else {}
        apart.append(replace(one, key={**one.key, **again}))
    return tuple(apart)


def counted(numbers: Iterable[int], noun: str) -> str:
    """Say how many, where it may differ: ``10 runs``, ``10 to 25 runs``."""
    found = sorted(set(numbers)) or [0]
    many = f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{many} {noun if found == [1] else plural}"
