"""What ``hyperfine --export-json`` writes: every run is an execution of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tare.interop import json_file
from tare.interop.format import Format
from tare.interop.json_file import Node
from tare.interop.readings import Readings, counted, readings, stated, told_apart
from tare.interop.series import (
    Columns,
    Defect,
    FloatArray,
    Imported,
    IntArray,
    Series,
    Specification,
)
from tare.registry import Description

#: hyperfine's names of the statistics that it states, and ours.
_STATED = {"mean": "mean", "stddev": "sd", "median": "median", "min": "min", "max": "max"}
_MEMORY = (
    "Peak memory is left out: up to 1.20 hyperfine gives the largest of all commands so far, and"
    " the file does not tell its version."
)


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins as hyperfine's do."""
    return "results[].command" in json_file.outline(head)


def read(file: Path, columns: Columns) -> Imported:
    """Read the runs of each command."""
    root, notes = json_file.load(file)
    results = list(root.at("results").each())
    if not results:
        raise root.wrong("'results' is empty, no command was measured")
    series = told_apart(_series(result) for result in results)
    if any(result.find("memory_usage_byte") for result in results):
        notes = (*notes, _MEMORY)
    return Imported(
        file=file,
        format="hyperfine",
        series=series,
        specification=Specification(
            repetitions=counted((len(one.values) for one in series), "run") + " a command"
            if any(len(one.values) for one in series)
            else None,
            statistic="mean, median, minimum and maximum",
            spread="SD of the runs" if any("sd" in one.reported for one in series) else None,
        ),
        notes=notes,
    )


def _series(result: Node) -> Series:
    key = {"command": result.at("command").text()}
    given = result.find("parameters")
    for name, level in given.pairs() if given else ():
        key[f"parameter {name}" if name in key else name] = level.word()
    reported = stated({ours: result.value.get(theirs) for theirs, ours in _STATED.items()})
    times = result.find("times")
    if times is None:
        only = Defect("summary only", f"{result.path} has no 'times', so only hyperfine's summary.")
        return Series(key, np.empty(0), "time", "s", True, reported=reported, defects=(only,))
    found = readings(times.elements(), times.path)
    values, trial, notes = _succeeded(result, found, len(times.elements()))
    zeros = int(np.count_nonzero(values == 0))
    if zeros:
        notes.append(
            f"{zeros} of {len(values)} times are 0: hyperfine subtracts what the shell takes to"
            " start, and cuts off below 0 (-N measures without a shell)."
        )
    return Series(
        key=key,
        values=values,
        metric="time",
        unit="s",
        lower_is_better=True,
        trial=trial,
        reported=reported,
        defects=found.defects,
        notes=tuple(notes),
    )


def _succeeded(result: Node, found: Readings, runs: int) -> tuple[FloatArray, IntArray, list[str]]:
    """Leave out failed runs, unless the command always fails, as a search without a hit does."""
    given = result.find("exit_codes")
    codes: Sequence[object] = given.elements() if given else []
    if not codes:
        return found.values, found.kept, []
    if len(codes) != runs:
        raise result.wrong(f"has {runs} times, but {len(codes)} exit codes")
    failed = np.array([code != 0 for code in codes])[found.kept]
    if not failed.any():
        return found.values, found.kept, []
    if failed.all():
        return found.values, found.kept, ["Every run failed (exit code other than 0)."]
    note = f"{int(failed.sum())} of {runs} runs failed (exit code other than 0) and are left out."
    return found.values[~failed], found.kept[~failed], [note]


UNIT = Format(
    description=Description(
        name="hyperfine",
        title="hyperfine: what --export-json writes",
        question="How long did each run of each command take?",
        source="hyperfine 1.20, src/benchmark/benchmark_result.rs",
    ),
    recognises=recognises,
    read=read,
)
