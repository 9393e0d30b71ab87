"""What BenchExec writes: every run of a task is an execution of its own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.experiment.task_sets.outcomes import SOLVED, Result
from tare.readers import units, xml_file
from tare.readers.cells import split
from tare.readers.format import Format
from tare.readers.readings import Readings, counted_reasons, each_of, readings
from tare.readers.series import ColumnOptions, FailedRuns, Imported, Series, TaskRuns
from tare.readers.text_file import label
from tare.readers.xml_file import Element
from tare.registry import Description
from tare.results.message import Message, message

_BENCHEXEC_TEXTS = {
    "cpu": "CPU model and cores",
    "ram": "memory",
    "os": "kernel",
}

#: The columns that BenchExec measures itself, as it has called them since 2014.
_METRICS = {"cputime": "cputime", "walltime": "walltime", "memory": "memory", "memUsage": "memory"}
#: How a run ends that was as it should be, where the file does not sort it into a category.
_GOOD = ("true", "false", "done", "sat", "unsat")
_UNKNOWN = "unknown"
#: Results by category, where the run ended by itself. What no validator confirmed is no answer.
_CATEGORIES: dict[str, Result] = {
    "correct": "correct", "wrong": "wrong", "missing": "done", "unknown": "unknown",
    "correct-unconfirmed": "unknown",
}  # fmt: skip
#: Results by the reason for which BenchExec ended a run.
_TERMINATED: dict[str, Result] = {
    "cputime": "cpu_time", "cputime-soft": "cpu_time", "walltime": "timeout",
    "memory": "out_of_memory", "files-size": "output", "files-count": "output",
    "processes": "processes", "killed": "killed", "failed": "lost",
}  # fmt: skip
#: Metric whose limit ended a run, by its result.
_BOUNDED = {"cpu_time": "cputime", "timeout": "walltime"}
#: Attributes of the root with the limit of a metric.
_LIMITS = {"cputime": ("softtimelimit", "timelimit"), "walltime": ("walltimelimit",),
           "memory": ("memlimit",)}  # fmt: skip
#: Points by result and by whether the property holds: the rules of SV-COMP, by which BenchExec
#: scores runs of a property with an expected verdict (benchexec/result.py, 3.35).
_POINTS: dict[tuple[Result, str], float] = {
    ("correct", "true"): 2, ("correct", "false"): 1,
    ("wrong", "false"): -32, ("wrong", "true"): -16,
}  # fmt: skip
#: Stands for the options of a run definition that has none, so that it can be compared.
_NO_OPTIONS = "no options"


@dataclass(frozen=True)
class _Run:
    """One run as the file has it; ``why``: how it ended that has no proper time, else None."""

    line: int
    columns: Mapping[str, str]
    result: Result
    why: str | None

    def cell(self, titles: Collection[str]) -> str | None:
        """Return the first value of some columns as written; None: there is none."""
        return next((self.columns[t] for t in titles if self.columns.get(t)), None)


@dataclass
class _Task:
    """The runs of one task so far."""

    name: str
    options: str
    runs: list[_Run] = field(default_factory=list)
    expected: str | None = None

    def add(self, run: Element) -> None:
        found = {
            column.attributes.get("title", ""): column.attributes.get("value", "").strip()
            for column in run.each("column")
        }
        expected = run.attributes.get("expectedVerdict", "").partition("(")[0]
        self.expected = expected if expected in ("true", "false") else None
        self.runs.append(_Run(run.line, found, _result(found), _why_failed(found)))

    def of_metric(self, titles: Collection[str], unit: str, limit: float | None) -> TaskRuns:
        """Return all runs with the values of a metric, which the columns of ``titles`` hold."""
        numbers = [_number(run.cell(titles) or "", unit) for run in self.runs]
        points = [_points(run, self.expected) for run in self.runs]
        unsolved = [run.columns.get("status") for run in self.runs if run.result not in SOLVED]
        scored = [one for one in points if one is not None]
        return TaskRuns(
            tuple(run.result for run in self.runs),
            tuple(one if isinstance(one, float) else math.nan for one in numbers),
            limit,
            label(unsolved[-1]) if unsolved and unsolved[-1] else None,
            self.expected,
            None if len(scored) < len(self.runs) else tuple(scored),
        )


def _result(found: Mapping[str, str]) -> Result:
    """Return how a run ended, by what the file states."""
    status, category = found.get("status", ""), found.get("category")
    if reason := found.get("terminationreason"):
        return _TERMINATED.get(reason, "killed")
    if category in _CATEGORIES:
        return _CATEGORIES[category]
    if status.startswith("TIMEOUT"):
        # It ended by itself, but later than allowed.
        return "cpu_time"
    if status.startswith("OUT OF MEMORY"):
        return "out_of_memory"
    if status.startswith(_UNKNOWN):
        return "unknown"
    return "done" if _why_failed(found) is None else "crashed"


def _points(run: _Run, expected: str | None) -> float | None:
    """Return a run's score: as the file states it, else by the rules; None: it has none."""
    found = run.columns
    stated = split(found["score"])[0] if found.get("score") else math.nan
    if math.isfinite(stated):
        return stated
    if expected is None or "category" not in found:
        return None
    return _POINTS.get((run.result, expected), 0.0)


