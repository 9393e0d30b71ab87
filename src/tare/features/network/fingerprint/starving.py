"""Phases of a fingerprint in which an end had no CPU: they are measured again, a few times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tare.agent.record import Interval
from tare.experiment.fingerprints.network.document import Starved
from tare.features.network.fingerprint.search import lacks_of
from tare.networks.recording.intervals import of_intervals
from tare.networks.recording.starved import Lack, late_share, of_course, waited

#: Most attempts to measure a phase.
TRIES = 3
#: Figures of each phase, as their names begin.
IDLE = ("latency.unpaced",)
LOADED = ("latency.loaded",)
FRESH = ("bandwidth.fresh", "retransmitted.fresh", *LOADED)
SEARCH = ("shaping", "bucket", "latency.throttled")

Disturbances = tuple[Starved, ...]


def repeated(
    measure: Callable[[int], Sequence[Interval]],
    disturbed: Callable[[Sequence[Interval]], Disturbances],
    most: int = TRIES,
) -> tuple[Sequence[Interval], Disturbances]:
    """Measure until no end lacks CPU, or so often.

    Parameters
    ----------
    measure : callable
        Measures; is given the number of the try, from 1.
    disturbed : callable
        Says what disturbed it.
    most : int
        Tries.

    Returns
    -------
    (sequence of Interval, tuple of Starved)
        What was disturbed least, and by what.
    """
    best: tuple[Sequence[Interval], Disturbances] | None = None
    tries = 0
    while tries < most and (best is None or best[1]):
        tries += 1
        some = measure(tries)
        found = disturbed(some)
        if best is None or _severity(found) < _severity(best[1]):
            best = some, found
    assert best is not None
    return best[0], tuple(_after(one, tries) for one in best[1])


def of_round_trips(some: Sequence[Interval], figures: tuple[str, ...]) -> Disturbances:
    """Return whether round trips waited for a CPU for so long that they say little."""
    # The other end's half of the last interval may have come too late.
    told = [one for one in some if one.round_trips_waited_ns is not None]
    waited_ns = sum(one.round_trips_waited_ns or 0 for one in told)
    together_ns = sum(one.round_trips.sum_ns for one in told)
    n = sum(count for one in told for _, count in one.round_trips.bins)
    share = late_share(waited_ns, together_ns, n)
    if share is None:
        return ()
    return (Starved(figures=figures, end=None, waited=share, intervals=None, tries=1),)


def of_times(some: Sequence[Interval], streams: int, figures: tuple[str, ...]) -> Disturbances:
    """Return whether round trips under load waited, or the ends that send and acknowledge."""
    found = waited(of_course(of_intervals("out", some), streams))
    return of_round_trips(some, figures) or tuple(
        Starved(figures=figures, end=end, waited=min(1.0, share), intervals=None, tries=1)
        for end, share in found.items()
    )


def of_rates(some: Sequence[Interval], streams: int, figures: tuple[str, ...]) -> Disturbances:
    """Return the ends that had no CPU while data was sent."""
    return of_lacks(lacks_of(some, streams), figures)


def of_lacks(lacks: Sequence[Lack], figures: tuple[str, ...]) -> Disturbances:
    """Return the same of what is known of the ends already."""
    return tuple(
        Starved(
            figures=figures,
            end=lack.end,
            waited=min(1.0, lack.waited),
            intervals=lack.intervals,
            tries=1,
        )
        for lack in lacks
    )


def _severity(some: Disturbances) -> float:
    return max((one.intervals or one.waited for one in some), default=0.0)


def _after(one: Starved, tries: int) -> Starved:
    return Starved(
        figures=one.figures, end=one.end, waited=one.waited, intervals=one.intervals, tries=tries
    )
