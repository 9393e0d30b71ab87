"""What does the spread go with? Share of variance explained by what was recorded beside.

Source: Spearman 1904; Freedman and Lane 1983.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tare.statistics.exact import standard_ranks
from tare.statistics.holm import holm
from tare.statistics.statistic import FloatArray

PERMUTATIONS = 999
#: Trials below which nothing is said: a handful of ranks fits anything.
FEWEST = 20


@dataclass(frozen=True)
class Share:
    """One covariate by itself.

    Attributes
    ----------
    name : str
        Of the covariate.
    share : float
        Of the values' rank variance that it goes with: Spearman's rho, squared.
    rising : bool
        Whether values are larger where it is larger.
    p : float
        By permutation of the trials, after Holm over the covariates.
    """

    name: str
    share: float
    rising: bool
    p: float


@dataclass(frozen=True)
class Explained:
    """All covariates together.

    Attributes
    ----------
    share : float
        Of the values' rank variance, adjusted for the number of covariates; not below 0.
    p : float
        Of all covariates being irrelevant, by permutation of the trials.
    shares : tuple of Share
        Each covariate by itself, largest share first.
    n : int
        Trials.
    """

    share: float
    p: float
    shares: tuple[Share, ...]
    n: int


def explained(
    values: FloatArray, covariates: Mapping[str, FloatArray], seed: int = 1
) -> Explained | None:
    """Regress the ranks of the values on the ranks of the covariates.

    Ranks, so that one extreme trial explains nothing; permutations, so that the chance share of
    many covariates is known; an adjusted share, so that adding covariates does not add to it.
    What goes together need not be cause and effect.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values.
    covariates : mapping of str to array, shape (n,)
        Of the same trials; constant ones are left out.

    Returns
    -------
    Explained or None
        None below 20 trials, or without a covariate that varies.
    """
    n = len(values)
    varying = {k: v for k, v in covariates.items() if np.ptp(v) > 0}
    if n < max(FEWEST, 2 * len(varying) + 2) or not varying or np.ptp(values) == 0:
        return None
    y = standard_ranks(values)
    x = np.column_stack([standard_ranks(v) for v in varying.values()])
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(np.tile(y, (PERMUTATIONS, 1)), axis=1)
    basis, singular, _ = np.linalg.svd(x, full_matrices=False)
    basis = basis[:, singular > 1e-9 * singular[0]]
    joint = float(np.sum((basis.T @ y) ** 2))
    joint_null = np.sum((shuffled @ basis) ** 2, axis=1)
    rho, rho_null = x.T @ y, np.abs(shuffled @ x)
    p = [_permutation_p(abs(r), rho_null[:, i]) for i, r in enumerate(rho)]
    shares = [
        Share(name, float(r**2), bool(r > 0), q)
        for name, r, q in zip(varying, rho, holm(p), strict=True)
    ]
    degrees = basis.shape[1]
    adjusted = 1 - (1 - joint) * (n - 1) / (n - 1 - degrees)
    return Explained(
        share=max(0.0, adjusted),
        p=_permutation_p(joint, joint_null),
        shares=tuple(sorted(shares, key=lambda s: -s.share)),
        n=n,
    )


def _permutation_p(observed: float, null: FloatArray) -> float:
    return (1 + int(np.sum(null >= observed - 1e-12))) / (1 + len(null))
