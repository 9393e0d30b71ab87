"""From ``store.duckdb`` to the data frames that are analysed."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import duckdb
import pandas as pd

from tare.applications.requests import REQUESTS
from tare.applications.tasks import TASKS
from tare.decoding import builtins
from tare.experiment import plan_file
from tare.experiment.journal import SEEN
from tare.experiment.metrics import TIME
from tare.experiment.results import Results
from tare.experiment.store.build import connect
from tare.experiment.store.trial_files import TrialFiles

_TRIALS = """
    SELECT trial, session, block, position, cell, levels, seed, status, reason, failure_kind,
        started, duration_ns, error_captured
    FROM trials WHERE NOT calibration ORDER BY trial
"""
_SAMPLES = """
    SELECT samples.* FROM samples JOIN trials USING (trial) WHERE NOT calibration
    ORDER BY trial, samples.rowid
"""
_FAULTS = """
    SELECT faults.* FROM faults LEFT JOIN trials USING (trial)
    WHERE calibration IS DISTINCT FROM true ORDER BY faults.rowid
"""
#: A resumed cell stops once a session; the last time counts.
_STOPS = """
    SELECT * EXCLUDE (session) FROM stops
    QUALIFY row_number() OVER (PARTITION BY cell ORDER BY rowid DESC) = 1 ORDER BY cell
"""
_NETWORK_USE = """
    SELECT network_use.* FROM network_use JOIN trials USING (trial) WHERE NOT calibration
    ORDER BY trial, host
"""
_NETWORK_LOG = """
    SELECT network_log.* FROM network_log JOIN trials USING (trial) WHERE NOT calibration
    ORDER BY trial, at_ns, host
"""
_NOTES = "SELECT message FROM notes GROUP BY message ORDER BY min(rowid)"


def load(folder: str | PathLike[str], *, keep: bool = True) -> Results:
    """Read everything that an experiment has stored so far.

    Parameters
    ----------
    folder : path
        The experiment's folder; the experiment may still run.
    keep : bool
        Write a store that is made anew, for who reads the folder next.

    Returns
    -------
    Results
        Without those that only rehearsed, and with those that are unfinished, whose
        status says so.

    Raises
    ------
    StoreError
        If the folder holds no experiment, one of another layout, or a damaged journal.
    """
    path = Path(folder)
    made = plan_file.read(path)
    factors = list(made.cells[0].levels()) if made.cells else []
    with connect(path, keep=keep) as store:
        facts = _decoded(store.sql("SELECT * FROM facts").df(), "value")
        single = facts["instance"].notna()
        instances = _decoded(store.sql("SELECT * FROM instances").df(), "cpus", "workers")
        found = Results(
            experiment=made.experiment,
            trial_table=_with_levels(store.sql(_TRIALS).df(), factors),
            sample_table=_counted(store.sql(_SAMPLES)),
            facts=facts[~single].reset_index(drop=True),
            instances=_with_seen(instances, facts[single]),
            clocks=store.sql("SELECT * FROM clocks").df(),
            sessions=store.sql("SELECT * FROM sessions ORDER BY session").df(),
            figures=store.sql("SELECT * FROM figures").df(),
            takes=store.sql("SELECT * FROM takes").df(),
            faults=_counted(store.sql(_FAULTS)),
            stops=store.sql(_STOPS).df(),
            network_use=_whole(store.sql(_NETWORK_USE)),
            network_log=_whole(store.sql(_NETWORK_LOG)),
            notes=[message for (message,) in store.sql(_NOTES).fetchall()],
            planned=made.cells,
            request_files=TrialFiles(path, REQUESTS),
            task_files=TrialFiles(path, TASKS),
        )
    return found.with_times() if made.metric == TIME else found


def _decoded(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    for column in columns:
        decoded = [builtins(text) for text in frame[column]]
        frame[column] = pd.Series(decoded, dtype=object)
    return frame


def _with_seen(instances: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """Give each fact of single instances a column."""
    for name in SEEN:
        known = facts[facts["name"] == name]
        values = dict(zip(known["instance"], known["value"], strict=True))
        instances[name] = pd.array([values.get(one) for one in instances["instance"]], "Int64")
    return instances


def _with_levels(trials: pd.DataFrame, factors: list[str]) -> pd.DataFrame:
    """Give each factor a column in place of the JSON of all levels."""
    levels = [builtins(text) for text in trials.pop("levels")]
    for factor in factors:
        trials[factor] = pd.Series([one.get(factor) for one in levels], dtype=object)
    return trials


def _whole(rows: duckdb.DuckDBPyRelation) -> pd.DataFrame:
    """Keep whole numbers where some are absent."""
    frame: pd.DataFrame = rows.df()
    return frame.astype("Int64")


def _counted(rows: duckdb.DuckDBPyRelation) -> pd.DataFrame:
    """Keep worker and iteration whole numbers where some are absent."""
    frame: pd.DataFrame = rows.df()
    return frame.astype({"worker": "Int64", "iteration": "Int64"})
