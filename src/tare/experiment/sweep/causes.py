"""Why a machine is slower in one range of CPU time than in another, where that can be seen.

A range's speed is the work that it does a second for each CPU that was asked for. It is a product
of three: how much of the CPU time arrived, how fast the clock was, and how much work a cycle did.
What explains at least half of a loss, in logarithms, is called its cause; the rest is not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tare.experiment.sweep import ceiling
from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.document import Cause, Machine, Point, Regime, place_of
from tare.experiment.sweep.numbers import clock, share, span
from tare.render.words import sentence
from tare.results.message import Chosen, Message, message
from tare.statistics.scaling import Scaling, Segment

_RANGE_TEXTS_OF_THERE = {
    "chain": "the clock (chains of additions) was {here}, there {there}",
    "cpufreq": "the frequency (cpufreq) was {here}, there {there}",
}
_RANGE_TEXTS_OF_NAME = {
    "governor": "governor {name}",
    "turbo": "turbo {name}",
}

#: A range that is slower than the fastest by less is as fast [the rule for lines with breaks
#: lets a single line err by as much].
AS_FAST = 0.03
#: What explains this share of a loss is its cause.
_EXPLAINS = 0.5
#: Stolen time has steps of 10 ms: less than this of the CPU time asked for says nothing.
_LEAST_STEAL = 0.01
#: Share of periods below which the quota throttled next to nobody.
_STOPPED = 0.05


@dataclass(frozen=True)
class _Range:
    """The points of one piece of the line, and what happened in them."""

    segment: Segment
    points: Sequence[Point]
    axis: AxisName

    @property
    def span(self) -> Message:
        return span(self.place(self.points[0]), self.place(self.points[-1]), self.axis)

    def place(self, point: Point) -> float:
        return place_of(point, self.axis)

    @property
    def speed(self) -> float:
        """Work a second for each CPU that was asked for."""
        return float(np.mean([p.rate.value / p.cpus for p in self.points]))

    @property
    def arrived(self) -> float | None:
        """Share of the CPU time asked for that the workers got."""
        got = [p.delivered.value / p.cpus for p in self.points if p.delivered is not None]
        return float(np.mean(got)) if len(got) == len(self.points) else None

    @property
    def steal(self) -> float | None:
        """CPU time that went to others, as a share of what was asked for."""
        return self._mean(lambda p: None if p.steal_cpus is None else p.steal_cpus / p.cpus)

    @property
    def clock_hz(self) -> float | None:
        return self._mean(lambda p: p.clock_hz)

    @property
    def frequency_hz(self) -> float | None:
        return self._mean(lambda p: p.frequency_hz)

    @property
    def heat(self) -> float | None:
        return self._mean(lambda p: p.thermal_throttles)

    def _mean(self, of: Callable[[Point], float | None]) -> float | None:
        known = [value for p in self.points if (value := of(p)) is not None]
        return float(np.mean(known)) if known else None


def regimes(
    points: Sequence[Point],
    asked: Scaling,
    machine: Machine,
    usable: ceiling.Usable,
    axis: AxisName = "cpu",
) -> tuple[Regime, ...]:
    """Name the ranges of a sweep, how fast each is, and why; none where nothing is concluded.

    Parameters
    ----------
    points : sequence of Point
        In order of the CPU time asked for.
    asked : Scaling
        The model of the line; each of its pieces is a range.
    machine : Machine
        Governor, driver and turbo, as they were.
    usable : Usable
        What could be busy, to check the place of saturation by.
    axis : AxisName
        What the line is along.
    """
    if asked.verdict == "inconclusive":
        return ()
    ranges = list(_ranges(points, asked, axis))
    rising = [r for r in ranges if not ceiling.is_flat(asked, r.segment)] or ranges
    if not rising:
        return ()
    fastest = max(rising, key=lambda r: r.speed)
    found = []
    for one in ranges:
        relative = one.speed / fastest.speed
        expected: bool | None = None
        cause: Cause
        if ceiling.is_flat(asked, one.segment):
            cause, expected, evidence = ceiling.found(asked, usable, one.points, axis)
        elif one is fastest or relative > 1 - AS_FAST:
            cause, evidence = "none", _as_fast(one, fastest, len(ranges))
        else:
            cause, evidence = _slower(one, fastest, relative, machine)
        found.append(
            Regime(
                start=_at(one.segment.start, one),
                end=_at(one.segment.end, one),
                relative_speed=relative,
                cause=cause,
                evidence=sentence(evidence),
                expected=expected,
            )
        )
    return tuple(found)


def _ranges(points: Sequence[Point], asked: Scaling, axis: AxisName) -> Iterator[_Range]:
    """Give each piece its points; a step where two meet is the earlier one's."""
    left = sorted(points, key=lambda p: p.cpus)
    for segment in asked.segments:
        slack = 1e-9 * max(1.0, abs(segment.end))
        inside = [p for p in left if place_of(p, axis) <= segment.end + slack]
        left = left[len(inside) :]
        if inside:
            yield _Range(segment, inside, axis)


def _at(place: float, within: _Range) -> float:
    """Return the step at a place, where there is one: fits bring rounding with them."""
    steps = map(within.place, within.points)
    return next((step for step in steps if math.isclose(step, place)), place)


def _as_fast(one: _Range, fastest: _Range, ranges: int) -> Message:
    clock_hz = _clock(one)
    if ranges == 1:
        return message(
            "one line holds throughout{% if clock %}; {clock}{% endif %}", clock=clock_hz
        )
    if one is fastest:
        return message("the fastest range{% if clock %}; {clock}{% endif %}", clock=clock_hz)
    return message(
        "as fast as {fastest}, within {within}{% if clock %}; {clock}{% endif %}",
        fastest=fastest.span,
        within=Chosen(AS_FAST),
        clock=clock_hz,
    )


