"""What CodSpeed writes of its walltime instrument: statistics of each benchmark, no values."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tare.readers import json_file
from tare.readers.format import Format
from tare.readers.json_file import Node
from tare.readers.readings import counted, number, stated, told_apart
from tare.readers.series import ColumnOptions, Defect, Imported, Series, Specification
from tare.registry import Description
from tare.results.message import message

_NANOSECONDS = 1e-9
#: CodSpeed's statistics, and our names of them.
_STATED = {
    "mean_ns": "mean", "stdev_ns": "sd", "median_ns": "median", "min_ns": "min", "max_ns": "max"
}  # fmt: skip


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins with what wrote it, or with statistics in nanoseconds."""
    found = json_file.outline(head)
    creator = {"creator.name", "creator.version", "creator.pid"} <= found
    return creator or "benchmarks[].stats.iqr_outlier_rounds" in found


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read what is stated of each benchmark."""
    root = json_file.load(file)
    series = told_apart(map(_series, root.at("benchmarks").each()))
    if not series:
        raise root.wrong("'benchmarks' is empty")
    rounds = [int(one.reported["n"]) for one in series if "n" in one.reported]
    return Imported(
        file=file,
        series=series,
        specification=Specification(
            repetitions=counted(rounds, "round") if rounds else None,
            statistic=message("interop.statistic.mean_and_median"),
            spread=message("interop.spread.sd", what="rounds"),
        ),
        notes=root.notes,
    )


def _series(benchmark: Node) -> Series:
    stats = benchmark.at("stats")
    times = {ours: node.value for k, ours in _STATED.items() if (node := stats.find(k))}
    rounds = stats.find("rounds")
    summary = message("interop.codspeed.summary", at=stats.path)
    return Series(
        key={"benchmark": benchmark.at("name").text()},
        values=np.empty(0),
        metric="time",
        unit="s",
        lower_is_better=True,
        reported={
            **stated(times, _NANOSECONDS),
            **stated({"n": number(rounds.value) if rounds else None}),
        },
        defects=(Defect("summary only", summary),),
    )


UNIT = Format(
    description=Description(
        name="codspeed",
        title="CodSpeed: results of the walltime instrument",
        question="What is stated of each benchmark, and what has the values themselves?",
        source="pytest-codspeed 5, pytest_codspeed/instruments/walltime.py",
    ),
    recognises=recognises,
    read=read,
)
