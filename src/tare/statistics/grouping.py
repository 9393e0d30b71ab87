"""Do groups of trials differ? Between-group share of variance with its permutation null.

Source: Kruskal and Wallis 1952; Brown and Forsythe 1974; Hays 1963.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from tare.statistics.exact import ranks
from tare.statistics.statistic import FloatArray


@dataclass(frozen=True)
class GroupEffect:
    """What belonging to a group does to the values.

    Attributes
    ----------
    p_mean : float
        Kruskal–Wallis, of all groups having the same location.
    p_spread : float
        Brown–Forsythe, of all groups having the same spread.
    share : float
        Omega squared: share of the variance that lies between groups, not below 0.
    sizes : tuple of int
        Trials of each group.
    means, sds : array, shape (groups,)
        Of each group.
    range_by_chance : float
        Range of the groups' means that shuffled trials exceed in 5 %.
    """

    p_mean: float
    p_spread: float
    share: float
    sizes: tuple[int, ...]
    means: FloatArray
    sds: FloatArray
    range_by_chance: float


def group_effect(
    groups: Sequence[FloatArray], permutations: int = 999, seed: int = 1
) -> GroupEffect | None:
    """Compare groups of trials of one cell.

    Parameters
    ----------
    groups : sequence of array
        Trial values of each group; groups of fewer than two are left out.
    permutations : int
        Shuffles behind the chance range.
    seed : int
        Of the shuffling.

    Returns
    -------
    GroupEffect or None
        None where fewer than two groups have two trials, or all values are equal.
    """
    kept = [np.asarray(g, dtype=float) for g in groups if len(g) >= 2]
    if len(kept) < 2:
        return None
    values = np.concatenate(kept)
    if np.ptp(values) == 0:
        return None
    sizes = [len(g) for g in kept]
    means = np.array([g.mean() for g in kept])
    sds = np.array([g.std(ddof=1) for g in kept])
    return GroupEffect(
        p_mean=_kruskal_p(kept),
        p_spread=_spread_p(kept),
        share=_omega_squared(kept),
        sizes=tuple(sizes),
        means=means,
        sds=sds,
        range_by_chance=_chance_range(values, sizes, permutations, seed),
    )


def _spread_p(groups: list[FloatArray]) -> float:
    distances = [np.abs(g - np.median(g)) for g in groups]
    if all(np.ptp(d) == 0 for d in distances):
        return 1.0
    n, k = sum(map(len, groups)), len(groups)
    middle = np.concatenate(distances).mean()
    between = sum(len(d) * (d.mean() - middle) ** 2 for d in distances)
    within = sum(float(np.sum((d - d.mean()) ** 2)) for d in distances)
    return float(special.fdtrc(k - 1, n - k, (n - k) * between / ((k - 1) * within)))


def _kruskal_p(groups: list[FloatArray]) -> float:
    values = np.concatenate(groups)
    n, ends = len(values), np.cumsum([len(g) for g in groups])[:-1]
    placed = np.split(ranks(values[None])[0] - (n + 1) / 2, ends)
    statistic = sum(float(r.sum()) ** 2 / len(r) for r in placed) * 12 / (n * (n + 1))
    return float(special.chdtrc(len(groups) - 1, statistic / _ties(values[None])))


def friedman_p(rows: FloatArray) -> float:
    """P of all columns having the same location, each row being a block: Friedman's test.

    Parameters
    ----------
    rows : array, shape (blocks, columns)
        The values of at least one block differ.

    References
    ----------
    Friedman 1937.
    """
    n, k = rows.shape
    sums = np.sum(ranks(rows) - (k + 1) / 2, axis=0)
    statistic = 12 * float(sums @ sums) / (n * k * (k + 1)) / _ties(rows)
    return float(special.chdtrc(k - 1, statistic))


def _ties(rows: FloatArray) -> float:
    """Variance of the ranks in each row, relative to that without ties."""
    n, k = rows.shape
    placed = ranks(rows) - (k + 1) / 2
    return float(12 * np.sum(placed**2) / (n * k * (k**2 - 1)))


def _omega_squared(groups: list[FloatArray]) -> float:
    """Share of variance between groups, without the part that chance contributes."""
    values = np.concatenate(groups)
    between = sum(len(g) * (g.mean() - values.mean()) ** 2 for g in groups)
    total = float(np.sum((values - values.mean()) ** 2))
    within = (total - between) / (len(values) - len(groups))
    return max(0.0, float((between - (len(groups) - 1) * within) / (total + within)))


def _chance_range(values: FloatArray, sizes: list[int], permutations: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(np.tile(values, (permutations, 1)), axis=1)
    starts = np.cumsum([0, *sizes[:-1]])
    means = np.add.reduceat(shuffled, starts, axis=1) / np.array(sizes)
    return float(np.quantile(np.ptp(means, axis=1), 0.95))
