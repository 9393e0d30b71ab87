"""What ``tare net measure`` is asked: its options as a measurement's orders."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tare.agent.record import Sending
from tare.errors import Typed, UsageError

if TYPE_CHECKING:
    from tare.agent.record import Connect
    from tare.features.network.measure.options import MeasureOptions
    from tare.networks.recording.writer import Asked

#: The kernel's own choice of congestion control, whatever it is.
KERNEL = "kernel"
#: Default durations: of each pattern, and of each size of a sweep.
_LASTS_S, _SWEEP_LASTS_S = 60.0, 10.0
#: Sent and rested, in ns: at full speed.
_FULL_SPEED = (10**9, 0)
#: Sizes of CLOUDNET's Figure 12.
SWEEP = tuple(1 << power for power in range(10, 21))
_LEAST_REST_NS = 10_000_000
#: Below this, a minute's measurement of 10 s intervals would have six of them.
_SOON_NS, _LONG_NS, _SHORT_NS = 600 * 10**9, 10 * 10**9, 10**9
#: Idle period before the first phase, which shows the latency of an idle network: share of the
#: duration, and the most, in ns.
_REST_SHARE, _MOST_REST_NS = 20, 5 * 10**9
#: A measurement that takes longer is to survive what happens meanwhile.
_UNKEPT_NS = 3600 * 10**9


def asked(given: MeasureOptions, *, kept: bool) -> Asked:
    """Return what is to be measured.

    Parameters
    ----------
    given : MeasureOptions
    kept : bool
        Whether there is a folder for it.

    Raises
    ------
    UsageError
        If an option is not possible, or lacks: says what to type.
    """
    phases = _phases(given)
    total_ns = sum(phase.duration_ns for phase in phases)
    interval_ns = _SHORT_NS if total_ns < _SOON_NS else _LONG_NS
    if given.interval is not None:
        interval_ns = round(1e9 * given.interval)
    if total_ns > _UNKEPT_NS and not kept:
        raise UsageError(
            "what takes longer than an hour is to survive a crash, and needs a folder for that",
            Typed("--out measurement"),
        )
    return request(given, tuple(phases), interval_ns)


def request(given: MeasureOptions, phases: tuple[Sending, ...], interval_ns: int) -> Asked:
    """Return a measurement of some phases; none: they are decided while it is measured.

    Raises
    ------
    UsageError
        As :func:`asked`.
    """
    from tare.features.network.measure.client import PINGS
    from tare.networks.recording.writer import Asked

    if given.host is None:
        raise UsageError(
            "HOST is missing: the address of the other end",
            "name the host, and its key file with --key",
        )
    return Asked(
        host=given.host, direction=given.direction, streams=given.streams,
        congestion=None if given.congestion == KERNEL else given.congestion,
        pings=PINGS if given.pings is None else given.pings,
        interval_ns=interval_ns, phases=phases, begun_ns=time.time_ns(),
        argv=tuple(sys.argv), key_file=None if given.key is None else str(given.key.resolve()),
    )  # fmt: skip


def again(given: MeasureOptions, folder: Path) -> Asked:
    """Return what a folder's measurement was asked for; host and key may be others now.

    Raises
    ------
    UsageError
        If something else is to be another now.
    StoreError
        If the folder holds no measurement.
    """
    from msgspec.structs import replace

    from tare.networks.recording import writer

    may_change = {"host", "key", "out", "resume", "json"}
    for name, record in given.records.items():
        if name in given.given - may_change:
            raise UsageError(
                f"--resume goes on with what was asked, and {record.long} is part of that",
                Typed(f"tare net measure --out {shlex.quote(str(folder))} --resume"),
            )
    found = writer.read_asked(folder)
    key = found.key_file if given.key is None else str(given.key.resolve())
    return replace(found, host=given.host or found.host, key_file=key)


def connection(found: Asked) -> Connect:
    """Return how to connect for a measurement.

    Raises
    ------
    UsageError
        If its key is missing, or its host is none.
    """
    from tare.features.network.measure import client

    key = read_key("tare net measure", found.host, found.key_file)
    return client.connection(
        found.host, key, direction=found.direction,
        streams=found.streams, congestion=found.congestion, pings=found.pings,
        interval_s=found.interval_ns / 1e9,
    )  # fmt: skip


def read_key(command: str, host: str, file: Path | str | None) -> str:
    """Read the key that another host was started with; raises UsageError where none is named."""
    from tare.networks import peering

    if file is None:
        raise UsageError(
            "--key is missing: the key file that the other end was started with",
            "name a copy of the other end's key file with --key",
        )
    return peering.read_key(Path(file))


def _phases(given: MeasureOptions) -> list[Sending]:
    if given.sweep and "write_size" in given.given:
        raise UsageError("--sweep takes all sizes of writes", "leave --write-size out")
    write = given.write_size
    lasts_ns = round(1e9 * (given.duration or (_SWEEP_LASTS_S if given.sweep else _LASTS_S)))
    # Up and down again, so that a network that drifts is not taken for one that minds sizes.
    sizes = [*SWEEP, *reversed(SWEEP)] if given.sweep else [write]
    each_ns = lasts_ns // 2 if given.sweep else lasts_ns
    patterns = given.pattern or [_FULL_SPEED]
    orders = [(each_ns, on, off, size) for on, off in patterns for size in sizes]
    rest_ns = min(_MOST_REST_NS, sum(order[0] for order in orders) // _REST_SHARE)
    if given.pings != 0 and rest_ns >= _LEAST_REST_NS:
        orders.insert(0, (rest_ns, 0, 10**9, write))
    return [
        Sending(id=i, duration_ns=lasts, on_ns=on, off_ns=off, write_bytes=size)
        for i, (lasts, on, off, size) in enumerate(orders)
    ]
