"""What fio writes: statistics of each job of a run; a run is one value, and several make trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file
from tare.readers.format import Format
from tare.readers.json_file import Node
from tare.readers.readings import counted, number, readings_of, stated
from tare.readers.series import Columns, Defect, Imported, Series, Specification
from tare.readers.text_file import head_text
from tare.registry import Description
from tare.render.words import text
from tare.results.message import Message, message

#: The last is both together, where --unified_rw_reporting asks for it.
_DIRECTIONS = ("read", "write", "trim", "mixed")
_QUANTILES = {
    "50.000000": "median", "90.000000": "p90", "95.000000": "p95", "99.000000": "p99"
}  # fmt: skip
_NANOSECONDS = 1e-9


@dataclass(frozen=True)
class _Metric:
    """What a direction of a job tells: its field is a number, or of a latency statistics."""

    name: str
    unit: str
    lower_is_better: bool = False
    #: Fields of statistics over samples of a run.
    stated: Mapping[str, str] = field(default_factory=dict)


_LATENCY = {"mean": "mean", "sd": "stddev", "min": "min", "max": "max", "n": "N"}
_BANDWIDTH = {"mean": "bw_mean", "sd": "bw_dev", "min": "bw_min", "max": "bw_max"}
_IOPS = {"mean": "iops_mean", "sd": "iops_stddev", "min": "iops_min", "max": "iops_max"}
_METRICS = {
    "bw_bytes": _Metric("bandwidth", "bytes/s", stated=_BANDWIDTH),
    "iops": _Metric("IOPS", "1/s", stated=_IOPS),
    "clat_ns": _Metric("completion latency", "s", lower_is_better=True, stated=_LATENCY),
    "lat_ns": _Metric("latency", "s", lower_is_better=True, stated=_LATENCY),
    "slat_ns": _Metric("submission latency", "s", lower_is_better=True, stated=_LATENCY),
}
#: fio states bandwidth in KiB/s, apart from the whole run's.
_KIB = 1024.0


@dataclass(frozen=True)
class _Value:
    """The value of one direction of one job in one run."""

    trial: int
    node: Node
    reported: dict[str, float]


def recognises(head: bytes, file: Path) -> bool:
    """Whether it tells fio's version; warnings may stand before the JSON."""
    return '"fio version"' in head_text(head)


def read(file: Path, columns: Columns) -> Imported:
    """Read one value a run of each job and direction; ``columns.value`` names its field."""
    named = columns.value or "bw_bytes"
    if named not in _METRICS:
        raise InputError(
            f"{file}: fio's jobs have no {named!r}", f"--value takes {', '.join(_METRICS)}"
        )
    documents = json_file.load_each(file)
    runs = _last_of_each_run(documents)
    found: dict[tuple[tuple[str, str], ...], list[_Value]] = {}
    failed: list[Message] = []
    for trial, run in enumerate(runs):
        for key, direction in _jobs(run, failed):
            value = _value(direction, trial, named)
            if value:
                found.setdefault(key, []).append(value)
    if not found:
        raise InputError(
            f"{file}: no job did any I/O" + (f" ({text(failed[0])})" if failed else ""),
            "see what fio printed beside its JSON",
        )
    notes = []
    if len(runs) < len(documents):
        notes.append(message("interop.fio.reports", reports=len(documents), runs=len(runs)))
    if columns.value is None:
        others = [name for name in _METRICS if name != named]
        notes.append(message("interop.other_metrics", names=others))
    return Imported(
        file=file,
        series=tuple(_series(dict(key), values, _METRICS[named]) for key, values in found.items()),
        specification=Specification(
            repetitions=counted([len(runs)], "run"),
            statistic=message("interop.statistic.mean_and_percentiles"),
            spread=message("interop.spread.within_run"),
            environment=_version(runs[0]),
        ),
        notes=(*notes, *failed),
    )


