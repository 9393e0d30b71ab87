"""Do groups of trials differ? Between-group share of variance with its permutation null.

Source: Kruskal and Wallis 1952; Brown and Forsythe 1974; Hays 1963.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    from scipy import stats  # half a second to load

    sizes = [len(g) for g in kept]
    means = np.array([g.mean() for g in kept])
    sds = np.array([g.std(ddof=1) for g in kept])
    return GroupEffect(
        p_mean=float(stats.kruskal(*kept).pvalue),
        p_spread=_spread_p(kept),
        share=_omega_squared(kept),
        sizes=tuple(sizes),
        means=means,
        sds=sds,
        range_by_chance=_chance_range(values, sizes, permutations, seed),
    )


def _spread_p(groups: list[FloatArray]) -> float:
    if all(np.ptp(np.abs(g - np.median(g))) == 0 for g in groups):
        return 1.0
    from scipy import stats  # half a second to load

    return float(stats.levene(*groups, center="median").pvalue)


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
