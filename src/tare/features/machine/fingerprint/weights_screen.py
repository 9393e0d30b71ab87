"""What ``tare fingerprint`` prints of several platforms: the overhead of each, by primitive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from tare.cli import console
from tare.experiment.fingerprints.machine.document import Figure
from tare.features.machine.fingerprint import summary
from tare.features.machine.fingerprint.page_primitives import (
    SHOWN,
    clocks_told,
    cpu_told,
    drift_told,
    ratio_told,
)
from tare.features.machine.fingerprint.screen import bounds, missing
from tare.features.machine.fingerprint.weights import Weighed, Weights
from tare.render.words import sentences, text
from tare.results.message import message
from tare.units import quantity

_ABSENT = "–"
#: Between columns.
_GAP = "  "


def show(found: Weights, *, named: bool = False, json: str | None = None) -> None:
    """Print the overhead of platforms.

    Parameters
    ----------
    found : Weights
    named : bool
        Whether probes were asked for by name: then every figure is shown.
    json : str or None
        File that has all of it.
    """
    first, *others = found.platforms
    for said in sentences(summary.versus(one, first.platform) for one in others):
        console.out.print(said, style="bold", soft_wrap=True)
    besides = (summary.apart(one, first) for one in others)
    for said in sentences(one for one in besides if one is not None):
        console.out.print(said, soft_wrap=True)
    rows = _rows(found.platforms, named=named)
    labels = max(len(label) for label, _ in rows)
    room = max(console.out.width, 60) - labels
    shown = [index for index, one in enumerate(others, 1) if one.why is None or one.costs]
    for some in _fitting(rows, shown, room):
        console.out.print()
        for line in _lines(rows, [0, *some], labels):
            console.out.print(line, soft_wrap=True)
    console.out.print(Text(text(message("fingerprint.platform.marks")), style="dim"))
    missing(
        [(f"{one.platform}, {p.probe}", p.why) for one in found.platforms for p in one.problems],
        json,
    )
    console.out.print()


Rows = list[tuple[str, list[str]]]


def _rows(platforms: Sequence[Weighed], *, named: bool) -> Rows:
    """Return each row's label and its cell on every platform."""
    heads = [f"{one.platform} (emulated)" if one.emulated else one.platform for one in platforms]
    rows: Rows = [("", heads)]
    starts = (("first start", "cold"), ("later starts", "warm"), ("tear-down", "stop"))
    for label, key in starts:
        started = [None if s is None else getattr(s, key) for s in (p.starting for p in platforms)]
        rows.append((label, list(map(_value, started))))
    for label, metric in _metrics(platforms[0], named=named):
        own = platforms[0].fingerprint and platforms[0].fingerprint.metrics.get(metric)
        cells = [ratio_told(one, metric) or _ABSENT for one in platforms[1:]]
        rows.append((label, [_value(own or None), *cells]))
    if platforms[0].fingerprint is not None:
        spread = platforms[0].fingerprint.metrics.get("trial.spread")
        cells = [ratio_told(one, "trial.spread") or _ABSENT for one in platforms[1:]]
        rows.append(("a trial's p90 ÷ p10", [_value(spread), *cells]))
    for label, real in (("clock, monotonic", False), ("clock, realtime", True)):
        told = [clocks_told(one.clocks, realtime=real) or _ABSENT for one in platforms]
        rows.append((label, told))
    rows.append(("clock, drift", [drift_told(one.clocks) or _ABSENT for one in platforms]))
    rows += _held(platforms)
    return [row for row in rows if any(cell != _ABSENT for cell in row[1])]


def _metrics(first: Weighed, *, named: bool) -> list[tuple[str, str]]:
    measured = first.fingerprint.metrics if first.fingerprint is not None else {}
    if named:
        return [(metric, metric) for metric in measured if metric != "trial.spread"]
    return [(f"{label}, {m}" if label else m, m) for label, m in SHOWN if m in measured]


def _held(platforms: Sequence[Weighed]) -> Rows:
    """Return what each holds on the host."""
    held = [one.holding for one in platforms]
    around = [
        _ABSENT if h is None or h.around_memory_bytes is None
        else quantity(h.around_memory_bytes, "bytes") for h in held
    ]  # fmt: skip
    agents = [
        _ABSENT if h is None or h.agent_memory_bytes is None
        else quantity(h.agent_memory_bytes, "bytes") for h in held
    ]  # fmt: skip
    shares = [cpu_told(h) or _ABSENT for h in held]
    return [
        ("memory around the agent", around),
        ("memory of the agent", agents),
        ("CPU around the agent", shares),
    ]


def _value(one: Figure | None) -> str:
    if one is None:
        return _ABSENT
    value = quantity(one.value, one.unit)
    return value if one.ci is None else f"{value} {bounds(*one.ci, one.unit)}"


def _fitting(rows: Rows, shown: Sequence[int], room: int) -> Iterable[list[int]]:
    """Yield the platforms of each table, so many as fit next to the first."""
    widths = [max(len(row[1][i]) for row in rows) + len(_GAP) for i in range(len(rows[0][1]))]
    some: list[int] = []
    for index in shown:
        if some and widths[0] + sum(widths[i] for i in [*some, index]) > room:
            yield some
            some = []
        some = [*some, index]
    yield some


def _lines(rows: Rows, shown: Sequence[int], labels: int) -> Iterable[str]:
    widths = [max(len(row[1][i]) for row in rows) for i in shown]
    for label, cells in rows:
        padded = (cells[i].rjust(width) for i, width in zip(shown, widths, strict=True))
        yield _GAP.join([label.ljust(labels), *padded]).rstrip()
