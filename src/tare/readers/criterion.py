"""What criterion.rs keeps below ``target/criterion``: samples of one process, and estimates."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file, units
from tare.readers.cells import is_number
from tare.readers.compression import take, unpacked
from tare.readers.format import HEAD, Format, Repeat
from tare.readers.json_file import Node
from tare.readers.readings import (
    each_once,
    in_one_process,
    number,
    readings,
    stated,
    summarised,
    told_apart,
)
from tare.readers.series import ColumnOptions, Defect, FloatArray, Imported, Series, Specification
from tare.readers.text_file import head_text, label, read_text
from tare.registry import Description
from tare.results.message import message

_NANOSECONDS = 1e-9
#: Files of a benchmark's samples; the second has the same samples as the first.
_SAMPLES = ("sample.json", "raw.csv")
_RAW_HEADER = (
    "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count"
)
#: Its statistics, and our names of them.
_STATED = {"mean": "mean", "median": "median", "std_dev": "sd"}
#: What tells benchmarks apart, and criterion's names of it.
_IDENTITY = {"group": "group_id", "function": "function_id", "value": "value_str"}
_ASSUMED = message(
    "files of criterion do not state their unit: nanoseconds, its default, are assumed"
)


def recognises(head: bytes, file: Path) -> bool:
    """Whether it is a file of criterion's samples or estimates, or a folder of such."""
    if file.is_dir():
        return bool(_samples_below(file))
    if head_text(head).startswith(_RAW_HEADER):
        return True
    found = json_file.outline(head)
    return bool({"sampling_mode", "iters", "mean.confidence_interval"} & found)


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the samples of one benchmark, of all in a folder, or what estimates there are."""
    if file.is_dir():
        return _read_folder(file)
    with unpacked(file) as source:
        if head_text(take(file, source, HEAD)).startswith(_RAW_HEADER):
            return _read_raw(file)
    root = json_file.load(file)
    series, mode = _sampled(root) if root.find("times") else (_estimated(root), None)
    n = len(series.values)
    return Imported(
        file=file,
        series=(series,),
        specification=replace(
            summarised([series], "samples"),
            repetitions=in_one_process([n] if n else [], "sample", mode and mode.lower()),
        ),
        notes=(*root.notes, _ASSUMED),
    )


def _samples_below(folder: Path) -> list[Path]:
    """Return the samples of a folder such as ``target/criterion``, but for copies of the last."""
    deep = [[*folder.glob("*/" * depth + name)] for name in _SAMPLES for depth in range(1, 6)]
    found: dict[Path, Path] = {}
    for file in (file for files in deep for file in files if file.parent.name != "base"):
        found.setdefault(file.parent, file)
    return sorted(found.values())


def _read_folder(folder: Path) -> Imported:
    parts = [read(file, ColumnOptions()) for file in _samples_below(folder)]
    if not parts:
        raise InputError(f"{folder} has no samples of criterion", "name target/criterion")
    counts = [len(one.values) for part in parts for one in part.series]
    return Imported(
        file=folder,
        series=told_apart(one for part in parts for one in part.series),
        specification=replace(parts[0].specification, repetitions=in_one_process(counts, "sample")),
        notes=each_once(note for part in parts for note in part.notes),
    )


def _read_raw(file: Path) -> Imported:
    """Read ``raw.csv``, which has the same samples as ``sample.json``, and their unit."""
    rows = list(csv.DictReader(io.StringIO(read_text(file, json_file.MOST_BYTES))))
    grouped: dict[tuple[str, ...], list[int]] = {}
    for at, row in enumerate(rows):
        key = tuple(row[name] or "" for name in ("group", "function", "value"))
        grouped.setdefault(key, []).append(at)
    if not grouped:
        raise InputError(f"{file} has a header and no rows", "let criterion measure again")
    series = told_apart(
        _of_rows(key, [rows[i] for i in lines], lines) for key, lines in grouped.items()
    )
    return Imported(
        file=file,
        series=series,
        specification=Specification(
            repetitions=in_one_process((len(one.values) for one in series), "sample")
        ),
    )


def _of_rows(key: Sequence[str], rows: Sequence[Mapping[str, str]], lines: Sequence[int]) -> Series:
    spelt = rows[0]["unit"] or ""
    unit = units.unit(spelt)
    names = dict(zip(("group", "function", "value"), key, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        per = _floats(rows, "sample_measured_value") / _floats(rows, "iteration_count")
    found = readings(per.tolist(), lambda at: f"line {lines[at] + 2}", unit.factor if unit else 1.0)
    return Series(
        key={name: label(level) for name, level in names.items() if level},
        values=found.values,
        metric="time" if unit and unit.base == "s" else "value",
        unit=unit.base if unit else label(spelt) or None,
        lower_is_better=True if unit and unit.base == "s" else None,
        defects=found.defects,
    )


def _floats(rows: Sequence[Mapping[str, str]], column: str) -> FloatArray:
    texts = [row[column] or "" for row in rows]
    return np.array([float(text) if is_number(text) else np.nan for text in texts])


def _sampled(root: Node) -> tuple[Series, str | None]:
    iterations, times = root.at("iters"), root.at("times")
    given = root.find("sampling_mode")
    mode = given.text() if given else None
    counts, elapsed = iterations.elements(), times.elements()
    if len(counts) != len(elapsed):
        raise times.wrong(f"{len(elapsed)} times for {len(counts)} counts of iterations")
    per = np.array([number(count) for count in counts], dtype=float)
    broken = ~(per >= 1)
    per[broken] = np.nan
    raw = [counts[at] if broken[at] else elapsed[at] for at in range(len(counts))]
    found = readings(
        raw,
        lambda at: f"{iterations.path if broken[at] else times.path}[{at}]",
        scale=_NANOSECONDS / per,
    )
    series = Series(
        key=_key(root.file),
        values=found.values,
        metric="time",
        unit="s",
        lower_is_better=True,
        reported=_reported(root.file.parent / "estimates.json"),
        defects=found.defects,
        notes=(
            message(
                "linear sampling: later values are means of more iterations, which narrows their "
                "spread"
            ),
        )
        if mode == "Linear"
        else (),
    )
    return series, mode


def _estimated(root: Node) -> Series:
    if root.find("mean") is None:
        raise root.wrong("has neither samples nor a mean", "name sample.json or estimates.json")
    if root.find("std_dev") is None:
        raise InputError(
            f"{root.file} holds a change between two measurements, not a measurement",
            "name new/sample.json and base/sample.json beside its folder",
        )
    beside = "sample.json"
    samples = beside if (root.file.parent / beside).is_file() else None
    return Series(
        key=_key(root.file),
        values=np.empty(0),
        metric="time",
        unit="s",
        lower_is_better=True,
        reported=_points(root),
        defects=(
            Defect(
                "summary only",
                message(
                    "the file has estimates, no samples{% if samples %}: audit {samples}, which is "
                    "next to it{% endif %}",
                    samples=samples,
                ),
            ),
        ),
    )


def _reported(file: Path) -> dict[str, float]:
    """Return the estimates beside the samples; without them there is just less to be told."""
    if not file.is_file():
        return {}
    try:
        return _points(json_file.load(file))
    except InputError:
        return {}


def _points(root: Node) -> dict[str, float]:
    found = {ours: root.find(theirs) for theirs, ours in _STATED.items()}
    points = {name: one.at("point_estimate").value for name, one in found.items() if one}
    return stated(points, _NANOSECONDS)


def _key(file: Path) -> dict[str, str]:
    """Name the benchmark by ``benchmark.json`` beside it, else by the folders above it."""
    key = {}
    folders = file.resolve().parts[:-1]
    beside = file.parent / "benchmark.json"
    try:
        identity = json_file.load(beside) if beside.is_file() else None
        for name, theirs in _IDENTITY.items() if identity else ():
            if identity and (node := identity.find(theirs)):
                key[name] = node.text()
    except InputError:
        key = {}
    if not key:
        start = len(folders) - folders[::-1].index("criterion") if "criterion" in folders else -2
        key = {"benchmark": label("/".join(folders[start:-1]) or "unnamed")}
    return {**key, "baseline": label(folders[-1])} if folders else key


UNIT = Format(
    description=Description(
        name="criterion",
        title="criterion.rs: sample.json, raw.csv or estimates.json, or target/criterion",
        question="How long did an iteration take in each sample of a benchmark?",
        source="criterion.rs 0.3 to 0.8, src/analysis/mod.rs, src/estimate.rs",
    ),
    recognises=recognises,
    read=read,
    executions=message(
        "criterion takes all samples of a benchmark in one process. Run it 6 times, each "
        "with a folder of its own, and audit the folders together"
    ),
    repeat=Repeat("CRITERION_HOME=run$i cargo bench", "run*"),
)
