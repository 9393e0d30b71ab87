"""What BenchExec writes: every run of a task is an execution of its own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tare.errors import InputError
from tare.experiment.task_sets.outcomes import SOLVED, Result
from tare.readers import units, xml_file
from tare.readers.cells import split
from tare.readers.format import Format
from tare.readers.readings import Readings, each_of, failed, failed_with, readings
from tare.readers.series import ColumnOptions, Imported, Series, TaskRuns
from tare.readers.text_file import label
from tare.readers.xml_file import Element
from tare.registry import Description
from tare.results.message import Message, message

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


@dataclass
class _Task:
    """The runs of one task so far."""

    name: str
    options: str
    lines: list[int] = field(default_factory=list)
    #: Values as written, by metric, one a good run; None where a run has none.
    cells: dict[str, list[str | None]] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    #: The columns and the result of each run.
    columns: list[Mapping[str, str]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    expected: str | None = None

    @property
    def runs(self) -> int:
        return len(self.results)

    def add(self, run: Element, metrics: Mapping[str, str]) -> None:
        found = {
            column.attributes.get("title", ""): column.attributes.get("value", "").strip()
            for column in run.each("column")
        }
        self.columns.append(found)
        self.results.append(_result(found))
        expected = run.attributes.get("expectedVerdict", "").partition("(")[0]
        self.expected = expected if expected in ("true", "false") else None
        why = _why_failed(found)
        if why is not None:
            self.failed[why] = self.failed.get(why, 0) + 1
            return
        self.lines.append(run.line)
        for title, metric in metrics.items():
            if found.get(title):
                cells = self.cells.setdefault(metric, [])
                cells += [None] * (len(self.lines) - 1 - len(cells))
                cells.append(found[title])

    def of_metric(self, titles: Collection[str], unit: str, limit: float | None) -> TaskRuns:
        """Return all runs with the values of a metric, which the columns of ``titles`` hold."""
        cells = [next((c[t] for t in titles if c.get(t)), "") for c in self.columns]
        numbers = [_number(cell, unit) for cell in cells]
        ends = zip(self.results, self.columns, strict=True)
        points = [_points(*one, self.expected) for one in ends]
        unsolved = [
            column.get("status") or None
            for column, result in zip(self.columns, self.results, strict=True)
            if result not in SOLVED
        ]
        scored = [one for one in points if one is not None]
        return TaskRuns(
            tuple(self.results),
            tuple(one if isinstance(one, float) else math.nan for one in numbers),
            limit,
            label(unsolved[-1]) if unsolved and unsolved[-1] else None,
            self.expected,
            None if len(scored) < self.runs else tuple(scored),
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


def _points(result: Result, found: Mapping[str, str], expected: str | None) -> float | None:
    """Return a run's score: as the file states it, else by the rules; None: it has none."""
    stated = split(found["score"])[0] if found.get("score") else math.nan
    if math.isfinite(stated):
        return stated
    if expected is None or "category" not in found:
        return None
    return _POINTS.get((result, expected), 0.0)


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
            f"--value takes {', '.join(dict.fromkeys(_METRICS.values()))}",
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
            tasks.setdefault((name, options), _Task(name, options)).add(element, metrics)
    assert root is not None
    if not tasks:
        raise InputError(f"{file} has no <run>: nothing was executed", "look at BenchExec's log")
    first = next(iter(metrics.values())) if columns.value else "walltime"
    limits = {metric: _limit(root, metric) for metric in metrics.values()}
    series = [one for task in tasks.values() for one in _series(root, task, metrics, limits, first)]
    return Imported(
        file=file,
        series=tuple(series),
        specification=replace(
            each_of((task.runs for task in tasks.values()), "run", "task"),
            environment=_environment(systems),
        ),
        notes=tuple(_notes(root, tasks.values())),
    )


def _limit(root: Element, metric: str) -> float | None:
    """Return the limit of a metric that the file states."""
    stated = (root.attributes.get(name, "") for name in _LIMITS[metric])
    numbers = (_number(cell, _unit(metric)) for cell in stated if cell)
    return next((one for one in numbers if isinstance(one, float) and one > 0), None)


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
    notes = _failed([task])
    stated = {metrics[title] for found in task.columns for title in metrics if found.get(title)}
    made = []
    for metric in sorted(stated or {always}):
        cells, unit = task.cells.get(metric, []), _unit(metric)
        titles = [title for title, of in metrics.items() if of == metric]
        found = _values(cells, task.lines, unit)
        made.append(
            Series(
                key=key,
                values=found.values,
                metric=metric,
                unit=unit,
                lower_is_better=True,
                trial=found.kept,
                task=task.of_metric(titles, unit, limits[metric]),
                defects=found.defects,
                notes=notes,
            )
        )
    return made


def _values(cells: Sequence[str | None], lines: Sequence[int], unit: str) -> Readings:
    raw = [None if cell is None else _number(cell, unit) for cell in cells]
    raw += [None] * (len(lines) - len(raw))
    return readings(raw, lambda index: message("interop.benchexec.run", line=lines[index]))


def _number(cell: str, unit: str) -> float | str:
    """Parse a number with or without its unit (since BenchExec 1.0: with); else return the text."""
    number, written = split(cell)
    known = units.unit(written) if written else None
    if math.isnan(number) or (written and (known is None or known.base != unit)):
        return cell
    return number * known.factor if known else number


def _failed(tasks: Iterable[_Task]) -> tuple[Message, ...]:
    """Count the failed runs of tasks, the most frequent reasons first."""
    total, reasons = 0, Counter[str]()
    for task in tasks:
        total += task.runs
        reasons.update(task.failed)
    return (failed(reasons.total(), total, "run", failed_with(reasons, label)),) if reasons else ()


def _environment(systems: Sequence[Element]) -> Message | None:
    """Say what of the machine is told: CPU model, cores, frequency, memory, kernel, host."""
    told = {child.name for system in systems for child in system.children}
    parts = [
        message(f"interop.benchexec.{child}") for child in ("cpu", "ram", "os") if child in told
    ]
    if not parts:
        return None
    return message("interop.benchexec.environment", parts=parts, hosts=len(systems))


def _notes(root: Element, tasks: Iterable[_Task]) -> list[Message]:
    notes = []
    if root.attributes.get("error"):
        notes.append(message("interop.benchexec.error", error=label(root.attributes["error"])))
    return [*notes, *_failed(tasks)]


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
)
