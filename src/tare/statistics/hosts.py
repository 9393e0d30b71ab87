"""Many hosts: how much they differ, which is odd, what holds for the next one, how many it takes.

A model of nested random effects: a host's level, each session's on it, each trial's. All of it is
worked out from counts, means and squares of sessions, so that the number of trials costs nothing.

Source: Searle, Casella and McCulloch 1992; Viechtbauer 2007; Knapp and Hartung 2003; Higgins,
Thompson and Spiegelhalter 2009; Cochran 1977.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from tare.statistics.statistic import FloatArray

IntArray = NDArray[np.int64]

#: Hosts below which nothing is said of hosts that were not measured.
FEWEST_HOSTS = 3
#: Where a root is looked for, relative to the spread of the sessions.
_WIDEST = 1e6
_STEPS = 80
#: More hosts, or trials of a session, are none that anybody would run.
_MOST = 10_000
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


@dataclass(frozen=True)
class Component:
    """One source of variance.

    Attributes
    ----------
    sd : float
        Of the levels that it gives.
    low, high : float or None
        Interval of that; None: there are too few of them to say.
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
    beneath = len(sessions.n) - sessions.hosts
    top = _component(level, error, beneath if sessions.apart else within, confidence)
    return Components(
        host=top,
        session=_sessions_component(sessions, session, trial, within, confidence),
        trial=_trials_component(sessions, within, confidence),
        p=_f_tail(_excess(level, error)(0.0), len(level) - 1, beneath) if sessions.apart else None,
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
    low, high = _ends(squares, error, df, beneath, spread, confidence)
    return Component(*(math.sqrt(v) for v in (variance, low, high)))


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
    low, high = _ends(
        lambda v: _within(sessions, v, trial),
        trial / sessions.n,
        df,
        within,
        _spread(sessions.mean),
        confidence,
    )
    return Component(math.sqrt(session), math.sqrt(low), math.sqrt(high))


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
    """How far each host is from the others; arrays of shape (hosts,).

    Attributes
    ----------
    off : float array
        Its level less the mean of the others'.
    p : float array
        That it is one of them; of a single comparison.
    """

    off: FloatArray
    p: FloatArray


def odd_hosts(level: FloatArray, error: FloatArray) -> OddHosts:
    """Hold each host against what the others would let one expect of the next.

    Parameters
    ----------
    level, error : array, shape (hosts,)
        As :class:`Components` has them; of at least four hosts.

    Notes
    -----
    Student's t, with as many degrees of freedom as there are others less one: with equal errors the
    externally studentised residual.
    """
    n = len(level)
    others = ~np.eye(n, dtype=bool)
    kept = np.broadcast_to(level, (n, n))[others].reshape(n, n - 1)
    errors = np.broadcast_to(error, (n, n))[others].reshape(n, n - 1)
    variance = _next_variance(kept, errors)
    weight = 1 / np.maximum(variance[:, None] + errors, _LEAST)
    total = weight.sum(axis=1)
    off = level - (weight * kept).sum(axis=1) / total
    t = np.abs(off) / np.sqrt(np.maximum(variance + error + 1 / total, _LEAST))
    p = 2 * special.stdtr(n - 2, -t)
    return OddHosts(off, np.asarray(p))


def _next_variance(levels: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the variance of hosts in each row, at which its squares are what is expected."""
    df = levels.shape[1] - 1
    low = np.zeros(len(levels))
    high = np.ptp(levels, axis=1) ** 2 + _LEAST

    def squares(variance: FloatArray) -> FloatArray:
        weight = 1 / np.maximum(variance[:, None] + errors, _LEAST)
        mean = (weight * levels).sum(axis=1) / weight.sum(axis=1)
        return np.asarray((weight * (levels - mean[:, None]) ** 2).sum(axis=1))

    alike = squares(low) <= df
    for _ in range(_STEPS):
        middle = (low + high) / 2
        above = squares(middle) > df
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(alike, 0.0, (low + high) / 2)


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


def everywhere(level: FloatArray, error: FloatArray, confidence: float = 0.95) -> Everywhere:
    """Combine the differences of hosts, each with an error of its own, as random effects.

    Parameters
    ----------
    level, error : array, shape (hosts,)
        Difference on each host, and its variance; at least three hosts.
    confidence : float
        Of both intervals.

    References
    ----------
    Knapp and Hartung, Statistics in Medicine 22, 2003; Higgins, Thompson and Spiegelhalter,
    Journal of the Royal Statistical Society A 172, 2009.
    """
    n = len(level)
    variance = float(_next_variance(level[None, :], error[None, :])[0])
    weight = 1 / np.maximum(variance + error, _LEAST)
    total = float(weight.sum())
    mean = float((weight * level).sum()) / total
    squares = float((weight * (level - mean) ** 2).sum()) / (n - 1)
    own = squares / total
    half = student(n - 1, confidence) * math.sqrt(own)
    # What is known of the variance of hosts is less where errors were taken off it [with exponent
    # 1.5 covers 94.6 to 95.9 % of next hosts, for 8 to 64 hosts whose SD is half to ten times that
    # of sessions, 3 a host; with 1, 93.2 to 95.1 %; without, 85.4 to 95.0 %].
    share = (variance + own) / (variance + own + float(np.mean(error)))
    next_half = student(max(2.0, (n - 1) * share**1.5), confidence) * math.sqrt(variance + own)
    return Everywhere(
        mean, mean - half, mean + half, math.sqrt(variance), mean - next_half, mean + next_half
    )


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
        for trials in _trials(session, trial, session_cost / trial_cost, left):
            each = session + trial / trials
            sessions = max(1, math.ceil(each / left))
            cost = count * (host_cost + sessions * (session_cost + trials * trial_cost))
            if best is None or cost < best.cost:
                reached = quantile * math.sqrt((host + each / sessions) / count)
                best = Allocation(count, sessions, trials, reached, cost)
    return best


def _trials(session: float, trial: float, cost: float, left: float) -> set[int]:
    """Return how many trials of a session may be cheapest, by what a session costs in trials."""
    # More than what is enough with one session is never needed.
    enough = trial / (left - session) if left > session else math.inf
    split = math.sqrt(trial / session * cost) if session > 0 else math.inf
    found = {1}
    for value in (enough, split):
        if value <= _MOST:
            found |= {max(1, math.floor(value)), math.ceil(value) or 1}
    return found


def student(df: float, confidence: float) -> float:
    """Return how many standard errors an interval reaches."""
    return float(special.stdtrit(df, 0.5 + confidence / 2))


def _spread(values: FloatArray) -> float:
    """Return a variance beyond which none of some values is looked for."""
    return _WIDEST * float(np.ptp(values)) ** 2


def _root(falling: Callable[[float], float], most: float) -> float:
    """Return where a function that falls is 0; 0 where it is below that from the beginning."""
    if most == 0 or falling(0.0) <= 0:
        return 0.0
    if falling(most) >= 0:
        return most
    return float(optimize.brentq(falling, 0.0, most, xtol=most * 1e-16, rtol=1e-12))


def _f(p: float, df: float, beneath: float) -> float:
    """Return a quantile of F; the chi-squared one where what is beneath is known."""
    if math.isinf(beneath) or beneath > 1e6:
        return float(special.chdtri(df, 1 - p)) / df
    return float(special.fdtri(df, beneath, p))


def _f_tail(squares: float, df: int, beneath: int) -> float:
    return float(special.fdtrc(df, beneath, squares / df))
