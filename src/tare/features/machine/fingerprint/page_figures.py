"""The charts of a fingerprint's page, each with its text alternative.

Which chart a curve becomes follows from its axes, so that a probe nobody thought of has its
chart as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tare.experiment.fingerprints.machine.document import Axis as CurveAxis
from tare.experiment.fingerprints.machine.document import Curve, Fingerprint, Point
from tare.features.machine.fingerprint.page_groups import caches_found, group_of
from tare.registry import Probe, ProbeMetric
from tare.render.charts.heat_map import heat_map
from tare.render.charts.lines import Axis, Line, Rule, described, lines, place
from tare.render.words import paragraph
from tare.results.message import Amount, Message, message
from tare.results.report import Figure

#: Lines of a chart; of more, the least, the middle and the largest are drawn.
_MOST_LINES = 8
_STAIRCASE = "memory.latency"
#: Axis titles by unit.
_QUANTITIES = {"ns": "time", "B/s": "bandwidth", "Hz": "frequency", "bytes": "size"}


def figures(fingerprint: Fingerprint, probes: Mapping[str, Probe]) -> dict[str, tuple[Figure, ...]]:
    """Draw the curves and maps of a fingerprint, by the anchor of the group they stand in."""
    described = {m.name: (probe, m) for probe in probes.values() for m in probe.metrics}
    drawn: dict[str, tuple[Figure, ...]] = {}
    # The staircase is what a machine is known by.
    for name, curve in sorted(fingerprint.curves.items(), key=lambda one: one[0] != _STAIRCASE):
        if is_by_cpu(curve) or not curve.points:
            continue
        probe, metric = described.get(name, (None, None))
        title = name if probe is None else f"{probe.title[:1].upper()}{probe.title[1:]}: {name}"
        if _is_map(curve):
            chart, said = _map(curve)
        else:
            chart, said = _lines(name, curve, metric, fingerprint)
        anchor = group_of(name).anchor
        figure = Figure(re.sub(r"[^a-z0-9]+", "-", name.lower()), title, chart, paragraph(said))
        drawn[anchor] = (*drawn.get(anchor, ()), figure)
    return drawn


def _is_map(curve: Curve) -> bool:
    """Whether both axes are CPUs."""
    names = {axis.name for axis in curve.axes}
    return len(names) == 2 and (names == {"from", "to"} or all(_is_cpu(name) for name in names))


def is_by_cpu(curve: Curve) -> bool:
    """Whether its only axis is a CPU's number: that is a table, since nothing lies between."""
    return len(curve.axes) == 1 and _is_cpu(curve.axes[0].name)


def _is_cpu(name: str) -> bool:
    return re.search(r"(^|_)(cpu|core)($|_)", name) is not None


def _map(curve: Curve) -> tuple[dict[str, Any], list[Message]]:
    values = {(p.at[0], p.at[1]): p.value for p in curve.points}
    down, across = (_words(axis) for axis in curve.axes)
    chart, group = heat_map(values, across, down, curve.unit)
    least = min(curve.points, key=_value)
    most = max(curve.points, key=_value)
    said = [
        message(
            "each field is a pair of CPUs, the deeper the larger: from {least} (CPUs "
            "{least_of | listing}) to {most} (CPUs {most_of | listing}), the median {median}",
            least=Amount(least.value, curve.unit),
            least_of=[*map(str, least.at)],
            most=Amount(most.value, curve.unit),
            most_of=[*map(str, most.at)],
            median=Amount(median(values.values()), curve.unit),
        )
    ]
    if group > 1:
        said.append(message("{n} CPUs share a row, with the median of their pairs", n=group))
    return chart, said


def _value(point: Point) -> float:
    return point.value


def _lines(
    name: str, curve: Curve, metric: ProbeMetric | None, fingerprint: Fingerprint
) -> tuple[dict[str, Any], list[Message]]:
    along = _along(curve)
    some = _few(_by_line(name, curve, along))
    rules = []
    if name == _STAIRCASE:
        rules = [
            Rule(size, f"{cache.upper()}\n{place(size, 'bytes')}", _said(fingerprint, cache))
            for cache, size in caches_found(fingerprint.metrics).items()
        ]
    across = Axis(_axis_title(curve.axes[along], metric, along), curve.axes[along].unit)
    upwards = Axis(_QUANTITIES.get(curve.unit, "value"), curve.unit)
    chart = lines([("", some)], across, upwards, rules)
    return chart, [described(some, across, upwards), *_caches(rules)]


def _along(curve: Curve) -> int:
    """Choose the axis to go along: a size or a time before what has few values; CPUs last."""
    counts = [len({p.at[i] for p in curve.points}) for i in range(len(curve.axes))]
    return max(
        range(len(curve.axes)),
        key=lambda i: (not _is_cpu(curve.axes[i].name), counts[i] > 2, counts[i], -i),
    )


def _by_line(name: str, curve: Curve, along: int) -> list[Line]:
    """Divide a curve into lines, which its other axes tell apart."""
    found: dict[str, list[Point]] = {}
    for point in sorted(curve.points, key=lambda point: point.at[along]):
        others = [
            f"{_words(axis)} {place(value, axis.unit)}"
            for i, (axis, value) in enumerate(zip(curve.axes, point.at, strict=True))
            if i != along
        ]
        found.setdefault(", ".join(others) or name, []).append(point)
    return [
        Line(
            name=name,
            x=[p.at[along] for p in points],
            y=[p.value for p in points],
            low=[None if p.ci is None else p.ci[0] for p in points],
            high=[None if p.ci is None else p.ci[1] for p in points],
        )
        for name, points in found.items()
    ]


def _few(some: list[Line]) -> list[Line]:
    """Of too many lines keep the least, the middle and the largest, by their means."""
    if len(some) <= _MOST_LINES:
        return some
    order = sorted(some, key=lambda line: sum(line.y) / len(line.y))
    return [order[0], order[len(order) // 2], order[-1]]


def _words(axis: CurveAxis) -> str:
    """Name an axis as a person does: ``size_bytes`` is "size"."""
    name = axis.name
    for unit in ("_bytes", "_ns", "_hz", "_s"):
        name = name.removesuffix(unit)
    return name.replace("_", " ").replace("cpu", "CPU")


def _axis_title(axis: CurveAxis, metric: ProbeMetric | None, along: int) -> str:
    meaning = metric.axes[along].meaning if metric and along < len(metric.axes) else ""
    meaning = re.split(r"[,;:(]", meaning)[0].strip()
    whole = 0 < len(meaning) <= 48 and not meaning.startswith("of ")
    return meaning if whole else _words(axis)


def _said(fingerprint: Fingerprint, cache: str) -> float | None:
    """Return a cache's size as the kernel says it."""
    size = fingerprint.facts.get(f"{cache}_bytes")
    return float(size) if isinstance(size, int | float) else None


def _caches(rules: Sequence[Rule]) -> list[Message]:
    if not rules:
        return []
    found = [_cache(rule, rule.at) for rule in rules]
    reported = [_cache(rule, rule.said) for rule in rules if rule.said is not None]
    said = [message("dashes mark the caches as found: {caches | listing}", caches=found)]
    if reported:
        said.append(message("the kernel reports (triangles) {caches | listing}", caches=reported))
    return said


def _cache(rule: Rule, size: float) -> Message:
    name = rule.label.split()[0]
    return message("{name} {size}", name=name, size=place(size, "bytes"))
