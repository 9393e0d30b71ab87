"""``tare net measure``: how much a network carries, how steadily, and how late."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from tare.cli import console
from tare.cli.again import again
from tare.cli.call import Call
from tare.cli.delivery import reporting
from tare.errors import IncompleteError, InterruptError, Typed, UsageError
from tare.features.network.measure.options import MeasureOptions
from tare.options.command import command
from tare.results.message import message
from tare.results.report import NextStep, Report

if TYPE_CHECKING:
    from tare.agent.record import Connect, Ended
    from tare.networks.recording.writer import Asked


#: Seconds before the end within which a gap reaches it.
_AT_ONCE_S = 0.1


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
    from tare.features.network.measure import checked

    console.check_writable(given.json)
    if given.identify:
        from tare.features.network.measure.identified import identify

        if given.resume:
            raise UsageError("--identify measures anew, and --resume does not", "leave one out")
        return identify(given)
    if not given.given.isdisjoint({"precision", "max_bytes"}):
        raise UsageError("--precision and --max-bytes belong to --identify", Typed("--identify"))
    if given.resume and given.out is None:
        raise UsageError("--resume: of which measurement?", "name its folder with --out")
    if given.resume and given.out is not None:
        found = checked.again(given, given.out)
    else:
        found = checked.asked(given, kept=given.out is not None)
    connect = checked.connection(found)
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
    found = summaries(measured)
    is_limited = any(one.limit is not None for one in found)
    return structs.replace(
        made,
        command="net measure",
        figures=figures(measured, found),
        # What shapes a network is not seen while something else is the limit.
        next_steps=() if kept is not None and is_limited else (_next(kept),),
        sections=made.sections if kept is not None else (),
    )


def _interrupted(kept: Path | None) -> InterruptError:
    if kept is None:
        return InterruptError(
            "interrupted; nothing was to be kept", Typed("--out measurement   (keeps it)")
        )
    return InterruptError(
        f"interrupted; what was measured until now is in {kept}",
        Typed(
            f"tare net measure --out {shlex.quote(str(kept))} --resume   (goes on where it ended)"
        ),
    )


def _next(kept: Path | None) -> NextStep:
    if kept is None:
        return NextStep(
            again("net measure", {"--out": "network"}), message("keeps it, with a page")
        )
    return NextStep(shlex.join(["tare", "net", "identify", str(kept)]), message("what shapes it?"))
