"""Options of ``tare net measure``."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from tare import units
from tare.options import kinds, shared
from tare.options.option import HOW_MANY, WHAT, Options, argument, flag, option

if TYPE_CHECKING:
    from tare.agent.record import Direction


_LEAST_S = 0.01
_LEAST_ON_NS = 10_000_000
_MOST_WRITE = 1 << 20
FULL_SPEED, REST = "full-speed", "rest"
#: Patterns by which clouds were measured (CLOUDNET, section 3).
KNOWN = (FULL_SPEED, "10-30", "5-30")
_ON_OFF = re.compile(
    r"\s*(\d{1,6}(?:\.\d{1,3})?)(?:\s*s)?\s*-\s*(\d{1,6}(?:\.\d{1,3})?)(?:\s*s)?\s*"
)


def _on_off_ns(text: str) -> tuple[int, int]:
    """Return how long a pattern sends, and how long it rests; rest 0: it never does."""
    if text.strip() == FULL_SPEED:
        return 10**9, 0
    if text.strip() == REST:
        return 0, 10**9
    found = _ON_OFF.fullmatch(text)
    on_ns, off_ns = (round(Fraction(n) * 10**9) for n in found.groups()) if found else (0, 0)
    if found is None or on_ns < _LEAST_ON_NS:
        raise units.QuantityError(f"is neither {FULL_SPEED} nor seconds on and off", "10-30")
    return on_ns, off_ns


def _write_bytes(text: str) -> int:
    size = units.size(text)
    if not 1 <= size <= _MOST_WRITE:
        raise units.QuantityError("is no size from 1B to 1MiB", "128KiB")
    return size


_PATTERN = kinds.quantity(_on_off_ns, 'seconds on and off, such as "10-30"', "PATTERN")
_LASTS = kinds.quantity(
    lambda text: units.seconds(text, _LEAST_S), "a time of at least 10 ms", "TIME"
)


class MeasureOptions(Options):
    """Options of ``tare net measure``."""

    host: str | None = argument(kinds.WORD, "HOST[:PORT]", "Where tare net serve listens.")
    pattern: list[tuple[int, int]] = option(
        _PATTERN.offering(lambda: KNOWN),
        "full-speed, or seconds ON-OFF: 10-30; repeatable.", group=WHAT, shown=FULL_SPEED,
        repeatable=True,
    )  # fmt: skip
    sweep: bool = flag("Writes of 1 KiB to 1 MiB, --duration each.", group=WHAT)
    identify: bool = flag("Alternate sending and idle periods to find the shaper.", group=WHAT)
    direction: Direction = option(
        kinds.choice(("out", "in", "both"), "WAY"), "out (from here), in, or both.", group=WHAT,
        default="out",
    )  # fmt: skip
    streams: int = option(kinds.whole(1, 128), "Streams per direction.", group=WHAT, default=1)
    precision: float | None = option(
        kinds.share(0, 1), "With --identify: target.", group=HOW_MANY, shown="5%",
    )  # fmt: skip
    duration: float | None = option(
        _LASTS, "Of each pattern: 10 s to 520 w.", group=HOW_MANY,
        shown="1 min; --sweep: 10 s; --identify: at most 15 min",
    )  # fmt: skip
    interval: float | None = option(
        _LASTS, "Report every so often, at least 10 ms.", group=HOW_MANY,
        shown="10 s; below 10 min: 1 s",
    )  # fmt: skip
    max_bytes: int | None = option(
        kinds.DATA, "With --identify: send at most 500GB, 4Tbit …", group=HOW_MANY,
    )  # fmt: skip
    key: Path | None = shared.KEY
    out: Path | None = shared.OUT
    resume: bool = shared.RESUME
    quiet: bool = shared.QUIET
    json: str | None = shared.JSON
    congestion: str = option(
        kinds.WORD, "Congestion control; kernel: its own choice.", metavar="NAME", rare=True,
        default="cubic",
    )  # fmt: skip
    write_size: int = option(
        kinds.quantity(_write_bytes, "a size from 1 B to 1 MiB", "SIZE"), "Size of writes.",
        rare=True, default=128 << 10, shown="128 KiB",
    )  # fmt: skip
    pings: int | None = option(
        kinds.whole(0, 100_000), "Concurrent round trips per second.", rare=True, shown="100",
    )  # fmt: skip
