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
from tare.render.charts.lines import Axis, Line, Rule, lines, place
from tare.render.words import paragraph
from tare.results.message import Amount, Message, message
from tare.results.report import Figure

#: Lines of one panel; of more, the least, the middle and the largest are drawn.
_MOST_LINES = 8
#: Values of an axis that have a panel each.
_MOST_PANELS = 4
_STAIRCASE = "memory.latency"
#: Lines that the alternative has one by one.
_MOST_NAMED = 6
#: What an axis' values are called: "2 threads", "4 KiB pages".
_NAMES = {
    "page_bytes": ("{} pages", "{} pages"),
    "threads": ("{} thread", "{} threads"),
    "cpus": ("{} CPU", "{} CPUs"),
    "workers": ("{} worker", "{} workers"),
    "cpu": ("CPU {}", "CPU {}"),
}
#: What the values of a unit are called on an axis.
_QUANTITIES = {"ns": "time", "B/s": "bandwidth", "Hz": "frequency", "bytes": "size"}


def figures(fingerprint: Fingerprint, probes: Mapping[str, Probe]) -> dict[str, tuple[Figure, ...]]:
    """Draw the curves and maps of a fingerprint, by the anchor of the group they stand in."""
    described = {m.name: (probe, m) for probe in probes.values() for m in probe.metrics}
    every = fingerprint.curves
    drawn: dict[str, tuple[Figure, ...]] = {}
    for names in _families(every, described):
        curves = {name: every[name] for name in names}
        probe, metric = described.get(names[0], (None, None))
        if _is_map(curves[names[0]]):
            made = [_map(name, curve, described) for name, curve in curves.items()]
        else:
            made = [_lines(curves, probe, metric, fingerprint)]
        anchor = group_of(names[0]).anchor
        drawn[anchor] = (*drawn.get(anchor, ()), *made)
    return drawn


def _families(
    curves: Mapping[str, Curve], described: Mapping[str, tuple[Probe, ProbeMetric]]
) -> list[list[str]]:
    """Put curves of one probe over the same axes together: read, write, copy, triad."""
    found: dict[tuple[Any, ...], list[str]] = {}
    # The staircase is what a machine is known by.
    for name, curve in sorted(curves.items(), key=lambda one: one[0] != _STAIRCASE):
        if is_by_cpu(curve) or not curve.points:
            continue
        probe = described[name][0].name if name in described else name.rsplit(".", 1)[0]
        found.setdefault((probe, curve.unit, curve.axes), []).append(name)
    return list(found.values())


def _is_map(curve: Curve) -> bool:
    """Whether both axes are CPUs."""
    names = {axis.name for axis in curve.axes}
    return len(names) == 2 and (names == {"from", "to"} or all(_is_cpu(name) for name in names))


def is_by_cpu(curve: Curve) -> bool:
    """Whether its only axis is a CPU's number: that is a table, since nothing lies between."""
    return len(curve.axes) == 1 and _is_cpu(curve.axes[0].name)


def _is_cpu(name: str) -> bool:
    return re.search(r"(^|_)(cpu|core)($|_)", name) is not None


def _map(name: str, curve: Curve, described: Mapping[str, tuple[Probe, ProbeMetric]]) -> Figure:
    probe = described[name][0] if name in described else None
    values = {(p.at[0], p.at[1]): p.value for p in curve.points}
    down, across = (_words(axis) for axis in curve.axes)
    chart, group = heat_map(values, across, down, curve.unit)
    least = min(curve.points, key=_value)
    most = max(curve.points, key=_value)
    said = [
        message(
            "fingerprint.chart.map",
            least=Amount(least.value, curve.unit),
            least_of=[*map(str, least.at)],
            most=Amount(most.value, curve.unit),
            most_of=[*map(str, most.at)],
            median=Amount(median(values.values()), curve.unit),
        )
    ]
    if group > 1:
        said.append(message("fingerprint.chart.grouped", n=group))
    return Figure(_anchor(name), _title(name, probe), chart.to_dict(), paragraph(said))


def _value(point: Point) -> float:
    return point.value


def _lines(
    curves: Mapping[str, Curve],
    probe: Probe | None,
    metric: ProbeMetric | None,
    fingerprint: Fingerprint,
) -> Figure:
    names = list(curves)
    first = curves[names[0]]
    along = _along(first)
    panels = _panels(curves, along)
    x = first.axes[along]
    y = _QUANTITIES.get(first.unit) or names[0].rsplit(".", 1)[-1].replace("_", " ")
    rules: list[Rule] = []
    if names == [_STAIRCASE]:
        rules = [
            Rule(size, f"{name.upper()}\n{place(size, 'bytes')}", _said(fingerprint, name))
            for name, size in caches_found(fingerprint.metrics).items()
        ]
    along_title = _axis_title(x, metric, along)
    chart = lines(panels, Axis(along_title, x.unit), Axis(y, first.unit), rules)
    said = [_alternative(panels, x, y, along_title, first.unit), *_caches(rules)]
    title = _title(names[0], probe)
    if probe is not None and names[0] != probe.name:
        # Several figures of one probe are told apart by what they show.
        own = names[0].removeprefix(probe.name).strip(".").replace("_", " ").replace(".", " ")
        title += f": {own if len(names) == 1 else f'{y} by {_words(x)}'}"
    alone = names[0] if len(names) == 1 else f"{_shared(names)}-{y}-by-{_words(x)}"
    return Figure(_anchor(alone), title, chart.to_dict(), paragraph(said))


