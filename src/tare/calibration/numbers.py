"""The numbers of a calibration in words: rates, clocks, CPU time."""

from __future__ import annotations

from tare.calibration.rates import unit_of
from tare.units import quantity


def rate(value: float, work: str) -> str:
    """Write a rate with its unit: ``rate(2.82e10, "flop")`` is "28.2 GFLOPS"."""
    return quantity(value, unit_of(work))


def clock(hertz: float) -> str:
    """Write a clock: "4.10 GHz"."""
    return quantity(hertz, "Hz")


def cpus(value: float) -> str:
    """Write CPU time a second of time: "0.7 CPUs", "1 CPU"."""
    text = f"{value:.3g}"
    return f"{text} CPU" + ("" if text == "1" else "s")


def span(start: float, end: float) -> str:
    """Write a range of CPU time: "0.1 to 2 CPUs"."""
    return cpus(start) if start == end else f"{start:.3g} to {cpus(end)}"
