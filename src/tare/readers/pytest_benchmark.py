"""What pytest-benchmark writes: rounds of one process, or only their statistics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tare.readers import json_file
from tare.readers.format import Format, Repeat
from tare.readers.json_file import Node
from tare.readers.readings import (
    in_one_process,
    mean_of,
    number,
    readings,
    stated,
    summarised,
    told_apart,
)
from tare.readers.series import ColumnOptions, Defect, Imported, Series
from tare.readers.text_file import label
from tare.registry import Description
from tare.results.message import message

#: Its statistics, and our names of them.
_STATED = {
    "mean": "mean",
    "median": "median",
    "stddev": "sd",
    "min": "min",
    "max": "max",
    "rounds": "n",
}


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins with the machine, or with a benchmark of pytest's."""
    found = json_file.outline(head)
    stats = {path for path in found if path.startswith("benchmarks[].stats.")}
    return (
        "machine_info" in found
        or {"benchmarks[].fullname", "benchmarks[].group"} <= found
        # Statistics of CodSpeed are in nanoseconds.
        or (bool(stats) and not any(path.endswith(("_ns", "_rounds")) for path in stats))
    )


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the rounds of each benchmark."""
    root = json_file.load(file)
    benchmarks = list(root.at("benchmarks").each())
    if not benchmarks:
        raise root.wrong("'benchmarks' is empty")
    series = told_apart(map(_series, benchmarks))
    rounds = [int(one.reported["n"]) for one in series if "n" in one.reported]
    machine = root.find("machine_info")
    return Imported(
        file=file,
        series=series,
        specification=replace(
            summarised(series, "rounds"),
            repetitions=in_one_process(rounds, "round"),
            environment=_environment(machine) if machine else None,
        ),
        notes=root.notes,
        subject=_subject(root),
    )


def _subject(root: Node) -> tuple[str, ...]:
    """Return the commit and the machine that a file names."""
    commit, machine = root.find("commit_info"), root.find("machine_info")
    found = [commit.find("id") if commit else None, machine.find("node") if machine else None]
    return tuple(label(node.value) for node in found if node and isinstance(node.value, str))


def _series(benchmark: Node) -> Series:
    name = benchmark.find("fullname") or benchmark.at("name")
    stats = benchmark.at("stats")
    reported = stated({ours: node.value for k, ours in _STATED.items() if (node := stats.find(k))})
    data = stats.find("data")
    notes = []
    iterations = stats.find("iterations")
    if iterations and 1 < (many := number(iterations.value)) < 1e18:
        notes.append(mean_of([int(many)], "iteration"))
    found = readings(data.elements(), data.path) if data else readings([], "")
    only = message("{at} has no 'data', which --benchmark-save-data keeps", at=stats.path)
    return Series(
        key={"benchmark": name.text()},
        values=found.values,
        metric="time",
        unit="s",
        lower_is_better=True,
        reported=reported,
        defects=found.defects if data else (Defect("summary only", only),),
        notes=tuple(notes),
    )


def _environment(machine: Node) -> str | None:
    cpu = machine.find("cpu")
    brand = cpu.value.get("brand_raw") if cpu and isinstance(cpu.value, dict) else None
    parts = [
        [brand],
        [machine.value.get(name) for name in ("system", "release", "machine")],
        [machine.value.get(name) for name in ("python_implementation", "python_version")],
    ]
    words = (" ".join(word for word in part if isinstance(word, str)) for part in parts)
    return label(", ".join(filter(None, words))) or None


UNIT = Format(
    description=Description(
        name="pytest-benchmark",
        title="pytest-benchmark: the JSON of --benchmark-json and --benchmark-save",
        question="How long did each round of each benchmark take?",
        source="pytest-benchmark 3 to 5, src/pytest_benchmark/stats.py",
    ),
    recognises=recognises,
    read=read,
    executions=message(
        "pytest-benchmark takes all rounds in one process. Run it 6 times, each with a file "
        "of its own, and audit the files together"
    ),
    repeat=Repeat("pytest --benchmark-json=run$i.json", "run*.json"),
)
