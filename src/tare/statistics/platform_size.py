"""What a platform costs by its type (PTO), and what by its size (PSO): a model of both.

Source: PINNING; Hodges and Lehmann 1963; simulations of tare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import Chosen, Message, message
from tare.results.verdict import INCONCLUSIVE, Verdict, judge
from tare.statistics.platform_size_curves import (
    SHAPES,
    Curve,
    Factor,
    Line,
    factor_of,
    hull,
    slack_of,
)
from tare.statistics.statistic import FloatArray

#: Sizes below which a constant cost and one that falls with size cannot be told apart.
FEWEST_SIZES = 4
#: Blocks below which a signed-rank interval has no bounds.
FEWEST_BLOCKS = 6


@dataclass(frozen=True)
class SizeRatio:
    """Overhead ratio at one size: Hodges–Lehmann median of the blocks' log-ratios."""

    cores: float
    chr: float
    ratio: Factor
    n: int


@dataclass(frozen=True)
class PlatformSize:
    """The cost of a platform over sizes, divided into its type's and its size's.

    Attributes
    ----------
    sizes : tuple of SizeRatio
        Overhead ratio at each size, smallest first.
    pto : Factor or None
        Cost that does not depend on the size: the model's at CHR = 1. None: not identifiable.
    pso : Factor or None
        Factor by which the smallest size costs more than the largest. None: not identifiable.
    curve : Curve or None
        The shape that fits best.
    kept : tuple of Curve
        All shapes that the data do not exclude; the intervals hold over them.
    verdict : str
        Whether the cost depends on the size.
    misfit : Message or None
        What is off, where no shape fits: then PTO and PSO describe, no more.
    refusal : Message or None
        Why PTO and PSO are not identifiable.
    extrapolated : Message or None
        Why PTO alone is not.
    n : int
        Blocks that have all sizes.
    """

    sizes: tuple[SizeRatio, ...]
    pto: Factor | None
    pso: Factor | None
    curve: Curve | None
    kept: tuple[Curve, ...]
    verdict: Verdict
    misfit: Message | None
    refusal: Message | None
    extrapolated: Message | None
    n: int


def platform_size(
    cores: FloatArray,
    platform: FloatArray,
    bare: FloatArray,
    blocks: ArrayLike,
    host_cores: float,
    margin: float = 0.02,
    confidence: float = 0.95,
    planned: int | None = None,
) -> PlatformSize:
    """Divide the cost of a platform into PTO and PSO.

    The model is log R = PTO + PSO · h(CHR), where R is the ratio to bare at the same size, CHR the
    assigned cores over the host's, and h vanishes where the platform has the whole host. It is
    fitted within each block; over blocks, PTO and PSO are Hodges–Lehmann medians with signed-rank
    intervals, which need no equal variances of the sizes and bear outliers. Since nothing says
    beforehand how fast a cost falls, three shapes are tried, and the intervals hold over all that
    the data do not exclude. They allow each size an error of its own of half the margin (SD),
    such as quotas have, which no number of blocks averages out.

    Parameters
    ----------
    cores : array, shape (n,)
        Size of each pair of values, in CPUs.
    platform, bare : array, shape (n,)
        Positive times on the platform and on bare, at that size in that block.
    blocks : sequence, shape (n,)
        What the pair was measured in: one repetition of all sizes, or one input.
    host_cores : float
        CPUs of the host.
    margin : float
        Relative difference of practical importance.
    confidence : float
        Of each interval.
    planned : int, optional
        Sizes that were to be measured, which a refusal then names.

    Returns
    -------
    PlatformSize
        Simulated coverage and error rates: docs/explanation/statistics.md.

    Raises
    ------
    ValueError
        If lengths differ, or values are not positive and finite.
    """
    sizes, table = _table(cores, platform, bare, blocks)
    chr = sizes / float(host_cores)
    told = tuple(
        SizeRatio(float(s), float(c), *_ratio(column, confidence))
        for s, c, column in zip(sizes, chr, table.T, strict=True)
    )
    kept = _usable(table)
    complete = table[:, kept][np.isfinite(table[:, kept]).all(axis=1)]
    refusal = _refusal(int(kept.sum()), len(sizes), len(complete), planned)
    if refusal is not None:
        n = len(complete)
        return PlatformSize(told, None, None, None, (), INCONCLUSIVE, None, refusal, None, n)
    return _fitted(told, sizes[kept], chr[kept], complete, margin, confidence)


