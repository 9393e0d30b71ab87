"""The results of an experiment as data frames: what statistics, findings and reports read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tare.experiment.journal import SEEN
from tare.experiment.metrics import DRIVER, OF_WORKLOAD, TASKS, TIME, ranked, waited_for
from tare.experiment.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import pyarrow as pa

    from tare.experiment.specification import Cell, Experiment, Limit
    from tare.experiment.store.trial_files import TrialFiles


def _empty(table: str) -> pd.DataFrame:
    """Return a frame with the columns of a table, and of instances with what is seen in them."""
    return pd.DataFrame(columns=[*TABLES[table].names, *(SEEN if table == "instances" else ())])


class Counted(NamedTuple):
    """How many requests or tasks a trial had, and how many of them failed, by the journal."""

    rows: int
    failed: int


# Compared and hashed by identity: data frames have no equality of their own.
@dataclass(frozen=True, eq=False)
class Results:
    """Everything that an experiment has stored so far.

    Attributes
    ----------
    experiment : Experiment
        The question.
    trial_table : DataFrame
        One row a trial: ``trial, session, block, position, cell, seed, status, reason`` and one
        column a factor (``workload, platform, workers, pinning, load, size`` and the user's);
        levels are strings. From a store also ``started``, ``duration_ns``, ``failure_kind`` and
        ``error_captured``: standard error was a pipe that was read, not ``/dev/null``.
    sample_table : DataFrame
        One row a sample: ``trial, worker, iteration, phase, metric, source, value``;
        worker and iteration are absent (NA) where the value belongs to the whole trial.
    facts : DataFrame
        ``session, instance, platform, name, value, unit, source``.
    sessions : DataFrame
        ``session, started, ended, boot_id, nonce``.
    faults : DataFrame
        ``trial, worker, iteration, kind, message, evidence``.
    stops : DataFrame
        Why each cell stopped: ``cell, trials, reason, target, reached, more_trials, more_seconds``.
    notes : list of str
        What was left out, and other things to be told with the answer.
    figures : DataFrame
        What probes found before and after the trials of each session:
        ``session, moment, metric, unit, better, margin, values, take``.
    takes : DataFrame
        How busy the machine was during each take of these, where it was recorded: ``session,
        moment, take, seconds, cpus, load_average, other_cpus, stolen_cpus, cpu_pressure,
        memory_pressure, io_pressure``; absent (NA): the kernel does not tell.
    levels_of : int or None
        Session that levels are taken from, where the machine was not the same in all sessions;
        None: from all. Comparisons within blocks use all sessions in either case.
    instances : DataFrame
        One row an instance of a platform: ``session, instance, platform, size, pinning, cores,
        cpus, memory_bytes, workers, cold, start_ns, stop_ns, host_cpu_ns, host_memory_bytes``;
        ``cores`` is a quota, ``cpus`` a list or None. And what a program sees in it, absent (NA)
        where it was not told: ``cpus_affinity`` (what nproc says), ``cpus_online``,
        ``cpus_visible`` (affinity and quota), ``memory_total_bytes``, ``memory_limit_bytes``.
    clocks : DataFrame
        Clocks inside an instance beside the host's: ``session, instance, monotonic_ns,
        monotonic_offset_ns, realtime_offset_ns, within_ns``.
    network_use : DataFrame
        What each host of an emulated network sent in a trial: ``trial, host, tokens_start_bits,
        tokens_end_bits, sent_bytes, dropped_packets, times_dry, dry_ns, first_dry_ns``; hosts count
        from 1, tokens are absent (NA) where a host has no bucket, ``first_dry_ns`` where its
        bucket was never empty.
    network_log : DataFrame
        The same hosts at moments of a trial, one row each: ``trial, at_ns, host, tokens_bits,
        rate_bps, sent_bytes``; absent (NA): no bucket, no rate.
    planned : tuple of Cell
        Cells of the plan, also those of which no trial has begun; empty where only some of the
        sessions are looked at.
    request_files, task_files : TrialFiles or None
        Where the requests of applications that serve are, and the tasks of distributed jobs;
        None: nowhere.
    """

    experiment: Experiment
    trial_table: pd.DataFrame
    sample_table: pd.DataFrame
    facts: pd.DataFrame
    sessions: pd.DataFrame
    faults: pd.DataFrame
    stops: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    figures: pd.DataFrame = field(default_factory=partial(_empty, "figures"))
    takes: pd.DataFrame = field(default_factory=partial(_empty, "takes"))
    instances: pd.DataFrame = field(default_factory=partial(_empty, "instances"))
    clocks: pd.DataFrame = field(default_factory=partial(_empty, "clocks"))
    network_use: pd.DataFrame = field(default_factory=partial(_empty, "network_use"))
    network_log: pd.DataFrame = field(default_factory=partial(_empty, "network_log"))
    planned: tuple[Cell, ...] = ()
    levels_of: int | None = None
    request_files: TrialFiles | None = None
    task_files: TrialFiles | None = None

    @cached_property
    def of_levels(self) -> Results:
        """The results that levels are taken from: all, or those of one session."""
        return self if self.levels_of is None else self.of_sessions([self.levels_of])

    @property
    def factors(self) -> list[str]:
        """The factors, ``workload`` first, in the order of the experiment."""
        return [c for c in self.trial_table.columns if c not in _TRIAL_COLUMNS]

    @property
    def varied(self) -> list[str]:
        """The factors that have more than one level here."""
        return [f for f in self.factors if self.trial_table[f].nunique(dropna=False) > 1]

    def trials(self) -> pd.DataFrame:
        """One row a trial, failed ones included (``status``)."""
        return self.trial_table

    @cached_property
    def _by_metric(self) -> dict[str, NDArray[np.intp]]:
        """Where samples of measured iterations stand, by metric: every finding asks for some."""
        counts = np.flatnonzero((self.sample_table["phase"] == "measured").to_numpy(dtype=bool))
        metrics = self.sample_table["metric"].iloc[counts]
        return {str(m): counts[own] for m, own in metrics.groupby(metrics).indices.items()}

    def measured(self, metric: str, source: str | None = None) -> pd.DataFrame:
        """Return the samples of a metric that count as values, from one source or from all."""
        none = np.array([], dtype=np.intp)
        rows: pd.DataFrame = self.sample_table.iloc[self._by_metric.get(metric, none)]
        return rows if source is None else rows[rows["source"] == source]

    def samples(self) -> pd.DataFrame:
        """One row a sample, with the levels of its trial."""
        return self.sample_table.merge(self.trial_table, on="trial", how="left")

    def sources(self, metric: str) -> list[str]:
        """Return the sources that *every* good trial has for a metric, best first.

        The instrument must not be confounded with the platform: cells are compared only on a
        source that is common to all of them.
        """
        good = set(self.trial_table.loc[self.trial_table["status"] == "ok", "trial"])
        s = self.measured(metric)
        per_source = s[s["trial"].isin(good)].groupby("source")["trial"].nunique()
        common = [str(name) for name, n in per_source.items() if n == len(good)]
        return ranked(metric, common)

    def values(
        self, metric: str, source: str | None = None, *, by_worker: bool = False
    ) -> pd.DataFrame:
        """Trial values: the mean over measured iterations and workers, one row a good trial.

        Parameters
        ----------
        metric : str
            E.g. ``kernel_cpu_ns``.
        source : str, optional
            By default the best that is common to all good trials.
        by_worker : bool
            One row per trial and worker instead: not replicates, for looking at workers only.

        Returns
        -------
        DataFrame
            ``trial, session, block, position, cell``, the factors and ``value``
            (and ``worker``), in order of trial. Empty if the metric has no such source.
        """
        keys = ["trial", "worker"] if by_worker else ["trial"]
        if source is None:
            common = self.sources(metric)
            if not common:
                return self.trial_table.iloc[0:0].assign(value=np.array([], dtype=float))
            source = common[0]
        s = self.measured(metric, source)
        means = s.groupby(keys, dropna=not by_worker)["value"].mean().reset_index()
        good = self.trial_table[self.trial_table["status"] == "ok"]
        return good.merge(means, on="trial").sort_values(keys).reset_index(drop=True)

    def request_counts(self) -> dict[int, Counted]:
        """How many requests each good trial made, in order of trial; none of others than services.

        By the journal, which needs no file of requests.
        """
        return self._counts("requests", DRIVER, "request_error_share", share=True)

    def task_counts(self) -> dict[int, Counted]:
        """How many tasks each good trial had, likewise; none of jobs that leave none."""
        return self._counts("tasks", TASKS, "tasks_failed")

    def _counts(
        self, metric: str, source: str, failed: str, *, share: bool = False
    ) -> dict[int, Counted]:
        counted, fails = (
            dict(zip(found["trial"], found["value"], strict=True))
            for found in (self.values(m, source) for m in (metric, failed))
        )
        return {
            int(trial): Counted(
                round(count), round(fails.get(trial, 0.0) * (count if share else 1))
            )
            for trial, count in counted.items()
        }

    def with_levels(self, table: str, each: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Add its trial's levels to the rows of each trial in a table, a column a factor."""
        import pyarrow as pa

        levels = self.trial_table.set_index("trial")[self.factors]
        for own in each:
            rows = own
            # One text for all rows.
            first = pa.repeat(pa.scalar(0, pa.int32()), own.num_rows)
            for factor, level in levels.loc[own["trial"][0].as_py()].items():
                column = pa.DictionaryArray.from_arrays(first, pa.array([str(level)]))
                rows = rows.append_column(self.level_column(table, str(factor)), column)
            yield rows

    @staticmethod
    def level_column(table: str, factor: str) -> str:
        """Return the column of a factor next to a table's own columns."""
        taken = {column.name for column in TABLES[table].columns}
        return f"{factor}_level" if factor in taken else factor

    def requests(self) -> pd.DataFrame:
        """One row a request of a good trial, read from its file each time.

        Returns
        -------
        DataFrame
            ``trial, intended_ns, start_ns, duration_ns, response_ns, label, error``, and a column
            a factor.

        Raises
        ------
        StoreError
            If those of a trial are missing or damaged.
        """
        return self._rows_of("requests", self.request_files, self.request_counts())

    def tasks(self) -> pd.DataFrame:
        """One row a task of a distributed job, of good trials, read from its file each time.

        Returns
        -------
        DataFrame
            ``trial, host, stage, task, start_ns, duration_ns, read_bytes, local_bytes,
            written_bytes, wait_ns, failed, offset_ns``, and a column a factor.

        Raises
        ------
        StoreError
            If those of a trial are missing or damaged.
        """
        return self._rows_of("tasks", self.task_files, self.task_counts())

    def _rows_of(
        self, table: str, trial_files: TrialFiles | None, counts: dict[int, Counted]
    ) -> pd.DataFrame:
        if trial_files is None or not counts:
            return _empty(table)
        import pyarrow as pa

        read = [*self.with_levels(table, (trial_files.read(*one) for one in counts.items()))]
        frame: pd.DataFrame = pa.concat_tables(read).unify_dictionaries().to_pandas()
        return frame

    def with_times(self) -> Results:
        """Return the same with samples of :data:`~tare.experiment.metrics.TIME`.

        For each workload they are those of the metric that stands for it, on the best source that
        is common to all of the workload's good trials.
        """
        found = [self.sample_table]
        for workload in self.experiment.workloads:
            trials = self.trial_table[self.trial_table["workload"] == workload.name]
            own = dataclasses.replace(self, trial_table=trials)
            metric = waited_for(TIME, serves=workload.serves)
            s = self.sample_table
            for source in own.sources(metric)[:1]:
                rows = s[
                    (s["metric"] == metric)
                    & (s["source"] == source)
                    & s["trial"].isin(trials["trial"])
                ]
                found.append(rows.assign(metric=TIME, source=OF_WORKLOAD))
        whole = pd.concat(found).sort_values("trial", kind="stable").reset_index(drop=True)
        return dataclasses.replace(self, sample_table=whole)

    def judged_by(self, limits: tuple[Limit, ...]) -> Results:
        """Return the same, asked about limits of a judge."""
        asked = msgspec.structs.replace(self.experiment, limit=limits)
        return dataclasses.replace(self, experiment=asked)

    def of_sessions(self, numbers: Collection[int]) -> Results:
        """Return what some of the sessions measured, as if there had been no others."""
        trials = self.trial_table[self.trial_table["session"].isin(list(numbers))]
        kept = set(trials["trial"])
        return dataclasses.replace(
            self,
            levels_of=None,
            trial_table=trials.reset_index(drop=True),
            sample_table=_rows(self.sample_table, "trial", kept),
            facts=_rows(self.facts, "session", numbers),
            sessions=_rows(self.sessions, "session", numbers),
            faults=_rows(self.faults, "trial", kept),
            figures=_rows(self.figures, "session", numbers),
            takes=_rows(self.takes, "session", numbers),
            instances=_rows(self.instances, "session", numbers),
            clocks=_rows(self.clocks, "session", numbers),
            network_use=_rows(self.network_use, "trial", kept),
            network_log=_rows(self.network_log, "trial", kept),
            planned=(),
        )

    def cells(self, good: Sequence[str] = ("ok",)) -> pd.DataFrame:
        """One row a cell: its levels and the number of good trials ``n``."""
        rows = self.trial_table[self.trial_table["status"].isin(list(good))]
        counted = rows.groupby(["cell", *self.factors], dropna=False).size()
        return counted.rename("n").reset_index()

    @property
    def emulated(self) -> frozenset[str]:
        """Platforms whose CPU is emulated, with all that stand in them: no measure of a VM."""
        rows = self.facts[(self.facts["name"] == "emulated") & self.facts["platform"].notna()]
        said = {str(p) for p, value in zip(rows["platform"], rows["value"], strict=True) if value}
        tried = {str(p) for p in self.trial_table["platform"].unique()}
        return frozenset(
            said | {p for p in tried if any(p.startswith(f"{outer}/") for outer in said)}
        )

    @property
    def ended(self) -> str | None:
        """Why the last session ended: ``finished``, ``budget`` …; None: it runs, or was killed."""
        last = [*self.sessions["reason"]][-1:] if "reason" in self.sessions else []
        return str(last[0]) if last and not pd.isna(last[0]) else None

    @property
    def by_hand(self) -> bool:
        """Whether somebody ended the last session, who may have watched what came out."""
        return self.ended == "interrupted"

    def fact(self, name: str, default: Any = None) -> Any:
        """Value of a fact of the machine (the latest session's)."""
        rows = self.facts[self.facts["name"] == name]
        return default if rows.empty else rows["value"].iloc[-1]


def _rows(frame: pd.DataFrame, column: str, values: Collection[int]) -> pd.DataFrame:
    return frame[frame[column].isin(list(values))].reset_index(drop=True)


_TRIAL_COLUMNS = frozenset((
    "trial", "session", "block", "position", "cell", "status", "reason", "started", "duration_ns",
    "seed", "error_captured", "failure_kind",
))  # fmt: skip
