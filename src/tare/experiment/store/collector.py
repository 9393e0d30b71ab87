"""From the lines of a journal to :class:`~tare.experiment.results.Results`, in one pass."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np

from tare import files
from tare.agent import record
from tare.errors import StoreError
from tare.experiment import journal, plan, plan_file, time_limits
from tare.experiment.metrics import TIME, of_workload, waited_for
from tare.experiment.results import Results, typed
from tare.experiment.samples import Key, Samples
from tare.experiment.tables import STORED
from tare.results.columns import Columns, group_means, is_in, objects
from tare.statistics.statistic import FloatArray

#: Factors that have a column of their own in every table of trials.
_FACTORS = ("workload", "platform", "workers", "pinning", "load", "size")

Row: TypeAlias = tuple[Any, ...]
_all_fields: Callable[[Any], Row] = msgspec.structs.astuple
#: Lines that are one row each: its table, and the row, after the number of the session.
_OF_SESSION: dict[type, tuple[str, Callable[[Any], Row]]] = {
    journal.MachineFact: (
        "facts", lambda x: (x.instance, x.platform, x.name, x.value, x.unit, x.source),
    ),
    journal.MachineTake: ("takes", lambda x: (x.moment, x.take, *_all_fields(x.activity))),
    journal.MachineFigure: ("figures", _all_fields),
    journal.ClockCheck: ("clocks", _all_fields),
    journal.Stop: ("stops", _all_fields),
    journal.Note: ("notes", lambda x: (x.message, x.detail)),
}  # fmt: skip
#: The same of lines that name a trial, and so no session.
_OF_TRIAL: dict[type, tuple[str, Callable[[Any], Row]]] = {
    record.Fault: (
        "faults", lambda x: (
            x.trial, x.worker, x.iteration, x.kind, x.message, x.evidence, *_outlived(x.outlived),
        ),
    ),
    journal.HostUse: ("network_use", _all_fields),
}  # fmt: skip


def _outlived(found: record.Outlived | None) -> Row:
    if found is None:
        return None, None, None
    return msgspec.json.encode(found.names).decode(), found.duration_ns, found.killed


def read(folder: str | PathLike[str]) -> Collector:
    """Read the journals of an experiment, which may still run.

    Raises
    ------
    StoreError
        If the folder holds no experiment, one of another layout, or a damaged journal.
    """
    path = Path(folder)
    files.check_owner(path)
    found = Collector(path, plan_file.read(path))
    for _ in found.lines():
        pass
    return found


def load(folder: str | PathLike[str]) -> Results:
    """Read everything that an experiment has stored so far; raises as :func:`read` does."""
    return read(folder).results()


class Collector:
    """Everything that the sessions of an experiment have written, as rows of its tables.

    Parameters
    ----------
    folder : Path
        Of the experiment.
    made : Plan
        Its plan.
    """

    def __init__(self, folder: Path, made: plan.Plan) -> None:
        self.folder = folder
        self.plan = made
        self.rows: dict[str, list[Row]] = defaultdict(list)
        self.samples: dict[Key, _SampleBuffer] = defaultdict(_SampleBuffer)
        #: Samples so far.
        self.counted = 0
        #: Trials of all sessions that have begun.
        self.begun: set[int] = set()
        self._sessions: list[_Session] = []

    def lines(self) -> Iterator[journal.Line]:
        """Read the journals that there are, and yield each line once it is taken."""
        for file in journal.files(self.folder):
            take = self.session(file)
            for line in journal.read(file):
                take(line)
                yield line

    def session(self, path: Path) -> Callable[[journal.Line], None]:
        """Begin with the journal of the next session; return what takes its lines."""
        self._sessions.append(_Session(path, self))
        return self._sessions[-1].add

    def means(self, trial: int, metric: str) -> dict[str, float]:
        """Return the value of the trial that has begun last by source, of sources that have one."""
        found: dict[str, float] = {}
        for key, part in self.samples.items():
            if key.metric == metric and key.phase == "measured" and len(own := part.last(trial)):
                _, (mean,) = group_means(np.zeros(len(own)), own)
                found[key.source] = float(mean)
        return found

    def values(self, metric: str) -> dict[int, list[tuple[int, dict[str, float] | None]]]:
        """Return block and value by source of the trials of each cell, in order of time.

        None of a killed trial, whose value is above a limit.
        A service's trial has a command's time as well, which is not what is waited for.
        """
        results = self.results()
        serving = {cell.cell for cell in self.plan.cells if cell.workload.serves}
        by_trial = {
            serves: results.values_by_source(waited_for(metric, serves=serves))
            for serves in (False, True)
        }
        found: dict[int, list[tuple[int, dict[str, float] | None]]] = {}
        for row in results.counted.records():
            by_source = by_trial[row["cell"] in serving].get(row["trial"], {})
            value = None if row["status"] == "killed" else of_workload(metric, by_source)
            found.setdefault(row["cell"], []).append((row["block"], value))
        return found

    def table(self, name: str) -> Columns:
        """Return a table with the columns that ``tables.toml`` has for it, rehearsals included."""
        if name == "samples":
            return self._samples().table()
        rows = [*self.rows[name], *(row for one in self._sessions for row in one.rows(name))]
        return _columns(name, rows)

    def faults(self) -> dict[int, list[tuple[str, int | None]]]:
        """Return kind and iteration of the faults of each trial, warnings left out."""
        found: dict[int, list[tuple[str, int | None]]] = defaultdict(list)
        for trial, _, iteration, kind, *_ in self.rows["faults"]:
            if kind != "warning":
                found[trial].append((kind, iteration))
        return found

    def _samples(self) -> Samples:
        return Samples({key: part.columns() for key, part in self.samples.items()})

    def results(self) -> Results:
        """Return what there is so far, without rehearsals, and with unfinished trials."""
        trials = self.table("trials")
        rehearsed = set(trials.where(calibration=True)["trial"].tolist())
        trials = trials.where(calibration=False).sorted_by("trial")
        samples, facts = self._samples(), self.table("facts")
        single = np.array([one is not None for one in facts["instance"]], dtype=bool)
        found = Results(
            experiment=self.plan.experiment,
            trial_table=_with_levels(trials, self.plan),
            sample_table=samples.of_trials(set(trials["trial"].tolist())) if rehearsed else samples,
            facts=facts.rows(~single),
            instances=_with_seen(self.table("instances"), facts.rows(single)),
            clocks=self.table("clocks"),
            sessions=self.table("sessions").sorted_by("session"),
            figures=self.table("figures"),
            takes=self.table("takes"),
            faults=_without(self.table("faults"), rehearsed),
            stops=_last_stops(self.table("stops")),
            network_use=_without(self.table("network_use"), rehearsed).sorted_by("trial", "host"),
            network_log=_without(self.table("network_log"), rehearsed).sorted_by(
                "trial", "at_ns", "host"
            ),
            notes=self.table("notes").distinct("message"),
            planned=self.plan.cells,
            **_trial_files(self.folder, self.plan),
        )
        return found.with_times() if self.plan.metric == TIME else found


class _SampleBuffer:
    """Samples of one key."""

    _NAMES = ("row", "trial", "worker", "iteration", "value")

    def __init__(self) -> None:
        self._numbers = array("d")

    def add(self, row: int, sample: record.Sample) -> None:
        # One call, so that an interrupt leaves whole samples. Doubles hold counts up to 2⁵³.
        self._numbers.extend((
            row, sample.trial, _or_nan(sample.worker), _or_nan(sample.iteration), sample.value,
        ))  # fmt: skip

    def last(self, trial: int) -> FloatArray:
        """Return the values of a trial if it is the last one to have values, else none."""
        width, numbers = len(self._NAMES), self._numbers
        first = len(numbers)
        while first and numbers[first - width + 1] == trial:
            first -= width
        return np.array(numbers[first + width - 1 :: width])

    def columns(self) -> Columns:
        table = np.array(self._numbers).reshape(-1, len(self._NAMES))
        row, trial, *others = table.T
        whole = (row.astype(np.int64), trial.astype(np.int64))
        columns = (*whole, *map(np.ascontiguousarray, others))
        return Columns(dict(zip(self._NAMES, columns, strict=True)))


def _or_nan(number: int | None) -> float:
    return np.nan if number is None else number


class _Session:
    """Sorts the lines of one journal into rows."""

    def __init__(self, path: Path, into: Collector) -> None:
        self.path = path
        self._into = into
        self._number = 0
        #: Cells and blocks of good trials.
        self._good: set[tuple[int, int]] = set()
        self._session: journal.Session | None = None
        self._closed: journal.SessionEnd | None = None
        self._starts: dict[int, journal.TrialStart] = {}
        self._ends: dict[int, journal.TrialEnd] = {}
        self._instances: dict[
            str, tuple[journal.InstanceStart, journal.InstanceEnd | None]
        ] = {}  # fmt: skip

    def add(self, line: journal.Line) -> None:
        """Take the next line.

        Raises
        ------
        StoreError
            If no session can have written it here.
        """
        self._number += 1
        self._check(line)
        if isinstance(line, record.Sample):
            if line.trial not in self._starts:
                raise self._damaged(f"trial {line.trial} has not begun")
            key = Key(line.metric, line.source, line.phase)
            try:
                self._into.samples[key].add(self._into.counted, line)
            except OverflowError as error:
                raise self._damaged(f"a number is too large ({error})") from error
            self._into.counted += 1
        elif (kind := type(line)) in _OF_SESSION:
            table, row = _OF_SESSION[kind]
            number = self._session and self._session.session
            self._into.rows[table].append((number, *row(line)))
        elif kind in _OF_TRIAL:
            table, row = _OF_TRIAL[kind]
            self._into.rows[table].append(row(line))
        else:
            self._sort(line)

    def _sort(self, line: journal.Line) -> None:
        match line:
            case journal.Session():
                if self._session is not None:
                    raise self._damaged("a second session begins")
                self._session = line
            case journal.SessionEnd():
                self._closed = line
            case journal.InstanceStart():
                self._instances[line.instance] = (line, None)
            case journal.InstanceEnd() if line.instance in self._instances:
                self._instances[line.instance] = (self._instances[line.instance][0], line)
            case journal.TrialStart():
                if line.trial in self._into.begun:
                    raise self._damaged(f"trial {line.trial} begins a second time")
                self._into.begun.add(line.trial)
                self._starts[line.trial] = line
            case journal.TrialEnd():
                self._ends[line.trial] = line
                self._pair(line)
            case journal.HostTokens():
                hosts = zip(line.tokens_bits, line.rate_bps, line.sent_bytes, strict=False)
                self._into.rows["network_log"] += [
                    (line.trial, line.at_ns, host, *seen) for host, seen in enumerate(hosts, 1)
                ]

    def _check(self, line: journal.Line) -> None:
        """Refuse what no session can have written, before anything is computed from it."""
        match line:
            # Rehearsals before the first block have no cell in the plan.
            case journal.TrialStart(cell=cell, rehearsal=False) | journal.Stop(cell=cell):
                if not 0 <= cell < len(self._into.plan.cells):
                    raise self._damaged(f"the plan has no cell {cell}")
            case record.Sample(value=value):
                self._check_values(value)
            case journal.MachineFigure(values=values, margin=margin):
                self._check_values(*values, margin)

    def _check_values(self, *values: float) -> None:
        for value in values:
            if abs(value) > journal.MOST_VALUE:
                raise self._damaged(f"{value} is no value of a measurement")

    def _pair(self, line: journal.TrialEnd) -> None:
        """Refuse a second good trial of a cell in a block, within which cells are compared."""
        start = self._starts.get(line.trial)
        if start is None or start.rehearsal or line.status != "ok":
            return
        if (start.cell, start.block) in self._good:
            raise self._damaged(f"cell {start.cell} has two good trials in a block")
        self._good.add((start.cell, start.block))

    def _kill(
        self,
        start: journal.TrialStart,
        end: journal.TrialEnd | None,
        faults: list[tuple[str, int | None]],
    ) -> tuple[str, time_limits.Kill] | None:
        """Return the status of a trial that a time limit ended, and what is known of its value.

        None: it ended otherwise.
        """
        if end is None or end.status == "ok" or start.rehearsal or not faults:
            return None
        made = self._into.plan
        cell = made.cells[start.cell]
        found = time_limits.kill(made.experiment, cell.workload, cell.workers, faults)
        if found is None:
            return None
        return ("killed" if found.bounds(made.metric) else end.status), found

    def _damaged(self, why: str) -> StoreError:
        return StoreError(
            f"line {self._number} of {self.path} is damaged: {why}", "restore the file from a copy"
        )

    def rows(self, table: str) -> list[Row]:
        """Return the rows that more than one line makes: of sessions, instances and trials."""
        if (session := self._session) is None:
            return []
        number, closed = session.session, self._closed
        match table:
            case "sessions":
                return [(
                    number, session.name, session.started, closed and closed.ended,
                    closed and closed.reason, session.boot_id, session.nonce, session.tare,
                    session.agent_digest, session.argv,
                )]  # fmt: skip
            case "instances":
                return [_instance(number, *one) for one in self._instances.values()]
            case "trials":
                faults = self._into.faults()
                return [
                    _trial(number, start, end, self._kill(start, end, faults[trial]))
                    for trial, start in self._starts.items()
                    for end in [self._ends.get(trial)]
                ]
        return []


def _trial(
    session: int,
    start: journal.TrialStart,
    end: journal.TrialEnd | None,
    kill: tuple[str, time_limits.Kill] | None,
) -> Row:
    known = (start.levels.get(name) for name in _FACTORS)
    status, limit = kill or (end.status if end else "unfinished", None)
    return (
        start.trial, session, start.block, start.position, start.cell, *known, start.levels,
        start.seed, start.repetitions, start.cpus, start.rehearsal, start.error_captured,
        start.monotonic_ns, end and end.monotonic_ns - start.monotonic_ns,
        status, end and end.reason, (end and end.failure_kind) or None,
        limit and limit.kind, limit and limit.above_ns,
    )  # fmt: skip


def _instance(session: int, start: journal.InstanceStart, end: journal.InstanceEnd | None) -> Row:
    return (
        session, start.instance, start.platform, start.size, start.pinning, start.cores,
        start.cpus, start.memory_bytes, start.workers, start.cold, start.start_ns,
        end and end.stop_ns, end and end.host_cpu_ns, end and end.host_memory_bytes,
    )  # fmt: skip


def _columns(name: str, rows: list[Row]) -> Columns:
    """Make a table of the types that ``tables.toml`` has."""
    table = STORED[name]
    values = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    try:
        return Columns({
            c.name: typed(c.type, own) for c, own in zip(table.columns, values, strict=True)
        })  # fmt: skip
    except OverflowError as error:
        raise StoreError(f"the journal's {name} are damaged: {error}") from error


def _with_levels(trials: Columns, made: plan.Plan) -> Columns:
    """Give each factor a column, and leave out what no finding needs."""
    factors = list(made.cells[0].levels()) if made.cells else []
    kept = trials.only(
        "trial", "session", "block", "position", "cell", "seed", "status", "reason",
        "failure_kind", "limit_kind", "above_ns", "started", "duration_ns", "error_captured",
    )  # fmt: skip
    levels = trials["levels"]
    return kept.with_columns(**{f: objects(own.get(f) for own in levels) for f in factors})


def _with_seen(instances: Columns, facts: Columns) -> Columns:
    """Give each fact of single instances a column."""
    seen = {}
    for name in journal.SEEN:
        known = facts.where(name=name)
        values = dict(zip(known["instance"], known["value"], strict=True))
        seen[name] = np.array([values.get(one) for one in instances["instance"]], dtype=np.float64)
    return instances.with_columns(**seen)


def _without(table: Columns, rehearsed: Collection[int]) -> Columns:
    return table.rows(~is_in(table["trial"], rehearsed)) if rehearsed else table


def _last_stops(stops: Columns) -> Columns:
    """Keep the last stop of each cell: a resumed cell stops once a session."""
    last = {cell: place for place, cell in enumerate(stops["cell"].tolist())}
    kept = stops.rows(sorted(last.values())).sorted_by("cell")
    return kept.only(*(name for name in stops.names if name != "session"))


def _trial_files(folder: Path, made: plan.Plan) -> dict[str, Any]:
    """Return where applications leave their requests and tasks, if there are any."""
    if not any(cell.workload.application for cell in made.cells):
        return {}
    # Only applications need these modules.
    from tare.applications.requests import REQUESTS
    from tare.applications.tasks import TASKS
    from tare.experiment.store.trial_files import TrialFiles

    return {
        "request_files": TrialFiles(folder, REQUESTS), "task_files": TrialFiles(folder, TASKS),
    }  # fmt: skip
