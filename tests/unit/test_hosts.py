"""Many hosts: components of variance, odd hosts, the next host, and how many it takes."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from tare.statistics.hosts import (
    Sessions,
    allocation,
    components,
    everywhere,
    odd_hosts,
)


def drawn(
    rng: np.random.Generator, shape: tuple[int, int, int], sds: tuple[float, float, float]
) -> Sessions:
    """Draw trials of so many hosts, sessions of each, trials of each of these."""
    hosts, sessions, _ = shape
    values = (
        rng.normal(0, sds[0], (hosts, 1, 1))
        + rng.normal(0, sds[1], (hosts, sessions, 1))
        + rng.normal(0, sds[2], shape)
    )
    host, session, _ = np.indices(shape)
    return Sessions.of(host.ravel(), session.ravel(), values.ravel())


def test_sums_are_those_of_the_trials() -> None:
    values = np.array([1.0, 3.0, 5.0, 5.0, 8.0])
    found = Sessions.of(np.array([0, 0, 0, 1, 1]), np.array([1, 1, 2, 1, 1]), values)
    assert found.host.tolist() == [0, 0, 1]
    assert found.n.tolist() == [2, 1, 2]
    assert found.mean.tolist() == [2.0, 5.0, 6.5]
    assert found.square.tolist() == [2.0, 0.0, 4.5]
    assert (found.hosts, found.apart) == (2, True)


def test_equally_many_are_split_as_by_the_analysis_of_variance() -> None:
    hosts, sessions, trials = 12, 4, 5
    rng = np.random.default_rng(5)
    values = (
        rng.normal(0, 0.05, (hosts, 1, 1))
        + rng.normal(0, 0.02, (hosts, sessions, 1))
        + rng.normal(0, 0.03, (hosts, sessions, trials))
    )
    host, session, _ = np.indices(values.shape)
    found = components(Sessions.of(host.ravel(), session.ravel(), values.ravel()))
    means, levels = values.mean(axis=2), values.mean(axis=(1, 2))
    trial = values.var(axis=2, ddof=1).mean()
    between = means.var(axis=1, ddof=1).mean()
    assert found.trial is not None
    assert found.session is not None
    assert found.trial.sd == pytest.approx(math.sqrt(trial))
    assert found.session.sd == pytest.approx(math.sqrt(between - trial / trials))
    assert found.host.sd == pytest.approx(math.sqrt(levels.var(ddof=1) - between / sessions))
    f = sessions * levels.var(ddof=1) / between
    assert found.p == pytest.approx(stats.f.sf(f, hosts - 1, hosts * (sessions - 1)))


def test_restricted_maximum_likelihood_is_the_same() -> None:
    """Of equally many sessions a host, as statsmodels has it for the sessions' means."""
    rng = np.random.default_rng(8)
    found_in = drawn(rng, (10, 3, 4), (0.05, 0.02, 0.0001))
    means = 100 * found_in.mean
    fitted = MixedLM(means, np.ones_like(means), groups=found_in.host).fit(reml=True)
    found = components(found_in)
    (variance,) = np.ravel(fitted.cov_re)
    assert 100 * found.host.sd == pytest.approx(math.sqrt(variance), rel=1e-3)


def test_one_session_each_cannot_be_told_apart() -> None:
    found = components(drawn(np.random.default_rng(1), (6, 1, 8), (0.03, 0.0, 0.01)))
    assert (found.session, found.p) == (None, None)
    assert found.host.low is not None
    assert found.host.low < 0.03


def test_hosts_that_are_all_the_same_value_differ_by_nothing() -> None:
    ones = np.zeros(8)
    found = components(Sessions.of(np.repeat([0, 1, 2, 3], 2), np.tile([0, 1], 4), ones))
    assert (found.host.sd, found.host.high) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("hosts", "sd", "draws"),
    [(8, 0.01, 150), *(pytest.param(n, s, 2000, marks=pytest.mark.slow)
      for n in (8, 16, 64) for s in (0.0, 0.01, 0.03, 0.1))],
)  # fmt: skip
def test_planted_components_are_covered(hosts: int, sd: float, draws: int) -> None:
    """SD of sessions 1 %, three a host, as the hosts' SD is 0, 1, 3 or 10 %."""
    rng = np.random.default_rng(hosts)
    covered, differ, zero, following = np.zeros(3), 0, 0, 0
    for _ in range(draws):
        sessions = drawn(rng, (hosts, 3, 12), (sd, 0.01, 0.02))
        found = components(sessions)
        for place, (one, true) in enumerate(
            [(found.host, sd), (found.session, 0.01), (found.trial, 0.02)]
        ):
            assert one is not None
            # Levels that are closer than chance makes them have no interval: those of none alike.
            low, high = (0.0 if end is None else end for end in (one.low, one.high))
            covered[place] += low <= true <= high
        assert found.p is not None
        differ += found.p < 0.05
        zero += not found.host.low
        over = everywhere(found.level, found.error, sessions.beneath)
        following += over.next_low <= rng.normal(0, sd) <= over.next_high
    least = stats.binom.ppf(0.001, draws, 0.93)
    most = stats.binom.ppf(0.999, draws, 0.97)
    assert (covered >= least).all(), covered / draws
    if sd:
        assert (covered <= most).all(), covered / draws
        assert least <= following <= most, following / draws
    else:
        assert zero >= stats.binom.ppf(0.001, draws, 0.95)
        assert differ <= stats.binom.ppf(0.999, draws, 0.05)


