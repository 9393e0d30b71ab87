"""Where more CPU gives nothing more: whether that is where it must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.document import Cause, Point, place_of
from tare.experiment.sweep.numbers import cpus
from tare.results.message import Amount, Message, message
from tare.statistics.scaling import Scaling, Segment

#: A ceiling within this of what can be used is where it must be, however sure its place is.
_NEAR = 0.05
#: Less of what could be used is no rounding: others had it.
_ARRIVES = 0.9
#: Share of periods below which the quota stopped as good as nobody.
_STOPPED = 0.05


@dataclass(frozen=True)
class Usable:
    """What there is to be used.

    Attributes
    ----------
    threads : int or None
        Threads that worked side by side; None: a command, which may have any number.
    cpus : int or None
        CPUs that tare may use on the machine.
    """

    threads: int | None
    cpus: int | None

    @property
    def most(self) -> int | None:
        """CPUs that could be busy at once; None: not known."""
        known = [n for n in (self.threads, self.cpus) if n is not None]
        return min(known, default=None)

    def of(self, point: Point) -> float:
        """CPUs that could be busy at a step."""
        return point.cpus if self.most is None else min(point.cpus, self.most)


def is_flat(asked: Scaling, segment: Segment) -> bool:
    """Tell whether a piece is the one in which more CPU gives nothing."""
    at = asked.saturates_at
    return at is not None and (segment.slope == 0 or at <= segment.start)


def found(
    asked: Scaling, usable: Usable, points: Sequence[Point], axis: AxisName = "cpu"
) -> tuple[Cause, bool | None, Message]:
    """Say where the line ends, and whether that is where it must.

    Parameters
    ----------
    asked : Scaling
        Has a ceiling.
    usable : Usable
    points : sequence of Point
        Those below the ceiling's flat piece.
    axis : AxisName
        What the line is along.

    Returns
    -------
    (str, bool or None, Message)
        The cause, whether it was to be expected (None: not known), and a sentence.
    """
    at = asked.saturates_at or 0.0
    place = message(
        "more {resource} gives no more speed from {place} on",
        place=Amount(at, AXES[axis].unit, asked.saturates_low, asked.saturates_high),
        resource=AXES[axis].resource,
    )
    most = usable.most
    if most is None:
        return "saturated", None, message("{place}; how many could be used is unknown", place=place)
    low = min(asked.saturates_low or at, (1 - _NEAR) * at)
    high = max(asked.saturates_high or at, (1 + _NEAR) * at)
    can = (
        message("{threads | counted('thread')} can use {cpus}", threads=most, cpus=cpus(most))
        if most == usable.threads
        else message("tare may use {cpus} here", cpus=cpus(most))
    )
    end = most * place_of(points[-1], axis) / points[-1].cpus
    if low <= end <= high:
        return "saturated", True, message("{place}, as expected: {usable}", place=place, usable=can)
    if at >= end:
        return (
            "saturated",
            False,
            message(
                "{place}, although {usable} and no more. Check whether the quota held",
                place=place,
                usable=can,
            ),
        )
    if (short := shortage(points, usable)) is not None:
        cause, why = short
        return (
            cause,
            False,
            message("{place}, although {usable}: {why}", place=place, usable=can, why=why),
        )
    return (
        "saturated",
        False,
        message(
            "{place}, although {usable}. Possible: workers wait for each other, or for memory, "
            "or the CPUs are shared",
            place=place,
            usable=can,
        ),
    )


def shortage(points: Sequence[Point], usable: Usable) -> tuple[Cause, Message] | None:
    """Say what is known of CPU time that did not arrive; None where it did, or it is not known."""
    known = [(p, p.delivered.value) for p in points if p.delivered is not None]
    if not known or len(known) < len(points):
        return None
    could = float(np.mean([usable.of(p) for p, _ in known]))
    got = float(np.mean([arrived for _, arrived in known]))
    if got > _ARRIVES * could:
        return None
    arrived = message(
        "only {got} of the usable {could} CPUs were delivered",
        got=Amount(got, "1"),
        could=Amount(could, "1"),
    )
    steal = [p.steal_cpus for p in points if p.steal_cpus is not None]
    if steal and np.mean(steal) >= (could - got) / 2:
        stolen = Amount(float(np.mean(steal)), "1")
        return "steal", message(
            "{arrived}, and the hypervisor gave {stolen} to others", arrived=arrived, stolen=stolen
        )
    if stopped(points) is False:
        return "quota", message(
            "{arrived}, although the quota throttled no worker", arrived=arrived
        )
    return "quota", arrived


def stopped(points: Sequence[Point]) -> bool | None:
    """Tell whether the quota stopped the workers; None: not known."""
    shares = [p.throttled_share for p in points if p.throttled_share is not None]
    if shares:
        return bool(np.mean(shares) >= _STOPPED)
    seconds = [p.throttled_s for p in points if p.throttled_s is not None]
    return bool(np.mean(seconds) > 0) if seconds else None
