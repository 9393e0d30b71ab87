"""The results of an experiment as columns: what statistics, findings and reports read."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from tare import extras
from tare.experiment.journal import SEEN
from tare.experiment.metrics import DRIVER, OF_WORKLOAD, TASKS, TIME, ranked, waited_for
from tare.experiment.samples import NOTHING, Key, Samples
from tare.experiment.tables import TABLES, Counted
from tare.experiment.time_limits import BOUNDED, COUNTED
from tare.results.columns import Column, Columns, group_means, is_in, objects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    import pandas as pd

    from tare.experiment.specification import Cell, Experiment, Limit
    from tare.experiment.store.trial_files import TrialFiles
    from tare.results.message import Message
    from tare.statistics.shared_timeline import SharedTimeline
    from tare.statistics.statistic import FloatArray


def empty(table: str) -> Columns:
    """Return a table without rows; that of instances has what is seen in them."""
    columns = {column.name: typed(column.type, ()) for column in TABLES[table].columns}
    return Columns(columns | (dict.fromkeys(SEEN, np.zeros(0)) if table == "instances" else {}))


def typed(kind: str, values: Collection[Any]) -> Column:
    """Return values as a column of a type that ``tables.toml`` has; None is NaN among numbers."""
    if kind not in ("INTEGER", "BIGINT", "DOUBLE", "BOOLEAN"):
        return objects(values)
    if kind == "DOUBLE" or None in values:
        return np.array(values, dtype=np.float64)
    return np.array(values, dtype=bool if kind == "BOOLEAN" else np.int64)


#: A level that other levels of the factor are compared with.
REFERENCES = {
    "platform": "bare", "workers": "1", "pinning": "none", "load": "none", "network": "none",
}  # fmt: skip
#: How a trial ended: a killed one has a value above a time limit; an unfinished one was cut short,
#: and its values are never used.
STATUSES = ("ok", "killed", "failed", "unfinished")


@dataclass(frozen=True, eq=False)
class Imported:
    """What is known of values that another tool measured.

    Attributes
    ----------
    unit : str
        Unit of the metric's values.
    lower_is_better : bool or None
        None: not known.
    references : mapping
        Levels that the other levels of a factor are compared with.
    paired : bool
        Whether the trials of a block belong together; otherwise the n-th trials of all cells have
        one block, which says nothing of when they were measured.
    ticks : mapping of int to (float or None)
        Tick of the clock by cell; None: unknown.
    dependence : mapping of int to float
        Trials that are worth one independent trial, by cell.
    """

    unit: str
    lower_is_better: bool | None
    references: Mapping[str, str]
    paired: bool
    ticks: Mapping[int, float | None]
    dependence: Mapping[int, float]


# Compared and hashed by identity: columns have no equality of their own.
@dataclass(frozen=True, eq=False)
class Results:
    """Everything that an experiment has stored so far.

    Attributes
    ----------
    experiment : Experiment
        The question.
    trial_table : Columns
        One row a trial: ``trial, session, block, position, cell, seed, status, reason`` and one
        column a factor (``workload, platform, workers, pinning, load, size`` and the user's);
        levels are strings. From a journal also ``started``, ``duration_ns``, ``failure_kind``,
        ``limit_kind`` and ``above_ns`` of trials that were killed at a time limit, and
        ``error_captured``: standard error was a pipe that was read, not ``/dev/null``.
    sample_table : Samples
        ``trial, worker, iteration, value`` of each metric, source and phase; worker and iteration
        are NaN where the value belongs to the whole trial.
    facts : Columns
        ``session, instance, platform, name, value, unit, source``.
    sessions : Columns
        ``session, started, ended, boot_id, nonce``.
    faults : Columns
        ``trial, worker, iteration, kind, message, evidence``, and of processes that outlived the
        command ``outlived_names, outlived_ns, outlived_killed``.
    stops : Columns
        Why each cell stopped: ``cell, trials, reason, target, reached, more_trials, more_seconds``.
    notes : list of str
        What was left out, and other things to be told with the answer.
    figures : Columns
        What probes found before and after the trials of each session:
        ``session, moment, metric, unit, better, margin, values, take``.
    takes : Columns
        How busy the machine was during each take of these, where it was recorded: ``session,
        moment, take, seconds, cpus, load_average, other_cpus, stolen_cpus, cpu_pressure,
        memory_pressure, io_pressure``; absent (NaN): the kernel does not tell.
    levels_of : int or None
        Session that levels are taken from, where the machine was not the same in all sessions;
        None: from all. Comparisons within blocks use all sessions in either case.
    instances : Columns
        One row an instance of a platform: ``session, instance, platform, size, pinning, cores,
        cpus, memory_bytes, workers, cold, start_ns, stop_ns, host_cpu_ns, host_memory_bytes``;
        ``cores`` is a quota, ``cpus`` a list or None. And what a program sees in it, absent (NaN)
        where it was not told: ``cpus_affinity`` (what nproc says), ``cpus_online``,
        ``cpus_visible`` (affinity and quota), ``memory_total_bytes``, ``memory_limit_bytes``.
    clocks : Columns
        Clocks inside an instance beside the host's: ``session, instance, monotonic_ns,
        monotonic_offset_ns, realtime_offset_ns, within_ns``.
    network_use : Columns
        What each host of an emulated network sent in a trial: ``trial, host, tokens_start_bits,
        tokens_end_bits, sent_bytes, dropped_packets, times_dry, dry_ns, first_dry_ns``; hosts count
        from 1, tokens are absent (NaN) where a host has no bucket, ``first_dry_ns`` where its
        bucket was never empty.
    network_log : Columns
        The same hosts at moments of a trial, one row each: ``trial, at_ns, host, tokens_bits,
        rate_bps, sent_bytes``; absent (NaN): no bucket, no rate.
    planned : tuple of Cell
        Cells of the plan, also those of which no trial has begun; empty where only some of the
        sessions are looked at.
    steady : Message or None
        Which iterations or trials count, where only the steady part was asked for.
    request_files, task_files : TrialFiles or None
        Where the requests of applications that serve are, and the tasks of distributed jobs;
        None: nowhere.
    imported : Imported or None
        None: tare measured the trials, in blocks of random order.
    """

    experiment: Experiment
    trial_table: Columns
    sample_table: Samples
    facts: Columns
    sessions: Columns
    faults: Columns
    stops: Columns
    notes: list[str] = field(default_factory=list)
    figures: Columns = field(default_factory=partial(empty, "figures"))
    takes: Columns = field(default_factory=partial(empty, "takes"))
    instances: Columns = field(default_factory=partial(empty, "instances"))
    clocks: Columns = field(default_factory=partial(empty, "clocks"))
    network_use: Columns = field(default_factory=partial(empty, "network_use"))
    network_log: Columns = field(default_factory=partial(empty, "network_log"))
    planned: tuple[Cell, ...] = ()
    levels_of: int | None = None
    steady: Message | None = None
    request_files: TrialFiles | None = None
    task_files: TrialFiles | None = None
    imported: Imported | None = None

    @cached_property
    def of_levels(self) -> Results:
        """The results that levels are taken from: all, or those of one session."""
        return self if self.levels_of is None else self.of_sessions([self.levels_of])

    @property
    def factors(self) -> list[str]:
        """The factors, ``workload`` first, in the order of the experiment."""
        return [c for c in self.trial_table.names if c not in _TRIAL_COLUMNS]

    def reference(self, factor: str) -> str | None:
        """Return the level that the others of a factor are compared with; None: the first."""
        known = {} if self.imported is None else self.imported.references
        return known.get(factor, REFERENCES.get(factor))

    def levels(self, factor: str) -> list[str]:
        """Return the levels that trials have of a factor, in the order of their first trials."""
        return self.trial_table.distinct(factor)

    @property
    def varied(self) -> list[str]:
        """The factors that have more than one level here."""
        return [f for f in self.factors if len(self.levels(f)) > 1]

    @cached_property
    def good(self) -> Columns:
        """The trials that ended by themselves, and did not fail."""
        return self.trial_table.where(status="ok")

    @cached_property
    def counted(self) -> Columns:
        """The trials that have a value of the experiment's metric, if only one above a limit."""
        return self.trial_table.where(status=COUNTED)

    @cached_property
    def without_killed(self) -> Results:
        """The same with killed trials as failed ones, for what needs the value of every trial.

        It sees the fast runs only, and has to say so.
        """
        if not len(self.trial_table.where(status="killed")):
            return self
        trials = self.trial_table
        status = [one if one != "killed" else "failed" for one in trials["status"]]
        return dataclasses.replace(
            self,
            trial_table=trials.with_columns(
                status=objects(status), above_ns=np.full(len(trials), np.nan)
            ),
        )

    def killed(self, metric: str) -> Columns:
        """Return the trials of whose values of a metric only a lower bound is known.

        They were killed at a time limit. The column ``above`` is added to those of
        :attr:`trial_table` and has the bound.
        """
        trials = self.trial_table
        if self.imported is not None:
            found = trials.where(status="killed")
            return found.with_columns(above=found["above_ns"].astype(float))
        kinds = {kind for kind, metrics in BOUNDED.items() if metric in metrics}
        if "limit_kind" not in trials or not kinds:
            return trials.rows([]).with_columns(above=np.zeros(0))
        found = trials.where(limit_kind=kinds)
        found = found.rows(~np.isnan(found["above_ns"].astype(float)))
        return found.with_columns(above=found["above_ns"].astype(float))

    def trials(self) -> pd.DataFrame:
        """One row a trial, failed ones included (``status``), as a data frame."""
        return self.trial_table.frame()

    def samples(self) -> pd.DataFrame:
        """One row a sample, with the levels of its trial, as a data frame."""
        return self.sample_table.table().joined(self.trial_table, "trial").frame()

    def sources(self, metric: str) -> list[str]:
        """Return the sources that *every* good trial has for a metric, best first.

        The instrument must not be confounded with the platform: cells are compared only on a
        source that is common to all of them. Where every trial was killed, no source says more
        than the limit does, and those that some trials have are returned.
        """
        good, some = self.good["trial"], self.sample_table.sources(metric)
        if not len(good) and self.killed(metric):
            return ranked(metric, some) or ["around"]
        return ranked(
            metric,
            (
                source
                for source in some
                if len(good) and np.isin(good, self.sample_table.of(metric, source)["trial"]).all()
            ),
        )

    def values(self, metric: str, source: str | None = None) -> Columns:
        """Trial values: the mean over measured iterations and workers, one row a trial.

        Parameters
        ----------
        metric : str
            E.g. ``kernel_cpu_ns``.
        source : str, optional
            By default the best that is common to all good trials.

        Returns
        -------
        Columns
            ``trial, session, block, position, cell``, the factors, ``value`` and ``above``, in
            order of trial: of good trials, and of those that were killed at a limit of this time.
            The value of a killed one is infinite, ``above`` has what it is known to exceed (of
            others NaN): what averages it cannot pass off the mean of the fast ones as that of all.
            Empty if the metric has no such source.
        """
        common = self.sources(metric) if source is None else [source]
        if not common:
            return self.trial_table.rows([]).with_columns(value=np.zeros(0), above=np.zeros(0))
        means = mean_by(self.sample_table.of(metric, common[0]), "trial").joined(self.good, "trial")
        ended = means.with_columns(above=np.full(len(means), np.nan))
        killed = self.killed(metric)
        if not killed:
            return ended
        killed = killed.with_columns(value=np.full(len(killed), np.inf)).only(*ended.names)
        return Columns.concatenated([ended, killed]).sorted_by("trial")

    def iterations(self, metric: str, source: str, trials: Collection[int]) -> Columns:
        """Return ``trial, iteration, value`` of some trials: means over workers, in order of time.

        Empty where values belong to whole trials.
        """
        samples = self.sample_table.of(metric, source)
        ended = {*trials} & {*self.good["trial"].tolist()}
        inside = samples.rows(is_in(samples["trial"], ended) & ~np.isnan(samples["iteration"]))
        return mean_by(inside, "trial", "iteration") if len(inside) else NOTHING

    def timeline(self, metric: str, source: str, trials: Collection[int]) -> SharedTimeline | None:
        """Return what some trials have in common over their iterations; None: nothing is shown."""
        # Most commands have one execution per trial, and start faster without it.
        rows = self.iterations(metric, source, trials)
        if len(rows) == len(set(rows["trial"].tolist())):
            return None
        from tare.statistics.shared_timeline import shared_timeline

        return shared_timeline(rows["value"], rows["trial"].astype(np.int64))

    def begun_s(self) -> dict[int, float]:
        """Return when each trial began, in seconds since 1970; empty where that is not recorded.

        The first trial of a session is taken to begin with it, although instances are started
        before, and the clock of the others stops while the machine is suspended.
        """
        if "started" not in self.trial_table or "started" not in self.sessions:
            return {}
        sessions = zip(self.sessions["session"], self.sessions["started"], strict=True)
        started: dict[int, float] = {}
        for session, at in sessions:
            # A journal from elsewhere may hold any text.
            with contextlib.suppress(TypeError, ValueError, OverflowError):
                started[session] = datetime.fromisoformat(at).timestamp()
        found: dict[int, float] = {}
        for session, rows in self.trial_table.groups("session"):
            if session in started:
                begun_ns = rows["started"].astype(float)
                at_s = started[session] + (begun_ns - np.nanmin(begun_ns)) / 1e9
                found |= zip(rows["trial"].tolist(), at_s.tolist(), strict=True)
        return found

    def values_by_source(self, metric: str) -> dict[int, dict[str, float]]:
        """Return the value of each trial that has one, failed ones included, by source."""
        found: dict[int, dict[str, float]] = {}
        for source in self.sample_table.sources(metric):
            for row in mean_by(self.sample_table.of(metric, source), "trial").records():
                found.setdefault(row["trial"], {})[source] = row["value"]
        return found

    def values_of(self, metric: str, source: str, trials: Column) -> FloatArray:
        """Return the values of given trials, in their order; NaN where a trial has none."""
        means = mean_by(self.sample_table.of(metric, source), "trial")
        value = dict(zip(means["trial"].tolist(), means["value"].tolist(), strict=True))
        return np.array([value.get(trial, np.nan) for trial in trials.tolist()], dtype=float)

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

    def with_levels(self, table: str, each: Iterable[Columns]) -> Iterator[Columns]:
        """Add a column per factor, with the level of the trial, to the rows of each trial."""
        levels = {
            row["trial"]: {factor: row[factor] for factor in self.factors}
            for row in self.trial_table.records()
        }
        for own in each:
            of_trial = levels[int(own["trial"][0])].items()
            yield own.with_columns(**{
                self.level_column(table, str(factor)): objects([str(level)] * len(own))
                for factor, level in of_trial
            })  # fmt: skip

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
            ``trial, intended_ns, start_ns, duration_ns, response_ns, label, error, bytes``, and a
            column for each factor. ``bytes`` is NaN where the load generator did not count them.

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
            return empty(table).frame()
        extras.need("pandas")
        read = [*self.with_levels(table, (trial_files.read(*one) for one in counts.items()))]
        return Columns.concatenated(read).frame()

    def with_times(self) -> Results:
        """Return the same with samples of :data:`~tare.experiment.metrics.TIME`.

        For each workload they are those of the metric that stands for it, on the best source that
        is common to all of the workload's good trials.
        """
        parts = []
        for workload in self.experiment.workloads:
            trials = self.trial_table.where(workload=workload.name)
            own = dataclasses.replace(self, trial_table=trials)
            metric = waited_for(TIME, serves=workload.serves)
            for source in own.sources(metric)[:1]:
                part = self.sample_table.of(metric, source)
                parts.append(part.rows(np.isin(part["trial"], trials["trial"])))
        if not parts:
            return self
        whole = Columns({name: np.concatenate([p[name] for p in parts]) for name in parts[0].names})
        key = Key(TIME, OF_WORKLOAD)
        return dataclasses.replace(
            self, sample_table=self.sample_table.with_part(key, whole.sorted_by("trial"))
        )

    def judged_by(self, limits: tuple[Limit, ...]) -> Results:
        """Return the same, asked about limits of a judge."""
        asked = msgspec.structs.replace(self.experiment, limit=limits)
        return dataclasses.replace(self, experiment=asked)

    def of_sessions(self, numbers: Collection[int]) -> Results:
        """Return what some of the sessions measured, as if there had been no others."""
        wanted = set(numbers)
        trials = self.trial_table.where(session=wanted)
        kept = set(trials["trial"].tolist())
        of_session = {
            name: getattr(self, name).where(session=wanted)
            for name in ("facts", "sessions", "figures", "takes", "instances", "clocks")
        }
        of_trial = {
            name: getattr(self, name).where(trial=kept)
            for name in ("faults", "network_use", "network_log")
        }
        return dataclasses.replace(
            self,
            levels_of=None,
            trial_table=trials,
            sample_table=self.sample_table.of_trials(kept),
            planned=(),
            **of_session,
            **of_trial,
        )

    def cells(self, good: Collection[str] = COUNTED) -> list[tuple[dict[str, Any], int]]:
        """Levels of each cell, with its number as ``cell``, and how many trials with a value."""
        rows = self.trial_table.where(status=set(good)).only("cell", *self.factors)
        return [(next(own.records()), len(own)) for _, own in rows.groups("cell")]

    @property
    def emulated(self) -> frozenset[str]:
        """Platforms whose CPU is emulated, with all that stand in them: no measure of a VM."""
        rows = self.facts.where(name="emulated")
        said = {p for p, value in zip(rows["platform"], rows["value"], strict=True) if p and value}
        tried = set(self.trial_table["platform"])
        return frozenset(
            said | {p for p in tried if any(p.startswith(f"{outer}/") for outer in said)}
        )

    @property
    def ended(self) -> str | None:
        """Why the last session ended: ``finished``, ``budget`` …; None: it runs, or was killed."""
        last = [*self.sessions["reason"]][-1:] if "reason" in self.sessions else []
        return last[0] if last else None

    @property
    def by_hand(self) -> bool:
        """Whether somebody ended the last session, who may have watched what came out."""
        return self.ended == "interrupted"

    def fact(self, name: str, default: Any = None) -> Any:
        """Value of a fact of the machine (the latest session's)."""
        rows = self.facts.where(name=name)
        return rows["value"][-1] if rows else default


def mean_by(samples: Columns, *keys: str) -> Columns:
    """Return the mean ``value`` of each combination of some columns, in order of these."""
    first, means = group_means(samples.group_numbers(*keys), samples["value"])
    return samples.only(*keys).rows(first).with_columns(value=means)


_TRIAL_COLUMNS = frozenset((
    "trial", "session", "block", "position", "cell", "status", "reason", "started", "duration_ns",
    "seed", "error_captured", "failure_kind", "limit_kind", "above_ns",
))  # fmt: skip
