"""Which of several hosts is the slowest more often than chance can give.

Where no host differs from the others, each is the slowest of a trial with the same chance: of ``H``
hosts in ``1/H`` of the trials. How times are distributed does not matter.
"""

from __future__ import annotations

import math

import numpy as np

from tare.statistics.statistic import FloatArray

#: What nobody leads.
NOBODY = -1
ERROR = 0.05


def leaders(scores: FloatArray, factor: float, least: float = 0.0) -> np.ndarray:
    """Return who leads in each trial; ``NOBODY`` where nobody does.

    Parameters
    ----------
    scores : array
        A row a trial, a column a host; NaN: unknown.
    factor : float
        By which a leader is beyond the median of the others.
    least : float
        What its score must be at least.
    """
    found = np.full(len(scores), NOBODY)
    for trial, row in enumerate(scores):
        known = row[~np.isnan(row)]
        if len(known) < 2:
            continue
        first, second = np.sort(known)[::-1][:2]
        others = np.median(np.sort(known)[:-1])
        # Of two that are alike none comes first.
        if first > second and first >= max(least, factor * others) and first > 0:
            found[trial] = int(np.nanargmax(row))
    return found


def chance(times: int, trials: int, hosts: int) -> float:
    """Return the chance that one given host of several leads in as many trials, or in more."""
    from scipy import special  # which a session that only measures does without

    if not times:
        return 1.0
    return float(special.betainc(times, trials - times + 1, 1 / hosts))


def fewest_trials(hosts: int, family: int) -> int:
    """Return how many trials it takes for a host that leads in all of them to be shown by Holm.

    Parameters
    ----------
    hosts : int
        Of which each may lead.
    family : int
        How many hypotheses are tested together.
    """
    return max(1, math.ceil(math.log(family / ERROR) / math.log(hosts)))