def _table(
    cores: FloatArray, platform: FloatArray, bare: FloatArray, blocks: Any
) -> tuple[FloatArray, FloatArray]:
    """Sizes in order, and log-ratios: a row a block, a column a size, NaN where there is none."""
    names = np.asarray(blocks)
    cores, platform, bare = (np.asarray(x, dtype=float) for x in (cores, platform, bare))
    values = np.stack([cores, platform, bare]) if len(cores) == len(platform) == len(bare) else None
    if values is None or len(names) != len(cores):
        raise ValueError("a value on the platform, one on bare, a size and a block each are wanted")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("ratios are of positive, finite values")
    sizes, column = np.unique(cores, return_inverse=True)
    found, row = np.unique(names, return_inverse=True)
    total = np.zeros((len(found), len(sizes)))
    count = np.zeros_like(total)
    np.add.at(total, (row, column), np.log(platform) - np.log(bare))
    np.add.at(count, (row, column), 1)
    return sizes, np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _ratio(column: FloatArray, confidence: float) -> tuple[Factor, int]:
    some = column[np.isfinite(column)]
    return factor_of(some, confidence, 0.0), len(some)


def _usable(table: FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Sizes that have at least half of the blocks: one that mostly failed takes none away."""
    counts = np.isfinite(table).sum(axis=0)
    return np.asarray(counts >= max(1, counts.max(initial=0) / 2))


def _refusal(usable: int, sizes: int, blocks: int, planned: int | None) -> Message | None:
    if usable < FEWEST_SIZES:
        return message(
            "size_model.few_sizes", needs=FEWEST_SIZES, planned=planned, sizes=sizes, usable=usable
        )
    if blocks < FEWEST_BLOCKS:
        return message("size_model.few_blocks", needs=FEWEST_BLOCKS, blocks=blocks)
    return None


def _fitted(
    told: tuple[SizeRatio, ...],
    cores: FloatArray,
    chr: FloatArray,
    y: FloatArray,
    margin: float,
    confidence: float,
) -> PlatformSize:
    lines = [Line(shape, chr, y) for shape in SHAPES]
    off = [line.off(margin) for line in lines]
    fitting = [line for line, at in zip(lines, off, strict=True) if at is None]
    best = min(fitting or lines, key=lambda line: line.scatter)
    slack = [slack_of(line, margin, confidence, fits=bool(fitting)) for line in fitting or [best]]
    ends = [line.ends(confidence, s) for line, s in zip(fitting or [best], slack, strict=True)]
    at_best = (fitting or [best]).index(best)
    pto, pso = (hull([pair[i] for pair in ends], at_best) for i in (0, 1))
    h = best.h
    far = h.min() > np.ptp(h)
    at = off[lines.index(best)]
    return PlatformSize(
        sizes=told,
        pto=None if far else pto,
        pso=pso,
        curve=best.curve,
        kept=tuple(line.curve for line in fitting or [best]),
        verdict=judge_size(pso, margin),
        misfit=None if at is None else _misfit(cores[at], math.exp(best.middles[at])),
        refusal=None,
        extrapolated=message("size_model.extrapolated", chr=float(chr.max())) if far else None,
        n=len(y),
    )


def _misfit(cores: float, factor: float) -> Message:
    return message("size_model.misfit", cores=Chosen(float(cores), "cores"), factor=factor)


def judge_size(pso: Factor, margin: float) -> Verdict:
    """Judge whether the smallest size costs more than the largest, by more than twice the margin.

    It is a ratio of ratios, and what each size may be off by itself takes more than one margin.
    """
    return judge(pso.low, pso.high, 2 * margin, different=True)
