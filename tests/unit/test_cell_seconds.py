"""How long one more trial of a cell takes, by the times at which its trials began."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import synthetic

from tare.experiment.findings.cells import basis_of, cells_of
from tare.results.message import Message


def test_a_trial_lasts_until_the_next_one_begins_and_the_first_one_starts_the_instance() -> None:
    made = synthetic.make(platforms=("bare",), workers=(1,), trials=5)
    trials = made.trial_table.with_columns(
        started=np.array([0, 10, 11, 13, 14]) * 1_000_000_000,
        duration_ns=np.full(5, 0.5e9),
    )
    made = dataclasses.replace(made, trial_table=trials)
    basis = basis_of(made)
    assert not isinstance(basis, Message)
    [cell] = cells_of(made, basis).all
    # Of 10, 1, 2 and 1 s between starts, and 0.5 s of the last trial, the first is left out.
    assert cell.seconds == pytest.approx((1 + 2 + 1 + 0.5) / 4)