def _slower(
    one: _Range, fastest: _Range, relative: float, machine: Machine
) -> tuple[Cause, Message]:
    """Find what explains at least half of the loss."""
    slower = message(
        "each {per} does {loss} less than from {fastest}",
        per=AXES[one.axis].per,
        loss=share(1 - relative),
        fastest=fastest.span,
    )
    stolen = (one.steal or 0) - (fastest.steal or 0)
    if stolen >= max(_LEAST_STEAL, _EXPLAINS * (1 - relative)):
        return "steal", message(
            "{slower}: the hypervisor gave {here} of the requested CPU time to others, there "
            "{there}",
            slower=slower,
            here=share(one.steal or 0),
            there=share(fastest.steal or 0),
        )
    if _explains(one.arrived, fastest.arrived, relative):
        return "quota", _undelivered(slower, one, fastest)
    for here, there, source in (
        (one.clock_hz, fastest.clock_hz, "chain"),
        (one.frequency_hz, fastest.frequency_hz, "cpufreq"),
    ):
        if here is not None and there is not None and _explains(here, there, relative):
            seen = message(_RANGE_TEXTS_OF_THERE[source], here=clock(here), there=clock(there))
            if one.heat is not None and one.heat > (fastest.heat or 0):
                return "heat", message(
                    "{slower}: {clock}; the processor throttled for heat {times} times per trial",
                    slower=slower,
                    clock=seen,
                    times=Chosen(float(f"{one.heat:.3g}"), "1"),
                )
            return "frequency", message(
                "{slower}: {clock}{governed}",
                slower=slower,
                clock=seen,
                governed=_governed(machine),
            )
    return "unseen", _unseen(slower, one, fastest, machine)


def _explains(here: float | None, there: float | None, relative: float) -> bool:
    if not here or not there:
        return False
    return math.log(here / there) <= _EXPLAINS * math.log(relative)


def _undelivered(slower: Message, one: _Range, fastest: _Range) -> Message:
    throttled = one._mean(lambda p: p.throttled_share)
    unstopped = throttled is not None and throttled < _STOPPED
    return message(
        "{slower}: {here} of the requested CPU time was delivered, there {there}"
        "{% if unstopped %}, although the quota throttled no worker{% elif throttled %}; the "
        "quota throttled the workers in {throttled} of its periods{% endif %}",
        slower=slower,
        here=share(one.arrived or 0),
        there=share(fastest.arrived or 0),
        unstopped=unstopped,
        throttled=None if throttled is None else share(throttled),
    )


def _governed(machine: Machine) -> Message:
    """Name what decides on the frequency, as far as the machine reports it."""
    if machine.driver is None and machine.governor is None:
        return message(
            "; what set it is not visible{% if virtual %} in a virtual machine{% endif %}",
            virtual=_virtual(machine),
        )
    held = []
    if machine.driver:
        modes = [machine.driver_mode, "HWP" if machine.hwp == "on" else None]
        held.append(
            message(
                "driver {name}{% if modes %} ({modes | join(', ')}){% endif %}",
                name=machine.driver,
                modes=[*filter(None, modes)],
            )
        )
    for name in ("governor", "turbo"):
        if (value := getattr(machine, name)) is not None:
            held.append(message(_RANGE_TEXTS_OF_NAME[name], name=value))
    by_load = machine.governor in ("powersave", "schedutil", "ondemand", "conservative")
    return message(
        ", under {held | join(', ')}{% if by_load %}: the frequency follows the load"
        "{% endif %}{% if h90 %}, as CALIBRATE saw it on H90{% endif %}",
        held=held,
        by_load=by_load,
        h90=by_load and machine.driver == "intel_pstate",
    )


def _unseen(slower: Message, one: _Range, fastest: _Range, machine: Machine) -> Message:
    """Say what was measured and was no cause, and so what is left."""
    known: list[Message] = []
    if one.arrived is not None and fastest.arrived is not None:
        known.append(
            message(
                "{here} of the CPU time was delivered, there {there}",
                here=share(one.arrived),
                there=share(fastest.arrived),
            )
        )
    left = None
    if one.clock_hz is None or fastest.clock_hz is None:
        known.append(
            message(
                "the clock was not measured{% if no_frequency %}, and the machine reports no "
                "frequency{% endif %}",
                no_frequency=one.frequency_hz is None,
            )
        )
    else:
        here, there = clock(one.clock_hz), clock(fastest.clock_hz)
        known.append(message("clock {here}, there {there}", here=here, there=there))
        left = message(
            "Possible: caches, memory, {% if not virtual %}or {% endif %}the other thread of "
            "a core{% if smt %} (SMT is on){% endif %}{% if virtual %}, or other virtual "
            "machines{% endif %}",
            smt=machine.smt == "on",
            virtual=_virtual(machine),
        )
    return message(
        "{slower}: cause not visible{% if virtual %} in this virtual machine{% endif %} ("
        "{known | join('; ')}){% if left %}. {left}{% endif %}",
        slower=slower,
        virtual=_virtual(machine),
        known=known,
        left=left,
    )


def _virtual(machine: Machine) -> bool:
    return machine.hypervisor not in (None, "none")


def _clock(one: _Range) -> Message | None:
    if one.clock_hz is not None:
        return message("clock {hertz}", hertz=clock(one.clock_hz))
    if one.frequency_hz is not None:
        return message("frequency {hertz}", hertz=clock(one.frequency_hz))
    return None
