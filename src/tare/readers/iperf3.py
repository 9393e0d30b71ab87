"""What iperf3 writes: one run, or several that were appended to one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file, phrases
from tare.readers.format import Format, Repeat
from tare.readers.iperf3_runs import (
    Direction,
    directions_of,
    environment,
    is_unread,
    load,
    no_measurement,
    notes_on,
)
from tare.readers.iperf3_traces import traces
from tare.readers.json_file import Node
from tare.readers.readings import counted, number, readings_of
from tare.readers.series import ColumnOptions, FailedRuns, Imported, Series, Specification, Timeline
from tare.readers.single_runs import identity, join
from tare.registry import Description
from tare.results.message import Amount, Message, message


@dataclass(frozen=True)
class _Metric:
    """One figure of all runs, such as the bandwidth.

    Attributes
    ----------
    name : str
    unit : str or None
        Of values after they are multiplied by ``scale``.
    lower_is_better : bool or None
    total : callable
        A direction to the object that has the figure; None where the file does not have it.
    field : str
        The figure's key in that object, and in intervals.
    """

    name: str
    unit: str | None
    scale: float
    lower_is_better: bool | None
    total: Callable[[Direction], Node | None]
    field: str


#: By the names that ``--value`` takes. The first is the default.
_METRICS = {
    "bits_per_second": _Metric(
        "bandwidth received", "bits/s", 1.0, False, lambda one: one.carried, "bits_per_second"
    ),
    "sent_bits_per_second": _Metric(
        "bandwidth sent", "bits/s", 1.0, False, lambda one: one.offered, "bits_per_second"
    ),
    "bytes": _Metric("bytes received", "bytes", 1.0, False, lambda one: one.carried, "bytes"),
    "lost_percent": _Metric(
        "packet loss", "%", 1.0, True, lambda one: one.losses, "lost_percent"
    ),
    "lost_packets": _Metric(
        "lost packets", None, 1.0, True, lambda one: one.losses, "lost_packets"
    ),
    "jitter_ms": _Metric("jitter", "s", 1e-3, True, lambda one: one.losses, "jitter_ms"),
    "retransmits": _Metric(
        "retransmits", None, 1.0, True, lambda one: None if one.is_udp else one.sent, "retransmits"
    ),
}  # fmt: skip
#: Intervals of a TCP sender, which vary more than what it sends.
_WRITTEN = "bandwidth written to the sender's socket"
_DEFAULT, _SENT, _LOSS = "bits_per_second", "sent_bits_per_second", "lost_percent"


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins as iperf3's do, with a start or as a stream of events, or as its text.

    A list of runs, as ``jq -s`` makes of several files, is one as well.
    """
    found = {path.removeprefix("[].") for path in json_file.outline(head)}
    if is_unread(head):
        return True
    if {"start.connected", "start.version"} <= found or {"event", "data"} <= found:
        return True
    return {"end.cpu_utilization_percent", "end.streams"} & found != set()  # sorted by another tool


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read a figure of each run and direction; ``columns.value`` names another than bandwidth."""
    metric = columns.value or _DEFAULT
    if metric not in _METRICS:
        raise InputError(
            f"{file}: runs of iperf3 have no {metric!r}",
            f"name one with --value: {', '.join(_METRICS)}",
        )
    runs, errors = load(file)
    counts = [run for run in runs if run.error is None] or runs
    directions = [one for run in counts for one in directions_of(run) if one.intervals]
    if not directions:
        raise no_measurement(file, errors)
    found: dict[object, list[Series]] = {}
    for one in directions:
        series = _series(one, metric)
        if series is None and metric == _DEFAULT:
            series = _series(one, _SENT)
        if series is not None:
            found.setdefault(identity(series), []).append(series)
    available = [name for name in _METRICS if any(_value(one, name) for one in directions)]
    if not found:
        raise InputError(
            f"{file} has no {metric}", f"it has: --value {', '.join(available) or 'nothing'}"
        )
    lost = None
    if errors:
        lost = FailedRuns(len(errors), len(errors) + len(counts), "run", because=(*errors,))
    others = [name for name in available if name != metric]
    return Imported(
        file=file,
        series=tuple(replace(one, failed=lost) for one in map(join, found.values())),
        specification=Specification(
            repetitions=message(
                "{runs} of {intervals}",
                runs=counted([len(counts)], "run"),
                intervals=counted((len(one.intervals) for one in directions), "interval"),
            ),
            statistic=message(phrases.STATISTIC_MEAN),
            spread=message(phrases.STATISTIC_EACH, what="run"),
            environment=environment(counts[0].start),
        ),
        notes=(message(phrases.OTHER_METRICS, names=others),),
    )


def _value(direction: Direction, metric: str) -> Node | None:
    """Return a figure of a run with its place; None where the file does not have it."""
    of = _METRICS[metric]
    total = of.total(direction)
    value = None if total is None else total.value.get(of.field)
    return None if total is None or value is None else _below(total, of.field)


def _below(node: Node, field: str) -> Node:
    return Node(node.file, f"{node.path}.{field}", node.value.get(field))


def _series(direction: Direction, metric: str) -> Series | None:
    """Return the series of one run; None where it does not have the figure."""
    value = _value(direction, metric)
    if value is None:
        return None
    of = _METRICS[metric]
    found = readings_of([value], of.scale)
    n, begin_s = len(found.values), direction.begin_s
    return Series(
        key=dict(direction.key),
        values=found.values,
        metric=of.name,
        unit=of.unit,
        lower_is_better=of.lower_is_better,
        trial=np.zeros(n, dtype=np.int64),
        position=None if begin_s is None else np.full(n, begin_s),
        defects=found.defects,
        notes=(*_notes(direction, metric), *direction.notes),
        timelines=tuple(_timelines(direction, metric)),
    )


def _timelines(direction: Direction, metric: str) -> Sequence[Timeline]:
    """Return the figure in every interval, and of received bandwidth the loss as well."""
    names = [metric, _LOSS] if metric == _DEFAULT else [metric]
    found = []
    for name in names:
        of = _METRICS[name]
        nodes = [_below(one, of.field) for one in direction.intervals if of.field in one.value]
        values = readings_of(nodes, of.scale).values
        if len(values) < 2:
            continue
        known = of.name
        if name in (_DEFAULT, _SENT) and direction.end == "sender":
            known = _METRICS[_SENT].name if direction.is_udp else _WRITTEN
        found.append(Timeline(known, of.unit, values))
    return found


def _notes(direction: Direction, metric: str) -> list[Message]:
    """Say what was lost, what limited the rate, and what is the sender's."""
    notes = []
    lost, offered = direction.lost, direction.offered
    rate = None if offered is None else number(offered.value.get("bits_per_second"))
    if lost and rate and metric == _DEFAULT:
        share, sent = Amount(lost, "share"), Amount(rate, "bits/s")
        notes.append(
            message(
                "{% if runs < of %}in {runs} of {of} runs, {% endif %}{least}"
                "{% if most != least %} to {most}{% endif %} of the packets were lost: "
                "{least_sent}{% if most_sent != least_sent %} to {most_sent}{% endif %} was "
                "sent",
                least=share,
                most=share,
                least_sent=sent,
                most_sent=sent,
                runs=1,
                of=1,
            )
        )
    if metric in (_DEFAULT, _SENT):
        notes += notes_on(direction)
    if direction.received is None and direction.carried and direction.end == "sender":
        notes.append(
            message(
                "the values are what was sent without what was lost, as this version does not "
                "state what was received"
            )
        )
    return notes


UNIT = Format(
    description=Description(
        name="iperf3",
        title="iperf3: the JSON of -J and --json-stream, one run or several",
        question="What did the receiver get in each run?",
        source="iperf 3.9 to 3.22, src/iperf_api.c",
    ),
    recognises=recognises,
    read=read,
    repeat=Repeat("iperf3 -c HOST -J >run$i.json", "run*.json", placeholders=("HOST",)),
    traces=traces,
    options=frozenset({"value"}),
)
