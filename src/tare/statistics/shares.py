"""How often does it happen? The interval of a share of trials.

Source: Clopper and Pearson 1934.
"""

from __future__ import annotations

from scipy import stats


def share_interval(times: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact interval of the chance of something that happened in some of n trials.

    Parameters
    ----------
    times, n : int
        ``0 ≤ times ≤ n``, and n above 0.
    confidence : float
        Coverage is at least this for independent trials.

    References
    ----------
    Clopper and Pearson 1934.
    """
    tail = (1 - confidence) / 2
    low = float(stats.beta.ppf(tail, times, n - times + 1)) if times else 0.0
    high = float(stats.beta.ppf(1 - tail, times + 1, n - times)) if times < n else 1.0
    return low, high
