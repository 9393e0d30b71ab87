"""What pyperf writes: every run is a process of its own, its values are iterations in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tare.readers import json_file, phrases
from tare.readers.format import Format, Repeat
from tare.readers.json_file import Node
from tare.readers.readings import counted, mean_of, readings_of, told_apart
from tare.readers.series import ColumnOptions, Imported, Series, Specification
from tare.readers.text_file import label
from tare.registry import Description
from tare.results.message import Message, message

#: pyperf's units, ours, and whether less is better.
_UNITS = {"second": ("s", True), "byte": ("bytes", True), "integer": (None, None)}
#: What tells a reader of another place whether these numbers concern it.
_ENVIRONMENT = ("cpu_model_name", "platform", "python_implementation", "python_version")


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins as pyperf's do, whose keys it sorts."""
    found = json_file.outline(head)
    return any(path.startswith(("benchmarks[].runs", "benchmarks[].metadata.")) for path in found)


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the values of each benchmark, without warm-up and calibration."""
    root = json_file.load(file)
    shared = _metadata(root)
    benchmarks = list(root.at("benchmarks").each())
    if not benchmarks:
        raise root.wrong("'benchmarks' is empty")
    series = told_apart(_series(benchmark, shared) for benchmark in benchmarks)
    runs = [len(set(one.trial.tolist())) for one in series if one.trial is not None]
    values = [len(one.values) for one in series]
    first = {**shared, **_metadata(benchmarks[0])}
    words = [str(first[name]) for name in _ENVIRONMENT if isinstance(first.get(name), str)]
    return Imported(
        file=file,
        series=series,
        specification=Specification(
            repetitions=message(
                "{processes} with {values} per benchmark",
                processes=counted(runs, "process"),
                values=counted(values, "value"),
            ),
            environment=label(", ".join(words)) or None,
        ),
        notes=root.notes,
    )


def _series(benchmark: Node, shared: Mapping[str, Any]) -> Series:
    own = {**shared, **_metadata(benchmark)}
    values: list[Node] = []
    trial: list[int] = []
    warmups = calibrations = trials = 0
    loops: set[int] = set()
    for run in benchmark.at("runs").each():
        found = run.find("values")
        own_values = list(found.each()) if found else []
        given = run.find("warmups")
        about = {**own, **_metadata(run)}
        own.setdefault("name", about.get("name"))
        own.setdefault("unit", about.get("unit"))
        if not own_values:
            # Its warm-up is how it found the number of loops.
            calibrations += 1
            continue
        warmups += len(given.elements()) if given else 0
        values += own_values
        trial += [trials] * len(own_values)
        trials += 1
        loops.add(_loops(about))
    unit, lower = _UNITS.get(str(own.get("unit") or "second"), (None, None))
    measured = readings_of(values)
    return Series(
        key={"benchmark": label(str(own.get("name") or "unnamed"))},
        values=measured.values,
        metric="time" if unit == "s" else "memory" if unit == "bytes" else "value",
        unit=unit,
        lower_is_better=lower,
        trial=np.array(trial, dtype=np.int64)[measured.kept],
        defects=measured.defects,
        notes=_notes(warmups, calibrations, loops),
    )


def _metadata(node: Node) -> dict[str, Any]:
    found = node.find("metadata")
    return {name: value.value for name, value in found.pairs()} if found else {}


def _loops(about: Mapping[str, Any]) -> int:
    counts = [about.get(name) for name in ("loops", "inner_loops")]
    return int(np.prod([count for count in counts if isinstance(count, int)] or [1]))


def _notes(warmups: int, calibrations: int, loops: set[int]) -> tuple[Message, ...]:
    notes = []
    if warmups:
        notes.append(message(phrases.WARM_UP, count=counted([warmups], "value")))
    if calibrations:
        count = counted([calibrations], "process")
        notes.append(message("{count} of calibration left out", count=count))
    if loops and max(loops) > 1:
        notes.append(mean_of(loops, "loop"))
    return tuple(notes)


UNIT = Format(
    description=Description(
        name="pyperf",
        title="pyperf: the JSON of -o and --append",
        question="What did each value of each process of a benchmark measure?",
        source="pyperf 2.10, pyperf/_bench.py, formats 6 and 1.0",
    ),
    recognises=recognises,
    read=read,
    repeat=Repeat(
        "python BENCHMARK.py -p 1 -o run$i.json",
        "run*.json",
        alone="python BENCHMARK.py -p {n} -o {file}",
        file="bench.json",
        placeholders=("BENCHMARK.py",),
    ),
)
