"""Traces of bandwidth from files, as steps that can be replayed."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tare import files
from tare.errors import InputError
from tare.networks.recording import folder, writer
from tare.networks.shaping.specification import Replay, Shaping
from tare.networks.shaping.trace import Trace, Traced
from tare.registry import units_of
from tare.results.message import Message, message

#: What the agent takes of one host; longer traces are replayed in coarser steps.
MOST_STEPS = 65_536
_LARGEST_FILE = 256 << 20
_HEAD_BYTES = 4096
_IPERF3_EXAMPLE = "let iperf3 write JSON, with -J"
_CSV_EXAMPLE = "second,bandwidth_gbps\n0,9.69\n1,9.68"

#: How columns of time are called; and of bandwidth, with the bits a second that one of it is.
_TIME = re.compile(r"(?:time|second|seconds|start|elapsed|t)(?:_s)?", re.IGNORECASE)
_RATES = {"gbps": 1e9, "mbps": 1e6, "kbps": 1e3, "bps": 1.0, "bits_per_second": 1.0}
_RATE = re.compile(r"(?:.*[_ (])?(gbps|mbps|kbps|bps|bits_per_second)\)?", re.IGNORECASE)

#: Start, end (None: at the start of the next) and bits a second.
_Row = tuple[float, float | None, float]


def resolved(shaping: Shaping) -> Shaping:
    """Return a shaping that can be carried out: a replay with the steps of its file.

    Raises
    ------
    StoreError
        If it names a measurement that cannot be read.
    InputError
        If it names a file that is missing, or holds no trace.
    """
    if not isinstance(shaping, Replay) or shaping.steps:
        return shaping
    found = trace(Path(shaping.origin))
    notes = tuple(note for note in found.notes if isinstance(note, Message))
    return msgspec.structs.replace(shaping, steps=steps(found.trace), notes=notes)


def trace(origin: Path) -> Traced:
    """Return the trace of a measurement's folder, of a CSV file or of iperf3's JSON."""
    if origin.is_dir() or origin.name in (writer.TRACE, writer.ASKED):
        measured = origin if origin.is_dir() else origin.parent
        return Traced({}, folder.trace(measured), ())
    try:
        with files.open_plain(origin, links=True) as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(
            f"cannot read {origin} to replay it: {error.strerror}",
            "replay: takes a folder of tare net measure --out, a CSV file, or iperf3's JSON",
        ) from error
    if len(data) > _LARGEST_FILE:
        raise InputError(f"{origin} is larger than {_LARGEST_FILE >> 20} MiB", "leave a part of it")
    text = data.decode("utf-8-sig", errors="replace")
    if text.lstrip()[:1] != "{":
        return Traced({}, _of_rows(list(_csv(text, origin)), origin), ())
    return _of_format(data, origin)


def steps(trace: Trace) -> tuple[tuple[float, int], ...]:
    """Return seconds and rate on the wire of each step of a trace, from its beginning.

    What is not known, in a gap or a rest, is replayed at the rate that was seen before it.

    Raises
    ------
    InputError
        If it holds nothing that could be replayed.
    """
    rates = trace.rate_bps * trace.wire
    known = np.flatnonzero(np.isfinite(rates))
    if not len(known) or not np.nanmax(rates) > 0:
        raise InputError("this trace carries nothing, so that nothing would ever pass")
    if np.nanmin(rates) < 0:
        raise InputError("this trace has a negative bandwidth", "leave out what is no measurement")
    # Each lasts until the next that is known.
    ends = np.append(trace.start_s[known][1:], max(trace.end_s[-1], trace.end_s[known[-1]]))
    lasts = ends - trace.start_s[known]
    return tuple(
        (float(lasts_s), round(float(rate)))
        for lasts_s, rate in _coarser(lasts, rates[known])
        if lasts_s > 0
    )


def _coarser(lasts: np.ndarray[Any, Any], rates: np.ndarray[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Join neighbours, as many as it takes, so that the amount carried stays."""
    at_once = math.ceil(len(lasts) / MOST_STEPS)
    for first in range(0, len(lasts), at_once):
        some = slice(first, first + at_once)
        total = lasts[some].sum()
        yield total, (lasts[some] * rates[some]).sum() / total if total else 0.0


