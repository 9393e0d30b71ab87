"""What a platform costs by its type (PTO), and what by its size (PSO): a model of both.

Source: PINNING; Hodges and Lehmann 1963; simulations of tare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tare.errors import ValuesError
from tare.results.message import Chosen, Message, message
from tare.results.verdict import INCONCLUSIVE, Verdict, judge
from tare.statistics import checked
from tare.statistics.signed_rank import hodges_lehmann, signed_rank_interval
from tare.statistics.statistic import FloatArray

Shape = Literal["log", "root", "inverse"]
#: How a cost may fall as CHR grows to 1: h(CHR) = (CHR^−p − 1) / p; p = 0 is −log CHR.
SHAPES: dict[Shape, float] = {"log": 0.0, "root": 0.5, "inverse": 1.0}
#: A shape is given up where some size is that surely off its line.
_MISFIT = 0.01
#: Sizes below which a constant cost and one that falls with size cannot be told apart.
FEWEST_SIZES = 4
#: Blocks below which a signed-rank interval has no bounds.
FEWEST_BLOCKS = 6


@dataclass(frozen=True)
class Factor:
    """A factor of cost with its interval; 1 is no cost. Bounds are None where there are none."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Curve:
    """One shape that the cost may have: log R = intercept + slope · h(CHR)."""

    shape: Shape
    intercept: float
    slope: float

    def ratio(self, core_ratio: float) -> float:
        """Overhead ratio that the curve has at a CHR."""
        h = float(transformed(np.array([core_ratio]), self.shape)[0])
        return math.exp(self.intercept + self.slope * h)


def transformed(core_ratio: FloatArray, shape: Shape) -> FloatArray:
    """Transform CHR such that it is 0 at 1, and grows as CHR falls."""
    power = SHAPES[shape]
    if power == 0:
        return np.asarray(-np.log(core_ratio))
    return np.asarray((core_ratio**-power - 1) / power)


class Line:
    """One shape fitted within every block."""

    def __init__(self, shape: Shape, core_ratio: FloatArray, y: FloatArray) -> None:
        self.shape: Shape = shape
        self.h = transformed(core_ratio, shape)
        centred = self.h - self.h.mean()
        self.by_slope = centred / float(centred @ centred)
        self.by_intercept = 1 / len(self.h) - self.h.mean() * self.by_slope
        self.slopes, self.intercepts = y @ self.by_slope, y @ self.by_intercept
        self.left = y - self.intercepts[:, None] - self.slopes[:, None] * self.h
        #: What is left at each size.
        self.middles = np.array([hodges_lehmann(column) for column in self.left.T])

    @property
    def scatter(self) -> float:
        """SD of the sizes about the line."""
        return float(np.sqrt(self.middles @ self.middles / (len(self.h) - 2)))

    @property
    def curve(self) -> Curve:
        """The line over blocks."""
        return Curve(self.shape, hodges_lehmann(self.intercepts), hodges_lehmann(self.slopes))

    def off(self, margin: float) -> int | None:
        """Find the size that is farthest off, where it surely is by more than the margin."""
        level = 1 - _MISFIT / len(self.h)
        for at in np.argsort(-np.abs(self.middles)):
            bounds = signed_rank_interval(self.left[:, at], level)
            if bounds and (bounds[0] > math.log1p(margin) or bounds[1] < -math.log1p(margin)):
                return int(at)
        return None

    def ends(self, confidence: float, slack: float) -> tuple[Factor, Factor]:
        """Return PTO and PSO; ``slack`` is how far each size may be off by itself."""
        width = float(np.ptp(self.h))
        pto = slack * float(np.linalg.norm(self.by_intercept))
        pso = slack * float(np.linalg.norm(self.by_slope)) * width
        return (
            factor_of(self.intercepts, confidence, pto),
            factor_of(self.slopes * width, confidence, pso),
        )


def slack_of(line: Line, margin: float, confidence: float, *, fits: bool) -> float:
    """Return how far sizes may be off: half the margin, or as far as they are seen to be."""
    upper = 0.5 + confidence / 2
    allowed = math.log1p(margin) / 2 * float(special.ndtri(upper))
    seen = line.scatter * float(special.stdtrit(len(line.h) - 2, upper))
    return allowed if fits else max(allowed, seen)


def factor_of(logs: FloatArray, confidence: float, slack: float) -> Factor:
    """Median of logarithms as a factor; its interval widened by what is common to all blocks."""
    middle = hodges_lehmann(logs)
    bounds = signed_rank_interval(logs, confidence)
    if bounds is None:
        return Factor(math.exp(middle), None, None)
    low = middle - math.hypot(middle - bounds[0], slack)
    high = middle + math.hypot(bounds[1] - middle, slack)
    return Factor(math.exp(middle), math.exp(low), math.exp(high))


