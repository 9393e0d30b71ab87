"""Many hosts: how much they differ, which is odd, what holds for the next one, how many it takes.

A model of nested random effects: a host's level, each session's on it, each trial's. All of it is
worked out from counts, means and squares of sessions, so that the number of trials costs nothing.

Source: Searle, Casella and McCulloch 1992; Viechtbauer 2007; Knapp and Hartung 2003; Higgins,
Thompson and Spiegelhalter 2009; Nagashima, Noma and Furukawa 2019; Rosner 1983; Cochran 1977.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tare.statistics.inversion import root
from tare.statistics.statistic import FloatArray

IntArray = NDArray[np.int64]

#: Hosts below which nothing is said of hosts that were not measured, and of one that is odd.
FEWEST_HOSTS, FEWEST_ODD = 3, 4
#: Variances of hosts that are tried for the next one, and points of each three uniform numbers.
_TRIED, _POINTS_LOG2 = 160, 12
#: Where a root is looked for, relative to the spread of the sessions.
_WIDEST = 1e6
_STEPS = 80
#: More hosts, or trials of a session, are none that anybody would run.
_MOST = 10_000
#: Logarithms that differ by less are equal.
_ROUNDING = 1e-12
#: Shares of the error with which any host is called odd: of the first that is looked at, and of
#: each other one.
_FIRST, _LATER = 0.8, 0.25
#: Degrees of freedom from which on an SD has an interval.
_FEWEST_DF = 2
#: A variance that is none, to divide by.
_LEAST = 1e-100


@dataclass(frozen=True, eq=False)
class Sessions:
    """Sessions of all hosts, each summed up; arrays of shape (sessions,).

    Attributes
    ----------
    host : int array
        From 0, each with a session.
    n : int array
        Trials, at least 1.
    mean : float array
        Of the trials, of logarithms where ratios are meant.
    square : float array
        Sum over trials of the squared differences from that mean.
    fourth : float array
        Sum of their fourth powers.
    """

    host: IntArray
    n: IntArray
    mean: FloatArray
    square: FloatArray
    fourth: FloatArray

    @classmethod
    def of(cls, host: IntArray, session: IntArray, values: FloatArray) -> Sessions:
        """Sum trials up, each with its host and session, all of shape (trials,)."""
        pairs, at = np.unique(np.stack([host, session]), axis=1, return_inverse=True)
        at = at.reshape(-1)
        n = np.bincount(at)
        mean = np.bincount(at, values) / n
        off = values - mean[at]
        square, fourth = (np.asarray(np.bincount(at, off**p), dtype=float) for p in (2, 4))
        return cls(pairs[0], n, mean, square, fourth)

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return int(self.host.max()) + 1

    @property
    def apart(self) -> bool:
        """Whether hosts can be told apart from sessions: one has two of them."""
        return len(self.n) > self.hosts

    @property
    def beneath(self) -> int:
        """Degrees of freedom with which the errors of hosts' levels are known."""
        return len(self.n) - self.hosts if self.apart else int((self.n - 1).sum())


@dataclass(frozen=True)
class Component:
    """One source of variance.

    Attributes
    ----------
    sd : float
        Of the levels that it gives.
    low, high : float or None
        Interval of that; None: there are too few of them to say, or they are closer to each other
        than chance makes them.
    """

    sd: float
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class Components:
    """What trials vary by.

    Attributes
    ----------
    host, session, trial : Component
        Where each host has one session, ``host`` is that of both together and ``session`` is None.
        Where each session has one trial, ``trial`` is None and part of the one above it.
    p : float or None
        That hosts are alike; None: they cannot be told apart from sessions.
    level, error : float array, shape (hosts,)
        Each host's own mean, and the variance of that but for the host's.
    """

    host: Component
    session: Component | None
    trial: Component | None
    p: float | None
    level: FloatArray
    error: FloatArray


def components(sessions: Sessions, confidence: float = 0.95) -> Components:
    """Split the variance of trials by restricted maximum likelihood.

    Parameters
    ----------
    sessions : Sessions
        Of at least two hosts.
    confidence : float
        Of each interval.

    Notes
    -----
    A component's interval holds those values at which the weighted squares of the levels below it
    are as large as chance makes them, by the F distribution: the component beneath is estimated as
    well, and counts with the share that it has in these squares. With equally many sessions a host
    the test of the hosts is the F test of nested analyses of variance, exactly. The interval of the
    trials is widened by their kurtosis.

    References
    ----------
    Viechtbauer, Statistics in Medicine 26, 2007; Bonett, Computational Statistics & Data Analysis
    50, 2006.
    """
    within = int((sessions.n - 1).sum())
    trial = float(sessions.square.sum()) / within if within else 0.0
    session = _session_variance(sessions, trial)
    level, error = _levels(sessions, session, trial)
    return Components(
        host=_component(level, error, sessions.beneath, confidence),
        session=_sessions_component(sessions, session, trial, within, confidence),
        trial=_trials_component(sessions, within, confidence),
        p=_alike(level, error, sessions.beneath) if sessions.apart else None,
        level=level,
        error=error,
    )


