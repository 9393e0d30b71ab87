"""The numbers of a calibration as values of messages: rates, clocks, CPU time."""

from __future__ import annotations

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


def step(cpus: float) -> Chosen:
    """Return the CPU time of a step, written "0.7"."""
    # Of memory sizes, and of places between steps, they have many digits.
    return Chosen(float(f"{cpus:.3g}"), "1")


def cpus(value: float) -> Message:
    """Return CPU time a second of time, written "0.7 CPUs", "1 CPU"."""
    return message("calibration.amount.cpus", value=step(value))


def span(start: float, end: float) -> Message:
    """Return a range of CPU time, written "0.1 to 2 CPUs"."""
    if start == end:
        return cpus(start)
    return message("calibration.amount.span", start=step(start), end=step(end))
