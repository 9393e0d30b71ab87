"""A task set's folder: its plan, what earlier sessions did, and its runs as a table."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tare import files
from tare.errors import ExperimentError, StoreError, Typed, UsageError
from tare.experiment import plan_file
from tare.experiment.journal import MachineFact, Note, Session
from tare.experiment.metrics import ranked
from tare.experiment.plan_file import TASKS as FILE
from tare.experiment.session import folder as folders
from tare.experiment.specification import Cell
from tare.experiment.task_sets.outcomes import AGAIN
from tare.features.tasks.journal import Line, Run, read
from tare.features.tasks.lanes import Work
from tare.features.tasks.options import MOST_TRIALS
from tare.features.tasks.runs import Configuration, Folder, Runs
from tare.features.tasks.session import Past
from tare.features.tasks.specification import TASK, VERSION, Plan
from tare.results.columns import Columns, objects
from tare.workloads import placeholders

_HINT = "free some room, or choose another --out"
#: Values that something can have which was measured: a part of a nanosecond, and centuries of them.
_LEAST, _MOST = 1e-3, 1e19
#: Settings that must not change when a set is resumed, with their keys in the file.
_LASTING = {
    "seed": "seed", "fresh": "fresh", "linger_s": "linger", "sizes": "[sizes]",
    "platforms": "[platforms]",
}  # fmt: skip
_RESTORE = "restore it, and tasks.json, from a copy"
#: Kept of what sessions noted: the last ones, and characters of each.
_MOST_NOTES, _MOST_SAID = 5, 500
#: Metrics of the table; a value is that of the best source that all of a configuration's have.
_METRICS = ("cpu_ns", "wall_ns", "memory_bytes", "wait_ns", "throttled_ns")


def has_begun(folder: Path) -> bool:
    """Tell whether a folder holds a task set, however little of it."""
    return (folder / FILE).exists()


def begin(plan: Plan, text: str, folder: Path) -> Past:
    """Write down what is to be run; raises StoreError where the folder holds something else."""
    folders.check_free(folder)
    _write(plan, folder)
    folders.write_text(text, folder)
    return Past()


def go_on(plan: Plan, text: str, folder: Path) -> Past:
    """Return what earlier sessions did of the same tasks.

    Raises
    ------
    ExperimentError
        If the folder holds other tasks, workloads, platforms or settings.
    """
    before = read_plan(folder)
    changed = _changed(before, plan)
    # Where nothing was run, as the checker failed, there is nothing to go on with.
    if changed and past(folder, before).runs:
        raise ExperimentError(
            f"{', '.join(changed)} changed since the task set began in {folder}",
            "run it into a new folder with --out",
        )
    _write(plan, folder)
    folders.write_text(text, folder)
    return past(folder, plan)


def _write(plan: Plan, folder: Path) -> None:
    files.write(folder / FILE, msgspec.json.encode(plan), _HINT)


def _changed(before: Plan, now: Plan) -> list[str]:
    """Return what of a plan is another; how many trials, and how many at a time, may be."""
    same = msgspec.structs.replace
    own = same(now.set, trials=before.set.trials, parallel=before.set.parallel)
    others = {
        "tasks": before.tasks != now.tasks,
        "[tasks]": before.set != own,
        "workloads or platforms": before.cells != now.cells,
        **{
            key: getattr(before.experiment, name) != getattr(now.experiment, name)
            for name, key in _LASTING.items()
        },
        # Of earlier folders they are not known.
        **{
            path: bool(before.programs) and before.programs.get(path) != digest
            for path, digest in now.programs.items()
        },
    }
    return [name for name, other in others.items() if other]


def read_plan(folder: Path) -> Plan:
    """Return the plan of a folder.

    Raises
    ------
    StoreError
        If there is none, or it is of another version.
    """
    path = folder / FILE
    try:
        data = plan_file.content(path)
    except OSError as error:
        raise StoreError(
            f"{folder} holds no task set: {path.name} cannot be read ({error.strerror})",
            Typed(f"tare report {shlex.quote(str(folder))}   (if it holds an experiment)")
            if folders.has_begun(folder)
            else "name the folder that tare tasks run --out named",
        ) from error
    plan = plan_file.decoded(data, Plan, VERSION, path)
    names = [task.name for task in plan.tasks]
    if len(set(names)) < len(names):
        raise StoreError(f"{path} has a task twice", _RESTORE)
    return plan


def past(folder: Path, plan: Plan) -> Past:
    """Return what the sessions in a folder did."""
    found = Past()
    for line in _lines(folder, plan):
        if isinstance(line, Session):
            found.sessions = max(found.sessions, line.session)
        elif isinstance(line, Run):
            found.runs = max(found.runs, line.run)
            (found.done.discard if line.result in AGAIN else found.done.add)(_work(line))
    return found


def _lines(folder: Path, plan: Plan) -> Iterator[Line]:
    """Read the journals of a folder; raises StoreError where a run is none of the plan's."""
    for line in read(folder):
        if isinstance(line, Run) and not (
            0 <= line.cell < len(plan.cells)
            and 0 <= line.task < len(plan.tasks)
            and 1 <= line.trial <= MOST_TRIALS
        ):
            raise StoreError(
                f"the journal in {folder} has a run (number {line.run}) that {FILE} has not",
                _RESTORE,
            )
        if isinstance(line, Run) and not all(map(_sound, line.values.values())):
            raise StoreError(
                f"the journal in {folder} has a run (number {line.run}) of what cannot be",
                _RESTORE,
            )
        yield line


