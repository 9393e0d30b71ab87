"""What Google Benchmark writes: repetitions of one process, or only their statistics."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file, phrases
from tare.readers.compression import take, unpacked
from tare.readers.format import HEAD, Format, Repeat
from tare.readers.json_file import Node
from tare.readers.readings import (
    failed_benchmarks,
    in_one_process,
    mean_of,
    number,
    readings,
    told_apart,
    unknown_units,
    without_metric,
)
from tare.readers.series import (
    ColumnOptions,
    Defect,
    FailedRuns,
    FloatArray,
    Imported,
    Series,
    Specification,
)
from tare.readers.text_file import head_text, label
from tare.registry import Description
from tare.results.message import Message, message

#: Seconds of its time units.
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_TIMES = {"real_time": "time", "cpu_time": "CPU time"}
_RATES = {"bytes_per_second": "bytes/s", "items_per_second": "1/s"}
#: The header of its CSV, which stands below lines about the machine.
_CSV = re.compile(r"^name,iterations,real_time,cpu_time,time_unit", re.MULTILINE)
#: Numeric fields of an entry that are not metrics.
_NOT_MEASURED = frozenset(
    {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads",
     "iterations", "real_coefficient", "cpu_coefficient", "rms"}
)  # fmt: skip
#: Ends of names by which versions before 1.5 tell statistics from repetitions.
_OLD_AGGREGATE = re.compile(r"(.+)_(mean|median|stddev|BigO|RMS)")
#: Its statistics of repetitions, and our names of them.
_STATED = {"mean": "mean", "median": "median", "stddev": "sd", "min": "min", "max": "max"}

#: Statistics by name, and the entries that state them.
_Aggregates = Sequence[tuple[str, Node]]


def recognises(head: bytes, file: Path) -> bool:
    """Whether its context or its first benchmark is like Google Benchmark's, or it is its CSV."""
    if _CSV.search(head_text(head)):
        return True
    found = json_file.outline(head)
    return {"context.num_cpus", "context.date"} <= found or {
        "benchmarks[].real_time",
        "benchmarks[].iterations",
    } <= found


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read one metric of each benchmark: real time, or what ``columns.value`` names."""
    with unpacked(file) as source:
        if _CSV.search(head_text(take(file, source, HEAD))):
            raise InputError(
                f"{file} is the CSV of Google Benchmark, which mixes repetitions with statistics",
                "let it write JSON: --benchmark_out=FILE --benchmark_out_format=json",
            )
    root = json_file.load(file)
    runs: dict[str, list[Node]] = {}
    aggregates: dict[str, list[tuple[str, Node]]] = {}
    entries = list(root.at("benchmarks").each())
    old = _old_aggregates(entries)
    for entry in entries:
        name = (entry.find("run_name") or entry.at("name")).text()
        kind = _aggregate(entry)
        if kind is None and name in old:
            name, kind = old[name]
        if kind is None:
            runs.setdefault(name, []).append(entry)
        elif kind in _STATED or kind == "cv":
            aggregates.setdefault(name, []).append((kind, entry))
    names = list(dict.fromkeys([*runs, *aggregates]))
    if not names:
        raise root.wrong("'benchmarks' is empty", "was anything measured? See --benchmark_filter")
    metric = columns.value or "real_time"
    metrics = _metrics(entries)
    if columns.value is not None and metric not in metrics:
        raise InputError(
            f"{file}: no benchmark has a metric {metric!r}",
            f"name one with --value: {', '.join(metrics)}",
        )
    others = [] if columns.value is not None else [one for one in metrics if one != metric]
    without = [
        name
        for name in names
        if columns.value is not None
        and not any(metric in entry.value for entry in _entries(name, runs, aggregates))
    ]
    broken = [
        name for name, some in runs.items() if name not in aggregates and not _succeeded(some)
    ]
    if len(broken) == len(names):
        broken = []
    names = [name for name in names if name not in (*without, *broken)]
    series = told_apart(
        _series(name, metric, runs.get(name, []), aggregates.get(name, [])) for name in names
    )
    context = root.find("context")
    return Imported(
        file=file,
        series=series,
        specification=Specification(
            repetitions=_repetitions([*runs.values()], [*aggregates.values()]),
            statistic=message(phrases.STATISTIC_MEAN_AND_MEDIAN) if aggregates else None,
            spread=message(phrases.SPREAD_SD, what="repetitions") if aggregates else None,
            environment=_environment(context) if context else None,
        ),
        notes=(
            *root.notes,
            *failed_benchmarks([f"{name}{_because(runs[name])}" for name in broken]),
            *_warned(context),
            *without_metric(without),
            *([message(phrases.OTHER_METRICS, names=others)] if others else []),
        ),
        subject=_subject(context),
    )


def _subject(context: Node | None) -> tuple[str, ...]:
    """Return the program and the host that a file names."""
    found = [context.find(name) for name in ("executable", "host_name")] if context else []
    return tuple(label(node.value) for node in found if node and isinstance(node.value, str))


def _entries(
    name: str, runs: Mapping[str, list[Node]], aggregates: Mapping[str, _Aggregates]
) -> list[Node]:
    return [*runs.get(name, ()), *(entry for _, entry in aggregates.get(name, ()))]


def _metrics(entries: Sequence[Node]) -> list[str]:
    """Return what entries measure: times, rates, and counters of the program."""
    names = {
        label(name): None
        for entry in entries
        for name, value in entry.pairs()
        if name not in _NOT_MEASURED and math.isfinite(number(value.value))
    }
    return [*names]


def _aggregate(entry: Node) -> str | None:
    """Return the name of the statistic that an entry states, or None where it is a measurement."""
    found = entry.find("aggregate_name")
    if found:
        return found.text()
    return "complexity" if entry.find("rms") or entry.find("big_o") else None


def _old_aggregates(entries: Sequence[Node]) -> dict[str, tuple[str, str]]:
    """Return benchmark and statistic by the names of entries that old versions mark by name alone.

    A name such as ``BM_mean`` is that of a statistic where ``BM_stddev`` is there as well: mean and
    standard deviation are always written together.
    """
    names = {entry.at("name").text() for entry in entries if not entry.find("run_type")}
    found = {name: match for name in names if (match := _OLD_AGGREGATE.fullmatch(name))}
    return {
        name: (match[1], match[2])
        for name, match in found.items()
        if {f"{match[1]}_mean", f"{match[1]}_stddev"} <= names
        or {f"{match[1]}_BigO", f"{match[1]}_RMS"} <= names
    }


def _because(runs: Sequence[Node]) -> str:
    """Return why repetitions failed, in parentheses; empty: the file does not say."""
    why = next((run.find("error_message") or run.find("skip_message") for run in runs), None)
    return f" ({label(why.value)})" if why and isinstance(why.value, str) else ""


def _succeeded(runs: Sequence[Node]) -> list[Node]:
    return [
        run
        for run in runs
        if not any(run.value.get(name) is True for name in ("error_occurred", "skipped"))
    ]


def _series(name: str, metric: str, runs: Sequence[Node], aggregates: _Aggregates) -> Series:
    measured = _succeeded(runs)
    scales, unknown = _scales(measured, metric)
    found = readings(
        [run.value.get(metric) for run in measured],
        lambda index: f"{measured[index].path}.{metric}",
        scale=scales,
        negative=metric not in _TIMES and metric not in _RATES,  # a counter of the program
    )
    lower = metric not in _RATES if metric in _TIMES or metric in _RATES else None
    defects = [*found.defects, *unknown]
    if not runs:
        where = aggregates[0][1].path if aggregates else "benchmarks"
        summary = message(
            "the file has statistics of the repetitions, not the repetitions ({at})", at=where
        )
        defects.append(Defect("summary only", summary))
    return Series(
        key={"benchmark": name},
        values=found.values,
        metric=_TIMES.get(metric, metric),
        unit="s" if metric in _TIMES and not unknown else _RATES.get(metric),
        lower_is_better=lower,
        reported=_stated(aggregates, metric),
        defects=tuple(defects),
        failed=_failed(runs, measured),
        notes=_notes(measured),
    )


def _scales(runs: Sequence[Node], metric: str) -> tuple[FloatArray, list[Defect]]:
    """Return what turns each value into seconds, and what units there are that nobody knows."""
    if metric not in _TIMES:
        return np.ones(len(runs)), []
    units = [run.find("time_unit") or Node(run.file, run.path, "ns") for run in runs]
    scales = np.array([_UNITS.get(str(unit.value), 1.0) for unit in units])
    unknown = [unit for unit in units if str(unit.value) not in _UNITS]
    return scales, unknown_units(unknown, len(units))


def _stated(aggregates: _Aggregates, metric: str) -> dict[str, float]:
    reported = {}
    for kind, entry in aggregates:
        name = _STATED.get(kind)
        unit = _UNITS.get(str(entry.value.get("time_unit", "ns")), np.nan)
        value = number(entry.value.get(metric)) * (unit if metric in _TIMES else 1.0)
        if name and np.isfinite(value):
            reported[name] = float(value)
        many = number(entry.value.get("repetitions"))
        if many >= 1 and np.isfinite(many):
            reported["n"] = many
    return reported


def _failed(runs: Sequence[Node], measured: Sequence[Node]) -> FailedRuns | None:
    if len(measured) == len(runs):
        return None
    why = next((run.find("error_message") or run.find("skip_message") for run in runs), None)
    because = (why.text(),) if why and isinstance(why.value, str) else ()
    n, total = len(runs) - len(measured), len(runs)
    return FailedRuns(n, total, "repetition", because=because)


def _notes(measured: Sequence[Node]) -> tuple[Message, ...]:
    loops = {int(n) for run in measured if 1 < (n := number(run.value.get("iterations"))) < 1e18}
    return (mean_of(loops, "iteration"),) if loops else ()


def _repetitions(runs: list[list[Node]], aggregates: Sequence[_Aggregates]) -> Message | None:
    many = {number(one.value.get("repetitions")) for entries in aggregates for _, one in entries}
    known = [*map(len, runs)] or [int(n) for n in many if 1 <= n < 1e9]
    return in_one_process(known, "repetition")


def _environment(context: Node) -> Message | None:
    cpus, speed = context.find("num_cpus"), context.find("mhz_per_cpu")
    scaling = context.find("cpu_scaling_enabled")
    if not (cpus or scaling):
        return None
    return message(
        "{% if cpus %}{cpus} CPUs{% if mhz %} at {mhz} MHz{% endif %}"
        "{% if scaling is not none %}, {% endif %}{% endif %}{% if scaling is not none %}"
        "frequency scaling {% if scaling %}on{% else %}off{% endif %}{% endif %}",
        cpus=cpus.word() if cpus else None,
        mhz=speed.word() if speed else None,
        scaling=scaling.value is True if scaling else None,
    )


def _warned(context: Node | None) -> tuple[Message, ...]:
    if context and context.value.get("library_build_type") == "debug":
        return (message("the benchmark library was built for debugging, which slows its loop"),)
    return ()


UNIT = Format(
    description=Description(
        name="google-benchmark",
        title="Google Benchmark: the JSON of --benchmark_out",
        question="What did each repetition of each benchmark measure?",
        source="google/benchmark 1.0 to 1.9, src/json_reporter.cc",
    ),
    recognises=recognises,
    read=read,
    options=frozenset({"value"}),
    executions=message(
        "Google Benchmark takes all repetitions in one process. Run it 6 times, each with a "
        "file of its own, and audit the files together"
    ),
    repeat=Repeat("BENCHMARK --benchmark_out=run$i.json", "run*.json", placeholders=("BENCHMARK",)),
)
