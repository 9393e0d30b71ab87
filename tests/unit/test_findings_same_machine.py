"""Sessions of the same machine, and of one that changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import synthetic

from tare.errors import StoreError
from tare.findings.same_machine import UNIT, chosen, takes
from tare.results import FIGURES, Results


def _with(results: Results, *levels: tuple[int, str, float]) -> Results:
    """Give sessions takes in which getpid is at a level, and fork always the same."""
    rng = np.random.default_rng(1)
    rows = [
        (session, moment, metric, "ns", "lower", 0.1, tuple(level * rng.normal(1, 0.01, 8)))
        for session, moment, getpid in levels
        for metric, level in (("syscall.getpid", getpid), ("process.fork", 70_000.0))
    ]
    return dataclasses.replace(results, figures=pd.DataFrame(rows, columns=list(FIGURES)))


@pytest.fixture
def results() -> Results:
    made = synthetic.make(trials=20)
    trials = made.trial_table.assign(session=np.where(made.trial_table["block"] < 10, 1, 2))
    sessions = pd.DataFrame(
        [(1, "", "", "", 1), (2, "", "", "", 2)],
        columns=["session", "started", "ended", "boot_id", "nonce"],
    )
    return dataclasses.replace(made, trial_table=trials, sessions=sessions)


def test_nothing_is_said_where_nothing_was_looked_at(results: Results) -> None:
    assert UNIT.find(results) is None
    assert UNIT.find(_with(results, (1, "before", 80.0))) is None
    assert chosen(results, (), Path("here")) is results


def test_a_machine_that_stayed_the_same(results: Results) -> None:
    same = _with(results, (1, "before", 80.0), (1, "after", 81.0), (2, "before", 80.0))
    found = UNIT.find(same)
    assert found is not None
    assert found.verdict == "yes"
    assert "session 1 and sessions 1 and 2" in found.answer
    assert found.summary is None
    assert [row["verdict"] for row in found.tables[0].rows] == ["same"] * 4
    assert chosen(same, (), Path("here")) is same


def test_a_machine_that_changed_within_a_session(results: Results) -> None:
    changed = _with(results, (1, "before", 80.0), (1, "after", 140.0))
    found = UNIT.find(changed)
    assert found is not None
    assert found.verdict == "no"
    assert found.summary is not None
    assert "in session 1, syscall.getpid 8" in found.summary
    assert "process.fork" not in found.answer
    # Blocks were in it alike, so that there is something to conclude.
    assert chosen(changed, (), Path("here")) is changed


def test_sessions_of_unlike_machines_are_not_put_together(results: Results) -> None:
    changed = _with(
        results,
        (1, "before", 80.0), (1, "after", 80.0), (2, "before", 140.0), (2, "after", 141.0),
    )  # fmt: skip
    with pytest.raises(StoreError, match=r"sessions 1 and 2 \(syscall\.getpid") as error:
        chosen(changed, (), Path("here"))
    assert error.value.hint is not None
    assert "tare experiment report here --session 2" in error.value.hint
    alone = chosen(changed, (2,), Path("here"))
    assert set(alone.trial_table["session"]) == {2}
    assert set(alone.sample_table["trial"]) == set(alone.trial_table["trial"])
    assert set(takes(alone)) == {2}
    with pytest.raises(StoreError, match="no session 7"):
        chosen(changed, (7,), Path("here"))


def test_a_disturbed_moment_is_no_other_machine(results: Results) -> None:
    disturbed = _with(
        results,
        (1, "before", 80.0), (1, "after", 80.0), (2, "before", 140.0), (2, "after", 80.0),
    )  # fmt: skip
    assert chosen(disturbed, (), Path("here")) is disturbed
