"""How often does it happen? The interval of a share of trials."""

from __future__ import annotations

from scipy import stats

from tare.registry import Description
from tare.statistics.statistic import Statistic


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


UNIT = Statistic(
    description=Description(
        name="shares",
        title="Exact interval of the share of trials in which something happened",
        question="How often does it happen?",
        source="Clopper and Pearson 1934",
    ),
    methods=(share_interval,),
)