def _session_variance(sessions: Sessions, trial: float) -> float:
    """Return the variance of sessions on one host; 0 where each host has one."""
    if not sessions.apart:
        return 0.0
    df = len(sessions.n) - sessions.hosts
    return _root(lambda v: _within(sessions, v, trial) - df, _spread(sessions.mean))


def _levels(sessions: Sessions, session: float, trial: float) -> tuple[FloatArray, FloatArray]:
    """Return each host's level, and the variance that it has from sessions and trials."""
    weight = 1 / np.maximum(session + trial / sessions.n, _LEAST)
    total = np.bincount(sessions.host, weight)
    return np.bincount(sessions.host, weight * sessions.mean) / total, 1 / total


def _within(sessions: Sessions, session: float, trial: float) -> float:
    """Return the weighted squares of sessions about the level of their host."""
    level, _ = _levels(sessions, session, trial)
    variance = np.maximum(session + trial / sessions.n, _LEAST)
    return float(((sessions.mean - level[sessions.host]) ** 2 / variance).sum())


def _excess(level: FloatArray, error: FloatArray) -> Callable[[float], float]:
    """Return the weighted squares of levels about their mean, by the variance they are to have."""

    def squares(variance: float) -> float:
        weight = 1 / np.maximum(variance + error, _LEAST)
        mean = float((weight * level).sum() / weight.sum())
        return float((weight * (level - mean) ** 2).sum())

    return squares


def _component(level: FloatArray, error: FloatArray, beneath: int, confidence: float) -> Component:
    """Return the component that gives levels, of which each has an error of its own."""
    df, squares = len(level) - 1, _excess(level, error)
    spread = _spread(level)
    variance = _root(lambda v: squares(v) - df, spread)
    ends = _ends(squares, error, df, beneath, spread, confidence)
    return _with_ends(variance, ends, spread, df)


def _with_ends(variance: float, ends: tuple[float, float], spread: float, df: int) -> Component:
    """Return a component; levels that are closer than chance makes them have no interval.

    Nor have two levels: it would reach to thirty times their SD and beyond.
    """
    if ends[1] == 0 < spread or df < _FEWEST_DF:
        return Component(math.sqrt(variance), None, None)
    low, high = map(math.sqrt, ends)
    return Component(math.sqrt(variance), low, high)


def _ends(
    squares: Callable[[float], float],
    error: FloatArray,
    df: int,
    beneath: int,
    spread: float,
    confidence: float,
) -> tuple[float, float]:
    """Return the variances at which squares are as large and as small as chance makes them."""

    def at(tail: float) -> float:
        def beyond(variance: float) -> float:
            # What is estimated counts with its share: where it is little, it is as good as known.
            share = float(np.mean(error / np.maximum(variance + error, _LEAST)))
            known = beneath / max(share**2, 1e-9) if beneath else math.inf
            return squares(variance) - df * _f(tail, df, known)

        return _root(beyond, spread)

    tail = (1 - confidence) / 2
    return at(1 - tail), at(tail)


def _sessions_component(
    sessions: Sessions, session: float, trial: float, within: int, confidence: float
) -> Component | None:
    if not sessions.apart:
        return None
    df = len(sessions.n) - sessions.hosts
    spread = _spread(sessions.mean)
    ends = _ends(
        lambda v: _within(sessions, v, trial), trial / sessions.n, df, within, spread, confidence
    )
    return _with_ends(session, ends, spread, df)


def _trials_component(sessions: Sessions, within: int, confidence: float) -> Component | None:
    if not within:
        return None
    variance = float(sessions.square.sum()) / within
    if variance == 0:
        return Component(0.0, 0.0, 0.0)
    # The variance of a variance grows with the kurtosis; of a normal distribution, 3, where means
    # are known: about their own mean, trials are closer than about the true one.
    counted = float(((sessions.n - 1) ** 2 / sessions.n).sum())
    kurtosis = float(sessions.fourth.sum()) / counted / variance**2
    df = 2 * within / max(kurtosis - 1, 2 / within)
    tail = (1 - confidence) / 2
    low, high = (variance * df / float(special.chdtri(df, p)) for p in (tail, 1 - tail))
    return Component(math.sqrt(variance), math.sqrt(low), math.sqrt(high))


