"""The numbers of a calibration as values of messages: rates, clocks, CPU time."""

from __future__ import annotations

from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.rates import unit_of
from tare.results.message import Amount, Chosen, Message, message


def rate(value: float, work: str) -> Amount:
    """Return a rate with its unit: ``rate(2.82e10, "flop")`` is written "28.2 GFLOPS"."""
    return Amount(value, unit_of(work))


def clock(hertz: float) -> Amount:
    """Return a clock, written "4.10 GHz"."""
    return Amount(hertz, "Hz")


def share(value: float) -> Amount:
    """Return a measured share, written "3.1 %"."""
    return Amount(value, "share")


def step(place: float) -> Chosen:
    """Return the place of a step without its unit, written "0.7", "1,769"."""
    # Places between steps have many digits.
    return Chosen(float(round(place)) if place >= 100 else float(f"{place:.3g}"), "1")


def cpus(value: float) -> Message:
    """Return CPU time a second of time, written "0.7 CPUs", "1 CPU"."""
    return place(value, "cpu")


def place(value: float, axis: AxisName, *, exact: bool = False) -> Message:
    """Return a place on an axis, written "0.7 CPUs", "1,769 MB"; ``exact``: as it was typed."""
    written = Chosen(value, "1") if exact else step(value)
    return message(
        "{value} {% if unit == 'CPUs' and value.value == 1 %}CPU{% else %}{unit}{% endif %}",
        value=written,
        unit=AXES[axis].unit,
    )


def span(start: float, end: float, axis: AxisName = "cpu") -> Message:
    """Return a range of an axis, written "0.1 to 2 CPUs"."""
    if start == end:
        return place(start, axis)
    unit = AXES[axis].unit
    return message("{start} to {end} {unit}", start=step(start), end=step(end), unit=unit)