def hull(factors: Sequence[Factor], best: int) -> Factor:
    """Take the best one's value, and an interval that holds those of all."""
    lows = [f.low for f in factors if f.low is not None]
    highs = [f.high for f in factors if f.high is not None]
    if len(lows) < len(factors):
        return Factor(factors[best].value, None, None)
    return Factor(factors[best].value, min(lows), max(highs))


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
    lacks : {"sizes", "blocks"} or None
        What there is too little of to identify PTO and PSO.
    refusal : Message or None
        The same in words.
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
    lacks: Literal["sizes", "blocks"] | None = None


def platform_size(
    cores: ArrayLike,
    platform: ArrayLike,
    bare: ArrayLike,
    blocks: Any,
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
    ValuesError
        If lengths differ, or values are not positive and finite.
    """
    checked.parameters(margin=margin, confidence=confidence)
    sizes, table = _table(cores, platform, bare, blocks)
    core_ratio = sizes / float(host_cores)
    told = tuple(
        SizeRatio(float(s), float(c), *_ratio(column, confidence))
        for s, c, column in zip(sizes, core_ratio, table.T, strict=True)
    )
    kept = _usable(table)
    complete = table[:, kept][np.isfinite(table[:, kept]).all(axis=1)]
    lacks, refusal = _refusal(int(kept.sum()), len(sizes), len(complete), planned)
    if refusal is not None:
        n = len(complete)
        return PlatformSize(told, None, None, None, (), INCONCLUSIVE, None, refusal, None, n, lacks)
    return _fitted(told, sizes[kept], core_ratio[kept], complete, margin, confidence)


def _table(
    cores: ArrayLike, platform: ArrayLike, bare: ArrayLike, blocks: Any
) -> tuple[FloatArray, FloatArray]:
    """Sizes in order, and log-ratios: a row a block, a column a size, NaN where there is none."""
    names = np.asarray(blocks)
    cores, platform = checked.pair(cores, platform, ("cores", "platform"))
    cores, bare = checked.pair(cores, bare, ("cores", "bare"))
    for name, values in (("cores", cores), ("platform", platform), ("bare", bare)):
        checked.positive(values, name)
    if names.shape != cores.shape:
        raise ValuesError(
            f"blocks has {names.size} values, and cores has {len(cores)}",
            "give one block per value",
        )
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


def _refusal(
    usable: int, sizes: int, blocks: int, planned: int | None
) -> tuple[Literal["sizes", "blocks"], Message] | tuple[None, None]:
    if usable < FEWEST_SIZES:
        return "sizes", message(
            "PTO and PSO not identifiable: {usable} of {needs} sizes{% if usable < sizes %} "
            "with enough good blocks{% endif %}{% if planned and planned != sizes %} ("
            "{sizes} of {planned} planned ones were measured){% endif %}",
            needs=FEWEST_SIZES,
            planned=planned,
            sizes=sizes,
            usable=usable,
        )
    if blocks < FEWEST_BLOCKS:
        return "blocks", message(
            "PTO and PSO not identifiable: {blocks} of {needs} blocks that have every size",
            needs=FEWEST_BLOCKS,
            blocks=blocks,
        )
    return None, None


def _fitted(
    told: tuple[SizeRatio, ...],
    cores: FloatArray,
    core_ratio: FloatArray,
    y: FloatArray,
    margin: float,
    confidence: float,
) -> PlatformSize:
    lines = [Line(shape, core_ratio, y) for shape in SHAPES]
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
        extrapolated=message(
            "the platform-type overhead (PTO) is that at CHR = 1, too far from the largest "
            "size measured (CHR = {chr})",
            chr=float(core_ratio.max()),
        )
        if far
        else None,
        n=len(y),
    )


def _misfit(cores: float, factor: float) -> Message:
    return message(
        "no shape of the model fits: at {cores} the overhead is off it by a factor of "
        "{factor}. Intervals are widened by how far sizes are off",
        cores=Chosen(float(cores), "cores"),
        factor=factor,
    )


def judge_size(pso: Factor, margin: float) -> Verdict:
    """Judge whether the smallest size costs more than the largest, by more than twice the margin.

    It is a ratio of ratios, and what each size may be off by itself takes more than one margin.
    """
    return judge(pso.low, pso.high, 2 * margin, different=True)