@dataclass(frozen=True, eq=False)
class OddHosts:
    """How far hosts are from the others; arrays of shape (hosts,).

    Attributes
    ----------
    off, half : float array
        Of the odd hosts, or of the one that is furthest off: level less the mean of all others that
        are not odd, and how far the interval of that reaches. NaN for the others.
    p : float array
        That it is one of these. Adjusted, as ``half`` is, to hold for all hosts together.
    """

    off: FloatArray
    half: FloatArray
    p: FloatArray


def odd_hosts(
    level: FloatArray, error: FloatArray, family: int = 1, confidence: float = 0.95
) -> OddHosts:
    """Hold the hosts that are furthest off against what the others let one expect of the next.

    Parameters
    ----------
    level, error : array, shape (hosts,)
        As :class:`Components` has them; of at least four hosts.
    family : int
        How often this is asked of the same hosts.
    confidence : float
        With which none is called odd where none is, in the whole family.

    Notes
    -----
    One is taken away after another, the furthest off first, so that two odd ones do not hide each
    other: less than a third of all. Each is judged by Student's t against those that are left, by
    their spread and the errors, with as many degrees of freedom as these are less one: with equal
    errors the externally studentised residual, after Bonferroni over the hosts that it was the
    furthest of. It is odd where it, or one that was taken away later, is. Of few hosts, several
    looks are more than one [5 % each: 8 % of 7 to 16 hosts of which none is odd], so that the first
    and the later ones have a share of the error each [any host named in 4.3 to 5 %].

    References
    ----------
    Rosner, Technometrics 25, 1983.
    """
    n = len(level)
    left, taken, judged = np.arange(n), [], []
    most = max(1, (n - 1) // 3)
    for step in range(most):
        variance, mean, _ = _middle(level[left], error[left])
        spread = np.sqrt(np.maximum(variance + error[left], _LEAST))
        worst = left[np.argmax(np.abs(level[left] - mean) / spread)]
        left = left[left != worst]
        taken.append(worst)
        off, by_chance = _apart(level, error, left, worst)
        share = _FIRST if step == 0 < most - 1 else _LATER if step else 1.0
        looks = 2 * family * (len(left) + 1) / share
        tail = float(special.stdtr(len(left) - 1, -abs(off) / by_chance))
        judged.append((left, looks, min(1.0, looks * tail)))
    p = np.array([own for *_, own in judged])
    last = max(np.flatnonzero(p < 1 - confidence), default=0)
    found = OddHosts(np.full(n, np.nan), np.full(n, np.nan), np.ones(n))
    others, looks, _ = judged[last]
    for step, worst in enumerate(taken[: last + 1]):
        found.off[worst], by_chance = _apart(level, error, others, worst)
        quantile = -float(special.stdtrit(len(others) - 1, (1 - confidence) / looks))
        found.half[worst] = by_chance * quantile
        found.p[worst] = p[step : last + 1].min()
    return found


def _middle(level: FloatArray, error: FloatArray) -> tuple[float, float, float]:
    """Return the variance of hosts, their mean, and the variance of that."""
    variance = _variance(level, error)
    weight = 1 / np.maximum(variance + error, _LEAST)
    total = float(weight.sum())
    return variance, float((weight * level).sum()) / total, 1 / total


def _apart(
    level: FloatArray, error: FloatArray, others: IntArray, host: int
) -> tuple[float, float]:
    """Return how far a host is from others, and how far one of them would be by chance."""
    variance, mean, own = _middle(level[others], error[others])
    by_chance = math.sqrt(max(variance + float(error[host]) + own, _LEAST))
    return float(level[host]) - mean, by_chance


def _variance(level: FloatArray, error: FloatArray) -> float:
    """Return the variance of hosts at which their weighted squares are what is expected."""
    df = len(level) - 1
    # Where errors are equal, this is it; Newton's steps then come from below, as the squares are
    # convex in it.
    variance = max(0.0, float(np.var(level, ddof=1)) - float(np.mean(error)))
    for _ in range(_STEPS):
        weight = 1 / np.maximum(variance + error, _LEAST)
        mean = float((weight * level).sum() / weight.sum())
        squares = weight * (level - mean) ** 2
        excess = float(squares.sum()) - df
        if abs(excess) <= _ROUNDING * df or (variance == 0 and excess <= 0):
            break
        variance = max(0.0, variance + excess / float((weight * squares).sum()))
    return variance


@dataclass(frozen=True)
class Everywhere:
    """What a difference is over hosts, and on the next one.

    Attributes
    ----------
    mean, low, high : float
        Mean of the hosts' differences, with its interval.
    sd : float
        By which they differ from host to host.
    next_low, next_high : float
        Where that of a host lies that was not measured.
    """

    mean: float
    low: float
    high: float
    sd: float
    next_low: float
    next_high: float


def everywhere(
    level: FloatArray, error: FloatArray, beneath: int, confidence: float = 0.95
) -> Everywhere:
    """Combine the differences of hosts, each with an error of its own, as random effects.

    Parameters
    ----------
    level, error : array, shape (hosts,)
        Difference on each host, and its variance; at least three hosts.
    beneath : int
        Degrees of freedom with which these variances are known.
    confidence : float
        Of both intervals.

    Notes
    -----
    The next host lies in the wider of two intervals. Student's is the better one of many hosts. It
    takes the variance of hosts as its estimate, which of few is 0 in a third of all fleets; the
    other one takes it as what the hosts let it be. [Next hosts covered, SD of hosts half of one
    measured host's error: Student's, 91 to 94 % of 3 to 5 hosts, 78 to 81 % where the estimate is
    0; the wider one, 95 to 97 % and 84 to 91 %.]

    References
    ----------
    Knapp and Hartung, Statistics in Medicine 22, 2003; Higgins, Thompson and Spiegelhalter,
    Journal of the Royal Statistical Society A 172, 2009; Nagashima, Noma and Furukawa, Statistical
    Methods in Medical Research 28, 2019.
    """
    n = len(level)
    variance, mean, error_of_mean = _middle(level, error)
    weight = 1 / np.maximum(variance + error, _LEAST)
    squares = float((weight * (level - mean) ** 2).sum()) / (n - 1)
    own = squares * error_of_mean
    half = student(n - 1, confidence) * math.sqrt(own)
    # What is known of the variance of hosts is less where errors were taken off it [with exponent
    # 1.5 covers 94.6 to 95.9 % of next hosts, for 8 to 64 hosts whose SD is half to ten times that
    # of sessions, 3 a host; with 1, 93.2 to 95.1 %; without, 85.4 to 95.0 %].
    share = (variance + own) / (variance + own + float(np.mean(error)))
    next_half = student(max(2.0, (n - 1) * share**1.5), confidence) * math.sqrt(variance + own)
    low, high = _next(level, error, beneath, confidence)
    return Everywhere(
        mean, mean - half, mean + half, math.sqrt(variance),
        min(low, mean - next_half), max(high, mean + next_half),
    )  # fmt: skip


def _next(
    level: FloatArray, error: FloatArray, beneath: int, confidence: float
) -> tuple[float, float]:
    """Return where the next host lies, whatever the variance of hosts may be.

    Each variance counts with its share of the confidence distribution, which the squares that give
    its interval have as well. Hartung and Knapp's interval of the mean belongs to each.
    """
    df = len(level) - 1
    least = max(float(np.var(level)), float(np.mean(error)), _LEAST)
    tried = np.concatenate([[0.0], least * np.geomspace(1e-4, 1e5, _TRIED)])
    mean, own, beyond = np.empty((3, len(tried)))
    for place, variance in enumerate(tried):
        weight = 1 / np.maximum(variance + error, _LEAST)
        mean[place] = (weight * level).sum() / weight.sum()
        squares = float((weight * (level - mean[place]) ** 2).sum())
        own[place] = squares / df / weight.sum()
        share = float(np.mean(error * weight))
        known = beneath / max(share**2, 1e-9) if beneath else math.inf
        beyond[place] = _f_beyond(squares / df, df, known)
    uniform = _uniform_points()
    variance = np.interp(uniform[0], np.maximum.accumulate(beyond), tried)
    host = np.sqrt(variance) * special.ndtri(uniform[1])
    chance = np.sqrt(np.interp(variance, tried, own)) * special.stdtrit(df, uniform[2])
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.interp(variance, tried, mean) + host + chance, [tail, 1 - tail])
    return float(low), float(high)


