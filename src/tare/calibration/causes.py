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

from tare.calibration import ceiling
from tare.calibration.document import Cause, Machine, Point, Regime
from tare.calibration.numbers import clock, span
from tare.statistics.scaling import Scaling, Segment
from tare.units import percent

#: A range that is slower than the fastest by less is as fast [the rule for lines with breaks
#: lets a single line err by as much].
AS_FAST = 0.03
#: What explains this share of a loss is its cause.
_EXPLAINS = 0.5
#: Stolen time has steps of 10 ms: less than this of the CPU time asked for says nothing.
_LEAST_STEAL = 0.01


@dataclass(frozen=True)
class _Range:
    """The points of one piece of the line, and what happened in them."""

    segment: Segment
    points: Sequence[Point]

    @property
    def told(self) -> str:
        return span(self.points[0].cpus, self.points[-1].cpus)

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
    points: Sequence[Point], asked: Scaling, machine: Machine, usable: ceiling.Usable
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
    """
    if asked.verdict == "inconclusive":
        return ()
    ranges = list(_ranges(points, asked))
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
            cause, expected, evidence = ceiling.told(asked, usable, one.points)
        elif one is fastest or relative > 1 - AS_FAST:
            cause, evidence = "none", _as_fast(one, fastest, len(ranges))
        else:
            cause, evidence = _slower(one, fastest, relative, machine)
        found.append(
            Regime(
                start=_at(one.segment.start, one.points),
                end=_at(one.segment.end, one.points),
                relative_speed=relative,
                cause=cause,
                evidence=evidence,
                expected=expected,
            )
        )
    return tuple(found)


def _ranges(points: Sequence[Point], asked: Scaling) -> Iterator[_Range]:
    """Give each piece its points; a step where two meet is the earlier one's."""
    left = sorted(points, key=lambda p: p.cpus)
    for segment in asked.segments:
        slack = 1e-9 * max(1.0, abs(segment.end))
        inside = [p for p in left if p.cpus <= segment.end + slack]
        left = left[len(inside) :]
        if inside:
            yield _Range(segment, inside)


def _at(cpus: float, points: Sequence[Point]) -> float:
    """Return the step at a place, where there is one: fits bring rounding with them."""
    return next((p.cpus for p in points if math.isclose(p.cpus, cpus)), cpus)


def _as_fast(one: _Range, fastest: _Range, ranges: int) -> str:
    seen = _clock_told(one)
    if ranges == 1:
        return f"One line holds throughout{f'; {seen}' if seen else ''}."
    if one is fastest:
        return f"The fastest range{f'; {seen}' if seen else ''}."
    return (
        f"As fast as from {fastest.told}, to within {percent(AS_FAST)}"
        f"{f'; {seen}' if seen else ''}."
    )


def _slower(one: _Range, fastest: _Range, relative: float, machine: Machine) -> tuple[Cause, str]:
    """Find what explains at least half of the loss."""
    told = f"Each CPU does {percent(1 - relative)} less than from {fastest.told}"
    stolen = (one.steal or 0) - (fastest.steal or 0)
    if stolen >= max(_LEAST_STEAL, _EXPLAINS * (1 - relative)):
        return "steal", (
            f"{told}: the hypervisor gave {percent(one.steal or 0)} of the CPU time asked for to "
            f"others, there {percent(fastest.steal or 0)}."
        )
    if _explains(one.arrived, fastest.arrived, relative):
        return "quota", f"{told}: {_arrival(one, fastest)}."
    for here, there, what in (
        (one.clock_hz, fastest.clock_hz, "its clock, by chains of additions, was"),
        (one.frequency_hz, fastest.frequency_hz, "its frequency, by cpufreq, was"),
    ):
        if here is not None and there is not None and _explains(here, there, relative):
            seen = f"{told}: {what} {clock(here)}, there {clock(there)}"
            if (one.heat or 0) > (fastest.heat or 0):
                return "heat", (
                    f"{seen}, and the processor held itself back for its heat "
                    f"{one.heat:.3g} times a trial."
                )
            return "frequency", f"{seen}{_governed(machine)}."
    return "unseen", f"{told}: {_unseen(one, fastest, machine)}"


def _explains(here: float | None, there: float | None, relative: float) -> bool:
    if not here or not there:
        return False
    return math.log(here / there) <= _EXPLAINS * math.log(relative)


def _arrival(one: _Range, fastest: _Range) -> str:
    arrived = (
        f"{percent(one.arrived or 0)} of the CPU time asked for arrived, "
        f"there {percent(fastest.arrived or 0)}"
    )
    share = one._mean(lambda p: p.throttled_share)
    if share is None:
        return arrived
    if share < 0.05:
        return f"{arrived}, though the quota stopped nobody"
    return f"{arrived}; the quota stopped the workers in {percent(share)} of its periods"


def _governed(machine: Machine) -> str:
    """Name who decides on the frequency, as far as the machine tells."""
    if machine.driver is None and machine.governor is None:
        return "; who set it cannot be seen here" + (
            ", in a virtual machine" if _virtual(machine) else ""
        )
    modes = [machine.driver_mode, "HWP" if machine.hwp == "on" else None]
    mode = ", ".join(word for word in modes if word)
    driver = f"driver {machine.driver}{f' ({mode})' if mode else ''}"
    named = [
        driver if machine.driver else "",
        f"governor {machine.governor}" if machine.governor else "",
        f"turbo {machine.turbo}" if machine.turbo else "",
    ]
    told = ", ".join(word for word in named if word)
    by_load = machine.governor in ("powersave", "schedutil", "ondemand", "conservative")
    follows = ": the frequency follows the load" if by_load else ""
    like = ", as CALIBRATE saw it on H90" if by_load and machine.driver == "intel_pstate" else ""
    return f", under {told}{follows}{like}"


def _unseen(one: _Range, fastest: _Range, machine: Machine) -> str:
    """Say what could be seen and was no cause, and so what is left."""
    hidden = "not visible in this virtual machine" if _virtual(machine) else "not visible"
    seen = []
    if one.arrived is not None and fastest.arrived is not None:
        seen.append(
            f"{percent(one.arrived)} of the CPU time arrived, there {percent(fastest.arrived)}"
        )
    if one.clock_hz is None or fastest.clock_hz is None:
        no_clock = "the clock was not measured"
        if one.frequency_hz is None:
            no_clock += " and the machine tells no frequency"
        return f"{hidden}. {_sentence([*seen, no_clock])}"
    seen.append(f"the clock was {clock(one.clock_hz)}, there {clock(fastest.clock_hz)}")
    left = "each cycle did less: caches, memory, or the other thread of a core"
    if machine.smt == "on":
        left += " (SMT is on)"
    neighbours = ", or neighbours" if _virtual(machine) else ""
    return f"{hidden}. {_sentence(seen)} What is left: {left}{neighbours}."


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _virtual(machine: Machine) -> bool:
    return machine.hypervisor not in (None, "none")


def _clock_told(one: _Range) -> str:
    if one.clock_hz is not None:
        return f"clock {clock(one.clock_hz)}"
    if one.frequency_hz is not None:
        return f"frequency {clock(one.frequency_hz)}"
    return ""
