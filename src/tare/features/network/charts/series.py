"""What charts of networks are drawn of: one measurement in one direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.features.network import phrases
from tare.features.network.measure.summary import Summary, summaries
from tare.networks.recording.folder import Measured
from tare.networks.recording.intervals import IntervalTable
from tare.results.message import Message, message
from tare.units import chosen


@dataclass(frozen=True)
class Series:
    """One measurement in one direction, with the name that tells it from the others."""

    name: str
    measured: Measured
    course: IntervalTable


@dataclass(frozen=True)
class Group:
    """One pattern with one size of writes, in short, with the name that tells it from others."""

    name: str
    series: str
    summary: Summary


def series(some: Sequence[Measured]) -> list[Series]:
    """Return what was measured, by folder and direction."""
    several = len(some) > 1
    return [
        Series(
            _joined(one.name if several else "", direction if len(one.courses) > 1 else ""),
            one,
            course,
        )
        for one in some
        for direction, course in one.courses.items()
    ]


def named(name: str, said: Message) -> Message:
    """Say what it is said of, where there are several."""
    return message(phrases.NAMED, name=name, said=said) if name else said


def grouped(some: Sequence[Measured]) -> list[Group]:
    """Return what was measured, by folder, pattern, size of writes and direction."""
    found = [(one, summary) for one in some for summary in summaries(one)]
    directions = len({summary.direction for _, summary in found}) > 1
    sizes = len({summary.write_bytes for _, summary in found}) > 1
    return [
        Group(
            _joined(
                one.name if len(some) > 1 else "",
                summary.pattern,
                chosen(summary.write_bytes, "bytes") if sizes else "",
                summary.direction if directions else "",
            ),
            _joined(one.name if len(some) > 1 else "", summary.direction if directions else ""),
            summary,
        )
        for one, summary in found
    ]


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
