"""Bandwidth over time of iperf3's runs, as the receiver got it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.networks.recording.folder import wire_bits
from tare.networks.shaping.trace import Trace, Traced, with_rests
from tare.readers.iperf3_runs import (
    Direction,
    Run,
    directions_of,
    load,
    no_measurement,
    notes_on,
    time_of,
)
from tare.readers.json_file import Node
from tare.readers.readings import each_once, number
from tare.readers.series import FloatArray
from tare.results.message import Amount, Message, message

#: Share of lost datagrams up to which what was sent is what was received.
_LITTLE = 0.01
#: Share of the mean rate with which a buffer, once it is full, is taken to be emptied.
_FULL = 0.9
#: Times the content of the buffer that an interval of writes must have: a writer waits until a
#: third of it is free (sk_stream_is_writeable), which is then 8 % of the interval.
_BUFFERS = 4
#: Conditions that tell traces apart.
_NAMED = ("server", "protocol", "streams", "direction")
#: Bytes on the wire besides a datagram: Ethernet, IP of version 4, UDP.
_UDP_HEADERS = 14 + 20 + 8


@dataclass(frozen=True, eq=False)
class _Part:
    """One direction of one run, in seconds since that run began."""

    start_s: FloatArray
    end_s: FloatArray
    bits: FloatArray
    notes: tuple[Message, ...]


def traces(file: Path) -> list[Traced]:
    """Read what was carried in each direction; runs follow each other with idle periods.

    Raises
    ------
    InputError
        If there is nothing, a number is none, or runs overlap; names the place.
    """
    runs, errors = load(file)
    # Runs differ in their lengths and limits, and are parts of one trace all the same.
    found: dict[str, list[tuple[int, float, Direction, _Part]]] = {}
    first: float | None = None
    ended = 0.0
    for order, run in enumerate(runs):
        directions = [one for one in directions_of(run) if one.intervals]
        begun = next((one.begin_s for one in directions), None)
        first = begun if first is None else first
        offset = ended if begun is None or first is None else begun - first
        for one in directions:
            part = _part(one)
            name = " ".join(one.key.get(k, "") for k in _NAMED)
            found.setdefault(name, []).append((order, offset, one, part))
            ended = max(ended, offset + float(part.end_s[-1]))
    if not found:
        raise no_measurement(file, errors)
    failed = tuple(message("a run failed: {error}", error=error) for error in errors)
    wires = [wire for run in runs if (wire := _wire(run)) != 1]
    return [
        _traced(file, parts, failed, wires[0] if wires else 1.0) for parts in found.values()
    ]  # fmt: skip


def _traced(
    file: Path,
    parts: Sequence[tuple[int, float, Direction, _Part]],
    failed: tuple[Message, ...],
    wire: float,
) -> Traced:
    start, end, bits, run = (
        np.concatenate(column)
        for column in zip(
            *(
                (part.start_s + offset, part.end_s + offset, part.bits, np.full(len(part.bits), k))
                for k, offset, _, part in parts
            ),
            strict=True,
        )
    )
    wrong = np.flatnonzero((end <= start) | np.append(False, np.diff(start) <= 0))
    if len(wrong):
        raise InputError(
            f"{file}: interval {int(wrong[0]) + 1} begins before the one before it ended",
            "keep runs that were at the same time in files of their own",
        )
    # Rounding lets intervals overlap by microseconds.
    end[:-1] = np.minimum(end[:-1], start[1:])
    notes = each_once(note for _, _, _, part in parts for note in part.notes)
    trace = Trace(start - start[0], end - start[0], bits, end - start, wire)
    between = np.flatnonzero(np.diff(run) > 0)
    if len(between):
        trace = with_rests(trace, between)
        notes = (
            *notes,
            message("{n} runs follow each other, with idle periods in between", n=len(between) + 1),
        )
    key = {name: parts[0][2].key[name] for name in _NAMED if name in parts[0][2].key}
    return Traced(key, trace, (*failed, *notes))


def _part(direction: Direction) -> _Part:
    """Return what the receiver got; of what only the sender counted, what is known of it."""
    intervals = direction.intervals
    start, end = (
        np.array([time_of(one.at(name)) for one in intervals]) for name in ("start", "end")
    )
    bits = np.array([_bits(one) for one in intervals])
    notes = [*direction.notes, *notes_on(direction)]
    if direction.end == "receiver":
        return _Part(start, end, bits, tuple(notes))
    carried = direction.carried
    got = 8 * number(carried.value.get("bytes")) if carried is not None else math.nan
    if not 0 <= got < math.inf:
        return _Part(start, end, bits, tuple(notes))
    sent = float(np.nansum(bits))
    if not direction.is_udp:
        notes.append(
            message(
                "the intervals are the sender's writes into its socket buffer, joined until its "
                "size matters little. -R or --get-server-output has the receiver's"
            )
        )
        passed = _without_buffer(bits, end - start, sent, got)
        begins = _begins(passed, _BUFFERS * max(0.0, sent - got))
        ends = end[np.append(begins[1:], len(end)) - 1]
        return _Part(start[begins], ends, np.add.reduceat(passed, begins), tuple(notes))
    if (direction.lost or 0.0) <= _LITTLE:
        return _Part(start, end, bits, tuple(notes))
    lasts = float(end[-1] - start[0])
    rate = number(carried.value.get("bits_per_second")) if carried else math.nan
    notes.append(
        message(
            "{lost} of the packets were lost: {sent} was sent, {received} was received. The "
            "file does not say when: -R or --get-server-output has the receiver's intervals",
            lost=Amount(direction.lost, "share"),
            sent=Amount(sent / lasts, "bits/s"),
            received=Amount(rate, "bits/s"),
        )
    )
    return _Part(start[:1], end[-1:], np.array([rate * lasts]), tuple(notes))


def _without_buffer(bits: FloatArray, lasts: FloatArray, sent: float, got: float) -> FloatArray:
    """Return what was written to a socket without what was never received.

    That is in the buffer and in queues, which the first writes filled: these are scaled.
    """
    buffered = max(0.0, sent - got)
    written, time = np.cumsum(np.nan_to_num(bits)), np.cumsum(lasts)
    is_full = written >= buffered + _FULL * got * time / time[-1]
    filling = int(np.argmax(is_full)) + 1 if is_full.any() else len(bits)
    scaled = bits.copy()
    if written[filling - 1] > buffered:
        scaled[:filling] *= 1 - buffered / written[filling - 1]
    return scaled


def _begins(bits: FloatArray, least: float) -> np.ndarray:
    """Return where intervals begin that are joined until each has so many bits."""
    begins, some = [0], 0.0
    for i, one in enumerate(np.nan_to_num(bits).tolist()):
        if some >= least and i > 0:
            begins.append(i)
            some = 0.0
        some += one
    if len(begins) > 1 and some < least:
        begins.pop()
    return np.array(begins)


def _bits(one: Node) -> float:
    count = one.find("bytes")
    if count is None:
        rate = one.find("bits_per_second")
        return math.nan if rate is None else _amount(rate) * number(one.value.get("seconds"))
    return 8 * _amount(count)


def _amount(node: Node) -> float:
    value = number(node.value)
    if not 0 <= value < math.inf:
        raise node.wrong("expected an amount that can be")
    return value


def _wire(run: Run) -> float:
    """Return the bits on the wire for each bit of payload; 1: not known."""
    test = run.start.find("test_start")
    if test is not None and test.value.get("protocol") == "UDP":
        size = number(test.value.get("blksize"))
        return (size + _UDP_HEADERS) / size if 0 < size < math.inf else 1.0
    found = map(run.start.find, ("tcp_mss", "tcp_mss_default"))
    segment = next(filter(None, found), None)
    size = math.nan if segment is None else number(segment.value)
    return wire_bits(size, ip6=False) if 0 < size < math.inf else 1.0