def _shared(names: Sequence[str]) -> str:
    words = [name.split(".") for name in names]
    return ".".join(word for word in words[0] if all(word in some for some in words))


def _apart(names: Sequence[str]) -> list[str]:
    """Leave out the words that all names share: "read", "write"; of one alone nothing."""
    if len(names) == 1:
        return [names[0]]
    shared = _shared(names).split(".")
    return [
        " ".join(word for word in name.split(".") if word not in shared).replace("_", " ")
        for name in names
    ]


def _along(curve: Curve) -> int:
    """Choose the axis to go along: a size or a time before what has few values; CPUs last."""
    counts = [len({p.at[i] for p in curve.points}) for i in range(len(curve.axes))]
    return max(
        range(len(curve.axes)),
        key=lambda i: (not _is_cpu(curve.axes[i].name), counts[i] > 2, counts[i], -i),
    )


def _panels(curves: Mapping[str, Curve], along: int) -> list[tuple[str, list[Line]]]:
    """Divide curves into panels of lines."""
    by_line: dict[tuple[str, str], list[Point]] = {}
    for name, curve in zip(_apart(list(curves)), curves.values(), strict=True):
        for point in curve.points:
            place = ", ".join(
                _at(axis, value)
                for i, (axis, value) in enumerate(zip(curve.axes, point.at, strict=True))
                if i != along
            )
            by_line.setdefault((name, place), []).append(point)
    places = list(dict.fromkeys(place for _, place in by_line))
    if len(curves) == 1:
        # A single curve: its other axes tell the lines apart.
        some = [_line(place or name, points, along) for (name, place), points in by_line.items()]
        return [("", _few(some))]
    if len(places) == 1:
        return [(places[0], [_line(n, points, along) for (n, _), points in by_line.items()])]
    panels: dict[str, list[Line]] = {}
    across = len(places) <= _MOST_PANELS
    for (name, place), points in by_line.items():
        title, line = (place, name) if across else (name, place)
        panels.setdefault(title, []).append(_line(line, points, along))
    return [(title, _few(some)) for title, some in panels.items()]


def _line(name: str, points: Sequence[Point], along: int) -> Line:
    points = sorted(points, key=lambda p: p.at[along])
    return Line(
        name=name,
        x=[p.at[along] for p in points],
        y=[p.value for p in points],
        low=[None if p.ci is None else p.ci[0] for p in points],
        high=[None if p.ci is None else p.ci[1] for p in points],
    )


def _few(some: list[Line]) -> list[Line]:
    """Of too many lines keep the least, the middle and the largest, by their medians."""
    if len(some) <= _MOST_LINES:
        return some
    order = sorted(some, key=lambda line: sum(line.y) / len(line.y))
    kept = (("least", order[0]), ("middle", order[len(order) // 2]), ("largest", order[-1]))
    return [Line(f"{word}: {line.name}", line.x, line.y, line.low, line.high)
            for word, line in kept]  # fmt: skip


def _at(axis: CurveAxis, value: int) -> str:
    number = place(value, axis.unit)
    if axis.name in _NAMES:
        return _NAMES[axis.name][value != 1].format(number)
    return f"{_words(axis)} {number}"


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


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def _title(name: str, probe: Probe | None) -> str:
    if probe is None:
        return name
    return probe.title[:1].upper() + probe.title[1:]


def _alternative(
    panels: Sequence[tuple[str, Sequence[Line]]], x: CurveAxis, y: str, across: str, unit: str
) -> Message:
    """Say where each line begins and ends, and its extreme where that is neither."""
    every = [(title, line) for title, some in panels for line in some]
    single, titled = len(every) == 1, len(panels) > 1
    return message(
        "fingerprint.chart.lines",
        y=y,
        x=across,
        lines=[
            _described(
                line,
                None
                if single
                else ", ".join([title, line.name] if title and titled else [line.name]),
                x.unit,
                unit,
            )
            for title, line in every[:_MOST_NAMED]
        ],
        more=max(0, len(every) - _MOST_NAMED),
    )


def _described(line: Line, name: str | None, x_unit: str, y_unit: str) -> Message:
    first, last = 0, len(line.x) - 1
    most = max(range(len(line.y)), key=line.y.__getitem__)
    beyond = most not in (first, last) and line.y[most] > 1.05 * max(line.y[first], line.y[last])
    return message(
        "fingerprint.chart.line",
        name=name,
        first=_point(line, first, x_unit, y_unit),
        last=_point(line, last, x_unit, y_unit) if last else None,
        most=_point(line, most, x_unit, y_unit) if beyond else None,
    )


def _point(line: Line, i: int, x_unit: str, y_unit: str) -> Message:
    return message(
        "fingerprint.chart.point", value=Amount(line.y[i], y_unit), at=place(line.x[i], x_unit)
    )


def _said(fingerprint: Fingerprint, cache: str) -> float | None:
    """Return a cache's size as the kernel says it."""
    size = fingerprint.facts.get(f"{cache}_bytes")
    return float(size) if isinstance(size, int | float) else None


def _caches(rules: Sequence[Rule]) -> list[Message]:
    if not rules:
        return []
    found = [_cache(rule, rule.at) for rule in rules]
    reported = [_cache(rule, rule.said) for rule in rules if rule.said is not None]
    said = [message("fingerprint.chart.caches", caches=found)]
    if reported:
        said.append(message("fingerprint.chart.reported", caches=reported))
    return said


def _cache(rule: Rule, size: float) -> Message:
    name = rule.label.split()[0]
    return message("fingerprint.chart.cache", name=name, size=place(size, "bytes"))