@pytest.mark.parametrize("draws", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_one_host_that_is_10_percent_off_is_named(draws: int) -> None:
    rng = np.random.default_rng(4)
    named, false = 0, 0
    for _ in range(draws):
        plain = components(drawn(rng, (16, 3, 12), (0.01, 0.01, 0.02)))
        false += odd_hosts(plain.level, plain.error).p.min() < 0.05
        level = plain.level.copy()
        level[3] += math.log(1.1)
        named += odd_hosts(level, plain.error).p[3] < 0.05
    assert named >= 0.9 * draws
    assert false <= stats.binom.ppf(0.999, draws, 0.05)


@pytest.mark.parametrize("draws", [300, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("hosts", [7, 10, 16, 40])
def test_hosts_of_which_none_is_odd_are_not_named(hosts: int, draws: int) -> None:
    """Where sessions add nothing, which is where most are named: Rosner's procedure.

    With 300 draws, an error rate of 13 % fails in 97 % of seeds.
    """
    rng = np.random.default_rng(hosts)
    named = [odd_hosts(rng.normal(0, 1, hosts), np.zeros(hosts)).p.min() < 0.05
             for _ in range(draws)]  # fmt: skip
    assert sum(named) <= stats.binom.ppf(0.999, draws, 0.05)


@pytest.mark.parametrize(("hosts", "odd", "least"), [(8, 2, 0.6), (16, 3, 0.85), (40, 4, 0.85)])
def test_odd_hosts_do_not_hide_each_other(hosts: int, odd: int, least: float) -> None:
    rng, draws, named = np.random.default_rng(1), 60, 0
    for _ in range(draws):
        plain = components(drawn(rng, (hosts, 3, 12), (0.01, 0.01, 0.02)))
        level = plain.level.copy()
        level[:odd] += math.log(1.1)
        found = odd_hosts(level, plain.error)
        named += bool((found.p[:odd] < 0.05).all())
        covers = np.abs(found.off[:odd] - math.log(1.1)) <= found.half[:odd] + 0.03
        assert np.isnan(found.off[:odd]).any() or covers.all()
    assert named >= least * draws


def test_one_odd_host_is_the_externally_studentised_residual() -> None:
    levels = np.array([1.0, 2.0, 4.0, 30.0, 3.0])
    found = odd_hosts(levels, np.zeros(5))
    others = np.delete(levels, 3)
    t = (30 - others.mean()) / (others.std(ddof=1) * math.sqrt(1 + 1 / 4))
    assert found.off[3] == pytest.approx(30 - others.mean())
    assert found.p[3] == pytest.approx(2 * stats.t.sf(t, 3) * 5)
    assert found.half[3] == pytest.approx(found.off[3] / t * -stats.t.ppf(0.05 / 10, 3))
    assert found.p[[0, 1, 2, 4]].tolist() == [1.0] * 4


@pytest.mark.parametrize("family", [1, 6])
def test_each_test_of_an_odd_host_has_its_share_of_the_error(family: int) -> None:
    """Without, 8 % of fleets of 7 hosts of which none is odd have one named.

    With 300 draws, that does not fail in `test_hosts_of_which_none_is_odd_are_not_named`.
    """
    levels = np.array([1.0, 2.0, 4.0, 90.0, 3.0, 2.5, 300.0])
    found = odd_hosts(levels, np.zeros(7), family)
    assert np.flatnonzero(np.isfinite(found.off)).tolist() == [3, 6]
    # Both have the p-value of the last of them, which was tested against the other five.
    others = np.delete(levels, [3, 6])
    t = (90 - others.mean()) / (others.std(ddof=1) * math.sqrt(1 + 1 / 5))
    assert found.p[3] == pytest.approx(2 * stats.t.sf(t, 4) * 6 * family / 0.25)
    levels[3] = 2.2
    found = odd_hosts(levels, np.zeros(7), family)
    others = np.delete(levels, 6)
    t = (300 - others.mean()) / (others.std(ddof=1) * math.sqrt(1 + 1 / 6))
    assert found.p[6] == pytest.approx(2 * stats.t.sf(t, 5) * 7 * family / 0.8)


@pytest.mark.parametrize("family", [1, 6])
def test_the_interval_of_an_odd_host_says_what_its_p_says(family: int) -> None:
    rng, odd = np.random.default_rng(3), 0
    for _ in range(300):
        level = rng.normal(0, 1, 9)
        level[0] += rng.choice([0, 4, 8, 16])
        found = odd_hosts(level, np.full(9, 0.1), family)
        named = found.p < 0.05
        odd += bool(named.any())
        if named.sum() == 1:
            assert np.abs(found.off[named]) > found.half[named]
            others = level[~named]
        elif not named.any():
            (furthest,) = np.flatnonzero(np.isfinite(found.off))
            assert abs(found.off[furthest]) <= found.half[furthest]
            others = np.delete(level, furthest)
            named = np.arange(9) == furthest
        else:
            continue
        # Errors are equal, so that the mean of the others is a plain one.
        assert found.off[named] == pytest.approx(level[named] - others.mean())
    assert 30 < odd < 270


def test_hosts_that_are_equal_but_for_rounding_do_not_differ() -> None:
    means = np.full(8, 0.1) + np.array([0, 1, 0, 0, 1, 0, 0, 1]) * 1e-17
    found = components(
        Sessions(np.repeat(np.arange(4), 2), np.full(8, 5), means, np.zeros(8), np.zeros(8))
    )
    assert (found.host.sd, found.host.low, found.host.high) == (0.0, 0.0, 0.0)
    assert found.p == 1.0


def test_an_sd_of_two_hosts_has_no_interval() -> None:
    found = components(drawn(np.random.default_rng(1), (2, 3, 12), (0.1, 0.01, 0.02)))
    assert found.host.sd > 0
    assert (found.host.low, found.host.high) == (None, None)


@pytest.mark.parametrize("draws", [150, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("hosts", [3, 4, 5])
def test_the_next_of_few_hosts_is_covered_though_their_sd_is_estimated_as_0(
    hosts: int, draws: int
) -> None:
    rng = np.random.default_rng(hosts)
    covered = []
    for _ in range(draws):
        sessions = drawn(rng, (hosts, 1, 3), (0.03, 0.0, 0.06))
        found = components(sessions)
        over = everywhere(found.level, found.error, sessions.beneath)
        ends = stats.norm.cdf([over.next_low, over.next_high], scale=0.03)
        covered.append((found.host.sd == 0, ends[1] - ends[0]))
    none, share = np.array(covered).T
    # Student's alone: 91 to 94 %, and 78 to 81 %.
    assert share.mean() >= 0.93
    assert share[none == 1].mean() >= 0.82


def test_hosts_closer_than_chance_have_no_interval() -> None:
    means = np.tile([-0.01, 0.01, 0.0], 6)
    host = np.repeat(np.arange(6), 3)
    found = components(
        Sessions(host, np.full(18, 5), means + host * 1e-6, np.full(18, 1e-6), np.full(18, 1e-12))
    )
    assert (found.host.sd, found.host.low, found.host.high) == (0.0, None, None)


def test_without_errors_the_next_host_is_that_of_student() -> None:
    levels = np.array([1.0, 2.0, 4.0, 3.0])
    found = everywhere(levels, np.zeros(4), 0)
    half = stats.t.ppf(0.975, 3) * levels.std(ddof=1)
    assert found.high - found.mean == pytest.approx(half / 2)
    exact = half * math.sqrt(1.25)
    assert exact <= found.next_high - found.mean <= 1.01 * exact


@pytest.mark.parametrize(
    ("variances", "costs"),
    [((4e-4, 1e-4, 9e-4), (60.0, 10.0, 1.0)), ((0.0, 0.0, 9e-4), (5.0, 5.0, 1.0)),
     ((0.0, 1e-4, 0.0), (5.0, 5.0, 1.0)), ((1e-4, 0.0, 4e-3), (1.0, 20.0, 1.0)),
     ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
     ((0.00622**2, 0.02517**2, 0.01436**2), (54.8, 29.4, 0.344))],
)  # fmt: skip
def test_the_cheapest_allocation_is_found(
    variances: tuple[float, float, float], costs: tuple[float, float, float]
) -> None:
    wanted = 0.02
    found = allocation(variances, costs, wanted)

    @functools.cache
    def quantile(hosts: int) -> float:
        return float(stats.t.ppf(0.975, hosts - 1))

    def half_width(hosts: int, sessions: int, trials: int) -> float:
        own = variances[0] + (variances[1] + variances[2] / trials) / sessions
        return quantile(hosts) * math.sqrt(own / hosts)

    def cost(hosts: int, sessions: int, trials: int) -> float:
        each = costs[0] + sessions * (costs[1] + trials * costs[2])
        return hosts * each if half_width(hosts, sessions, trials) <= wanted else math.inf

    assert found is not None
    assert found.half_width == pytest.approx(half_width(found.hosts, found.sessions, found.trials))
    assert found.half_width <= wanted
    tried = [cost(h, s, t) for h in range(3, 40) for s in range(1, 12) for t in range(1, 60)]
    assert found.cost == pytest.approx(min(tried))


def test_more_hosts_than_there_are_is_no_allocation() -> None:
    assert allocation((1.0, 0.0, 0.0), (1.0, 1.0, 1.0), 1e-3) is None
