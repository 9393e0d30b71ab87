"""A new session compared with stored ones: false alarms where the versions are equal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from simulation import REPLICATES, at_most

from tare.statistics.sessions import compare_with_sessions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

#: SD between the trials of one session.
WITHIN = 0.02


@pytest.fixture(autouse=True)
def without_effect_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes most of the time and decides nothing."""
    monkeypatch.setattr("tare.statistics.sessions.cliffs_delta", lambda first, second: 0.0)


def levels(shape: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw what sessions differ by, in units of its SD."""
    match shape:
        case "normal":
            return rng.standard_normal(n)
        case "t5":
            return rng.standard_t(5, n) * np.sqrt(3 / 5)
        case "lognormal":
            sd = np.sqrt((np.exp(0.64) - 1) * np.exp(0.64))
            return (np.exp(0.8 * rng.standard_normal(n)) - np.exp(0.32)) / sd
        case "modes":
            return np.where(rng.random(n) < 0.25, 1.7, -0.6) + 0.2 * rng.standard_normal(n)
    raise ValueError(shape)


def alarms(
    shape: str, sessions: int, spread: float, trials: int, new_trials: int
) -> tuple[int, int]:
    """Count two-sided alarms, and gates at 3 % that fail."""
    rng = np.random.default_rng(7)
    different = failed = 0
    for _ in range(REPLICATES):
        at = np.exp(spread * levels(shape, rng, sessions + 1))
        noise = np.exp(WITHIN * rng.standard_normal((sessions, trials)))
        stored = list(at[:-1, None] * noise)
        new = at[-1] * np.exp(WITHIN * rng.standard_normal(new_trials))
        c = compare_with_sessions(stored, new)
        assert c.low is not None
        assert c.high is not None
        different += c.low > 1 or c.high < 1
        failed += c.low > 1.03
    return different, failed


@pytest.mark.parametrize("sessions", [5, 10])
@pytest.mark.parametrize("spread", [0.0, 0.01, 0.03])
def test_equal_versions_in_sessions_that_differ(sessions: int, spread: float) -> None:
    """Sessions of an SD of 1 %, as measured; pooling their trials alarmed in 51 %."""
    different, failed = alarms("normal", sessions, spread, trials=30, new_trials=30)
    assert at_most(different, 0.05), different
    assert at_most(failed, 0.03), failed


@pytest.mark.parametrize("shape", ["t5", "lognormal", "modes"])
def test_sessions_that_are_not_normal(shape: str) -> None:
    """Stated in the docstring: up to 7.5 % two-sided; a gate fails in fewer."""
    different, failed = alarms(shape, 5, 0.01, trials=30, new_trials=30)
    assert at_most(different, 0.075), different
    assert at_most(failed, 0.05), failed


def test_a_shorter_session_does_not_alarm_more() -> None:
    different, _ = alarms("normal", 8, 0.003, trials=60, new_trials=12)
    assert at_most(different, 0.05), different


def test_pooling_would_alarm_as_said() -> None:
    """The control: the same data, judged as if sessions did not differ."""
    rng = np.random.default_rng(7)
    alarmed, replicates = 0, 2000
    for _ in range(replicates):
        at = np.exp(0.01 * rng.standard_normal(6))
        stored = (at[:-1, None] * np.exp(WITHIN * rng.standard_normal((5, 30)))).ravel()
        new = at[-1] * np.exp(WITHIN * rng.standard_normal(30))
        alarmed += stats.mannwhitneyu(stored, new).pvalue < 0.05
    assert alarmed / replicates > 0.3