@functools.cache
def _uniform_points() -> FloatArray:
    """Return points that fill the unit cube evenly, the same ones always: shape (3, points)."""
    # Importing it takes as long as all of this.
    from scipy.stats import qmc

    points = qmc.Sobol(3, scramble=False).random_base2(_POINTS_LOG2).T
    # The first of them is the corner of the cube.
    return np.asarray(points + 0.5 ** (_POINTS_LOG2 + 1), dtype=float)


@dataclass(frozen=True)
class Allocation:
    """How many of each it takes.

    Attributes
    ----------
    hosts, sessions, trials : int
        Hosts; sessions of each; trials of each of these.
    half_width : float
        Of the interval of the mean over hosts that they give.
    cost : float
        Of all, in the unit of the costs.
    """

    hosts: int
    sessions: int
    trials: int
    half_width: float
    cost: float


def allocation(
    variances: tuple[float, float, float],
    costs: tuple[float, float, float],
    half_width: float,
    confidence: float = 0.95,
    hosts: int | None = None,
) -> Allocation | None:
    """Return the cheapest number of hosts, sessions and trials that know the mean host so well.

    Parameters
    ----------
    variances, costs : tuple of float
        Of a host, a session and a trial; costs above 0.
    half_width : float
        That the interval of the mean over hosts is to have, by Student's t.
    confidence : float
        Of that interval.
    hosts : int or None
        As many as there are, at least three; None: any number.

    Returns
    -------
    Allocation or None
        None: it takes more hosts than there are, or than anybody has.

    References
    ----------
    Cochran, Sampling Techniques, 1977, section 10.6.
    """
    host, session, trial = variances
    host_cost, session_cost, trial_cost = costs
    best: Allocation | None = None
    for count in range(FEWEST_HOSTS, _MOST + 1) if hosts is None else (hosts,):
        if best is not None and count * (host_cost + session_cost + trial_cost) >= best.cost:
            break
        quantile = student(count - 1, confidence)
        # What sessions and trials of one host may add.
        left = (half_width / quantile) ** 2 * count - host
        if left <= 0:
            continue
        # From as many sessions as let trials be enough, to as many as need one trial each.
        fewest, most = (max(1, math.ceil(min(v / left, _MOST))) for v in (session, session + trial))
        sessions = np.arange(fewest, most + 1)
        room = left * sessions - session
        with np.errstate(divide="ignore", invalid="ignore"):
            trials = np.where(room > 0, np.maximum(1, np.ceil(trial / room - _ROUNDING)), np.inf)
        costs_ = count * (host_cost + sessions * (session_cost + trials * trial_cost))
        costs_[trials > _MOST] = np.inf
        at = int(np.argmin(costs_))
        if costs_[at] < (math.inf if best is None else best.cost):
            one = int(sessions[at]), int(trials[at])
            reached = quantile * math.sqrt((host + (session + trial / one[1]) / one[0]) / count)
            best = Allocation(count, *one, reached, float(costs_[at]))
    return best


