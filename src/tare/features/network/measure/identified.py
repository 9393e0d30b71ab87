"""``tare net measure --identify``: just the phases that telling a token bucket takes."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare.cli import console
from tare.errors import AgentError, IncompleteError, InterruptError, UsageError
from tare.render.words import sentence, sentences, shown, text
from tare.results.message import message

if TYPE_CHECKING:
    from tare.features.network.fingerprint.search import Bounds, Found
    from tare.networks.recording.writer import Asked

_LONGEST = "15min"
#: What the schedule decides by itself.
_DECIDED = ("--pattern", "--interval", "--write-size", "--sweep", "--resume")


@dataclass(frozen=True)
class Options:
    """As they were typed; None: not at all."""

    host: str | None
    key: Path | None
    lasts: str | None
    most: str | None
    precision: str | None
    streams: int | None
    direction: str | None
    congestion: str | None
    pings: int | None
    out: Path | None
    json: str | None
    #: Whether others were given, by name.
    others: dict[str, Any]


def identify(options: Options) -> None:
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
    from tare.features.network.measure.client import PINGS, Ends, connection
    from tare.features.network.measure.ended import EndedError
    from tare.networks import peering

    bounds = _check(options)
    host, key = str(options.host), Path(str(options.key))
    pings = PINGS if options.pings is None else options.pings
    congestion = options.congestion or "cubic"
    asked = connection(
        host, peering.read_key(key), direction="in" if options.direction == "in" else "out",
        streams=options.streams or 1, congestion=None if congestion == "kernel" else congestion,
        pings=pings, interval_s=INTERVAL_S, lasts_s=bounds.seconds,
        most_bytes=None if bounds.bits is None else round(bounds.bits / 8),
    )  # fmt: skip
    with _kept(options, pings) as writer, Bar() as bar, Ends(asked) as ends:
        if writer is not None:
            writer.stretch()
            writer.write(ends.connected)
        found = search(
            ends,
            bounds,
            bar,
            key={"end": host},
            direction=asked.direction,
            streams=asked.streams,
            keeper=writer,
        )
    if options.json is not None:
        console.write_json(_document(found), options.json)
    if options.json != "-":
        _show(found, options.out)
    if found.cut_short:
        failure = found.failure
        if failure is None:
            raise InterruptError("interrupted; the result until then is above")
        if isinstance(failure, EndedError) and isinstance(failure.ended, BeyondLimit):
            raise IncompleteError(f"not complete: {failure.message}", failure.hint)
        raise failure


def _check(options: Options) -> Bounds:
    from tare import units
    from tare.cli import quantities
    from tare.features.network.fingerprint.search import PRECISION, Bounds

    missing = "HOST" if options.host is None else "--key" if options.key is None else None
    if missing is not None:
        raise UsageError(f"{missing} is missing", "tare net measure --identify HOST --key FILE")
    for name in _DECIDED:
        if options.others.get(name):
            raise UsageError(
                f"--identify decides itself what to send and when, so {name} says nothing",
                f"leave {name} out",
            )
    if options.direction == "both":
        raise UsageError("--identify looks at one direction", "--direction out")

    precision = PRECISION
    if options.precision is not None:
        precision = quantities.share("--precision", options.precision)
    bits = None
    if options.most is not None:
        bits = float(quantities.read(units.bits, "--max-bytes", options.most))
    return Bounds(
        seconds=quantities.wait("--duration", options.lasts or _LONGEST),
        bits=bits,
        precision=precision,
    )


@contextlib.contextmanager
def _kept(options: Options, pings: int) -> Iterator[Any]:
    """Give what writes the measurement down; None: it is not to be kept."""
    if options.out is None:
        yield None
        return
    from tare.networks.recording import writer as writing

    with writing.create(options.out, _asked(options, pings)) as writer:
        try:
            yield writer
        except AgentError:
            from tare.features.network.measure import runner

            if not runner.has_measured(options.out):
                # Whoever mistyped a host is not to clean up first.
                writing.discard(options.out)
            raise


def _asked(options: Options, pings: int) -> Asked:
    from tare.features.network.fingerprint.search import INTERVAL_S
    from tare.networks.recording.writer import Asked

    return Asked(
        host=str(options.host),
        direction="in" if options.direction == "in" else "out",
        streams=options.streams or 1,
        congestion=options.congestion or "cubic",
        pings=pings,
        interval_ns=round(1e9 * INTERVAL_S),
        # Decided while it is measured.
        phases=(),
        begun_ns=time.time_ns(),
        argv=tuple(sys.argv),
        key_file=None if options.key is None else str(options.key.resolve()),
    )


def _document(found: Found) -> dict[str, Any]:
    return {
        "version": 1,
        "series": [] if found.shaping is None else [found.shaping.stored()],
        "lacks": found.lacks,
        "ended": text(found.ended),
        "spent_bits": found.spent_bits,
        "seconds": found.seconds,
    }


def _show(found: Found, out: Path | None) -> None:
    from tare.experiment.fingerprints.network.identified import kind_of
    from tare.experiment.fingerprints.network.messages import account, bucket_said, estimates, took
    from tare.networks.recording.starved import no_cpu

    say = console.out
    shaping = found.shaping
    if shaping is None:
        say.print(sentence(message("net.fingerprint.nothing")), style="bold")
        return
    said = bucket_said(shaping) if shaping.kind in ("bucket", "drop") else kind_of(shaping)
    say.print(sentence(said), style="bold", soft_wrap=True)
    for lack in found.lacks:
        say.print(f"Note    {sentence(no_cpu(lack))}", style="bold yellow", soft_wrap=True)
    for name, value in estimates(shaping):
        say.print(f"{name:<16}{shown(value)}", soft_wrap=True)
    for line in sentences((*shaping.reasons, *account(shaping))):
        say.print(line, soft_wrap=True)
    stopped = message(
        "net.fingerprint.stopped_after",
        why=found.ended,
        took=took(found.seconds, found.spent_bits),
    )
    say.print(sentence(stopped), soft_wrap=True)
    if out is not None:
        say.print(
            f"Next    tare net identify {out}   (the same, from the kept data)", soft_wrap=True
        )
