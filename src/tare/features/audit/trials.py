"""The values that count: one for each trial of a series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tare.readers import Series
from tare.statistics.statistic import FloatArray
from tare.statistics.ticks import tick_of

_PAGE_BYTES = 4096.0


@dataclass(frozen=True, eq=False)
class Trials:
    """Values of the trials of a series: the mean over each trial's values, where it is known.

    Attributes
    ----------
    values : array, shape (n,)
        In order of time.
    block : int array, shape (n,), or None
        Block of each trial.
    position : array, shape (n,), or None
        Place of each trial in the order of time of all series of its file.
    known : bool
        Whether trials are told apart; otherwise each value is taken for one.
    """

    values: FloatArray
    block: np.ndarray | None
    position: np.ndarray | None
    known: bool


def recorded_tick(series: Series) -> float | None:
    """Find the tick that values were recorded with, before they are averaged to trials.

    What an average smooths is the noise of rounding, not what cutting off takes from every value.
    Bytes that are all whole pages were counted in pages.
    """
    values = series.values
    paged = series.unit == "bytes" and len(values) > 0 and not np.any(np.mod(values, _PAGE_BYTES))
    return tick_of(values, _PAGE_BYTES if paged else None)


def trials_of(series: Series) -> Trials:
    """Reduce a series to the values of its trials."""
    position = series.position
    if series.trial is None:
        return Trials(series.values, series.block, position, known=False)
    _, first, inverse = np.unique(series.trial, return_index=True, return_inverse=True)
    if len(first) == len(series.values):
        return Trials(series.values, series.block, position, known=True)
    means = np.bincount(inverse, series.values) / np.bincount(inverse)
    order = np.argsort(first)
    at = first[order]
    return Trials(
        means[order],
        None if series.block is None else series.block[at],
        None if position is None else position[at],
        known=True,
    )
