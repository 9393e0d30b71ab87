"""``tare net measure``: how much a network carries, how steadily, and how late."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import structs

from tare.cli import console, options
from tare.cli.delivery import reporting
from tare.errors import IncompleteError, InterruptError, UsageError
from tare.results.message import Message, message
from tare.results.report import Report

#: Seconds before the end within which a gap reaches it.
_AT_ONCE_S = 0.1

if TYPE_CHECKING:
    from tare.agent.record import Connect, Ended
    from tare.networks.recording.writer import Asked


def measure(
    host: Annotated[
        str | None, typer.Argument(metavar="HOST[:PORT]", help="Where tare net serve listens.")
    ] = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="full-speed, or seconds ON-OFF: 10-30; repeatable. [default: full-speed]",
        ),
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Writes of 1 KiB to 1 MiB, --duration each.")
    ] = False,
    identify: Annotated[
        bool,
        typer.Option("--identify", help="Alternate sending and idle periods to find the shaper."),
    ] = False,
    direction: Annotated[
        str | None, typer.Option(metavar="WAY", help="out (from here), in, or both.")
    ] = None,
    streams: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=128, help="Streams per direction. [default: 1]"),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(metavar="PERCENT", help="With --identify: target. [default: 5%]"),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Of each pattern: 10 s to 520 w. [default: 1 min; --sweep: 10 s; --identify: at "
            "most 15 min]",
        ),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Report every so often, at least 10 ms. [default: 10 s; below 10 min: 1 s]",
        ),
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="With --identify: send at most 500GB, 4Tbit …"),
    ] = None,
    key: options.Key = None,
    out: options.Out = None,
    resume: options.Resume = False,
    json: options.Json = None,
    congestion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            hidden=True,
            help="Congestion control; kernel: its own choice. [default: cubic]",
        ),
    ] = None,
    write_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", hidden=True, help="Size of writes. [default: 128 KiB]"),
    ] = None,
    pings: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=100_000,
            hidden=True,
            help="Concurrent round trips per second. [default: 100]",
        ),
    ] = None,
) -> Report:
    """Measure a network's bandwidth, variability and latency.

    The other host runs `tare net serve --bind ADDRESS --key FILE`. Every interval reports
    bandwidth, retransmissions, round trips of small messages under load, and CPU of both ends.
    A lost connection is restored; with --out, --resume continues after a crash or reboot.
    --out is needed beyond an hour.

        tare net measure 192.0.2.1 --key lab.key --duration 1w -o week
    """
    from tare.cli.command_line import folder_in_memory
    from tare.features.network.measure import options as asking

    console.check_writable(json)
    wanted = asking.Options(
        host, key, tuple(pattern or ()), duration, streams, direction, congestion, interval,
        write_size, pings, sweep,
    )  # fmt: skip
    if identify:
        from tare.features.network.measure.identified import identify as identifying

        if resume:
            raise UsageError("--identify measures anew, and --resume does not", "leave one out")
        return identifying(wanted, max_bytes, precision, out)
    if precision or max_bytes:
        raise UsageError(
            "--precision and --max-bytes belong to --identify", "tare net measure --identify HOST"
        )
    if resume and out is None:
        raise UsageError("--resume: of which measurement?", "--out DIR --resume")
    if resume and out is not None:
        found = asking.again(wanted, out)
    else:
        found = asking.asked(wanted, kept=out is not None)
    connect = asking.connection(found)
    with folder_in_memory() if out is None else contextlib.nullcontext(out) as folder:
        return _measure(folder, found, connect, kept=out, resume=resume)


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
