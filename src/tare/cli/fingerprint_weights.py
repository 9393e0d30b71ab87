"""What ``tare fingerprint`` prints of several platforms: what each costs, by primitive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from tare.cli import output
from tare.fingerprint.document import Figure
from tare.fingerprint.weights import Weighed, Weights
from tare.render.words import listing
from tare.report.fingerprint_primitives import SHOWN, clocks_told, cpu_told, drift_told, ratio_told
from tare.units import counted, quantity, significant

_ABSENT = "–"
#: Between columns.
_GAP = "  "
#: Figures that are named below the table.
_MOST = 8
_LEGEND = "▲ surely costs more, by more than matters   ▽ surely less   = the same   ? inconclusive"


def show(found: Weights, *, named: bool = False) -> None:
    """Print what platforms weigh.

    Parameters
    ----------
    found : Weights
    named : bool
        Whether probes were asked for by name: then every figure is shown.
    """
    first, *others = found.platforms
    _headline(found)
    rows = _rows(found.platforms, named=named)
    labels = max(len(label) for label, _ in rows)
    room = max(output.out.width, 60) - labels
    shown = [index for index, one in enumerate(others, 1) if one.why is None or one.costs]
    for some in _fitting(rows, shown, room):
        output.out.print()
        for line in _lines(rows, [0, *some], labels):
            output.out.print(line, soft_wrap=True)
    output.out.print(Text(_LEGEND, style="dim"), soft_wrap=True)
    output.out.print()
    for one in others:
        _answer(one, first.platform)
    for one in found.platforms:
        _missing(one)
    output.out.print()


def _headline(found: Weights) -> None:
    first = found.platforms[0].platform
    n = counted(len(found.platforms), "platform")
    output.out.print(
        f"Weight of {n}, beside {first} · {found.effort}, {output.seconds(found.seconds)}",
        style="bold", soft_wrap=True,
    )  # fmt: skip
    for one in found.platforms[1:]:
        if one.emulated:
            output.out.print(
                f"{one.platform} IS EMULATED: its instructions are translated, not executed. What "
                "is in brackets says how slow that is here, not what the platform costs.",
                style="bold yellow",
            )


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
    text = quantity(one.value, one.unit)
    if one.ci is None:
        return text
    from tare.cli.fingerprint_screen import bounds

    return f"{text} {bounds(*one.ci, one.unit)}"


def _fitting(rows: Rows, shown: Sequence[int], room: int) -> Iterable[list[int]]:
    """Yield the platforms of each table, so many as fit beside the first."""
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


def _answer(one: Weighed, first: str) -> None:
    """Say in one line what a platform costs."""
    if one.why is not None and not one.costs:
        output.out.print(f"Missing {one.platform}: {one.why}", style="yellow", soft_wrap=True)
        return
    if one.emulated:
        return
    dear = sorted((c for c in one.costs if c.verdict == "costs"), key=lambda c: -c.ratio)
    if not dear:
        text = f"nothing is surely dearer than on {first}, by more than matters"
    else:
        named = [f"{c.metric} × {significant(c.ratio)}" for c in dear[:_MOST]]
        more = len(dear) - len(named)
        text = f"dearer than {first}: {listing([*named, *([f'{more} more'] if more else [])])}"
    same = sum(c.verdict == "same" for c in one.costs)
    output.out.print(
        f"{one.platform}: {text}; the same: {same} of {counted(len(one.costs), 'figure')}",
        soft_wrap=True,
    )


def _missing(one: Weighed) -> None:
    for problem in one.problems:
        output.out.print(
            f"Missing {one.platform}, {problem.probe}: {problem.why}",
            style="yellow", soft_wrap=True,
        )  # fmt: skip