def _last_of_each_run(documents: Sequence[Node]) -> list[Node]:
    """Keep the last report of each run: those of ``--status-interval`` count from its start."""
    kept: list[Node] = []
    before: tuple[float, ...] | None = None
    for document in documents:
        jobs = list(_list_of_jobs(document))
        elapsed = max((number(job.value.get("elapsed")) for job in jobs), default=np.nan)
        done = sum(_bytes(job) for job in jobs)
        # Since 3.36 it is told; before there are whole seconds, of which one may be off by one.
        told = number(jobs[0].value.get("job_start")) if jobs else np.nan
        start = told if told > 0 else number(document.value.get("timestamp")) - elapsed
        if before:
            same = start == before[0] if told > 0 else abs(start - before[0]) <= 1
            if same and elapsed >= before[1] and done > before[2]:
                kept.pop()
        kept.append(document)
        before = (start, elapsed, done)
    return kept


def _list_of_jobs(document: Node) -> Iterable[Node]:
    jobs = document.find("jobs") or document.at("client_stats")
    for job in jobs.each():
        job.find("jobname")  # complains where it is no object
        yield job


def _bytes(job: Node) -> float:
    found = [job.find(name) for name in _DIRECTIONS]
    return sum(
        done
        for one in found
        if one and (done := number((one.find("io_bytes") or one).value)) == done
    )


def _jobs(run: Node, failed: list[Message]) -> Iterable[tuple[tuple[tuple[str, str], ...], Node]]:
    seen: Counter[str] = Counter()
    for job in _list_of_jobs(run):
        name = job.at("jobname").text()
        seen[name] += 1
        if (number(job.value.get("error")) or 0) != 0:
            failed.append(message("interop.fio.failed", job=name, error=job.at("error").word()))
            continue
        again = {"clone": str(seen[name])} if seen[name] > 1 else {}
        for direction in _DIRECTIONS:
            found = job.find(direction)
            if found and _worked(found):
                yield tuple({"job": name, "direction": direction, **again}.items()), found


def _worked(direction: Node) -> bool:
    done = direction.find("total_ios") or direction.find("io_bytes") or direction.find("io_kbytes")
    return done is None or number(done.value) != 0


def _value(direction: Node, trial: int, named: str) -> _Value | None:
    found, metric = direction.find(named), _METRICS[named]
    if found is None:
        return None
    if metric.unit != "s":
        scale = _KIB if named == "bw_bytes" else 1.0
        states = {ours: direction.value.get(theirs) for ours, theirs in metric.stated.items()}
        return _Value(trial, found, stated(states, scale))
    percentiles = found.find("percentile")
    times = {ours: found.value.get(theirs) for ours, theirs in metric.stated.items()}
    count = stated({"n": times.pop("n")})
    for name, node in percentiles.pairs() if percentiles else ():
        if name in _QUANTILES:
            times[_QUANTILES[name]] = node.value
    mean = Node(found.file, f"{found.path}.mean", times["mean"])
    return _Value(trial, mean, {**stated(times, _NANOSECONDS), **count})


def _series(key: dict[str, str], values: Sequence[_Value], metric: _Metric) -> Series:
    scale = _NANOSECONDS if metric.unit == "s" else 1.0
    found = readings_of([value.node for value in values], scale)
    one = len(values) == 1
    summary = Defect("summary only", message("interop.fio.summary", at=values[0].node.path))
    return Series(
        key=key,
        values=found.values,
        metric=metric.name,
        unit=metric.unit,
        lower_is_better=metric.lower_is_better,
        trial=np.array([value.trial for value in values], dtype=np.int64)[found.kept],
        reported=values[0].reported if one else {},
        defects=(*found.defects, *([summary] if one else [])),
    )


def _version(run: Node) -> str | None:
    found = run.find("fio version")
    return found.text() if found else None


UNIT = Format(
    description=Description(
        name="fio",
        title="fio: --output-format=json or json+, one run or several",
        question="What did each job of each run reach?",
        source="fio 3 to 3.41, stat.c",
    ),
    recognises=recognises,
    read=read,
)
