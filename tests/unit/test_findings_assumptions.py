"""Assumptions of the trials of an experiment: tested by cell, with the tests of audits."""

from __future__ import annotations

import columns
import numpy as np
from said import args
from synthetic import MS, Behaviour, make

from tare.experiment.findings import assumptions
from tare.experiment.results import Results
from tare.registry import units_of
from tare.results.finding import Finding


def of(trials: int, workers: tuple[int, ...] = (1, 2)) -> Results:
    behaviour = Behaviour(mean_ns=200 * MS, spread=0.02)
    return make(behaviour, platforms=("bare",), workers=workers, trials=trials, metric="wall_ns")


def found_of(results: Results) -> Finding | None:
    found = units_of("finding")["assumptions"].find(results)
    assert found is None or isinstance(found, Finding)
    return found


def test_every_cell_of_a_short_experiment_is_tested() -> None:
    found = found_of(of(40))
    assert found is not None
    (table,) = found.tables
    assert len(table.rows) == 2
    assert {part for part, _ in assumptions.PARTS} < {column.key for column in table.columns}
    assert all(row["independence"] and row["stationarity"] for row in table.rows)
    said = args(found.answer, "{total} {noun}")
    assert (said["total"], said["noun"]) == (2, "cells")


def test_a_planted_drift_is_found_in_its_cell() -> None:
    made = of(60, workers=(1,))
    trial = columns.frame(made.trial_table).set_index("trial").index
    place = {number: i for i, number in enumerate(sorted(trial))}
    drifting = columns.with_values(
        made,
        lambda samples: np.array(
            [
                value * (1 + 0.01 * place[number])
                for value, number in zip(samples["value"], samples["trial"], strict=True)
            ]
        ),
    )
    found = found_of(drifting)
    assert found is not None
    ((row,),) = (table.rows for table in found.tables)
    assert row["changes"] is False


def test_too_few_trials_test_nothing() -> None:
    assert found_of(of(5)) is None