def student(df: float, confidence: float) -> float:
    """Return how many standard errors an interval reaches."""
    return float(special.stdtrit(df, 0.5 + confidence / 2))


def _spread(values: FloatArray) -> float:
    """Return a variance beyond which none of some values is looked for; 0: they are equal."""
    width = float(np.ptp(values))
    return 0.0 if width < _ROUNDING else _WIDEST * width**2


def _root(falling: Callable[[float], float], most: float) -> float:
    """Return where a function that falls is 0; 0 where it is below that from the beginning."""
    if most == 0 or falling(0.0) <= 0:
        return 0.0
    if falling(most) >= 0:
        return most
    return root(falling, 0.0, most, within=most * 1e-16)


def _f(p: float, df: float, beneath: float) -> float:
    """Return a quantile of F; the chi-squared one where what is beneath is known."""
    if math.isinf(beneath) or beneath > 1e6:
        return float(special.chdtri(df, 1 - p)) / df
    return float(special.fdtri(df, beneath, p))


def _alike(level: FloatArray, error: FloatArray, beneath: int) -> float:
    """Return the probability of levels so far from each other where hosts are alike."""
    df = len(level) - 1
    squares = _excess(level, error)(0.0) if _spread(level) else 0.0
    return _f_beyond(squares / df, df, beneath)


def _f_beyond(value: float, df: float, beneath: float) -> float:
    """Return the probability of an F that is larger; of chi-squared where it is known."""
    if math.isinf(beneath) or beneath > 1e6:
        return float(special.chdtrc(df, value * df))
    return float(special.fdtrc(df, beneath, value))
