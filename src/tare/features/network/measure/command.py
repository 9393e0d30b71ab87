"""``tare net measure``: how much a network carries, how steadily, and how late."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tare.cli import console, options
from tare.errors import IncompleteError, InterruptError, StoreError, UsageError

#: Seconds before the end within which a gap reaches it.
_AT_ONCE_S = 0.1

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.agent.record import Connect, Ended
    from tare.features.network.measure.summary import Summary
    from tare.networks.recording.folder import Measured
    from tare.networks.recording.writer import Asked
    from tare.results.message import Message


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
) -> None:
    """Measure a network's bandwidth, variability and latency.

    The other host runs `tare net serve --bind ADDRESS --key FILE`. Every interval reports
    bandwidth, retransmissions, round trips of small messages under load, and CPU of both ends.
    A lost connection is restored; with --out, --resume continues after a crash or reboot.
    --out is needed beyond an hour.

        tare net measure 192.0.2.1 --key lab.key --duration 1w -o week
    """
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
        identifying(wanted, max_bytes, precision, out, json)
        return
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
    with _place(out) as folder:
        _measure(folder, found, connect, json, kept=out, resume=resume)


@contextlib.contextmanager
def _place(out: Path | None) -> Any:
    """Give the folder, or one in memory that nobody keeps."""
    if out is not None:
        yield out
        return
    from tare.cli.command_line import folder_in_memory

    with folder_in_memory() as folder:
        yield folder


def _measure(
    folder: Path,
    found: Asked,
    connect: Connect,
    json: str | None,
    *,
    kept: Path | None,
    resume: bool,
) -> None:
    from tare.features.network.measure.progress import MeasureBar
    from tare.networks.recording import writer as writing

    fresh = not resume and kept is not None
    written = writing.Writer(folder) if resume else writing.create(folder, found)
    with written as writer, MeasureBar(found.interval_ns) as bar:
        ended, interrupted = _carry_out(folder, writer, connect, bar, fresh=fresh)
    document, again = _tell(folder, json)
    if interrupted:
        # Whoever wants to leave does not wait for a page.
        raise _interrupted(kept)
    try:
        report = None if kept is None else _report(folder)
    except KeyboardInterrupt:
        raise _interrupted(kept) from None
    if json != "-":
        console.out.print(_next(kept, report, again), soft_wrap=True)
    if ended is not None:
        from tare.features.network.measure.ended import advise, describe
        from tare.render.words import text

        raise IncompleteError(f"not complete: {text(describe(ended))}", advise(ended))
    gaps = document["gaps"]
    if gaps and gaps[-1]["end_s"] >= document["seconds"] - _AT_ONCE_S:
        lost = console.seconds(gaps[-1]["end_s"] - gaps[-1]["start_s"])
        raise IncompleteError(
            f"not complete: nothing was measured in the last {lost}: {gaps[-1]['why']}",
            "on the other host: does tare net serve still run?",
        )
    if not document["summaries"]:
        raise IncompleteError("nothing was measured: in no interval was any data sent")


def _carry_out(
    folder: Path, writer: Any, connect: Connect, listener: Any, *, fresh: bool
) -> tuple[Ended | None, bool]:
    """Measure; return why it ended early, and whether somebody interrupted it."""
    from tare.errors import AgentError
    from tare.features.network.measure import runner
    from tare.networks.recording import writer as writing

    try:
        return runner.carry_out(folder, writer, connect, listener), False
    except KeyboardInterrupt:
        return None, True
    except AgentError:
        if fresh and not runner.has_measured(folder):
            # Whoever mistyped a host is not to clean up first.
            writing.discard(folder)
        raise


def _tell(folder: Path, json: str | None) -> tuple[dict[str, Any], Message | None]:
    """Print what was measured; return it as ``--json`` writes it, and how to measure it better."""
    from tare.features.network.measure.caveats import advice, caveats
    from tare.features.network.measure.summary import as_json, summaries
    from tare.networks.recording.folder import read

    measured = read(folder)
    some = summaries(measured)
    told = caveats(measured, some)
    document = as_json(measured, some, told)
    if json is not None:
        console.write_json(document, json)
    if json != "-":
        _show(measured, some, told)
    return document, advice(some, measured.asked.streams)


def _show(measured: Measured, some: Sequence[Summary], told: Sequence[Message]) -> None:
    """Print size and place, two tables, and what cannot be concluded."""
    from tare.features.network.charts.series import grouped
    from tare.features.network.measure import page, page_tables
    from tare.features.network.measure.caveats import blamed
    from tare.render import screen
    from tare.render.words import sentences

    out, first, groups = console.out, blamed(some), grouped([measured])
    strip = " · ".join(f"{name} {value}" for name, value in page.strip([measured]))
    out.print(strip, style="bold", soft_wrap=True)
    for line in sentences(first):
        out.print(f"Note    {line}", style="bold yellow", soft_wrap=True)
    for table in (page_tables.bandwidth, page_tables.latency) if some else ():
        out.print()
        for line in screen.table(table(groups), out.width, of="row"):
            out.print(line, soft_wrap=True)
    out.print()
    for line in sentences([one for one in told if one not in first]):
        out.print(f"Note    {line}", style="yellow", soft_wrap=True)
    out.print()


def _report(folder: Path) -> Path | None:
    """Write the page; what was measured is not lost where it cannot be."""
    from tare.features.network.measure import page as network_page
    from tare.networks.recording.writer import REPORT
    from tare.render import files

    command = shlex.join(["tare", "net", "report", str(folder)])
    try:
        return files.write(network_page.make([folder], command), folder / REPORT)[0]
    except StoreError as error:
        console.err.print(f"Note: no page: {error.message}")
        return None


def _interrupted(kept: Path | None) -> InterruptError:
    if kept is None:
        return InterruptError("interrupted; nothing was to be kept", "--out DIR   (keeps it)")
    return InterruptError(
        f"interrupted; what was measured until now is in {kept}",
        f"tare net measure --out {shlex.quote(str(kept))} --resume   (goes on where it ended)",
    )


def _next(kept: Path | None, report: Path | None, again: Message | None) -> str:
    page = f"Wrote   {report}\n" if report is not None else ""
    if again is not None:
        from tare.render.words import sentence

        # What shapes a network is not seen while something else is the limit.
        return f"{page}Next    {sentence(again)}"
    if kept is None:
        return "Next    tare net measure … --out DIR   (keeps it, with a page)"
    return f"{page}Next    tare net identify {kept}   (what shapes it?)"
