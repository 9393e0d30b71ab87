"""What JMH writes: every fork is an execution of its own, its iterations are values in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file, phrases
from tare.readers.format import Format, Repeat
from tare.readers.json_file import Node
from tare.readers.readings import (
    Readings,
    counted,
    number,
    per_operation,
    readings_of,
    stated,
    told_apart,
    without_metric,
)
from tare.readers.series import ColumnOptions, Defect, Imported, Series, Specification
from tare.readers.text_file import label
from tare.registry import Description
from tare.results.message import Message, message

_STATED = {"0.0": "min", "50.0": "median", "100.0": "max"}


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins as JMH's list of benchmarks does."""
    found = json_file.outline(head)
    return "[].jmhVersion" in found or {"[].benchmark", "[].mode", "[].forks"} <= found


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the iterations of each fork; ``columns.value`` names a secondary metric."""
    root = json_file.load(file)
    results = list(root.each())
    if not results:
        raise root.wrong("holds no benchmark")
    measured = [(result, _metric(result, columns.value)) for result in results]
    series = [_series(result, metric, columns.value) for result, metric in measured if metric]
    if not series:
        raise _no_metric(root, results, columns.value)
    for name in ("mode", "threads"):
        if len({one.key[name] for one in series}) == 1:
            series = [replace(s, key={k: v for k, v in s.key.items() if k != name}) for s in series]
    forks, of_fork = (
        [int(n) for result in results if 1 <= (n := number(result.value.get(name))) < 1e9]
        for name in ("forks", "measurementIterations")
    )
    many = message(
        "{iterations} in each of {forks}",
        iterations=counted(of_fork, "iteration"),
        forks=counted(forks, "fork"),
    )
    return Imported(
        file=file,
        series=told_apart(series),
        specification=Specification(
            repetitions=many if forks and of_fork else None,
            statistic=message(phrases.STATISTIC_MEAN_AND_PERCENTILES),
            spread=message(
                "99.9 % interval of the mean, iterations of all forks taken as independent"
            ),
            environment=_environment(results[0]),
        ),
        notes=(*root.notes, *_others(measured, columns.value)),
    )


def _series(result: Node, measured: Node, metric: str | None) -> Series:
    unit_text = measured.at("scoreUnit").text()
    unit, scale, lower = per_operation(unit_text)
    raw, histogram = measured.find("rawData"), measured.find("rawDataHistogram")
    notes = []
    if histogram:
        found, trial, samples = _means(histogram, scale)
        notes.append(
            message(
                "{n | counted('sampled time')}, whose order JMH does not keep: each value is the "
                "mean of an iteration",
                n=samples,
            )
        )
    else:
        found, trial = _iterations(raw, scale)
    defects = found.defects
    if not len(trial):
        only = message("{at} has no 'rawData', only JMH's summary", at=measured.path)
        defects = (*defects, Defect("summary only", only))
    forked = number(result.value.get("forks")) > 0
    if not forked:
        notes.append(message("measured in JMH's own process (-f 0): there is only one execution"))
    name = metric or ("throughput" if unit == "1/s" else "time")
    return Series(
        key=_key(result),
        values=found.values,
        metric=name,
        unit=unit,
        lower_is_better=lower,
        trial=np.array(trial, dtype=np.int64)[found.kept] if forked and len(trial) else None,
        reported=_reported(measured, scale),
        defects=defects,
        notes=tuple(notes),
    )


def _metric(result: Node, metric: str | None) -> Node | None:
    """Return the primary or a secondary metric of a benchmark; None where it has none such."""
    if metric is None:
        return result.at("primaryMetric")
    secondary = result.find("secondaryMetrics")
    # Older versions mark the metrics of profilers with a dot.
    return (secondary.find(metric) or secondary.find(f"·{metric}")) if secondary else None


def _secondary(results: Iterable[Node]) -> list[str]:
    """Return the names of all secondary metrics of some benchmarks."""
    found = (result.find("secondaryMetrics") for result in results)
    return list(dict.fromkeys(label(name) for one in found if one for name, _ in one.pairs()))


def _no_metric(root: Node, results: Sequence[Node], metric: str | None) -> InputError:
    have = _secondary(results)
    return InputError(
        f"{root.file}: no benchmark has a secondary metric {metric!r}",
        f"name one with --value: {', '.join(have)}" if have else "leave --value out",
    )


def _others(measured: Sequence[tuple[Node, Node | None]], metric: str | None) -> Iterator[Message]:
    """Name the metrics that were not asked for, or the benchmarks without the one that was."""
    if metric is None:
        have = _secondary(result for result, _ in measured)
        if have:
            yield message(phrases.OTHER_METRICS, names=have)
    yield from without_metric([_name(result) for result, found in measured if found is None])


def _name(result: Node) -> str:
    return " ".join(level for name, level in _key(result).items() if name != "threads")


def _key(result: Node) -> dict[str, str]:
    key = {"benchmark": result.at("benchmark").text()}
    for name in ("mode", "threads"):
        found = result.find(name)
        key[name] = found.word() if found else ""
    params = result.find("params")
    for name, level in params.pairs() if params else ():
        text = "null" if level.value is None else level.word()
        key[f"parameter {name}" if name in key else name] = text
    return key


def _iterations(raw: Node | None, scale: float) -> tuple[Readings, list[int]]:
    forks = [list(iterations.each()) for iterations in (raw.each() if raw else ())]
    trial = [fork for fork, values in enumerate(forks) for _ in values]
    return readings_of([value for values in forks for value in values], scale), trial


def _means(histogram: Node, scale: float) -> tuple[Readings, list[int], int]:
    """Reduce each iteration's pairs of a time and how often it was seen to their mean."""
    means: list[Node] = []
    trial: list[int] = []
    samples = 0
    for fork, iterations in enumerate(histogram.each()):
        for iteration in iterations.each():
            times, counts = _pairs(iteration)
            total = math.fsum(counts)
            weighed = math.fsum(t * c for t, c in zip(times, counts, strict=True))
            means.append(replace(iteration, value=weighed / total if total > 0 else math.nan))
            trial.append(fork)
            samples += int(total) if math.isfinite(total) else 0
    return readings_of(means, scale), trial, samples


