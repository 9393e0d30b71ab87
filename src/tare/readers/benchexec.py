"""What BenchExec writes: every run of a task is an execution of its own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tare.errors import InputError
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
#: Categories of runs that do not solve their task although they end well.
_UNSOLVED = ("wrong", "unknown")
#: Stands for the options of a run definition that has none, so that it can be compared.
_NO_OPTIONS = "no options"


@dataclass
class _Task:
    """The runs of one task so far, failed ones left out."""

    name: str
    options: str
    lines: list[int] = field(default_factory=list)
    #: Values as written, by metric, one a good run; None where a run has none.
    cells: dict[str, list[str | None]] = field(default_factory=dict)
    runs: int = 0
    solved: int = 0
    failed: dict[str, int] = field(default_factory=dict)

    def add(self, run: Element, metrics: Mapping[str, str]) -> None:
        found = {
            column.attributes.get("title", ""): column.attributes.get("value", "").strip()
            for column in run.each("column")
        }
        self.runs += 1
        why = _why_failed(found)
        if why is not None:
            self.failed[why] = self.failed.get(why, 0) + 1
            return
        self.solved += found.get("category", found.get("status")) not in _UNSOLVED
        self.lines.append(run.line)
        for title, metric in metrics.items():
            if found.get(title):
                cells = self.cells.setdefault(metric, [])
                cells += [None] * (len(self.lines) - 1 - len(cells))
                cells.append(found[title])


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
    series = [one for task in tasks.values() for one in _series(root, task, first)]
    return Imported(
        file=file,
        series=tuple(series),
        specification=replace(
            each_of((task.runs for task in tasks.values()), "run", "task"),
            environment=_environment(systems),
        ),
        notes=tuple(_notes(root, tasks.values())),
    )


def _series(root: Element, task: _Task, always: str) -> list[Series]:
    """Make a series of each metric; one of the metric ``always`` where all runs failed."""
    options = " ".join((root.attributes.get("options", ""), task.options)).strip()
    tool = " ".join((root.attributes.get("tool", ""), root.attributes.get("version", ""))).strip()
    key = {
        "task": label(task.name),
        **({"tool": label(tool)} if tool else {}),
        "options": label(options) or _NO_OPTIONS,
    }
    notes = _failed([task])
    measured = task.cells or {always: []}
    made = []
    for metric in sorted(measured):
        cells = measured[metric]
        unit = "bytes" if metric == "memory" else "s"
        found = _values(cells, task.lines, unit)
        made.append(
            Series(
                key=key,
                values=found.values,
                metric=metric,
                unit=unit,
                lower_is_better=True,
                trial=found.kept,
                task=TaskRuns(task.runs, task.solved),
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
