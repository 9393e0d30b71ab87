"""What is shown while it measures."""

from __future__ import annotations

import pytest

from tare.cli import progress


def test_a_first_trial_beyond_the_budget_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(progress, "LONG_S", 0.0)
    monkeypatch.setattr(progress.err, "print", told.append)
    bar = progress.Bar(budget_s=0.01)
    bar.begins()
    assert bar._announcement is not None
    bar._announcement.join()
    assert "the first trial still runs" in told[-1]
    assert "longer than the budget" in told[-1]