def _pairs(iteration: Node) -> tuple[Sequence[float], Sequence[float]]:
    times, counts = [], []
    for pair in iteration.each():
        both = [number(value) for value in pair.elements()]
        if len(both) != 2 or not (0 <= both[1] < 1e15) or not abs(both[0]) < 1e300:
            raise pair.wrong("expected a time and how often it was seen")
        times.append(both[0])
        counts.append(both[1])
    return times, counts


def _reported(measured: Node, scale: float) -> dict[str, float]:
    score, percentiles = measured.find("score"), measured.find("scorePercentiles")
    found = {"mean": score.value} if score else {}
    for name, node in percentiles.pairs() if percentiles else ():
        if name in _STATED:
            found[_STATED[name]] = node.value
    return stated(found, scale)


def _environment(result: Node) -> str | None:
    words = [node.word() for name in ("vmName", "vmVersion") if (node := result.find(name))]
    return " ".join(words) or None


UNIT = Format(
    description=Description(
        name="jmh",
        title="JMH: the JSON of -rf json",
        question="What did each iteration of each fork of a benchmark measure?",
        source="JMH 1.37, org.openjdk.jmh.results.format.JSONResultFormat",
    ),
    recognises=recognises,
    read=read,
    options=frozenset({"value"}),
    executions=message(
        "JMH measured in its own process (-f 0): all iterations share it. Measure with 6 "
        "forks or more (-f 6)"
    ),
    repeat=Repeat(
        "java -jar BENCHMARKS.jar -f 1 -rf json -rff run$i.json",
        "run*.json",
        alone="java -jar BENCHMARKS.jar -f {n} -rf json -rff {file}",
        file="jmh-result.json",
        placeholders=("BENCHMARKS.jar",),
    ),
)
