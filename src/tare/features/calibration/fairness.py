"""Which of several settings is the fairest: its line the straightest; and what that costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from scipy import special

from tare.experiment.sweep.document import Calibration, Interval, Point
from tare.features.calibration.matrix import Combination, Matrix, Standing
from tare.results.message import Amount, Message, message
from tare.statistics.scaling import Verdict

#: Verdicts of a sweep, from the fairest to the least fair.
_VERDICTS: tuple[Verdict, ...] = (
    "linear", "saturating", "piecewise", "falling", "inconclusive"
)  # fmt: skip
_CONFIDENCE = 0.95


class _Mean(NamedTuple):
    """A mean with its variance, and the degrees of freedom of that; None: too few values."""

    value: float
    variance: float | None
    freedom: float


def standings(measured: Mapping[str, tuple[Combination, Calibration]]) -> tuple[Standing, ...]:
    """Put combinations in the order of their fairness.

    A line that is straight comes first, then the one whose largest error is least. Two are a tie
    where their errors differ by less than what is uncertain of them.

    Parameters
    ----------
    measured : mapping
        Combinations with their calibrations, by label.
    """
    if not measured:
        return ()
    maxima = {name: _maximum(found.points) for name, (_, found) in measured.items()}
    most = max(maxima.values(), key=lambda mean: mean.value)
    rows = [
        Standing(
            label=name,
            settings=one.settings,
            folder=one.folder,
            verdict=found.asked.verdict,
            r2=found.asked.line.r2,
            largest_error=found.asked.largest_error,
            uncertainty=_uncertainty(found),
            fairest=False,
            maximum=_interval(maxima[name]),
            maximum_share=_share(maxima[name], most),
        )
        for name, (one, found) in measured.items()
    ]
    rows.sort(key=_order)
    best = rows[0]
    return tuple(msgspec.structs.replace(row, fairest=_ties(best, row)) for row in rows)


def _order(row: Standing) -> tuple[int, float, float]:
    error = math.inf if row.largest_error is None else row.largest_error
    return _VERDICTS.index(row.verdict), error, -(row.r2 or 0.0)


def _ties(best: Standing, row: Standing) -> bool:
    if row.verdict != best.verdict or row.verdict == "inconclusive":
        return False
    if best.largest_error is None or row.largest_error is None:
        return row.largest_error is best.largest_error
    doubt = math.hypot(best.uncertainty or 0.0, row.uncertainty or 0.0)
    return row.largest_error - best.largest_error <= doubt


def _uncertainty(found: Calibration) -> float | None:
    """Return half of the relative interval at the step where the line errs most."""
    pieces = found.asked.segments
    line = pieces[0] if len(pieces) == 1 else found.asked.line

    def error(point: Point) -> float:
        predicted = line.intercept + line.slope * found.place(point)
        return abs(point.rate.value - predicted) / point.rate.value

    good = [point for point in found.points if point.rate.value > 0]
    if not good:
        return None
    worst = max(good, key=error).rate
    if worst.low is None or worst.high is None:
        return None
    return (worst.high - worst.low) / 2 / worst.value


def _maximum(points: Sequence[Point]) -> _Mean:
    point = max(points, key=lambda point: point.rate.value)
    n = len(point.rates)
    if n < 2:
        return _Mean(point.rate.value, None, 0.0)
    return _Mean(point.rate.value, float(np.var(point.rates, ddof=1)) / n, n - 1.0)


def _interval(mean: _Mean) -> Interval:
    if mean.variance is None:
        return Interval(value=mean.value)
    half = float(special.stdtrit(mean.freedom, (1 + _CONFIDENCE) / 2)) * math.sqrt(mean.variance)
    return Interval(value=mean.value, low=mean.value - half, high=mean.value + half)


def _share(mean: _Mean, best: _Mean) -> Interval:
    """Return a mean as a share of the best, with Welch's interval on the logarithm."""
    if mean is best:
        return Interval(value=1.0, low=1.0, high=1.0)
    ratio = mean.value / best.value
    if mean.variance is None or best.variance is None or ratio <= 0:
        return Interval(value=ratio)
    parts = [(m.variance or 0.0) / m.value**2 for m in (mean, best)]
    total = sum(parts)
    below = sum(
        part**2 / m.freedom for part, m in zip(parts, (mean, best), strict=True) if m.freedom > 0
    )
    freedom = total**2 / below if below > 0 else mean.freedom + best.freedom
    half = float(special.stdtrit(freedom, (1 + _CONFIDENCE) / 2)) * math.sqrt(total)
    return Interval(value=ratio, low=ratio * math.exp(-half), high=ratio * math.exp(half))


#: Caveat of a matrix: drift between its sweeps is not in its intervals.
IN_ORDER = message(
    "settings are measured one after another, not interleaved: drift between them, such as "
    "heat, counts as a difference"
)


def answer(matrix: Matrix) -> tuple[Message, ...]:
    """Say which settings are the fairest, and what they cost.

    Parameters
    ----------
    matrix : Matrix
        With its standings.
    """
    rows = matrix.standings
    if not rows:
        return (message("nothing was measured"),)
    best = rows[0]
    fairest = [row for row in rows if row.fairest]
    if len(rows) == 1:
        only = message(
            "only {setting} was measured: {verdict}", setting=best.label, verdict=_verdict(best)
        )
        return (only,)
    if best.verdict == "inconclusive":
        return (message("no settings are the fairest: all are inconclusive"),)
    if len(fairest) == len(rows):
        first = message(
            "no settings are fairer than the others: all are {verdict}", verdict=best.verdict
        )
    elif len(fairest) > 1:
        labels = [row.label for row in fairest]
        first = message(
            "{settings | listing} are the fairest, a tie: {verdict}",
            settings=labels,
            verdict=best.verdict,
        )
    else:
        first = message(
            "{setting} is the fairest: {verdict}", setting=best.label, verdict=_verdict(best)
        )
    return first, _cost(rows, fairest)


def _verdict(row: Standing) -> Message:
    error = None if row.largest_error is None else Amount(row.largest_error, "share")
    return message(
        "{verdict}{% if error %}, one line errs by at most {error}{% endif %}",
        verdict=row.verdict,
        error=error,
    )


def _cost(rows: Sequence[Standing], fairest: Sequence[Standing]) -> Message:
    cheapest = max(fairest, key=lambda row: row.maximum_share.value)
    share = cheapest.maximum_share
    if share.value >= 1:
        return message("{setting} has the highest maximum speed", setting=cheapest.label)
    if share.low is not None and share.high is not None and share.high >= 1:
        return message(
            "the maximum speed of {setting} is not significantly lower than the highest",
            setting=cheapest.label,
        )
    return message(
        "the maximum speed of {setting} is {slower} lower than that of {fastest}",
        setting=cheapest.label,
        slower=Amount(
            1 - share.value,
            "share",
            None if share.high is None else 1 - share.high,
            None if share.low is None else 1 - share.low,
        ),
        fastest=max(rows, key=lambda row: row.maximum.value).label,
    )
