"""How often a limit misjudges: shares of values beyond a factor, and the factor for a share.

A value is what was measured of an execution, relative to the true one. A trial has a row of them,
one for each worker and iteration: they may be disturbed together, so that trials are the
replicates, and a row counts as less than as many independent values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tare.statistics.dependence import dependence_times
from tare.statistics.interim_analysis import FIRST_LOOK
from tare.statistics.inversion import root
from tare.statistics.statistic import FloatArray

CONFIDENCE = 0.95
#: Below, values that belong together cannot be told from others.
FEWEST = 6


@dataclass(frozen=True)
class Rule:
    """How several executions are judged: by the least or the middle of them.

    Attributes
    ----------
    name : str
    executions : int
    share : callable
        The share of judgements beyond a factor, from that of executions; they are independent.
    """

    name: str
    executions: int
    share: Callable[[float], float]


ONCE = Rule("one run", 1, lambda p: p)
BEST_OF_2 = Rule("best of 2", 2, lambda p: p**2)
MEDIAN_OF_3 = Rule("median of 3", 3, lambda p: p**2 * (3 - 2 * p))
RULES = (ONCE, BEST_OF_2, MEDIAN_OF_3)


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of values above some factors, shape (factors,), with what they are worth.

    Attributes
    ----------
    estimate : array
    worth : array
        How many independent values each is as good as.
    """

    estimate: FloatArray
    worth: FloatArray

    @property
    def low(self) -> FloatArray:
        """Lower ends of the intervals."""
        return self._ends((1 - CONFIDENCE) / 2)[0]

    @property
    def high(self) -> FloatArray:
        """Upper ends of the intervals."""
        return self._ends((1 - CONFIDENCE) / 2)[1]

    @property
    def bound(self) -> FloatArray:
        """What the chances are below, each with the whole confidence on that side."""
        return self._ends(1 - CONFIDENCE)[1]

    def _ends(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Return ends by Clopper and Pearson 1934, of as many values as these are worth."""
        from scipy import special

        above, below = self.estimate * self.worth, (1 - self.estimate) * self.worth
        low = np.where(above > 0, special.betaincinv(np.maximum(above, 1e-9), below + 1, tail), 0.0)
        high = np.where(
            below > 0, special.betaincinv(above + 1, np.maximum(below, 1e-9), 1 - tail), 1.0
        )
        return low, high

    def next(self, judgements: int, values: int) -> tuple[FloatArray, FloatArray]:
        """Interval of the share among further values.

        Parameters
        ----------
        judgements : int
            How many further ones.
        values : int
            How many values these shares are of: further ones belong together as these do.
        """
        from scipy import stats

        n = np.maximum(1, np.round(judgements * np.minimum(1, self.worth / values)))
        a, b = self.estimate * self.worth + 0.5, (1 - self.estimate) * self.worth + 0.5
        tail = (1 - CONFIDENCE) / 2
        return tuple(  # type: ignore[return-value]
            np.asarray(stats.betabinom.ppf(q, n, a, b)) / n for q in (tail, 1 - tail)
        )


def shares_above(values: FloatArray, factors: FloatArray) -> Shares:
    """Return the shares of values above each of some factors.

    Parameters
    ----------
    values : array, shape (n, k)
        A row a trial in order of time; infinite: stopped, above any factor.
    factors : array
        In any order.
    """
    n, k = values.shape
    rows = (values[None] > np.asarray(factors, dtype=float)[:, None, None]).mean(axis=2)
    p = rows.mean(axis=1)
    spread = rows.var(axis=1) / n
    alone = p * (1 - p) / (n * k)
    # Where none or all are above, it cannot be seen whether a row counts for more than one.
    of_rows = np.divide(alone, spread, out=np.full(len(rows), 1 / k), where=spread > 0)
    tau = np.where(spread > 0, dependence_times(rows), 1.0) if n >= FIRST_LOOK else 1.0
    return Shares(p, np.clip(n * k * np.minimum(1, of_rows) / tau, 1, n * k))


@dataclass(frozen=True)
class Factor:
    """The least factor above which at most a share of judgements lies.

    Attributes
    ----------
    estimate : float or None
        None: more values are above any of them.
    bound : float or None
        Above this lies at most that share, with the confidence. None: too few trials.
    needs : int
        Trials of one value from which on there is a bound.
    """

    estimate: float | None
    bound: float | None
    needs: int


def chance_of_one(chance: float, rule: Rule = ONCE) -> float:
    """Return the share of executions of which a rule makes a share of judgements."""
    return root(lambda p: rule.share(p) - chance, 0.0, 1.0, within=1e-15)


def least_factor(values: FloatArray, chance: float, rule: Rule = ONCE) -> Factor:
    """Return the least factor above which at most a share of judgements lies.

    Parameters
    ----------
    values : array, shape (n, k)
        A row a trial in order of time; infinite: stopped, above any factor.
    chance : float
        The share of judgements.
    rule : Rule
        By which several executions come to one judgement.
    """
    p = chance_of_one(chance, rule)
    needs = math.ceil(math.log(1 - CONFIDENCE) / math.log(1 - p))
    ordered = np.unique(values)
    ordered = ordered[np.isfinite(ordered)]

    def least(shares: Callable[[Shares], FloatArray]) -> float | None:
        low, high = 0, len(ordered)
        while low < high:
            middle = (low + high) // 2
            if shares(shares_above(values, ordered[middle : middle + 1]))[0] <= p:
                high = middle
            else:
                low = middle + 1
        return float(ordered[low]) if low < len(ordered) else None

    enough = len(values) >= FEWEST
    return Factor(least(lambda s: s.estimate), least(lambda s: s.bound) if enough else None, needs)