def _sound(by_source: dict[str, float]) -> bool:
    return all(value == 0 or _LEAST <= value <= _MOST for value in by_source.values())


def _work(run: Run) -> Work:
    return Work(run.cell, run.task, run.trial)


def load(paths: Sequence[Path]) -> Runs:
    """Read the runs of one or several task sets, joined by the names of their tasks.

    Raises
    ------
    StoreError
        If one of the folders holds none.
    UsageError
        If one of them is named twice, or has no task of the others.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("a folder is named twice", "name each of them once")

    found: list[Folder] = []
    configurations: list[Configuration] = []
    tasks: dict[str, int] = {}
    #: Digests of each task's input and expected output, by task name; None: no expected output.
    digests: dict[str, tuple[str, str | None]] = {}
    tables: list[Columns] = []
    for path in paths:
        files.check_owner(path)
        plan = read_plan(path)
        journals = _read(path, plan)
        if found and not any(task.name in digests for task in plan.tasks):
            raise UsageError(
                f"{path} has no task of {paths[0]}, so there is nothing to compare",
                "name folders of the same tasks: they are joined by name",
            )
        for task in plan.tasks:
            digests.setdefault(task.name, (task.digest, task.answer))
        # With another input or answer it is another task, whatever its name.
        same = [digests[task.name] == (task.digest, task.answer) for task in plan.tasks]
        names = [
            t.name if s else f"{t.name} ({path})" for t, s in zip(plan.tasks, same, strict=True)
        ]
        places = [tasks.setdefault(name, len(tasks)) for name in names]
        for place, cell in enumerate(plan.cells):
            table = _table(journals.by_cell.get(place, []), places)
            numbers = np.full(len(table), len(configurations))
            tables.append(table.with_columns(configuration=numbers))
            configurations.append(_configuration(len(found), cell))
        replaced = [t.name for t, s in zip(plan.tasks, same, strict=True) if not s]
        found.append(_folder(path, plan, journals, tuple(replaced)))
    return Runs(
        tuple(found),
        tuple(configurations),
        tuple(tasks),
        Columns.concatenated(tables) if tables else _table([], []),
    )


def _folder(path: Path, plan: Plan, journals: _Read, replaced: tuple[str, ...]) -> Folder:
    written = plan_file.text(path)
    return Folder(
        name=str(path),
        experiment=plan.experiment.name,
        question=plan.experiment.question,
        started=journals.started,
        facts=journals.facts,
        file=None if written is None else written.decode(errors="replace"),
        asked=plan.set,
        seed=plan.experiment.seed,
        planned=len(plan.cells) * len(plan.tasks) * plan.set.trials,
        replaced=replaced,
        notes=journals.notes,
    )


def _configuration(folder: int, cell: Cell) -> Configuration:
    levels = {k: v for k, v in cell.levels().items() if k not in ("workload", TASK)}
    usual = Cell(cell=0, workload=cell.workload, platform="").levels()
    return Configuration(
        folder=folder,
        workload=cell.workload.name,
        levels={k: v for k, v in levels.items() if usual.get(k) != v},
        command=_filled(cell),
        timeout_s=cell.workload.timeout_s,
        enforce=cell.workload.enforce,
    )


def _filled(cell: Cell) -> tuple[str, ...]:
    """Return a command with the levels of its factors."""
    levels = {**cell.levels(), TASK: f"{{{TASK}}}"}
    words = cell.workload.command or ()
    try:
        return tuple(placeholders.fill(word, levels) for word in words)
    except (KeyError, ValueError):
        return words  # of a folder that no tare has written


@dataclass
class _Read:
    """What journals hold: runs by cell, the last of each; when the first session began."""

    by_cell: dict[int, list[Run]] = field(default_factory=dict)
    started: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _read(path: Path, plan: Plan) -> _Read:
    found = _Read()
    runs: dict[Work, Run] = {}
    for line in _lines(path, plan):
        if isinstance(line, Run):
            runs[_work(line)] = line
        elif isinstance(line, Session):
            found.started = found.started or _time(line.started, path)
        elif isinstance(line, MachineFact) and line.platform is None:
            found.facts[line.name] = line.value
        elif isinstance(line, Note) and line.message not in found.notes:
            found.notes = (*found.notes, line.message[:_MOST_SAID])[-_MOST_NOTES:]
    for run in runs.values():
        found.by_cell.setdefault(run.cell, []).append(run)
    return found


def _time(written: str, path: Path) -> str:
    try:
        datetime.fromisoformat(written)
    except ValueError as error:
        raise StoreError(
            f"the journal in {path} has a session that began at {written[:40]!r}, which is no time",
            _RESTORE,
        ) from error
    return written


def _table(runs: list[Run], places: list[int]) -> Columns:
    first = min((run.began_ns for run in runs), default=0)
    numbers = {
        "exit_status": [_exit_status(run) for run in runs],
        **{metric: _values(runs, metric) for metric in _METRICS},
        "started_ns": [run.began_ns - first for run in runs],
        "took_ns": [run.ended_ns - run.began_ns for run in runs],
    }
    return Columns({
        "task": np.array([places[run.task] for run in runs], dtype=np.int64),
        "trial": np.array([run.trial for run in runs], dtype=np.int64),
        "result": objects(run.result for run in runs),
        "why": objects(run.why for run in runs),
        **{name: np.array(values, dtype=float) for name, values in numbers.items()},
    })  # fmt: skip


def _exit_status(run: Run) -> float:
    """Return how a program ended: its exit code, or the negative number of the signal."""
    for metric, sign in (("signal", -1), ("exit_code", 1)):
        for value in run.values.get(metric, {}).values():
            if value or metric == "exit_code":
                return float(sign * value)
    return float("nan")


def _values(runs: list[Run], metric: str) -> list[float]:
    """Return the values of a metric by the best source that all runs have that have any."""
    have = [set(run.values.get(metric, ())) for run in runs]
    common = set.intersection(*some) if (some := [one for one in have if one]) else set()
    best = next(iter(ranked(metric, common)), None)
    return [
        float("nan") if best is None else float(run.values.get(metric, {}).get(best, "nan"))
        for run in runs
    ]
