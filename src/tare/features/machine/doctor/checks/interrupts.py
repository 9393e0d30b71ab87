"""Which CPUs work for devices, and how much."""

from __future__ import annotations

from typing import Any

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import message

#: So many a second, at some 4 µs each, are 1 % of a CPU.
LIMIT_HZ = 2500.0
DAEMON = "irqbalance"
#: Told of a machine that has many.
MOST_CPUS = 4


def examine(view: View) -> Diagnosis:
    """Count devices' interrupts on each CPU over a moment."""
    running = view.after is not None and any(
        process.name == DAEMON for process in view.after.processes.values()
    )
    if view.before is None or view.after is None or not view.after.interrupts:
        if not view.kernel.lines("/proc/interrupts"):
            return unknown()
        return unknown(message("doctor.interrupts.quick"))
    rates, devices = _rates(view)
    if not rates:
        return ok(message("doctor.interrupts.none", balanced=running), irqbalance=running)
    busiest = sorted(rates, key=lambda cpu: -rates[cpu])[:MOST_CPUS]
    value = message(
        "doctor.interrupts.value",
        rates=[
            message("doctor.interrupts.rate", hz=round(rates[cpu]), cpu=str(cpu))
            for cpu in sorted(busiest)
            if rates[cpu] >= 1
        ],
        devices=[*sorted(devices, key=lambda name: -devices[name])[:2]],
        balanced=running,
    )
    data: dict[str, Any] = {
        "rates_hz": {str(cpu): rate for cpu, rate in rates.items()},
        "devices_hz": devices,
        "irqbalance": running,
    }
    if max(rates.values()) >= LIMIT_HZ:
        several = len(view.online()) > 1
        return fail(
            value, "times", "network",
            why=message("doctor.interrupts.serves", cpu=str(busiest[0])),
            change=message("doctor.interrupts.move") if several else None,
            fix={"interrupts": "0"} if several and busiest[0] != 0 else None,
            **data,
        )  # fmt: skip
    return ok(value, **data)


def _rates(view: View) -> tuple[dict[int, float], dict[str, float]]:
    """Return devices' interrupts a second: by CPU, and by device."""
    assert view.before is not None
    assert view.after is not None
    by_cpu: dict[int, float] = {}
    by_device: dict[str, float] = {}
    seconds = view.seconds or 1.0
    # Columns are the CPUs that run.
    online = view.online()
    for number, (name, counts) in view.after.interrupts.items():
        if not number.isdigit() or number not in view.before.interrupts:
            continue
        for cpu, now, then in zip(online, counts, view.before.interrupts[number][1], strict=False):
            if now > then:
                rate = (now - then) / seconds
                by_cpu[cpu] = by_cpu.get(cpu, 0.0) + rate
                by_device[name] = by_device.get(name, 0.0) + rate
    return by_cpu, by_device


UNIT = Check(
    description=Description(
        name="interrupts",
        title="interrupts of devices",
        question="Do the measuring CPUs work for devices as well?",
        source="Documentation/trace/osnoise-tracer.rst, whose example has them at 1 to 5 µs",
    ),
    order=42,
    examine=examine,
)
