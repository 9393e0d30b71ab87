"""``tare net measure --identify``: just the phases that telling a token bucket takes."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tare.cli.delivery import reporting
from tare.errors import IncompleteError, InterruptError, Typed, UsageError
from tare.features.network.measure import checked as asking
from tare.render.words import text
from tare.results.finding import Table
from tare.results.message import message
from tare.results.report import Entry, NextStep, Report

if TYPE_CHECKING:
    from tare.features.network.fingerprint.search import Bounds, Found
    from tare.features.network.measure.options import MeasureOptions
    from tare.networks.recording.writer import Asked

_LONGEST_S = 900.0
#: Options that say what is sent and when.
_DECIDED = ("pattern", "interval", "write_size", "sweep")


def identify(given: MeasureOptions) -> Report:
    """Measure what it takes to say what shapes a network, say it, and what is left in its bucket.

    Raises
    ------
    UsageError
        If an option is not possible, or decided by the schedule.
    AgentError
        If the other end is not reached.
    InterruptError
        After everything that was found has been told.
    """
    from tare.agent.record import BeyondLimit
    from tare.features.network.fingerprint.progress import Bar
    from tare.features.network.fingerprint.search import INTERVAL_S, search
    from tare.features.network.measure.client import Ends
    from tare.features.network.measure.ended import EndedError

    bounds = _bounds(given)
    asked = asking.request(given, (), round(1e9 * INTERVAL_S))
    connect = replace(
        asking.connection(asked),
        lasts_ns=round(1e9 * bounds.seconds),
        most_bytes=None if bounds.bits is None else round(bounds.bits / 8),
    )
    with _kept(given.out, asked) as writer, Bar() as bar, Ends(connect) as ends:
        if writer is not None:
            writer.stretch()
            writer.write(ends.connected)
        found = search(
            ends,
            bounds,
            bar,
            key={"end": asked.host},
            direction=asked.direction,
            streams=asked.streams,
            keeper=writer,
        )
    made = _report(found, given.out)
    if found.cut_short:
        with reporting(made):
            failure = found.failure
            if failure is None:
                raise InterruptError("interrupted; the result until then is above")
            if isinstance(failure, EndedError) and isinstance(failure.ended, BeyondLimit):
                raise IncompleteError(f"not complete: {failure.message}", failure.hint)
            raise failure
    return made


def _bounds(given: MeasureOptions) -> Bounds:
    from tare.features.network.fingerprint.search import PRECISION, Bounds

    for name in _DECIDED:
        if name in given.given:
            option = given.records[name].long
            raise UsageError(
                f"--identify decides itself what to send and when, so {option} says nothing",
                f"leave {option} out",
            )
    if given.direction == "both":
        raise UsageError("--identify looks at one direction", Typed("--direction out"))
    return Bounds(
        seconds=given.duration or _LONGEST_S,
        bits=None if given.max_bytes is None else float(given.max_bytes),
        precision=given.precision or PRECISION,
    )


@contextlib.contextmanager
def _kept(out: Path | None, asked: Asked) -> Iterator[Any]:
    """Give what writes the measurement down; None: it is not to be kept."""
    if out is None:
        yield None
        return
    from tare.features.network.measure import runner
    from tare.networks.recording import writer as writing

    with writing.create(out, asked) as writer, runner.discarded_if_empty(out):
        yield writer


def _report(found: Found, out: Path | None) -> Report:
    from tare.experiment.fingerprints.network.messages import estimates

    shaping = found.shaping
    again = NextStep(
        shlex.join(["tare", "net", "identify", str(out)]), message("the same, from the kept data")
    )
    known = [] if shaping is None else estimates(shaping)
    return Report(
        command="net measure",
        figures={
            "series": [] if shaping is None else [shaping.stored()],
            "lacks": found.lacks,
            "ended": text(found.ended),
            "spent_bits": found.spent_bits,
            "seconds": found.seconds,
        },
        name="net measure --identify",
        question=message("What shapes the network?"),
        entries=tuple(_entries(found)),
        next_steps=() if out is None or shaping is None else (again,),
        further=(
            (Table.of(message("Estimates with 95 % intervals"), ("estimate", "value"), known),)
            if known
            else ()
        ),
    )


def _entries(found: Found) -> Iterator[Entry]:
    from tare.experiment.fingerprints.network.identified import kind_of
    from tare.experiment.fingerprints.network.messages import account, bucket_said, took
    from tare.networks.recording.starved import no_cpu

    shaping = found.shaping
    if shaping is None:
        yield Entry("Answer", message("Nothing was sent, so nothing is known."), "strong")
        return
    said = bucket_said(shaping) if shaping.kind in ("bucket", "drop") else kind_of(shaping)
    yield Entry.of("Answer", said, "strong")
    yield from (Entry.of("Note", no_cpu(lack), "strong") for lack in found.lacks)
    yield from Entry.each("Reason", (*shaping.reasons, *account(shaping)))
    spent = took(found.seconds, found.spent_bits)
    yield Entry.of("Ended", message("{why} ({spent})", why=found.ended, spent=spent))
