"""What pyperf writes: every run is a process of its own, its values are iterations in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tare.readers import json_file
from tare.readers.format import Format
from tare.readers.json_file import Node
from tare.readers.readings import counted, mean_of, readings, told_apart
from tare.readers.series import Columns, Imported, Series, Specification
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
    runs = {"benchmarks[].runs", "benchmarks[].common_metadata"} & found
    return bool(runs) or any(path.startswith("benchmarks[].metadata.") for path in found)


def read(file: Path, columns: Columns) -> Imported:
    """Read the values of each benchmark, without warm-up and calibration."""
    root, notes = json_file.load(file)
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
        format="pyperf",
        series=series,
        specification=Specification(
            repetitions=message(
                "interop.pyperf.repetitions",
                processes=counted(runs, "process"),
                values=counted(values, "value"),
            ),
            environment=label(", ".join(words)) or None,
        ),
        notes=notes,
    )


def _series(benchmark: Node, shared: Mapping[str, Any]) -> Series:
    own = {**shared, **_metadata(benchmark)}
    raw: list[object] = []
    paths: list[str] = []
    trial: list[int] = []
    warmups = calibrations = trials = 0
    loops: set[int] = set()
    for run in benchmark.at("runs").each():
        found = run.find("values") or run.find("samples")  # called so before format 6
        values = found.elements() if found else []
        given = run.find("warmups")
        about = {**own, **_metadata(run)}
        own.setdefault("name", about.get("name"))
        own.setdefault("unit", about.get("unit"))
        if not values or found is None:
            # Its warm-up is how it found the number of loops.
            calibrations += 1
            continue
        warmups += len(given.elements()) if given else 0
        raw += values
        paths += [f"{found.path}[{index}]" for index in range(len(values))]
        trial += [trials] * len(values)
        trials += 1
        loops.add(_loops(about))
    unit, lower = _UNITS.get(str(own.get("unit") or "second"), (None, None))
    found_values = readings(raw, lambda index: paths[index])
    return Series(
        key={"benchmark": label(str(own.get("name") or "unnamed"))},
        values=found_values.values,
        metric="time" if unit == "s" else "memory" if unit == "bytes" else "value",
        unit=unit,
        lower_is_better=lower,
        trial=np.array(trial, dtype=np.int64)[found_values.kept],
        defects=found_values.defects,
        notes=_notes(warmups, calibrations, loops),
    )


def _metadata(node: Node) -> dict[str, Any]:
    found = node.find("metadata") or node.find("common_metadata")  # called so before format 6
    return {name: value.value for name, value in found.pairs()} if found else {}


def _loops(about: Mapping[str, Any]) -> int:
    counts = [about.get(name) for name in ("loops", "inner_loops")]
    return int(np.prod([count for count in counts if isinstance(count, int)] or [1]))


def _notes(warmups: int, calibrations: int, loops: set[int]) -> tuple[Message, ...]:
    notes = []
    if warmups:
        notes.append(message("interop.warm_up", count=counted([warmups], "value")))
    if calibrations:
        count = counted([calibrations], "process")
        notes.append(message("interop.pyperf.calibration", count=count))
    if loops and max(loops) > 1:
        notes.append(mean_of(loops, "loop"))
    return tuple(notes)


UNIT = Format(
    description=Description(
        name="pyperf",
        title="pyperf: the JSON of -o and --append",
        question="What did each value of each process of a benchmark measure?",
        source="pyperf 2.10, pyperf/_bench.py, formats 5, 6 and 1.0",
    ),
    recognises=recognises,
    read=read,
)
