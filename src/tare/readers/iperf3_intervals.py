"""When each interval of iperf3 began and ended, and what was carried in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.readers import json_file
from tare.readers.iperf3 import Part, Run, parts_of, runs_of
from tare.readers.json_file import Node
from tare.readers.readings import each_once, number
from tare.readers.series import FloatArray
from tare.results.message import Message, message


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of one direction, in the order of the file.

    Attributes
    ----------
    key : dict of str to str
        What tells the direction from others of the file.
    start_s, end_s : array, shape (n,)
        Seconds since the first run began; a run without a time stamp begins where the one before
        it ended.
    bits : array, shape (n,)
        NaN where the file tells none.
    run : int array, shape (n,)
        The run that each is of.
    notes : tuple of Message
    """

    key: dict[str, str]
    start_s: FloatArray
    end_s: FloatArray
    bits: FloatArray
    run: np.ndarray
    notes: tuple[Message, ...]


def intervals(file: Path) -> list[Intervals]:
    """Read the intervals of each direction.

    Raises
    ------
    InputError
        If there is none, or a number is none; names the place.
    """
    runs, errors = runs_of(json_file.load_each(file))
    found: dict[tuple[tuple[str, str], ...], list[tuple[int, float, Part]]] = {}
    ended = 0.0
    first = next((at for run in runs if (at := _began(run)) is not None), 0.0)
    for order, run in enumerate(runs):
        began = _began(run)
        offset = ended if began is None else began - first
        for part in parts_of(run):
            found.setdefault(part.key, []).append((order, offset, part))
            last = max((_at(one, "end") for one in part.intervals), default=0.0)
            ended = max(ended, offset + last)
    if not any(part.intervals for parts in found.values() for _, _, part in parts):
        why = errors[0] if errors else "the run has no intervals"
        raise InputError(f"{file} holds no measurement: {why}", "let iperf3 run again")
    failed = tuple(message("interop.iperf3.failed", error=error) for error in errors)
    return [_gathered(dict(key), parts, failed) for key, parts in found.items()]


def _gathered(
    key: dict[str, str], parts: list[tuple[int, float, Part]], notes: tuple[Message, ...]
) -> Intervals:
    every = [(order, offset, one) for order, offset, part in parts for one in part.intervals]
    of_parts = each_once(note for _, _, part in parts for note in part.notes)
    return Intervals(
        key=key,
        start_s=np.array([offset + _at(one, "start") for _, offset, one in every]),
        end_s=np.array([offset + _at(one, "end") for _, offset, one in every]),
        bits=np.array([_bits(one) for _, _, one in every]),
        run=np.array([order for order, _, _ in every]),
        notes=(*notes, *of_parts),
    )


def _began(run: Run) -> float | None:
    stamp = run.start.find("timestamp")
    millis = stamp.find("timemillisecs") if stamp else None
    if millis is not None:
        return _finite(millis) / 1e3
    whole = stamp.find("timesecs") if stamp else None
    return None if whole is None else _finite(whole)


def _at(one: Node, name: str) -> float:
    return _finite(one.at(name))


def _finite(node: Node) -> float:
    value = number(node.value)
    if not math.isfinite(value) or abs(value) > 1e14:
        raise node.wrong("expected a time in seconds")
    return value


def _bits(one: Node) -> float:
    count = one.find("bytes")
    if count is None:
        return math.nan
    value = 8 * number(count.value)
    if math.isnan(value) or value < 0 or math.isinf(value):
        raise count.wrong("expected a number of bytes that can be")
    return value
