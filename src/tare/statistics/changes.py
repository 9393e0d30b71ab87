"""Does the level of a series change, and by more than the target? Drift and change points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tare.registry import Description
from tare.statistics.order import Order, condense, fences, order_of, sample
from tare.statistics.statistic import FloatArray, Statistic
from tare.statistics.warmup import change_points


@dataclass(frozen=True)
class Changes:
    """Changes of level over a series.

    Attributes
    ----------
    drift : float or None
        Change along the fitted line from the first trial to the last, relative to the median;
        None below 6 values or where all are equal.
    drifts : bool
        Whether a drift is shown *and* exceeds the precision.
    points : tuple of int
        Indices at which another level begins, where a change is shown.
    levels : tuple of float
        Mean of each level, outliers drawn in.
    largest : float or None
        Largest difference of neighbouring levels, relative to the median, with its sign.
    at : int or None
        Index at which it begins.
    ok : bool or None
        Whether neither drift nor change exceeds the precision.
    sentence : str
        What it means.
    """

    drift: float | None
    drifts: bool
    points: tuple[int, ...]
    levels: tuple[float, ...]
    largest: float | None
    at: int | None
    ok: bool | None
    sentence: str


def changes(values: FloatArray, precision: float = 0.01, order: Order | None = None) -> Changes:
    """Look for changes of level larger than the precision.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    precision : float
        Relative change that matters: the target.
    order : Order, optional
        Of the same values, where it is known already.

    Notes
    -----
    Nothing is called a change unless the joint test of :mod:`tare.statistics.order` finds the
    order of the trials unlike a shuffled one. Sizes are of values drawn in to Tukey's far fences.
    """
    order = order or order_of(values)
    if order is None:
        why = "All values are equal" if len(values) >= 6 else f"{len(values)} values are too few"
        sentence = f"{why}: no change of level can be seen."
        return Changes(None, False, (), (), None, None, None, sentence)
    x, block = condense(values)
    x = np.clip(x, *fences(x))
    scale = abs(float(np.median(sample(values)))) or 1.0
    time = np.arange(len(x)) - (len(x) - 1) / 2
    drift = float(x @ time / (time @ time)) * (len(x) - 1) / scale
    drifts = order.drifts and abs(drift) > precision
    points = _points(x, order, block)
    bounds = [0, *points, len(x)]
    levels = tuple(float(x[a:b].mean()) for a, b in pairwise(bounds))
    steps = np.diff(levels) / scale
    widest = int(np.abs(steps).argmax()) if len(steps) else None
    largest = None if widest is None else float(steps[widest])
    at = None if widest is None else points[widest] * block
    ok = not drifts and (largest is None or abs(largest) <= precision)
    return Changes(
        drift=drift,
        drifts=drifts,
        points=tuple(p * block for p in points),
        levels=levels,
        largest=largest,
        at=at,
        ok=ok,
        sentence=_sentence(drift, drifts, largest, at, precision),
    )


def _points(x: FloatArray, order: Order, block: int) -> list[int]:
    if not order.matters:
        return []
    found = change_points(x)
    return found or ([order.at // block] if order.steps else [])


def _sentence(
    drift: float, drifts: bool, largest: float | None, at: int | None, precision: float
) -> str:
    told = []
    if drifts:
        told.append(f"from the first trial to the last the values drift by {drift:+.1%}")
    if largest is not None and at is not None and abs(largest) > precision:
        told.append(f"the level changes by {largest:+.1%} at trial {at + 1}")
    if told:
        text = ", and ".join(told)
        return (
            f"{text[0].upper()}{text[1:]}, more than the {precision:.1%} that matter: one number "
            "for the whole series hides it."
        )
    if largest is not None:
        return f"The level changes, but by no more than the {precision:.1%} that matter."
    return f"No change of level and no drift of more than {precision:.1%} is shown."


UNIT = Statistic(
    description=Description(
        name="changes",
        title="Drift and change points, beside the target",
        question="Does the level change by more than the target?",
        source="thresholds by simulation; Killick 2012 for the places",
    ),
    methods=(changes,),
)
