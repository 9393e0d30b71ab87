"""P-values of permutation tests, which end once their verdict is certain.

Source: Besag and Clifford 1991.
"""

from __future__ import annotations

from collections.abc import Callable


def permutation_p(
    shuffled: Callable[[], float], observed: float, permutations: int, level: float
) -> float:
    """Return the share of shuffles whose statistic is as large as the observed one.

    The shuffles end as soon as all of them would certainly give a p above the level, so that the
    verdict at the level is always that of all of them. The p of fewer shuffles is valid as well.

    Parameters
    ----------
    shuffled : callable
        The statistic of another shuffle at each call.
    observed : float
        The statistic of the values in their order; the shuffle that they are counts as one.
    permutations : int
        Most shuffles.
    level : float
        What p is compared with: up to it, all shuffles are made.

    References
    ----------
    Besag and Clifford, Sequential Monte Carlo p-values, Biometrika 78, 1991.
    """
    reached = made = 1
    while made <= permutations and reached <= level * (permutations + 1):
        reached += shuffled() >= observed
        made += 1
    return reached / made