def _why_failed(found: Mapping[str, str]) -> str | None:
    """Return how a run ended that has no proper time: killed at a limit, crashed, in error."""
    status = found.get("status", "")
    if found.get("terminationreason"):
        return status or found["terminationreason"]
    if "category" in found:
        # A wrong answer is an answer; its time is what it is.
        return (status or "error") if found["category"] == "error" else None
    # "unknown" is an answer of the tool; "unknown (reason)" tells why it has none.
    ended_well = not status or status == _UNKNOWN or status.startswith(_GOOD)
    return None if ended_well else status


def recognises(head: bytes, file: Path) -> bool:
    """Whether its root is BenchExec's."""
    return xml_file.root(head) == "result" and b"benchmarkname" in head.replace(b"\0", b"")


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read CPU time, wall time and memory of each task, or what ``columns.value`` names of them."""
    metrics = {title: m for title, m in _METRICS.items() if columns.value in (None, title, m)}
    if not metrics:
        raise InputError(
            f"{file}: {columns.value!r} is not a metric that BenchExec measures",
            f"name one with --value: {', '.join(dict.fromkeys(_METRICS.values()))}",
        )
    tasks: dict[tuple[str, str], _Task] = {}
    root: Element | None = None
    systems: list[Element] = []
    for element in xml_file.elements(file):
        if root is None:
            root = element
            if root.name != "result":
                raise InputError(
                    f"{file}, line {root.line}: the root is <{label(root.name)}>, not <result>",
                    "name what BenchExec wrote as *.results.*.xml or .xml.bz2",
                )
        elif element.name == "systeminfo":
            systems.append(element)
        elif element.name == "run":
            name = element.attributes.get("name", "")
            options = element.attributes.get("options", "")
            tasks.setdefault((name, options), _Task(name, options)).add(element)
    assert root is not None
    if not tasks:
        raise InputError(f"{file} has no <run>: nothing was executed", "look at BenchExec's log")
    first = next(iter(metrics.values())) if columns.value else "walltime"
    limits = {metric: _limit(root, metric) for metric in metrics.values()}
    stated = {metric: _limit(root, metric) for metric in _BOUNDED.values()}
    for task in tasks.values():
        task.runs = [_without_contradiction(run, stated) for run in task.runs]
    series = [one for task in tasks.values() for one in _series(root, task, metrics, limits, first)]
    return Imported(
        file=file,
        series=tuple(series),
        specification=replace(
            each_of((len(task.runs) for task in tasks.values()), "run", "task"),
            environment=_environment(systems),
        ),
        failed=_failed(tasks.values(), {metric for metric, limit in limits.items() if limit}),
        notes=_notes(root),
    )


def _limit(root: Element, metric: str) -> float | None:
    """Return the limit of a metric that the file states."""
    stated = (root.attributes.get(name, "") for name in _LIMITS[metric])
    numbers = (_number(cell, _unit(metric)) for cell in stated if cell)
    return next((one for one in numbers if isinstance(one, float) and 0 < one < math.inf), None)


def _without_contradiction(run: _Run, limits: Mapping[str, float | None]) -> _Run:
    """Return a run out of time, whose stated time is below the limit, as killed for another reason.

    It does not exceed the limit, so that its value is absent.
    """
    metric = _BOUNDED.get(run.result)
    limit = None if metric is None else limits[metric]
    if limit is None:
        return run
    stated = _number(run.cell([title for title, of in _METRICS.items() if of == metric]) or "", "s")
    is_below = isinstance(stated, float) and stated < limit
    return replace(run, result="killed") if is_below else run


def _unit(metric: str) -> str:
    return "bytes" if metric == "memory" else "s"


def _series(
    root: Element,
    task: _Task,
    metrics: Mapping[str, str],
    limits: Mapping[str, float | None],
    always: str,
) -> list[Series]:
    """Make a series of each metric; one of the metric ``always`` where no run has any."""
    options = " ".join((root.attributes.get("options", ""), task.options)).strip()
    tool = " ".join((root.attributes.get("tool", ""), root.attributes.get("version", ""))).strip()
    key = {
        "task": label(task.name),
        **({"tool": label(tool)} if tool else {}),
        "options": label(options) or _NO_OPTIONS,
    }
    stated = {metrics[t] for run in task.runs for t in metrics if run.columns.get(t)}
    made = []
    for metric in sorted(stated or {always}):
        unit, limit = _unit(metric), limits[metric]
        titles = [title for title, of in metrics.items() if of == metric]
        found = _values(task.runs, titles, unit, metric, limit)
        bounded = {metric} if limit is not None else set()
        made.append(
            Series(
                key=key,
                values=found.values,
                above=found.above,
                metric=metric,
                unit=unit,
                lower_is_better=True,
                trial=found.kept,
                task=task.of_metric(titles, unit, limit),
                defects=found.defects,
                failed=_failed([task], bounded),
            )
        )
    return made


def _is_above(run: _Run, bounded: Collection[str]) -> bool:
    """Whether a run was killed at the limit of one of some metrics, which it thus exceeds."""
    return run.why is not None and _BOUNDED.get(run.result) in bounded


def _values(
    runs: Sequence[_Run], titles: Collection[str], unit: str, metric: str, limit: float | None
) -> Readings:
    """Return the values of runs that ended well, and of those killed at the metric's limit."""
    bounded = {metric} if limit is not None else set()
    kept = [run for run in runs if run.why is None or _is_above(run, bounded)]
    cells = [run.cell(titles) for run in kept]
    raw = [None if cell is None else _number(cell, unit) for cell in cells]
    above = [limit if _is_above(run, bounded) else math.nan for run in kept]
    return readings(
        raw,
        lambda index: message("the run in line {line}", line=kept[index].line),
        above=np.array(above, dtype=float),
    )


