"""A measurement's folder, read: as columns in bounded memory, and as a trace of bandwidth."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tare.agent.record import Connected, Direction, Ended, Interval
from tare.errors import StoreError, Typed
from tare.networks.recording import lines, starved, writer
from tare.networks.recording.intervals import IntervalColumns, IntervalTable
from tare.networks.recording.lines import Phase
from tare.networks.recording.starved import Lack
from tare.networks.recording.timeline import Reader
from tare.networks.recording.writer import Asked
from tare.networks.shaping.trace import Floats, Trace
from tare.results.message import Message, Said

#: Ethernet, IP of version 4, TCP with its time stamps: what the wire has beside a segment.
_HEADERS, _IP6_MORE = 14 + 20 + 20 + 12, 20
#: Payload of a round trip beside the data, in each direction.
_PING_BYTES = 64


@dataclass(frozen=True)
class Measured:
    """A measurement, read.

    Attributes
    ----------
    name : str
        The folder's.
    begun_ns : int or None
        When it began, ns since 1970.
    end_s : float
        When the last that was told ended.
    phases : dict of int to Phase
    phases_over : frozenset of int
        Those that came to their end.
    connected : tuple of (float, Connected)
    gaps : tuple of (float, float, Said)
        When nothing was measured, and why.
    courses : dict of str to IntervalTable
        By direction.
    notes : tuple of Message
        What was wrong with the trace.
    ended : Ended or None
        Why it ended before all that was asked; None: it did not, or it is not known.
    """

    name: str
    asked: Asked
    begun_ns: int | None
    end_s: float
    phases: dict[int, Phase]
    phases_over: frozenset[int]
    connected: tuple[tuple[float, Connected], ...]
    gaps: tuple[tuple[float, float, Said], ...]
    courses: dict[Direction, IntervalTable]
    notes: tuple[Message, ...]
    ended: Ended | None = None

    @property
    def facts(self) -> dict[str, dict[str, str]]:
        """Return the facts that both ends, ``here`` and ``there``, reported last."""
        if not self.connected:
            return {"here": {}, "there": {}}
        last = self.connected[-1][1]
        return {
            "here": {fact.name: fact.value for fact in last.here},
            "there": {fact.name: fact.value for fact in last.there},
        }

    def left_ns(self) -> dict[int, int]:
        """Return how much of each phase that was asked for is still to be measured."""
        left = {}
        for order in self.asked.phases:
            if order.id in self.phases_over:
                continue
            done_s = sum(_spent_s(course, order.id) for course in self.courses.values())
            done_s /= max(1, len(self.courses))
            rest_ns = order.duration_ns - round(1e9 * done_s)
            if rest_ns > 0:
                left[order.id] = rest_ns
        return left


def _spent_s(course: IntervalTable, phase: int) -> float:
    of_it = course.phase == phase
    return float((course.end_s[of_it] - course.start_s[of_it]).sum())


def read(folder: Path) -> Measured:
    """Read a measurement.

    Parameters
    ----------
    folder : Path
        As ``tare net measure --out`` made it; it may still be measured.

    Raises
    ------
    StoreError
        If it holds none, or one of another version.
    """
    asked = writer.read_asked(folder)
    reader = Reader(folder, lines.decode_quickly)
    columns: dict[Direction, IntervalColumns] = {}
    for start_s, end_s, interval in reader.intervals():
        if interval.direction not in columns:
            columns[interval.direction] = IntervalColumns(interval.direction)
        columns[interval.direction].add(start_s, end_s, interval)
    return Measured(
        name=folder.resolve().name,
        asked=asked,
        begun_ns=reader.begun_ns,
        end_s=reader.end_s,
        phases=reader.phases,
        phases_over=frozenset(reader.phases_over),
        connected=tuple(reader.connected),
        gaps=tuple(reader.gaps),
        courses={direction: some.course() for direction, some in columns.items()},
        notes=tuple(reader.notes),
        ended=reader.ended,
    )


def intervals(folder: Path) -> Iterator[tuple[float, float, Interval]]:
    """Yield every interval with its start and end in seconds; histograms are in it."""
    yield from Reader(folder).intervals()


def trace(source: Path | Measured, direction: Direction | None = None) -> Trace:
    """Return how much a network carried, interval by interval, in payload bits: data, round trips.

    Parameters
    ----------
    source : Path or Measured
        A measurement's folder, or what :func:`read` made of it.
    direction : str, optional
        ``out`` or ``in``; by default the one that was measured, ``out`` of both.

    Returns
    -------
    Trace
        Rests are intervals in which nothing was to be sent, or only for a moment; gaps are left
        out.

    Raises
    ------
    StoreError
        If there is no measurement, or nothing was measured in that direction.
    """
    measured = read(source) if isinstance(source, Path) else source
    course = chosen(measured, direction)
    return carried(
        course,
        streams=measured.asked.streams,
        pings=measured.asked.pings,
        ip6=measured.asked.host.count(":") > 1,
    )


def carried(course: IntervalTable, *, streams: int, pings: int | None, ip6: bool) -> Trace:
    """Return what was carried, whether it is still measured or is read from a folder.

    Parameters
    ----------
    course : IntervalTable
    streams : int
    pings : int or None
        Round trips a second beside the data.
    ip6 : bool
        Whether headers are those of IP version 6.
    """
    segments = course.segment_bytes[course.segment_bytes > 0]
    wire = wire_bits(float(np.median(segments)) if len(segments) else 0.0, ip6=ip6)
    round_trips = ping_bits(pings, course.end_s - course.start_s, ip6=ip6)
    return Trace(
        start_s=course.start_s,
        end_s=course.end_s,
        bits=8 * course.acked_bytes + round_trips / wire,
        on_s=np.where(course.sends, course.on_s, 0.0),
        wire=wire,
        starved=starved.starved(starved.of_course(course, streams)).either,
    )


def lacks(measured: Measured, direction: Direction | None = None) -> tuple[Lack, ...]:
    """Return the ends that had no CPU while a direction was measured, the worst first."""
    work = starved.of_course(chosen(measured, direction), measured.asked.streams)
    return starved.lacks(work, starved.starved(work))


def wire_bits(segment_bytes: float, *, ip6: bool) -> float:
    """Return the bits on the wire for each bit of payload in segments of a size; 0: not known."""
    headers = _HEADERS + (_IP6_MORE if ip6 else 0)
    return (segment_bytes + headers) / segment_bytes if segment_bytes else 1.0


def ping_bits(pings: int | None, seconds: Floats, *, ip6: bool) -> Floats:
    """Return the bits on the wire of round trips beside the data, so many a second, in some times.

    A link of 10 Mbit/s gives one per cent of what it carries to a hundred of them a second. None:
    as many as come, which are none beside data.
    """
    size = _PING_BYTES + _HEADERS + (_IP6_MORE if ip6 else 0)
    return 8.0 * size * (pings or 0) * seconds


def chosen(measured: Measured, direction: Direction | None = None) -> IntervalTable:
    """Return what was seen in a direction; by default in the first that was measured.

    Raises
    ------
    StoreError
        If nothing was.
    """
    wanted: tuple[Direction, ...] = (direction,) if direction in ("out", "in") else ("out", "in")
    for one in wanted:
        if one in measured.courses:
            return measured.courses[one]
    other = next(iter(measured.courses), None)
    which = f" in the direction {direction!r}" if other else ""
    hint = None if other is None else Typed(shlex.join(["--direction", other]))
    raise StoreError(f"nothing was measured{which} in {measured.name}", hint)


def groups(measured: Measured) -> list[list[Phase]]:
    """Return the phases that asked for the same, together; rests are left out."""
    same: dict[tuple[int, int, int], list[Phase]] = {}
    for phase in measured.phases.values():
        if phase.on_ns:
            key = (phase.on_ns if phase.off_ns else 0, phase.off_ns, phase.write_bytes)
            same.setdefault(key, []).append(phase)
    return list(same.values())


def sending(course: IntervalTable, phases: Sequence[Phase]) -> NDArray[np.bool_]:
    """Say which intervals are of some phases and sent for most of what they could."""
    mine = np.isin(course.phase, [phase.id for phase in phases])
    on_s = np.where(mine, course.on_s, 0.0)
    most = float(on_s.max(initial=0.0))
    return mine & (on_s > 0) & (on_s >= 0.5 * most)


def rates(
    measured: Measured,
) -> Iterator[tuple[IntervalTable, Sequence[Phase], NDArray[np.bool_]]]:
    """Yield each direction and pattern that carried data: which intervals sent for most of it."""
    for course in measured.courses.values():
        for phases in groups(measured):
            used = sending(course, phases) & np.isfinite(course.rate_bps)
            if used.any():
                yield course, phases, used
