"""What fio writes: statistics of each job of a run; a run is one value, and several make trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file
from tare.readers.format import Format
from tare.readers.json_file import Node
from tare.readers.readings import counted, number, readings, stated
from tare.readers.series import Columns, Defect, Imported, Series, Specification
from tare.readers.text_file import head_text
from tare.registry import Description
from tare.render.words import text
from tare.results.message import Message, message

#: The last is both together, where --unified_rw_reporting asks for it.
_DIRECTIONS = ("read", "write", "trim", "mixed")
_QUANTILES = {"median": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0}


@dataclass(frozen=True)
class _Metric:
    """What a direction of a job tells: under which names since when, and in which unit."""

    name: str
    unit: str
    lower_is_better: bool
    #: Fields by age, newest first, with what each is multiplied by.
    fields: tuple[tuple[str, float], ...]
    #: Fields of statistics over samples of a run; latencies have an object of them instead.
    stated: Mapping[str, str]


_METRICS = {
    "bw_bytes": _Metric(
        name="bandwidth",
        unit="bytes/s",
        lower_is_better=False,
        fields=(("bw_bytes", 1.0), ("bw", 1024.0)),
        stated={"mean": "bw_mean", "sd": "bw_dev", "min": "bw_min", "max": "bw_max"},
    ),
    "iops": _Metric(
        name="IOPS",
        unit="1/s",
        lower_is_better=False,
        fields=(("iops", 1.0),),
        stated={"mean": "iops_mean", "sd": "iops_stddev", "min": "iops_min", "max": "iops_max"},
    ),
    **{
        f"{short}_ns": _Metric(
            name=name,
            unit="s",
            lower_is_better=True,
            fields=((f"{short}_ns", 1e-9), (short, 1e-6)),
            stated={"mean": "mean", "sd": "stddev", "min": "min", "max": "max"},
        )
        for short, name in (
            ("clat", "completion latency"),
            ("lat", "latency"),
            ("slat", "submission latency"),
        )
    },
}
#: fio states bandwidth in KiB/s, apart from the whole run's.
_KIB = 1024.0


@dataclass(frozen=True)
class _Value:
    """The value of one direction of one job in one run."""

    trial: int
    raw: object
    path: str
    scale: float
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
    documents, notes = json_file.load_each(file)
    runs = _last_of_each_run(documents)
    found: dict[tuple[tuple[str, str], ...], list[_Value]] = {}
    failed: list[Message] = []
    for trial, run in enumerate(runs):
        for key, direction in _jobs(run, failed):
            value = _value(direction, trial, _METRICS[named])
            if value:
                found.setdefault(key, []).append(value)
    if not found:
        raise InputError(
            f"{file}: no job did any I/O" + (f" ({text(failed[0])})" if failed else ""),
            "see what fio printed beside its JSON",
        )
    if len(runs) < len(documents):
        notes = (
            *notes,
            message("interop.fio.reports", reports=len(documents), runs=len(runs)),
        )
    if columns.value is None:
        others = [name for name in _METRICS if name != named]
        notes = (*notes, message("interop.other_metrics", names=others))
    return Imported(
        file=file,
        format="fio",
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


def _value(direction: Node, trial: int, metric: _Metric) -> _Value | None:
    for name, scale in metric.fields:
        found = direction.find(name)
        if found is None:
            continue
        if metric.unit != "s":
            of = _KIB if name.startswith("bw") else 1.0
            reported = stated({k: direction.value.get(v) for k, v in metric.stated.items()}, of)
            return _Value(trial, found.value, found.path, scale, reported)
        mean = found.find("mean")
        reported = stated({k: found.value.get(v) for k, v in metric.stated.items()}, scale)
        reported |= stated({"n": found.value.get("N")})
        reported |= _quantiles(found, scale)
        raw = mean.value if mean else None
        return _Value(trial, raw, f"{found.path}.mean", scale, reported)
    return None


def _quantiles(latency: Node, scale: float) -> dict[str, float]:
    """Return the quantiles that fio states, or those of its bins (``json+``) where it does not."""
    percentiles, bins = latency.find("percentile"), latency.find("bins")
    given = {}
    for name, node in percentiles.pairs() if percentiles else ():
        for ours, percent in _QUANTILES.items():
            if name == f"{percent:.6f}":
                given[ours] = node.value
    if not given and bins:
        pairs = sorted((_float(at), number(node.value)) for at, node in bins.pairs())
        at, counts = np.array(pairs, dtype=float).reshape(-1, 2).T
        if len(at) and np.isfinite(at).all() and (counts >= 0).all() and counts.sum() > 0:
            places = np.searchsorted(
                np.cumsum(counts), [p / 100 * counts.sum() for p in _QUANTILES.values()]
            )
            given = dict(zip(_QUANTILES, at[np.minimum(places, len(at) - 1)], strict=True))
    return stated(given, scale)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _series(key: dict[str, str], values: Sequence[_Value], metric: _Metric) -> Series:
    found = readings(
        [value.raw for value in values],
        lambda index: values[index].path,
        np.array([value.scale for value in values]),
    )
    one = len(values) == 1
    summary = Defect("summary only", message("interop.fio.summary", at=values[0].path))
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
        source="fio 2 to 3.41, stat.c",
    ),
    recognises=recognises,
    read=read,
)
