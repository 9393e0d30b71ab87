"""What BenchExec writes: every run of a task is an execution of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tare.errors import InputError
from tare.readers import units, xml_file
from tare.readers.cells import parsed
from tare.readers.format import Format
from tare.readers.readings import Readings, each_of, failed, readings
from tare.readers.series import Columns, Imported, Series
from tare.readers.text_file import label
from tare.readers.xml_file import Element
from tare.registry import Description
from tare.results.message import Message, message

#: The columns that BenchExec measures itself, as it has called them since 2014.
_METRICS = {"cputime": "cputime", "walltime": "walltime", "memory": "memory", "memUsage": "memory"}
#: How a run ends that was as it should be, where the file does not sort it into a category.
_GOOD = ("true", "false", "done", "unknown", "sat", "unsat")


@dataclass
class _Task:
    """The runs of one task so far, failed ones left out."""

    name: str
    options: str
    lines: list[int] = field(default_factory=list)
    #: Values as written, by metric, one a good run; None where a run has none.
    cells: dict[str, list[str | None]] = field(default_factory=dict)
    runs: int = 0
    failed: dict[str, int] = field(default_factory=dict)

    def add(self, run: Element) -> None:
        found = {
            column.attributes.get("title", ""): column.attributes.get("value", "").strip()
            for column in run.each("column")
        }
        self.runs += 1
        why = _why_failed(found)
        if why is not None:
            self.failed[why] = self.failed.get(why, 0) + 1
            return
        self.lines.append(run.line)
        for title, metric in _METRICS.items():
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
    return None if not status or status.startswith(_GOOD) else status


def recognises(head: bytes, file: Path) -> bool:
    """Whether its root is BenchExec's."""
    return xml_file.root(head) == "result" and b"benchmarkname" in head.replace(b"\0", b"")


def read(file: Path, columns: Columns) -> Imported:
    """Read CPU time, wall time and memory of each task."""
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
    series = [one for task in tasks.values() for one in _series(file, root, task)]
    return Imported(
        file=file,
        series=tuple(series),
        specification=replace(
            each_of((task.runs for task in tasks.values()), "run", "task"),
            environment=_environment(systems),
        ),
        notes=tuple(_notes(root, tasks.values())),
    )


def _series(file: Path, root: Element, task: _Task) -> list[Series]:
    options = " ".join((root.attributes.get("options", ""), task.options)).strip()
    tool = " ".join((root.attributes.get("tool", ""), root.attributes.get("version", ""))).strip()
    key = {
        "task": label(task.name),
        **({"tool": label(tool)} if tool else {}),
        **({"options": label(options)} if options else {}),
    }
    notes = _failed(task)
    # A task that always fails has no values, and is told none the less.
    measured = task.cells or {"walltime": []}
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
    """Read what has its unit behind it since 1.0 and had none before; what has another is text."""
    found = parsed(cell)
    if found is None:
        return cell
    number, written = found
    known = units.unit(written) if written else None
    if written and (known is None or known.base != unit):
        return cell
    return number * known.factor if known else number


def _failed(task: _Task) -> tuple[Message, ...]:
    count = sum(task.failed.values())
    why = [
        message("interop.failed_with", why=label(status), n=n)
        for status, n in list(task.failed.items())[:5]
    ]
    return (failed(count, task.runs, "run", why),) if count else ()


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
    every = list(tasks)
    count = sum(sum(task.failed.values()) for task in every)
    if count:
        notes.append(failed(count, sum(task.runs for task in every), "run"))
    return notes


UNIT = Format(
    description=Description(
        name="benchexec",
        title="BenchExec: the results in XML, packed or not",
        question="What did each run of each task take?",
        source="BenchExec 3.35, doc/result.dtd",
    ),
    recognises=recognises,
    read=read,
)
