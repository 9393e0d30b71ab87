"""What a session counts without scipy is what scipy counts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize, stats

from tare.errors import InputError
from tare.statistics.comparison import compare_family
from tare.statistics.exact import binomial_quantile, binomial_quantiles, ranks
from tare.statistics.grouping import friedman_p
from tare.statistics.inversion import root
from tare.statistics.shift import paired_shift


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (5, 50), (2, 333)])
def test_ranks_are_scipys_with_ties(shape: tuple[int, int]) -> None:
    rows = np.random.default_rng(1).integers(0, 10, shape).astype(float)
    np.testing.assert_array_equal(ranks(rows), stats.rankdata(rows, axis=1))


@pytest.mark.parametrize("q", [0.1, 0.5, 0.95, 0.99])
@pytest.mark.parametrize("p", [0.005, 0.0125, 0.025, 0.975, 0.995])
def test_binomial_quantiles_are_scipys(p: float, q: float) -> None:
    for n in (1, 2, 5, 6, 7, 50, 99, 1000, 5000):
        assert binomial_quantile(p, n, q) == int(stats.binom.ppf(p, n, q))


@pytest.mark.parametrize("q", [0.1, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("p", [1e-6, 0.025, 0.975])
def test_binomial_quantiles_of_many_sizes_are_scipys(p: float, q: float) -> None:
    sizes = np.unique(np.geomspace(1, 1e7, 300).astype(int))
    assert (binomial_quantiles(p, sizes, q) == stats.binom.ppf(p, sizes, q)).all()


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (lambda x: x**3 - 2, 0.0, 5.0),
        (lambda x: 1e-9 * (1 - x), 0.0, 1e6),
        (lambda x: float(stats.norm.sf(x)) - 0.001, 0.0, 8.0),
        (lambda x: x - 3.0, 3.0, 4.0),
    ],
)  # fmt: skip
def test_roots_are_scipys(function: Callable[[float], float], low: float, high: float) -> None:
    expected = optimize.brentq(function, low, high, xtol=1e-12)
    assert root(function, low, high, within=1e-10) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("ties", [False, True])
def test_columns_are_compared_as_scipy_does(ties: bool) -> None:
    values = np.random.default_rng(4).normal((0, 0, 0, 1), 1, (20, 4)).round(0 if ties else 9)
    assert friedman_p(values) == pytest.approx(stats.friedmanchisquare(*values.T).pvalue, rel=1e-10)


def test_a_session_does_not_hold_scipy() -> None:
    script = (
        "import sys\n"
        "from tare.experiment import pipeline, session\n"
        "from tare.statistics import stopping\n"
        "from tare.experiment.fingerprints.machine import difference\n"
        "from tare.features.machine.fingerprint import brief\n"
        "import numpy as np\n"
        "values = [(n, 1 + n % 7 / 1000) for n in range(60)]\n"
        "from tare.statistics.interim_analysis import Target\n"
        "stopping.decide({0: values}, Target(0.02))\n"
        "print(*[name for name in ('scipy', 'pandas') if name in sys.modules])\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == []


def test_times_of_which_a_coarse_clock_sees_nothing_end_no_comparison() -> None:
    values = np.array([1.0, 2.0, 3.0, 2.0])
    unseen = np.array([0.0, 1.0, 1.0, 0.0])
    with pytest.raises(InputError) as refused:
        compare_family([(values, unseen), (values, values * 2)])
    assert "paired_shift" in refused.value.hint
    assert paired_shift(values, unseen).middle == pytest.approx(-1.5)
