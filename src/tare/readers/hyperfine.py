"""What ``hyperfine --export-json`` writes: every run is an execution of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file, phrases
from tare.readers.format import Format
from tare.readers.json_file import Node
from tare.readers.readings import (
    Readings,
    counted,
    counted_reasons,
    readings_of,
    stated,
    summarised,
    told_apart,
    unknown_units,
)
from tare.readers.series import (
    ColumnOptions,
    Defect,
    FailedRuns,
    FloatArray,
    Imported,
    IntArray,
    Series,
)
from tare.readers.text_file import shown
from tare.registry import Description
from tare.results.message import Message, message

#: hyperfine's names of the statistics that it states, and ours.
_STATED = {"mean": "mean", "stddev": "sd", "median": "median", "min": "min", "max": "max"}
#: Metrics by the names of hyperfine 2, and of 1 where it has them; counters have no unit.
_METRICS = {
    "time_wall_clock": ("time", "s"),
    "time_cpu": ("CPU time", "s"),
    "time_user": ("user time", "s"),
    "time_system": ("system time", "s"),
    "memory_peak_resident": ("peak memory", "bytes"),
    "cpu_cycles": ("CPU cycles", None),
    "instructions": ("instructions", None),
    "cache_references": ("cache references", None),
    "cache_misses": ("cache misses", None),
    "branch_misses": ("branch misses", None),
}
#: Version 2 exports in these only, whatever it shows.
_UNITS = ("second", "byte")
_FIRST_VERSION = {"time_wall_clock": "times", "memory_peak_resident": "memory_usage_byte"}


@dataclass(frozen=True)
class _Runs:
    """What a file has of one metric of one command, whichever version wrote it."""

    values: Sequence[Node]
    codes: Sequence[object]
    stated: dict[str, object]
    defects: list[Defect]


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins as hyperfine's do."""
    found = json_file.outline(head)
    return "results[].command" in found or {"schema_version", "primary_metric"} <= found


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the runs of each command; ``columns.value`` names another metric than the first."""
    root = json_file.load(file)
    results = list(root.at("results").each())
    if not results:
        raise root.wrong("'results' is empty, no command was measured")
    first, named = root.find("primary_metric"), columns.value
    metric = named or (first.text() if first else "time_wall_clock")
    if metric not in _METRICS:
        raise InputError(
            f"{file}: hyperfine has no metric {metric!r}",
            f"name one with --value: {', '.join(_METRICS)}",
        )
    series = told_apart(_series(result, metric) for result in results)
    notes = _others(results[0], metric) if named is None else ()
    if metric == "memory_peak_resident" and first is None:
        notes = (
            message(
                "up to 1.20, hyperfine reports the largest peak memory of all commands so far. A "
                "file of version 1 does not name the version"
            ),
        )
    counts = [len(_runs(result, metric).values) for result in results]
    many = message(phrases.REPETITIONS_PER, count=counted(counts, "run"), unit="command")
    return Imported(
        file=file,
        series=series,
        specification=replace(
            summarised(series, "runs"),
            repetitions=many if any(counts) else None,
            environment=_environment(root),
        ),
        notes=(*root.notes, *notes),
    )


def _series(result: Node, metric: str) -> Series:
    name, unit = _METRICS[metric]
    runs = _runs(result, metric)
    reported = stated({ours: runs.stated.get(theirs) for theirs, ours in _STATED.items()})
    found = readings_of(runs.values)
    values, trial, failed = _succeeded(found, runs.codes)
    zeros = int(np.count_nonzero(values == 0))
    if zeros and metric == "time_wall_clock":
        cut_off = message(
            "{n} of {total | counted('time')} {% if n == 1 %}is{% else %}are{% endif %} 0: "
            "hyperfine subtracts the start of the shell, and cuts off below 0 (-N measures "
            "without a shell)",
            n=zeros,
            total=len(values),
        )
        runs.defects.append(Defect("corrupt", cut_off))
    if not runs.values:
        only = message("{at} has no times of runs, only their summary", at=result.path)
        runs.defects.append(Defect("summary only", only))
    return Series(
        key=_key(result),
        values=values,
        metric=name,
        unit=unit,
        lower_is_better=True,
        trial=trial,
        reported=reported,
        defects=(*found.defects, *runs.defects),
        failed=failed,
    )


def _key(result: Node) -> dict[str, str]:
    key = {"command": result.at("command").text()}
    name = result.find("name")
    if name:
        key["name"] = name.text()
    for kind, noun in (("parameters", "parameter"), ("environment", "variable")):
        given = result.find(kind)
        for word, level in given.pairs() if given else ():
            inner = level.find("value") if isinstance(level.value, dict) else level
            key[f"{noun} {word}" if word in key else word] = (inner or level).word()
    return key


def _runs(result: Node, metric: str) -> _Runs:
    measurements = result.find("measurements")
    if measurements is None:
        return _first_version(result, metric)
    values, codes, wrong = [], [], []
    for run in measurements.each():
        found = run.find(metric)
        value = found.find("value") if found else None
        values.append(value or Node(run.file, f"{run.path}.{metric}.value", None))
        unit = found.find("unit") if found else None
        if unit and unit.value not in _UNITS:
            wrong.append(unit)
        codes.append(run.value.get("exit_code", 0))
    summary = result.find("summary")
    of_metric = summary.find(metric) if summary else None
    stated = {k: v.value for k, v in of_metric.pairs()} if of_metric else {}
    return _Runs(values, codes, stated, unknown_units(wrong, len(values)))


def _first_version(result: Node, metric: str) -> _Runs:
    given, codes = result.find(_FIRST_VERSION.get(metric, metric)), result.find("exit_codes")
    values = list(given.each()) if given else []
    ends = codes.elements() if codes else []
    if ends and values and len(ends) != len(values):
        raise result.wrong(f"{len(values)} runs have {len(ends)} exit codes")
    summary = result.value if metric == "time_wall_clock" else {}
    return _Runs(values, ends or [0] * len(values), summary, [])


def _succeeded(
    found: Readings, codes: Sequence[object]
) -> tuple[FloatArray, IntArray, FailedRuns | None]:
    """Leave out failed runs, and count them by exit code, which is null after a signal."""
    bad = np.array([code != 0 for code in codes], dtype=bool)
    if not bad.any():
        return found.values, found.kept, None
    reasons = Counter(None if code is None else shown(code) for code in codes if code != 0)
    good = ~bad[found.kept]
    why = counted_reasons(reasons, _ended_with)
    return found.values[good], found.kept[good], FailedRuns(int(bad.sum()), len(codes), "run", why)


def _ended_with(code: str | None) -> Message:
    if code is None:
        return message("killed by a signal")
    return message(phrases.EXIT_CODE, code=code)


def _others(result: Node, metric: str) -> tuple[Message, ...]:
    measurements = result.find("measurements")
    first = next(measurements.each(), None) if measurements else result
    have = set(first.value) if first and isinstance(first.value, dict) else set()
    others = [
        name
        for name in _METRICS
        if name != metric and (name if measurements else _FIRST_VERSION.get(name)) in have
    ]
    return (message(phrases.OTHER_METRICS, names=others),) if others else ()


def _environment(root: Node) -> str | None:
    metadata = root.find("metadata")
    platform = metadata.find("platform") if metadata else None
    words = [level.word() for _, level in platform.pairs()] if platform else []
    return " ".join(words) or None


UNIT = Format(
    description=Description(
        name="hyperfine",
        title="hyperfine: what --export-json writes",
        question="How long did each run of each command take?",
        source="hyperfine 1.0 to 2.0, src/export/json.rs",
    ),
    recognises=recognises,
    read=read,
    options=frozenset({"value"}),
)
