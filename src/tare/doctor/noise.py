"""How noisy it is now: what interrupts a program that does nothing but read the clock."""

from __future__ import annotations

from typing import Any

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.noise_readings import CpuNoise
from tare.doctor.view import View
from tare.registry import Description
from tare.units import percent, quantity

#: Share of time lost to detours.
LIMIT = 0.01
#: A single detour of a time slice is another task, not an interrupt.
SLICE_NS = 1e6
#: What ticks, by times a second.
TICKS = (100, 250, 300, 1000)


def examine(view: View) -> Diagnosis:
    """Tell the CPU that lost most, and what comes regularly."""
    if view.noise is None:
        return hidden("not measured (--quick)")
    if not view.noise.cpus:
        return hidden(view.noise.why or "it could not be measured")
    worst = max(view.noise.cpus, key=lambda cpu: cpu.lost)
    told = "; ".join(_of(cpu) for cpu in view.noise.cpus[:4])
    if len(view.noise.cpus) > 4:
        told = f"worst of {len(view.noise.cpus)}: {_of(worst)}"
    data: dict[str, Any] = {"seconds": view.noise.seconds}
    longest = max((cpu.longest_ns or 0.0 for cpu in view.noise.cpus), default=0.0)
    if worst.lost >= LIMIT:
        return bad(
            told,
            "times",
            "network",
            why=f"CPU {worst.cpu} loses {_lost(worst)} of its time"
            + (", to other tasks as well" if longest >= SLICE_NS else ""),
            change="see load, interrupts and steal; try again when it is quieter",
            **data,
        )
    return good(told, **data)


def _lost(cpu: CpuNoise) -> str:
    return percent(cpu.lost)


def _of(cpu: CpuNoise) -> str:
    parts = [f"CPU {cpu.cpu} loses {_lost(cpu)} of its time,"]
    if cpu.rate_hz:
        parts.append(f"{cpu.rate_hz:.0f} detours a second")
    if cpu.median_ns:
        parts.append(f"of {_time(cpu.median_ns)}")
    if cpu.longest_ns:
        parts.append(f"up to {_time(cpu.longest_ns)}")
    if cpu.period_ns:
        parts.append(f"({period(cpu.period_ns)})")
    return " ".join(parts)


def period(period_ns: float) -> str:
    """Say what comes so often: the timer's tick is known by its rate."""
    rate = 1e9 / period_ns
    tick = next((known for known in TICKS if abs(rate - known) < 0.05 * known), None)
    if tick is not None:
        return f"at {rate:.0f} Hz, the timer's tick"
    return (
        f"at {rate:.0f} Hz, not the timer's tick: another task or a device"
        if rate >= 1
        else (f"every {period_ns / 1e9:.1f} s")
    )


def _time(ns: float) -> str:
    return quantity(ns, "ns")


UNIT = Check(
    description=Description(
        name="noise",
        title="noise now",
        question="How often, and for how long, does something else take the CPU at this moment?",
        source="Petrini, Kerbyson and Pakin, The case of the missing supercomputer performance, "
        "2003; the detour method of Beckman et al., 2006",
    ),
    order=70,
    effect="its share of the time on every run, and its longest detour on some",
    examine=examine,
)
