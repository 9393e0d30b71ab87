"""What iperf3 writes: intervals of one run, or of several that were appended to one file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file
from tare.readers.format import Format
from tare.readers.json_file import Node
from tare.readers.readings import counted, each_once, number, readings_of, told_apart
from tare.readers.series import Columns, Imported, Series, Specification
from tare.registry import Description
from tare.results.message import Chosen, Message, message

#: What an interval can tell: metric, unit, seconds or so of its unit, whether less is better.
_METRICS: dict[str, tuple[str, str | None, float, bool | None]] = {
    "bits_per_second": ("bandwidth", "bits/s", 1.0, False),
    "bytes": ("bytes", "bytes", 1.0, False),
    "retransmits": ("retransmits", None, 1.0, True),
    "jitter_ms": ("jitter", "s", 1e-3, True),
    "lost_packets": ("lost packets", None, 1.0, True),
    "lost_percent": ("lost packets", "%", 1.0, True),
}
_SUMS = ("sum", "sum_bidir_reverse")


@dataclass
class Run:
    """One execution of iperf3, whether it wrote one document or a stream of events."""

    start: Node
    intervals: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """One direction of one run: its intervals that count, and notes on them."""

    key: tuple[tuple[str, str], ...]
    intervals: Sequence[Node]
    notes: tuple[Message, ...]


def recognises(head: bytes, file: Path) -> bool:
    """Whether it begins as iperf3's do, with a start or as a stream of events."""
    found = json_file.outline(head)
    if {"start.connected", "start.version"} <= found or {"event", "data"} <= found:
        return True
    return {"end.cpu_utilization_percent", "end.streams"} & found != set()  # sorted by another tool


def read(file: Path, columns: Columns) -> Imported:
    """Read the intervals of each direction; ``columns.value`` names another of their fields."""
    runs, errors = runs_of(json_file.load_each(file))
    metric = columns.value or "bits_per_second"
    if metric not in _METRICS:
        raise InputError(
            f"{file}: intervals of iperf3 have no {metric!r}",
            f"--value takes {', '.join(_METRICS)}",
        )
    parts: dict[tuple[tuple[str, str], ...], list[Part]] = {}
    for run in runs:
        for part in parts_of(run):
            parts.setdefault(part.key, []).append(part)
    if not parts:
        why = errors[0] if errors else "the run has no intervals"
        raise InputError(f"{file} holds no measurement: {why}", "let iperf3 run again")
    series = told_apart(_series(of_key, metric) for of_key in parts.values())
    failed = [message("interop.iperf3.failed", error=error) for error in errors]
    return Imported(
        file=file,
        series=series,
        specification=Specification(
            repetitions=message(
                "interop.iperf3.repetitions",
                runs=counted([len(runs)], "run"),
                intervals=counted(
                    (len(p.intervals) for ps in parts.values() for p in ps), "interval"
                ),
            ),
            statistic=message("interop.statistic.mean"),
            environment=_environment(runs[0].start),
        ),
        notes=tuple(failed),
    )


def runs_of(documents: Iterable[Node]) -> tuple[list[Run], list[str]]:
    """Return the runs that documents or events tell of, and the errors that runs ended with."""
    runs: list[Run] = []
    errors: list[str] = []
    streamed = False
    for document in documents:
        event = document.find("event")
        if event is None:
            if streamed and document.find("intervals") is not None:
                streamed = False  # --json-stream-full-output says everything again at the end
                continue
            run = Run(document.at("start"))
            intervals, error = document.find("intervals"), document.find("error")
            run.intervals = list(intervals.each()) if intervals else []
            runs += [run] if run.intervals else []
            errors += [error.text()] if error else []
        elif event.value == "start":
            runs.append(Run(document.at("data")))
            streamed = True
        elif event.value == "interval" and runs:
            runs[-1].intervals.append(document.at("data"))
        elif event.value == "error":
            errors.append(document.at("data").text())
    return [run for run in runs if run.intervals], errors


def parts_of(run: Run) -> list[Part]:
    """Return the directions of a run, each with the intervals that count."""
    parts = []
    for name in _SUMS:
        sums = [found for interval in run.intervals if (found := interval.find(name))]
        if not sums:
            continue
        omitted = [one.value.get("omitted") is True for one in sums if _object(one)]
        kept = [one for one in sums if one.value.get("omitted") is not True]
        seconds = np.array([number(one.value.get("seconds")) for one in kept])
        short = seconds < np.nanmedian(seconds) / 2 if np.isfinite(seconds).any() else seconds < 0
        notes = []
        if any(omitted):
            notes.append(message("interop.warm_up", count=counted([sum(omitted)], "interval")))
        if short.any():
            notes.append(message("interop.iperf3.cut_short", n=int(short.sum())))
        parts.append(
            Part(
                key=tuple(_key(run.start, name).items()),
                intervals=[one for one, cut in zip(kept, short, strict=True) if not cut],
                notes=(*notes, *_limits(run)),
            )
        )
    return parts


def _object(node: Node) -> bool:
    if not isinstance(node.value, dict):
        raise node.wrong("expected an object")
    return True


def _key(start: Node, name: str) -> dict[str, str]:
    test, server = start.find("test_start"), start.find("connecting_to")
    about = dict(test.pairs()) if test else {}
    backwards = (number(about["reverse"].value) == 1) if "reverse" in about else False
    host = server.find("host") if server else None
    return {
        **({"server": host.text()} if host else {}),
        **({"protocol": about["protocol"].text()} if "protocol" in about else {}),
        **({"streams": about["num_streams"].word()} if "num_streams" in about else {}),
        "direction": "to client" if backwards or name != "sum" else "to server",
    }


def _limits(run: Run) -> list[Message]:
    test = run.start.find("test_start")
    target = number(test.value.get("target_bitrate")) if test and _object(test) else 0.0
    return [message("interop.iperf3.limited", rate=Chosen(target, "bits/s"))] if target > 0 else []


def _series(parts: Sequence[Part], metric: str) -> Series:
    name, unit, scale, lower = _METRICS[metric]
    intervals = [one for part in parts for one in part.intervals]
    trial = np.repeat(np.arange(len(parts)), [len(part.intervals) for part in parts])
    values = [Node(x.file, f"{x.path}.{metric}", x.value.get(metric)) for x in intervals]
    found = readings_of(values, scale)
    return Series(
        key=dict(parts[0].key),
        values=found.values,
        metric=name,
        unit=unit,
        lower_is_better=lower,
        trial=trial[found.kept] if len(parts) > 1 else None,
        defects=found.defects,
        notes=each_once(note for part in parts for note in part.notes),
    )


def _environment(start: Node) -> str | None:
    system, version = start.find("system_info"), start.find("version")
    words = system.text().split() if system else []
    # As uname -a says it: the second word is the name of the machine.
    phrase = " ".join([*words[:1], *words[2:3], *words[-1:]]) if len(words) > 3 else ""
    return ", ".join(filter(None, [phrase, version.text() if version else ""])) or None


UNIT = Format(
    description=Description(
        name="iperf3",
        title="iperf3: the JSON of -J and --json-stream, one run or several",
        question="What did the network carry in each interval?",
        source="iperf 3.12 to 3.21, src/iperf_api.c",
    ),
    recognises=recognises,
    read=read,
)
