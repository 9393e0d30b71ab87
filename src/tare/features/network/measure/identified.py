"""``tare net measure --identify``: just the phases that telling a token bucket takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tare.cli import console
from tare.errors import AgentError, IncompleteError, InterruptError, UsageError
from tare.features.network.measure import options as asking
from tare.render.words import sentence, sentences, shown, text
from tare.results.message import message

if TYPE_CHECKING:
    from tare.features.network.fingerprint.search import Bounds, Found
    from tare.networks.recording.writer import Asked

_LONGEST = "15min"


def identify(
    options: asking.Options,
    most: str | None,
    precision: str | None,
    out: Path | None,
    json: str | None,
) -> None:
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

    bounds = _bounds(options, most, precision)
    asked = asking.request(options, (), round(1e9 * INTERVAL_S))
    connect = replace(
        asking.connection(asked),
        lasts_ns=round(1e9 * bounds.seconds),
        most_bytes=None if bounds.bits is None else round(bounds.bits / 8),
    )
    with _kept(out, asked) as writer, Bar() as bar, Ends(connect) as ends:
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
    if json is not None:
        console.write_json(_document(found), json)
    if json != "-":
        _show(found, out)
    if found.cut_short:
        failure = found.failure
        if failure is None:
            raise InterruptError("interrupted; the result until then is above")
        if isinstance(failure, EndedError) and isinstance(failure.ended, BeyondLimit):
            raise IncompleteError(f"not complete: {failure.message}", failure.hint)
        raise failure


def _bounds(options: asking.Options, most: str | None, precision: str | None) -> Bounds:
    from tare import units
    from tare.cli import quantities
    from tare.features.network.fingerprint.search import PRECISION, Bounds

    decided = {
        "--pattern": options.pattern, "--interval": options.interval,
        "--write-size": options.write_size, "--sweep": options.sweep,
    }  # fmt: skip
    for name, value in decided.items():
        if value:
            raise UsageError(
                f"--identify decides itself what to send and when, so {name} says nothing",
                f"leave {name} out",
            )
    if options.direction == "both":
        raise UsageError("--identify looks at one direction", "--direction out")
    return Bounds(
        seconds=quantities.wait("--duration", options.lasts or _LONGEST),
        bits=None if most is None else float(quantities.read(units.bits, "--max-bytes", most)),
        precision=PRECISION if precision is None else quantities.share("--precision", precision),
    )


@contextlib.contextmanager
def _kept(out: Path | None, asked: Asked) -> Iterator[Any]:
    """Give what writes the measurement down; None: it is not to be kept."""
    if out is None:
        yield None
        return
    from tare.features.network.measure import runner
    from tare.networks.recording import writer as writing

    with writing.create(out, asked) as writer:
        try:
            yield writer
        except AgentError:
            if not runner.has_measured(out):
                # Whoever mistyped a host is not to clean up first.
                writing.discard(out)
            raise


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
        say.print(sentence(message("nothing was sent, so nothing is known")), style="bold")
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
        "stopped: {why} ({took})",
        why=found.ended,
        took=took(found.seconds, found.spent_bits),
    )
    say.print(sentence(stopped), soft_wrap=True)
    if out is not None:
        say.print(
            f"Next    tare net identify {out}   (the same, from the kept data)", soft_wrap=True
        )
