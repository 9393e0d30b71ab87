"""What ``tare net measure`` is asked: its options as a measurement's orders."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from tare import units
from tare.agent.record import Direction, Sending
from tare.cli import quantities
from tare.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.agent.record import Connect
    from tare.networks.recording.writer import Asked

FULL_SPEED = "full-speed"
REST = "rest"
#: Patterns by which clouds were measured (CLOUDNET, section 3).
KNOWN = (FULL_SPEED, "10-30", "5-30")

_ON_OFF = re.compile(
    r"\s*(\d{1,6}(?:\.\d{1,3})?)(?:\s*s)?\s*-\s*(\d{1,6}(?:\.\d{1,3})?)(?:\s*s)?\s*"
)
_LEAST_ON_NS = 10_000_000
#: The kernel's own choice of congestion control, whatever it is.
KERNEL = "kernel"
#: Default durations: of each pattern, and of each size of a sweep.
_LASTS, _SWEEP_LASTS = "1min", "10s"
_WRITE = "128KiB"
_MOST_WRITE = 1 << 20
#: Sizes of CLOUDNET's Figure 12.
SWEEP = tuple(1 << power for power in range(10, 21))
_LEAST_INTERVAL_NS = 10_000_000
#: Below this, a minute's measurement of 10 s intervals would have six of them.
_SOON_NS, _LONG_NS, _SHORT_NS = 600 * 10**9, 10 * 10**9, 10**9
#: Idle period before the first phase, which shows the latency of an idle network: share of the
#: duration, and the most, in ns.
_REST_SHARE, _MOST_REST_NS = 20, 5 * 10**9
#: A measurement that takes longer is to survive what happens meanwhile.
_UNKEPT_NS = 3600 * 10**9


@dataclass(frozen=True)
class Options:
    """As they were typed; None: not at all."""

    host: str | None
    key: Path | None
    pattern: Sequence[str]
    lasts: str | None
    streams: int | None
    direction: str | None
    congestion: str | None
    interval: str | None
    write_size: str | None
    pings: int | None
    sweep: bool


def asked(options: Options, *, kept: bool) -> Asked:
    """Return what is to be measured.

    Parameters
    ----------
    options : Options
    kept : bool
        Whether there is a folder for it.

    Raises
    ------
    UsageError
        If an option is not possible, or lacks: says what to type.
    """
    phases = _phases(options)
    total_ns = sum(phase.duration_ns for phase in phases)
    interval_ns = _SHORT_NS if total_ns < _SOON_NS else _LONG_NS
    if options.interval is not None:
        interval_ns = _nanoseconds("--interval", options.interval)
    if total_ns > _UNKEPT_NS and not kept:
        raise UsageError(
            "what takes longer than an hour is to survive a crash, and needs a folder for that",
            f"tare net measure {options.host} --out DIR …",
        )
    return request(options, tuple(phases), interval_ns)


def request(options: Options, phases: tuple[Sending, ...], interval_ns: int) -> Asked:
    """Return a measurement of some phases; none: they are decided while it is measured.

    Raises
    ------
    UsageError
        As :func:`asked`.
    """
    from tare.features.network.measure.client import PINGS
    from tare.networks.recording.writer import Asked

    if options.host is None:
        raise UsageError(
            "HOST is missing: the address of the other end", "tare net measure HOST --key FILE"
        )
    congestion = options.congestion or "cubic"
    return Asked(
        host=options.host, direction=_direction(options.direction),
        streams=options.streams or 1,
        congestion=None if congestion == KERNEL else congestion,
        pings=PINGS if options.pings is None else options.pings,
        interval_ns=interval_ns, phases=phases, begun_ns=time.time_ns(),
        argv=tuple(sys.argv), key_file=None if options.key is None else str(options.key.resolve()),
    )  # fmt: skip


def again(options: Options, folder: Path) -> Asked:
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

    others = {
        "--pattern": options.pattern, "--duration": options.lasts, "--streams": options.streams,
        "--direction": options.direction, "--congestion": options.congestion,
        "--interval": options.interval, "--write-size": options.write_size,
        "--pings": options.pings, "--sweep": options.sweep,
    }  # fmt: skip
    for option, value in others.items():
        if value not in (None, False, (), []):
            raise UsageError(
                f"--resume goes on with what was asked, and {option} is part of that",
                f"tare net measure --out {folder} --resume",
            )
    found = writer.read_asked(folder)
    key = found.key_file if options.key is None else str(options.key.resolve())
    return replace(found, host=options.host or found.host, key_file=key)


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
            f"{command} {host} --key FILE   (a copy of the other end's)",
        )
    return peering.read_key(Path(file))


def _nanoseconds(option: str, text: str) -> int:
    return quantities.read(lambda one: units.nanoseconds(one, _LEAST_INTERVAL_NS), option, text)


def _phases(options: Options) -> list[Sending]:
    default = _SWEEP_LASTS if options.sweep else _LASTS
    lasts_ns = _nanoseconds("--duration", options.lasts or default)
    if options.sweep and options.write_size is not None:
        raise UsageError("--sweep takes all sizes of writes", "leave --write-size out")
    write = quantities.read(units.size, "--write-size", options.write_size or _WRITE)
    if not 1 <= write <= _MOST_WRITE:
        raise UsageError(
            f"--write-size {options.write_size!r} is no size from 1B to 1MiB",
            f"--write-size {_WRITE}",
        )
    # Up and down again, so that a network that drifts is not taken for one that minds sizes.
    sizes = [*SWEEP, *reversed(SWEEP)] if options.sweep else [write]
    each_ns = lasts_ns // 2 if options.sweep else lasts_ns
    patterns = [on_off_ns(text) for text in options.pattern or [FULL_SPEED]]
    orders = [(each_ns, on, off, size) for on, off in patterns for size in sizes]
    rest_ns = min(_MOST_REST_NS, sum(order[0] for order in orders) // _REST_SHARE)
    if options.pings != 0 and rest_ns >= _LEAST_INTERVAL_NS:
        orders.insert(0, (rest_ns, 0, 10**9, write))
    return [
        Sending(id=i, duration_ns=lasts, on_ns=on, off_ns=off, write_bytes=size)
        for i, (lasts, on, off, size) in enumerate(orders)
    ]


def on_off_ns(text: str) -> tuple[int, int]:
    """Return how long a pattern sends, and how long it rests; rest 0: it never does.

    Raises
    ------
    UsageError
        If it is none.
    """
    if text.strip() == FULL_SPEED:
        return 10**9, 0
    if text.strip() == REST:
        return 0, 10**9
    found = _ON_OFF.fullmatch(text)
    on_ns, off_ns = (round(Fraction(n) * 10**9) for n in found.groups()) if found else (0, 0)
    if found is None or on_ns < _LEAST_ON_NS:
        raise UsageError(
            f"--pattern {text!r} is neither {FULL_SPEED} nor seconds on and off",
            f"--pattern {' | '.join(KNOWN)} | ON-OFF",
        )
    return on_ns, off_ns


def _direction(text: str | None) -> Direction:
    known = get_args(Direction)
    for one in known:
        if text in (None, one):
            return one if text is not None else "out"
    raise UsageError(
        f"--direction {text!r} is none of {', '.join(known)}", "--direction out   (from here)"
    )
