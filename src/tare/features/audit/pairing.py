"""Which trials of two series belong together? By block, by interleaved order, or none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tare.experiment.findings.cells import FEWEST_COMMON
from tare.readers import Series
from tare.results.message import Message, message
from tare.statistics.shift import pair_dependence, pairs_for_ranks
from tare.statistics.sides import Sides
from tare.statistics.statistic import FloatArray

_PAIRED_SEPARATE = "the two were not interleaved trial by trial"

#: Fewest common blocks for a paired interval.
FEWEST = FEWEST_COMMON


@dataclass(frozen=True, eq=False, kw_only=True)
class Matched(Sides):
    """Values of two series as they are compared.

    The order of paired values is not known to be random, so that their ``dependence`` is never
    None.

    Attributes
    ----------
    how : str
        ``by block``, ``by order`` or ``not``.
    because : tuple of Message
        Why so, then what weakens a comparison of these values.
    same_order : bool
        Whether one of the two was first in every pair.
    unlike_inside : bool
        Whether iterations inside the trials of one change otherwise than in the other.
    """

    how: Literal["by block", "by order", "not"]
    because: tuple[Message, ...]
    same_order: bool = False
    unlike_inside: bool = False

    @property
    def needs_pairs(self) -> bool:
        """Whether pairs in random order would avoid what weakens a comparison of these values."""
        return not self.paired or self.same_order or self.unlike_inside

    @property
    def cautions(self) -> tuple[Message, ...]:
        """What weakens a comparison of these values."""
        return self.because[1:] if self.paired else self.because


def match(first: Series, second: Series) -> Matched:
    """Put trials of two series together where that is sound.

    Blocks pair their trials' means. Without blocks, order pairs them where it shows that the two
    were interleaved: each k-th trial of one has the k-th of the other as its neighbour in time. One
    series after the other is never paired: the i-th of both have nothing in common then.
    """
    if first.block is not None and second.block is not None:
        return _by_block(first, second)
    if first.position is not None and second.position is not None:
        return _by_order(first, second)
    return _not(
        first,
        second,
        message("the file does not state which trials belong together (--block, --order)"),
    )


def _not(first: Series, second: Series, why: Message) -> Matched:
    return Matched(
        first=first.values,
        second=second.values,
        limits=(first.least, second.least),
        paired=False,
        dependence=1.0,
        how="not",
        because=(
            message("{why}: a change between the two measurements counts as a difference", why=why),
        ),
    )


def _by_block(first: Series, second: Series) -> Matched:
    assert first.block is not None
    assert second.block is not None
    common = np.intersect1d(first.block, second.block)
    if len(common) < FEWEST:
        return _not(
            first, second, message("only {blocks | counted('block')} in common", blocks=len(common))
        )
    left_out = len(np.union1d(first.block, second.block)) - len(common)
    (x, least_x, one), (y, least_y, two) = (_of_blocks(t, common) for t in (first, second))
    # Neighbours in time are alike, whatever they are called; where the two had the blocks in
    # another order, either may be what makes the differences alike.
    orders = [one] if np.array_equal(one, two) else [one, two]
    dependence = max(pair_dependence(least_x[order], least_y[order]) for order in orders)
    because = [
        message(
            "paired by block{% if left_out %}; {left_out | counted('block')} that only one has "
            "{% if left_out == 1 %}is{% else %}are{% endif %} left out{% endif %}",
            left_out=left_out,
        )
    ]
    limits = least_x[one], least_y[one]
    return _paired((x[one], y[one]), limits, "by block", because, dependence)


def _of_blocks(trials: Series, common: np.ndarray) -> tuple[FloatArray, FloatArray, np.ndarray]:
    """Return the mean of each common block's trials, its least value, and the blocks' order.

    That is the order in which the series first had them: by ``--order``, or row by row.
    """
    assert trials.block is not None
    kept = np.flatnonzero(np.isin(trials.block, common))
    at = np.searchsorted(common, trials.block[kept])
    means, least = (
        np.bincount(at, values[kept]) / np.bincount(at) for values in (trials.values, trials.least)
    )
    first = np.full(len(common), np.inf)
    np.minimum.at(first, at, kept if trials.position is None else trials.position[kept])
    return means, least, np.argsort(first, kind="stable")


def _by_order(first: Series, second: Series) -> Matched:
    assert first.position is not None
    assert second.position is not None
    a, b = first.position, second.position
    if len(np.intersect1d(a, b)):
        return _not(
            first,
            second,
            message(
                "the order restarts in each series and does not show which trials were neighbours"
            ),
        )
    if len(a) != len(b) or len(a) < FEWEST:
        return _not(first, second, message(_PAIRED_SEPARATE))
    one, two = np.argsort(a, kind="stable"), np.argsort(b, kind="stable")
    x, y = a[one], b[two]
    if np.any(np.maximum(x, y)[:-1] > np.minimum(x, y)[1:]):
        return _not(first, second, message(_PAIRED_SEPARATE))
    same = bool(np.all(x < y) or np.all(y < x))
    values = first.values[one], second.values[two]
    limits = first.least[one], second.least[two]
    because = [
        message("paired with the neighbour in time"),
        *(
            [message("one always came before the other: a drift would look like a difference")]
            if same
            else []
        ),
    ]
    matched = _paired(values, limits, "by order", because, pair_dependence(*limits))
    return replace(matched, same_order=same)


def _paired(
    values: tuple[FloatArray, FloatArray],
    limits: tuple[FloatArray, FloatArray],
    how: Literal["by block", "by order"],
    because: list[Message],
    dependence: float,
) -> Matched:
    """Say whether the pairs are enough for what they share with the pairs before them."""
    n, fewest = len(values[0]), pairs_for_ranks(dependence)
    if n < fewest:
        effective = round(n / dependence)
        because.append(
            message(
                "{% if effective < pairs %}the differences are autocorrelated: {pairs} pairs "
                "count as about {effective} independent ones{% else %}{pairs} pairs are too few "
                "to exclude autocorrelation, so the interval is wide{% endif %}. {needed} pairs "
                "are needed",
                pairs=n,
                effective=effective,
                needed=fewest,
            )
        )
    first, second = values
    return Matched(
        first=first, second=second, limits=limits, dependence=dependence,
        how=how, because=tuple(because),
    )  # fmt: skip
