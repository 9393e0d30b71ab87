"""What fio writes: statistics of each job of a run; a run is one value, and several make trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file, phrases
from tare.readers.format import Format, Repeat
from tare.readers.json_file import Node
from tare.readers.readings import counted, number, readings_of, stated
from tare.readers.series import ColumnOptions, Imported, Series, Specification
from tare.readers.text_file import label
from tare.registry import Description
from tare.render.words import text
from tare.results.message import Message, message

#: Mixed is all together, where --unified_rw_reporting asks for it; sync has latencies alone.
_DIRECTIONS = ("read", "write", "trim", "mixed", "sync")
_QUANTILES = {
    "50.000000": "median", "90.000000": "p90", "95.000000": "p95", "99.000000": "p99"
}  # fmt: skip
#: Keys of a series that options may be called as well.
_KEYS = frozenset({"job", "direction"})
#: Options that do not change what is measured.
_UNRELATED = frozenset({"name", "output", "output-format", "status-interval", "eta"})


@dataclass(frozen=True)
class _Metric:
    """A metric of one direction of a job.

    Attributes
    ----------
    name, unit : str
    spellings : mapping of str to float
        Fields that have it, by the versions of fio, and what to multiply each by.
    stated : mapping of str to str
        Statistics over samples of the run: of a rate beside it, of a latency inside it.
    """

    name: str
    unit: str
    spellings: Mapping[str, float]
    stated: Mapping[str, str]


#: fio states bandwidth in KiB/s; since 3.2 that of the whole run in bytes/s as well.
_KIB = 1024.0
_IN_LATENCY = {"mean": "mean", "sd": "stddev", "min": "min", "max": "max", "n": "N"}
_BANDWIDTH = {"mean": "bw_mean", "sd": "bw_dev", "min": "bw_min", "max": "bw_max"}
_IOPS = {"mean": "iops_mean", "sd": "iops_stddev", "min": "iops_min", "max": "iops_max"}


def _latency(name: str, field: str) -> _Metric:
    """Describe a latency: nanoseconds since fio 3, before that microseconds by another name."""
    return _Metric(name, "s", {f"{field}_ns": 1e-9, field: 1e-6}, _IN_LATENCY)


_METRICS = {
    "bw_bytes": _Metric("bandwidth", "bytes/s", {"bw_bytes": 1.0, "bw": _KIB}, _BANDWIDTH),
    "iops": _Metric("IOPS", "1/s", {"iops": 1.0}, _IOPS),
    "clat_ns": _latency("completion latency", "clat"),
    "lat_ns": _latency("latency", "lat"),
    "slat_ns": _latency("submission latency", "slat"),
}


@dataclass(frozen=True)
class _Value:
    """The value of one direction of one job in one run."""

    trial: int
    node: Node
    scale: float
    reported: dict[str, float]


def recognises(head: bytes, file: Path) -> bool:
    """Whether its first keys name fio's version."""
    return not {"'fio version'", "[].'fio version'"}.isdisjoint(json_file.outline(head))


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read one value a run of each job and direction; ``columns.value`` names its field."""
    named = columns.value or "bw_bytes"
    if named not in _METRICS:
        raise InputError(
            f"{file}: fio's jobs have no {named!r}", f"name one with --value: {', '.join(_METRICS)}"
        )
    documents = json_file.load_each(file)
    runs = _last_of_each_run(documents)
    found: dict[tuple[tuple[str, str], ...], list[_Value]] = {}
    failed: list[Message] = []
    worked = False
    for trial, run in enumerate(runs):
        for key, direction in _jobs(run, failed):
            worked = True
            value = _value(direction, trial, _METRICS[named])
            if value:
                found.setdefault(key, []).append(value)
    if not found:
        raise _nothing(runs[0], named, worked, failed)
    notes = list(documents[0].notes)
    if len(runs) < len(documents):
        notes.append(
            message(
                "{reports} reports of {runs | counted('run')}: the last of each run is read "
                "(--status-interval)",
                reports=len(documents),
                runs=len(runs),
            )
        )
    if columns.value is None:
        others = [name for name in _METRICS if name != named]
        notes.append(message(phrases.OTHER_METRICS, names=others))
    return Imported(
        file=file,
        series=tuple(_series(dict(key), values, _METRICS[named]) for key, values in found.items()),
        specification=Specification(
            repetitions=counted([len(runs)], "run"),
            statistic=message(phrases.STATISTIC_MEAN_AND_PERCENTILES),
            spread=message("SD within a run"),
            environment=_version(runs[0]),
        ),
        notes=(*notes, *failed),
    )


def _nothing(run: Node, named: str, worked: bool, failed: Sequence[Message]) -> InputError:
    """Say why there is no value: no job did I/O, or this version of fio does not write it."""
    if not worked:
        return InputError(
            f"{run.file}: no job did any I/O" + (f" ({text(failed[0])})" if failed else ""),
            "read the messages that fio printed beside its JSON",
        )
    return InputError(
        f"{run.file}: {_version(run) or 'fio'} wrote no {named!r} of any job",
        f"name one with --value: {', '.join(name for name in _METRICS if name != named)}",
    )


def _options(run: Node, job: Node) -> dict[str, str]:
    """Return the options of a job: runs that differ in one measured different things."""
    found = [run.find("global options"), job.find("job options")]
    pairs = [one.pairs() for one in found if one and isinstance(one.value, dict)]
    options = {label(name): value.word() for one in pairs for name, value in one}
    return {
        f"option {name}" if name in _KEYS else name: level
        for name, level in options.items()
        if name not in _UNRELATED and not name.endswith("_log")
    }


def _last_of_each_run(documents: Sequence[Node]) -> list[Node]:
    """Keep the last report of each run: those of ``--status-interval`` count from its start."""
    kept: list[Node] = []
    before: tuple[float, ...] | None = None
    ran_before = (np.nan, np.nan)
    for document in documents:
        jobs = list(_list_of_jobs(document))
        elapsed = max((number(job.value.get("elapsed")) for job in jobs), default=np.nan)
        done = sum(_bytes(job) for job in jobs)
        # Since 3.36 it is told; before there are whole seconds, of which one may be off by one.
        told = number(jobs[0].value.get("job_start")) if jobs else np.nan
        start = told if told > 0 else number(document.value.get("timestamp")) - elapsed
        ran = (
            number(document.value.get("timestamp_ms")),
            sum(number(job.value.get("job_runtime")) for job in jobs),
        )
        if before:
            same = start == before[0] if told > 0 else abs(start - before[0]) <= 1
            same &= told > 0 or not _has_paused(ran_before, ran)
            if same and elapsed >= before[1] and done > before[2]:
                kept.pop()
        kept.append(document)
        before, ran_before = (start, elapsed, done), ran
    return kept


def _has_paused(before: tuple[float, float], now: tuple[float, float]) -> bool:
    """Return whether the jobs ran for less than the time between two reports, as in separate runs.

    Each report is its time and the summed run time of its jobs, in ms. NaN, where fio does not
    state one, is no pause.
    """
    return now[1] - before[1] < 0.9 * (now[0] - before[0])


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
    jobs = [*_list_of_jobs(run)]
    names = Counter(job.at("jobname").text() for job in jobs)
    seen: Counter[str] = Counter()
    for job in jobs:
        name = job.at("jobname").text()
        options = _options(run, job)
        seen[name] += 1
        if (number(job.value.get("error")) or 0) != 0:
            failed.append(
                message(
                    "job {job} failed with error {error}", job=name, error=job.at("error").word()
                )
            )
            continue
        job_name = f"{name} ({seen[name]})" if names[name] > 1 else name
        for direction in _DIRECTIONS:
            found = job.find(direction)
            if found and _worked(found):
                yield (
                    tuple({"job": job_name, "direction": direction, **options}.items()),
                    found,
                )


def _worked(direction: Node) -> bool:
    done = direction.find("total_ios") or direction.find("io_bytes") or direction.find("io_kbytes")
    if done is None or number(done.value) != 0:
        return True
    # total_ios does not count calls of sync: it is 0 although their latency was measured.
    latency = direction.find("lat_ns") if direction.find("io_bytes") is None else None
    return latency is not None and number(latency.at("max").value) > 0


def _value(direction: Node, trial: int, metric: _Metric) -> _Value | None:
    fields = ((direction.find(name), scale) for name, scale in metric.spellings.items())
    found, scale = next(((node, scale) for node, scale in fields if node), (None, 1.0))
    if found is None:
        return None
    if metric.unit != "s":
        states = {ours: direction.value.get(theirs) for ours, theirs in metric.stated.items()}
        return _Value(trial, found, scale, stated(states, max(metric.spellings.values())))
    percentiles = found.find("percentile")
    times = {ours: found.value.get(theirs) for ours, theirs in metric.stated.items()}
    count = stated({"n": times.pop("n")})
    if count.get("n") == 0 or (not count and not times["max"]):
        return None  # switched off, as by --disable_slat: its zeros are not measured
    for name, node in percentiles.pairs() if percentiles else ():
        if name in _QUANTILES:
            times[_QUANTILES[name]] = node.value
    mean = Node(found.file, f"{found.path}.mean", times["mean"])
    return _Value(trial, mean, scale, {**stated(times, scale), **count})


def _series(key: dict[str, str], values: Sequence[_Value], metric: _Metric) -> Series:
    scales = np.array([value.scale for value in values])
    found = readings_of([value.node for value in values], scales)
    return Series(
        key=key,
        values=found.values,
        metric=metric.name,
        unit=metric.unit,
        lower_is_better=metric.unit == "s",
        trial=np.array([value.trial for value in values], dtype=np.int64)[found.kept],
        reported=values[0].reported if len(values) == 1 else {},
        defects=found.defects,
    )


def _version(run: Node) -> str | None:
    found = run.find("fio version")
    return found.text() if found else None


UNIT = Format(
    description=Description(
        name="fio",
        title="fio: --output-format=json or json+, one run or several",
        question="What did each job of each run reach?",
        source="fio 2.0.15 to 3.42, stat.c",
    ),
    recognises=recognises,
    read=read,
    repeat=Repeat("fio --output-format=json JOB >run$i.json", "run*.json", placeholders=("JOB",)),
    options=frozenset({"value"}),
)
