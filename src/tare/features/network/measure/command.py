"""``tare net measure``: how much a network carries, how steadily, and how late."""

from __future__ import annotations

import contextlib
import re
import shlex
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from tare import units
from tare.cli import console
from tare.cli.call import Call
from tare.cli.delivery import reporting
from tare.errors import IncompleteError, InterruptError, UsageError
from tare.options import kinds, shared
from tare.options.command import command
from tare.options.option import HOW_MANY, WHAT, Options, argument, flag, option
from tare.results.message import Message, message
from tare.results.report import Report

if TYPE_CHECKING:
    from tare.agent.record import Connect, Direction, Ended
    from tare.networks.recording.writer import Asked


#: Seconds before the end within which a gap reaches it.
_AT_ONCE_S = 0.1

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
        raise units.QuantityError(
            f"is neither {FULL_SPEED} nor seconds on and off", f"{' | '.join(KNOWN)} | ON-OFF"
        )
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


@command(MeasureOptions)
def measure(given: MeasureOptions, call: Call) -> Report:
    """Measure a network's bandwidth, variability and latency.

    The other host runs `tare net serve --bind ADDRESS --key FILE`. Every interval reports
    bandwidth, retransmissions, round trips of small messages under load, and CPU of both ends.
    A lost connection is restored; with --out, --resume continues after a crash or reboot.
    --out is needed beyond an hour.

        tare net measure 192.0.2.1 --key lab.key --duration 1w -o week
    """
    from tare.cli.command_line import folder_in_memory
    from tare.features.network.measure import options as asking

    console.check_writable(given.json)
    if given.identify:
        from tare.features.network.measure.identified import identify

        if given.resume:
            raise UsageError("--identify measures anew, and --resume does not", "leave one out")
        return identify(given)
    if not given.given.isdisjoint({"precision", "max_bytes"}):
        raise UsageError(
            "--precision and --max-bytes belong to --identify", "tare net measure --identify HOST"
        )
    if given.resume and given.out is None:
        raise UsageError("--resume: of which measurement?", "--out DIR --resume")
    if given.resume and given.out is not None:
        found = asking.again(given, given.out)
    else:
        found = asking.asked(given, kept=given.out is not None)
    connect = asking.connection(found)
    with folder_in_memory() if given.out is None else contextlib.nullcontext(given.out) as folder:
        return _measure(folder, found, connect, kept=given.out, resume=given.resume)


def _measure(
    folder: Path,
    found: Asked,
    connect: Connect,
    *,
    kept: Path | None,
    resume: bool,
) -> Report:
    from tare.features.network.measure.progress import MeasureBar
    from tare.networks.recording import writer as writing

    fresh = not resume and kept is not None
    written = writing.Writer(folder) if resume else writing.create(folder, found)
    with written as writer, MeasureBar(found.interval_ns) as bar:
        ended, interrupted = _carry_out(folder, writer, connect, bar, fresh=fresh)
    if interrupted:
        # Whoever wants to leave does not wait for a page.
        with reporting(_report(folder, None)):
            raise _interrupted(kept)
    try:
        made = _report(folder, kept)
    except KeyboardInterrupt:
        raise _interrupted(kept) from None
    with reporting(made):
        _raise_if_incomplete(made.figures, ended)
    return made


def _raise_if_incomplete(figures: dict[str, Any], ended: Ended | None) -> None:
    if ended is not None:
        from tare.features.network.measure.ended import advise, describe
        from tare.render.words import text

        raise IncompleteError(f"not complete: {text(describe(ended))}", advise(ended))
    gaps = figures["gaps"]
    if gaps and gaps[-1]["end_s"] >= figures["seconds"] - _AT_ONCE_S:
        lost = console.seconds(gaps[-1]["end_s"] - gaps[-1]["start_s"])
        raise IncompleteError(
            f"not complete: nothing was measured in the last {lost}: {gaps[-1]['why']}",
            "on the other host: does tare net serve still run?",
        )
    if not figures["summaries"]:
        raise IncompleteError("nothing was measured: in no interval was any data sent")


def _carry_out(
    folder: Path, writer: Any, connect: Connect, listener: Any, *, fresh: bool
) -> tuple[Ended | None, bool]:
    """Measure; return why it ended early, and whether somebody interrupted it."""
    from tare.features.network.measure import runner

    try:
        with runner.discarded_if_empty(folder) if fresh else contextlib.nullcontext():
            return runner.carry_out(folder, writer, connect, listener), False
    except KeyboardInterrupt:
        return None, True


def _report(folder: Path, kept: Path | None) -> Report:
    """Make the report of what was measured; without a folder that stays it has no page."""
    from tare.features.network.measure import page
    from tare.features.network.measure.summary import figures, summaries
    from tare.networks.recording.folder import read

    measured = read(folder)
    made = page.of([measured], shlex.join(["tare", "net", "report", str(folder)]))
    return structs.replace(
        made,
        command="net measure",
        figures=figures(measured, summaries(measured)),
        # What shapes a network is not seen while something else is the limit.
        next=made.next or (_next(kept),),
        sections=made.sections if kept is not None else (),
    )


def _interrupted(kept: Path | None) -> InterruptError:
    if kept is None:
        return InterruptError("interrupted; nothing was to be kept", "--out DIR   (keeps it)")
    return InterruptError(
        f"interrupted; what was measured until now is in {kept}",
        f"tare net measure --out {shlex.quote(str(kept))} --resume   (goes on where it ended)",
    )


def _next(kept: Path | None) -> Message:
    if kept is None:
        return message("tare net measure … --out DIR   (keeps it, with a page)")
    return message("tare net identify {folder}   (what shapes it?)", folder=str(kept))
