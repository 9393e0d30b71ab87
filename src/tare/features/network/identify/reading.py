"""Traces from files: a measurement of tare's own, a table, or iperf3's JSON."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tare.errors import InputError, Typed
from tare.features.network.identify import rests
from tare.features.network.identify.table import table
from tare.networks.recording import folder
from tare.networks.recording.folder import Measured
from tare.networks.recording.starved import Lack
from tare.networks.shaping.trace import Floats, Trace
from tare.readers import iperf3
from tare.readers.compression import take, unpacked
from tare.readers.format import HEAD
from tare.readers.iperf3_traces import traces
from tare.readers.units import Unit
from tare.results.message import Amount, Duration, Message, Said, message

Pattern = tuple[float, float] | Literal["idle"]


@dataclass(frozen=True)
class Asked:
    """How files are to be read.

    Attributes
    ----------
    time, value : str or None
        Columns of a table; None: those that can be nothing else.
    series : tuple of str
        Columns whose levels make the traces.
    unit : Unit or None
        Of the values, where their column's name does not say.
    pattern : (float, float) or "idle" or None
        Seconds of sending and of rest that data was sent in; "idle": periods without data are
        idle periods; None: as the file tells, otherwise at full speed.
    """

    time: str | None = None
    value: str | None = None
    series: tuple[str, ...] = ()
    unit: Unit | None = None
    pattern: Pattern | None = None


@dataclass(frozen=True, eq=False)
class Reading:
    """A trace as read.

    Attributes
    ----------
    key : mapping of str to str
        What tells it from the others.
    trace : Trace
    notes : tuple of Said
        What was odd, each a sentence.
    interface_bps : float or None
        What the interface can do, where the file tells.
    lacks : tuple of Lack
        Ends that had no CPU, where the measurement tells.
    """

    key: Mapping[str, str]
    trace: Trace
    notes: tuple[Said, ...] = ()
    interface_bps: float | None = None
    lacks: tuple[Lack, ...] = ()


def read(source: Path, asked: Asked) -> list[Reading]:
    """Read the traces of a file or folder.

    Raises
    ------
    InputError
        If it cannot be read or is wrong somewhere; names the line.
    StoreError
        If it is a folder without a measurement.
    """
    if source.is_dir():
        return of_measured(folder.read(source))
    if not source.exists():
        raise InputError(f"there is no {source}", "name a folder of tare net measure, or a file")
    if not source.is_file():
        raise InputError(f"{source} is no regular file", "write it to a file first")
    with unpacked(source) as packed:
        head = take(source, packed, HEAD)
    if not head.strip():
        raise InputError(f"{source} is empty", "let the tool that wrote it write it again")
    if iperf3.recognises(head, source):
        return _iperf3(source, asked)
    if head.lstrip()[:1] in (b"{", b"["):
        raise InputError(
            f"{source} is JSON, but not iperf3's",
            "let iperf3 write JSON, with -J, or write a CSV of time and bandwidth",
        )
    found = table(source, asked.time, asked.value, asked.series, asked.unit)
    return [_rested(Reading(one.key, one.trace, one.notes), asked.pattern, source) for one in found]


def of_measured(measured: Measured) -> list[Reading]:
    """Return the traces of a measurement, one a direction."""
    speed = measured.facts["here"].get("speed_bps") or measured.facts["here"].get("speed")
    interface = float(speed) if speed is not None and speed.isdecimal() else None
    key = {"measurement": measured.name}
    several = len(measured.courses) > 1
    readings = []
    for direction in measured.courses or (None,):
        trace = folder.trace(measured, direction)
        notes: list[Said] = [*measured.notes]
        if trace.wire != 1:
            notes.append(
                message(
                    "rates and amounts count headers, {share} of the payload",
                    share=Amount(trace.wire - 1, "share"),
                )
            )
        named = {**key, **({"direction": str(direction)} if several else {})}
        lacking = folder.lacks(measured, direction)
        readings.append(Reading(named, trace, tuple(notes), interface, lacking))
    return readings


def _iperf3(source: Path, asked: Asked) -> list[Reading]:
    if asked.series or asked.time or asked.value:
        raise InputError(
            f"{source} is iperf3's JSON, which has no columns",
            Typed(f"tare net identify {shlex.quote(str(source))}"),
        )
    return [
        # Figures are payload, as iperf3's own.
        _rested(Reading(one.key, replace(one.trace, wire=1.0), one.notes), asked.pattern, source)
        for one in traces(source)
    ]


def _rested(found: Reading, pattern: Pattern | None, source: Path) -> Reading:
    if pattern == "idle":
        return replace(found, trace=rests.declared(found.trace, source))
    if pattern is not None:
        return replace(found, trace=rests.by_pattern(found.trace, *pattern, source))
    restoring = rests.restoring(found.trace)
    if len(restoring):
        note = _periods(restoring, restored=True)
        trace = rests.resting(found.trace, restoring)
        return replace(found, trace=trace, notes=(*found.notes, note))
    hint = rests.guess(found.trace)
    unexplained = rests.unexplained(found.trace)
    if hint is not None:
        note = message(
            "no data about every {every}, for {idle}. If these are idle periods: --pattern "
            "{pattern}",
            every=Duration(hint[0] + hint[1]),
            idle=Duration(hint[1]),
            pattern=f"{hint[0]:g}-{hint[1]:g}",
        )
    elif len(unexplained):
        note = _periods(unexplained, restored=False)
    else:
        return found
    return replace(found, notes=(*found.notes, note))


def _periods(periods: Floats, *, restored: bool) -> Message:
    lasts = periods[:, 1] - periods[:, 0]
    return message(
        "{% if restored %}{n} periods without data, {shortest} to {longest}, are taken for "
        "idle periods, as the rate is restored after them. If they are outages: --pattern "
        "full-speed{% else %}no data in {n | counted('period')}, {shortest}"
        "{% if longest != shortest %} to {longest}{% endif %}. If nothing was to be sent "
        "then: --pattern idle{% endif %}",
        restored=restored,
        n=len(lasts),
        shortest=Duration(float(lasts.min())),
        longest=Duration(float(lasts.max())),
    )