def _of_format(data: bytes, origin: Path) -> Traced:
    """Return the first trace of another tool's file."""
    formats = [unit for unit in units_of("format").values() if unit.traces is not None]
    unit = next((unit for unit in formats if unit.recognises(data[:_HEAD_BYTES], origin)), None)
    if unit is None:
        raise InputError(f"{origin} is no JSON of iperf3", _IPERF3_EXAMPLE)
    found: list[Traced] = unit.traces(origin)
    if len(found) == 1:
        return found[0]
    name = ", ".join(found[0].key.values())
    first = message(
        "the file has {n} traces, of which the first is replayed ({name})", n=len(found), name=name
    )
    return replace(found[0], notes=(first, *found[0].notes))


def _of_rows(rows: list[_Row], origin: Path) -> Trace:
    """Make a trace of a file's intervals."""
    if len(rows) < 2:
        raise InputError(f"{origin} holds no trace: fewer than two intervals", _CSV_EXAMPLE)
    start = np.array([row[0] for row in rows])
    spans = np.diff(start)
    if not (spans > 0).all():
        line = int(np.argmin(spans > 0)) + 2
        raise InputError(
            f"{origin}: time does not go on at interval {line} ({start[line - 1]:g} s after "
            f"{start[line - 2]:g} s), so that this is not one trace",
            "leave the lines of one series, in order of time",
        )
    next_start = np.append(start[1:], start[-1] + np.median(spans))
    told = [row[1] for row in rows]
    end = np.array([at if of is None else of for of, at in zip(told, next_start, strict=True)])
    on = end - start
    bits = np.array([row[2] for row in rows]) * on
    return Trace(start_s=start, end_s=end, bits=bits, on_s=on)


def _csv(text: str, origin: Path) -> Iterator[_Row]:
    reader = csv.reader(io.StringIO(text))
    try:
        head = [name.strip() for name in next(reader, [])]
        at = next((i for i, name in enumerate(head) if _TIME.fullmatch(name)), None)
        value = next((i for i, name in enumerate(head) if _RATE.fullmatch(name)), None)
        if at is None or value is None:
            lacks = "time (second)" if at is None else "bandwidth with its unit (bandwidth_gbps)"
            raise InputError(
                f"{origin} has no column of {lacks}: {', '.join(head[:20])[:200]}", _CSV_EXAMPLE
            )
        unit = _RATE.fullmatch(head[value])
        assert unit is not None
        scale = _RATES[unit[1].lower()]
        for row in reader:
            # What has no bandwidth is not known: what was seen before it lasts until the next.
            if row and (len(row) <= value or row[value].strip()):
                yield _row(row, at, value, scale, f"{origin}, line {reader.line_num}")
    except csv.Error as error:
        raise InputError(f"{origin}, line {reader.line_num}: {error}", _CSV_EXAMPLE) from error


def _row(row: list[str], at: int, value: int, scale: float, where: str) -> _Row:
    try:
        second, rate = float(row[at]), scale * float(row[value])
    except (ValueError, IndexError):
        raise InputError(f"{where} holds no time and bandwidth: {','.join(row)[:80]}") from None
    return _checked(second, None, rate, where)


def _checked(start: float, end: float | None, rate: float, where: str) -> _Row:
    if not math.isfinite(start) or not math.isfinite(rate) or rate > 2**62:
        raise InputError(f"{where} holds a number that is none: {start:g} s, {rate:g} bit/s")
    if rate < 0:
        raise InputError(f"{where}: the bandwidth is negative", "leave out what is no measurement")
    return start, end, rate