def _number(cell: str, unit: str) -> float | str:
    """Parse a number with or without its unit (since BenchExec 1.0: with); else return the text."""
    number, written = split(cell)
    known = units.unit(written) if written else None
    if math.isnan(number) or (written and (known is None or known.base != unit)):
        return cell
    return number * known.factor if known else number


def _failed(tasks: Iterable[_Task], bounded: Collection[str]) -> FailedRuns | None:
    """Count the failed runs of tasks; None: none failed.

    ``bounded``: metrics whose limits are known; runs killed at them have values.
    """
    total, reasons = 0, Counter[str]()
    for task in tasks:
        total += len(task.runs)
        reasons.update(
            run.why for run in task.runs if run.why is not None and not _is_above(run, bounded)
        )
    if not reasons:
        return None
    return FailedRuns(reasons.total(), total, "run", counted_reasons(reasons, label))


def _environment(systems: Sequence[Element]) -> Message | None:
    """Say what of the machine is told: CPU model, cores, frequency, memory, kernel, host."""
    told = {child.name for system in systems for child in system.children}
    parts = [message(_BENCHEXEC_TEXTS[child]) for child in ("cpu", "ram", "os") if child in told]
    if not parts:
        return None
    return message(
        "{parts | listing}{% if hosts > 1 %}, of {hosts} hosts{% endif %}",
        parts=parts,
        hosts=len(systems),
    )


def _notes(root: Element) -> tuple[Message, ...]:
    error = root.attributes.get("error")
    return (message("BenchExec reports that it was {error}", error=label(error)),) if error else ()


UNIT = Format(
    description=Description(
        name="benchexec",
        title="BenchExec: the results in XML, packed or not",
        question="What did each run of each task take?",
        source="BenchExec 3.35, doc/result.dtd",
    ),
    recognises=recognises,
    read=read,
    options=frozenset({"value"}),
    is_of_commands=False,
)
