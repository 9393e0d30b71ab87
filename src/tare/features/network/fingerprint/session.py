"""Taking a fingerprint of a network: unpaced latency, a search for a bucket, writes of all sizes.

The search comes before the writes: it begins with what is in the bucket, and says what must be
rested so that the sizes of writes are not compared across an empty one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from tare.agent import client
from tare.agent.record import Connect, Interval
from tare.errors import AgentError, InterruptError, TareError
from tare.experiment.fingerprints.network.document import (
    Figure,
    NetworkFingerprint,
    Problem,
    Searched,
    Starved,
    Write,
)
from tare.features.network.fingerprint import figures, stages, starving
from tare.features.network.fingerprint.search import (
    INTERVAL_S,
    Bounds,
    Found,
    LiveTrace,
    search,
)
from tare.features.network.measure.client import Ends, connection
from tare.render.words import text
from tare.results.message import Chosen, Duration, Message, Said, message
from tare.version import __version__

if TYPE_CHECKING:
    from tare.features.network.fingerprint.progress import Bar

_TAKE_UNPACED = (
    "unpaced latency{% if again %}, again: an end had no CPU{% else %}: round trips of 64 "
    "bytes, one after another, nothing else sent{% endif %}"
)
_TAKE_FRESH = "base bandwidth and loaded latency{% if again %}, again: an end had no CPU{% endif %}"
_TAKE_WRITE = "writes of {size}{% if again %}, again: an end had no CPU{% endif %}"

#: Sizes of writes, of CLOUDNET's Figure 12 and beyond; and those of a brief look.
SIZES = tuple(1 << power for power in range(10, 21))
FEW_SIZES = (1 << 10, 16 << 10, 128 << 10, 1 << 20)
#: Round trips a second beside the data: they show queues, and are no load themselves.
_PINGS = 200
_MOST_PROBLEMS = 100


@dataclass(frozen=True)
class Wanted:
    """What is to be measured, and how long it may take.

    Attributes
    ----------
    end, key : str
        ``HOST[:PORT]`` as typed, and the secret.
    effort : str
    bucket : Bounds or None
        How far a bucket is looked for; None: not at all.
    idle_s, fresh_s, write_s : float
        Of unpaced latency, of base bandwidth, of each size of writes.
    rest_s : float
        To rest in all at most, so that writes meet a bucket that holds enough.
    """

    end: str
    key: str
    effort: Literal["brief", "full"] = "full"
    bucket: Bounds | None = None
    idle_s: float = 2.0
    fresh_s: float = 5.0
    write_s: float = 1.0
    rest_s: float = 120.0
    sizes: tuple[int, ...] = SIZES
    direction: Literal["out", "in"] = "out"
    streams: int = 1
    congestion: str | None = None

    @property
    def seconds(self) -> float:
        """About how long it takes at most."""
        searched = self.fresh_s if self.bucket is None else self.bucket.seconds
        rest = 0.0 if self.bucket is None else self.rest_s
        return self.idle_s + searched + len(self.sizes) * self.write_s + rest


@dataclass
class _Taken:
    """What there is so far."""

    figures: dict[str, Figure] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)
    starved: list[Starved] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    found: Found | None = None
    spent_bits: float = 0.0
    here: dict[str, str] = field(default_factory=dict)
    there: dict[str, str] = field(default_factory=dict)


Opening = Callable[[Connect], Ends]


def take(
    wanted: Wanted,
    progress: Bar,
    *,
    opening: Opening = Ends,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[NetworkFingerprint, TareError | None]:
    """Take a fingerprint of the network between here and another end.

    Parameters
    ----------
    wanted : Wanted
    progress : Bar
    opening : callable
        Connects; another one in tests.
    clock : callable
        Seconds.

    Returns
    -------
    (NetworkFingerprint, TareError or None)
        What could be measured; and what cut it short, Ctrl-C or the other end.

    Raises
    ------
    AgentError
        If the other end is not reached at all.
    """
    began, started = clock(), datetime.now(UTC)
    taken = _Taken()
    cut: TareError | None = None
    try:
        _idle(wanted, taken, progress, opening)
        _loaded(wanted, taken, progress, opening, clock)
    except KeyboardInterrupt:
        cut = InterruptError("interrupted")
    except AgentError as error:
        if not taken.figures:
            raise
        # What was measured before is kept.
        taken.problems.append(_problem(message("what follows"), error.message))
        cut = error
    if taken.found is not None and taken.found.cut_short:
        cut = taken.found.failure or InterruptError("interrupted")
    return _document(wanted, taken, started, clock() - began), cut


def _problem(what: Message, why: Said) -> Problem:
    """Return what was not measured, as documents have it: with text."""
    return Problem(what=text(what), why=text(why))


def _idle(wanted: Wanted, taken: _Taken, progress: Bar, opening: Opening) -> None:
    progress.stage(message(_TAKE_UNPACED, again=False))
    progress.left(wanted.seconds)
    asked = connection(
        wanted.end, wanted.key, direction=wanted.direction, pings=None, interval_s=INTERVAL_S,
        # The other end may refuse all of it before anything is measured.
        lasts_s=wanted.seconds, streams=wanted.streams,
    )  # fmt: skip
    with opening(asked) as ends:
        _note_ends(ends, taken)

        def measure(number: int) -> list[Interval]:
            if number > 1:
                progress.stage(message(_TAKE_UNPACED, again=True))
            return _phase(wanted, taken, ends, wanted.idle_s, 0.0).intervals

        intervals, starved = starving.repeated(
            measure, lambda some: starving.of_round_trips(some, starving.IDLE)
        )
    taken.starved += starved
    found = figures.round_trips(
        [one.round_trips for one in intervals],
        (("latency.unpaced.min", 0.0), ("latency.unpaced.p50", 0.5), ("latency.unpaced.p99", 0.99)),
    )
    if not found:
        what = message("unpaced latency")
        taken.problems.append(_problem(what, message("no round trip was completed")))
    taken.figures |= found


def _loaded(
    wanted: Wanted,
    taken: _Taken,
    progress: Bar,
    opening: Opening,
    clock: Callable[[], float],
) -> None:
    asked = connection(
        wanted.end, wanted.key, direction=wanted.direction, streams=wanted.streams,
        congestion=wanted.congestion, pings=_PINGS, interval_s=INTERVAL_S,
        lasts_s=wanted.seconds - wanted.idle_s,
    )  # fmt: skip
    with opening(asked) as ends:
        _note_ends(ends, taken)
        taken.found = found = _searched(wanted, taken, ends, progress, clock)
        if wanted.bucket is not None:
            taken.spent_bits += found.spent_bits
        taken.starved += starving.of_lacks(found.lacks, starving.SEARCH)
        fresh = _fresh(wanted, taken, found, ends, progress)
        taken.figures |= stages.of_search(found, fresh)
        _note_ends(ends, taken)
        if found.cut_short:
            if found.failure is not None:
                taken.problems.append(_problem(message("sizes of writes"), found.ended))
            return
        _writes(wanted, taken, ends, progress, clock)


def _fresh(
    wanted: Wanted, taken: _Taken, found: Found, ends: Ends, progress: Bar
) -> Sequence[Interval]:
    """Return intervals at full speed, measured again where an end had no CPU."""
    # What a bucket has left, or who is gone, is not to be tried again.
    shaped = found.shaping is not None and found.shaping.kind in ("bucket", "drop")
    tries = 1 if found.cut_short or shaped else starving.TRIES

    def measure(number: int) -> Sequence[Interval]:
        if number == 1:
            return stages.fresh(found, wanted.fresh_s)
        progress.stage(message(_TAKE_FRESH, again=True))
        course = _phase(wanted, taken, ends, wanted.fresh_s)
        return stages.settled([one for one in course.intervals if one.on_ns > 0])

    def disturbed(some: Sequence[Interval]) -> starving.Disturbances:
        rates = starving.of_rates(some, wanted.streams, starving.FRESH)
        return rates or starving.of_times(some, wanted.streams, starving.LOADED)

    some, starved = starving.repeated(measure, disturbed, tries)
    taken.starved += starved
    return some


def _phase(
    wanted: Wanted,
    taken: _Taken,
    ends: Ends,
    seconds: float,
    on_s: float | None = None,
    **more: int,
) -> LiveTrace:
    course = LiveTrace(wanted.direction, wanted.streams, ends.pings, ends.ip6)
    try:
        for happening in ends.phase(seconds, on_s, **more):
            course.add(happening)
    finally:
        # Also what was sent until it broke off was sent.
        taken.spent_bits += course.spent_bits
    return course


def _searched(
    wanted: Wanted,
    taken: _Taken,
    ends: Ends,
    progress: Bar,
    clock: Callable[[], float],
) -> Found:
    if wanted.bucket is not None:
        progress.stage(message("base bandwidth, loaded latency, and the search for a bucket"))
        return search(
            ends, wanted.bucket, progress, key={"end": wanted.end}, direction=wanted.direction,
            streams=wanted.streams, clock=clock,
        )  # fmt: skip
    progress.stage(message(_TAKE_FRESH, again=False))
    began = clock()
    course = _phase(wanted, taken, ends, wanted.fresh_s)
    ended = message("only the base bandwidth was measured (--quick)")
    return course.found({"end": wanted.end}, clock() - began, ended)


def _writes(
    wanted: Wanted,
    taken: _Taken,
    ends: Ends,
    progress: Bar,
    clock: Callable[[], float],
) -> None:
    shaping = None if taken.found is None else taken.found.shaping
    bucket = stages.Tokens.of(shaping, clock)
    may_rest_s, throttled = wanted.rest_s, set[int]()

    def measure(size: int, again: bool, to_come: float) -> list[Interval]:
        nonlocal may_rest_s
        seconds = wanted.write_s
        if bucket is not None:
            seconds, rest_s = bucket.before(wanted.write_s)
            if 0 < rest_s <= may_rest_s:
                progress.stage(
                    message(
                        "idle for {time}: the bucket refills for the next writes",
                        time=Duration(rest_s),
                    )
                )
                progress.left(rest_s + to_come)
                for _ in ends.phase(rest_s, 0.0):
                    pass
                may_rest_s -= rest_s
            elif rest_s > 0:
                throttled.add(size)
        progress.stage(message(_TAKE_WRITE, size=Chosen(size, "bytes"), again=again))
        progress.left(to_come)
        course = _phase(wanted, taken, ends, seconds, write_bytes=size)
        if bucket is not None:
            bucket.sent(course.spent_bits)
        return course.intervals

    def sized(size: int, to_come: float) -> tuple[Sequence[Interval], starving.Disturbances]:
        return starving.repeated(
            lambda number: measure(size, number > 1, to_come),
            lambda some: (
                starving.of_rates(some, wanted.streams, (f"write.{size}",))
                or starving.of_times(some, wanted.streams, (f"write.{size}.round_trip",))
            ),
        )

    # No order of sizes: what drifts meanwhile is not to look like one of them.
    for number, size in enumerate(stages.shuffled(wanted.sizes)):
        to_come = (len(wanted.sizes) - number) * wanted.write_s
        intervals, starved = sized(size, to_come)
        taken.starved += starved
        _add_write(stages.of_writes(size, intervals, throttled=size in throttled), size, taken)


def _add_write(one: Write | None, size: int, taken: _Taken) -> None:
    if one is None:
        what = message(_TAKE_WRITE, size=Chosen(size, "bytes"), again=False)
        taken.problems.append(_problem(what, message("nothing was sent")))
    else:
        taken.writes.append(one)


def _note_ends(ends: Ends, taken: _Taken) -> None:
    connected = ends.connected
    taken.here = {f.name: f.value for f in connected.here}
    taken.there = {f.name: f.value for f in connected.there}


def _document(
    wanted: Wanted, taken: _Taken, started: datetime, seconds: float
) -> NetworkFingerprint:
    found = taken.found
    searched = None
    if found is not None and found.shaping is not None:
        bits, sent_s = stages.in_one_go(found)
        searched = Searched(bits=bits, seconds=sent_s, ended=text(found.ended))
    return NetworkFingerprint(
        tare=__version__,
        agent=client.digest(),
        started=f"{started:%Y-%m-%dT%H:%M:%SZ}",
        seconds=round(seconds, 3),
        effort=wanted.effort,
        end=wanted.end,
        direction=wanted.direction,
        streams=wanted.streams,
        figures=taken.figures,
        writes=tuple(sorted(taken.writes, key=lambda one: one.write_bytes)),
        shaping=None if found is None or found.shaping is None else found.shaping.stored(),
        searched=searched,
        course=() if found is None else stages.course(found),
        here=taken.here,
        there=taken.there,
        starved=tuple(taken.starved),
        problems=tuple(taken.problems[:_MOST_PROBLEMS]),
        spent_bits=taken.spent_bits,
    )
