"""What is done to the clock while it is measured by."""

from __future__ import annotations

from typing import Any

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown, warn
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import message

DAEMONS = ("chronyd", "systemd-timesyn", "ntpd", "ptp4l", "phc2sys", "openntpd")
#: A step is more than what reading two clocks one after the other can differ by.
STEP_S = 0.001
#: The rate is corrected at most by so much; more than this is no good oscillator.
RATE_PPM = 200.0


def examine(view: View) -> Diagnosis:
    """See who disciplines the clock, by how much, and whether it was set just now."""
    running = sorted(
        {p.name for p in view.after.processes.values() if p.name in DAEMONS}
        if view.after
        else set()
    )
    step = None
    if view.before and view.after and None not in (view.before.offset_s, view.after.offset_s):
        step = (view.after.offset_s or 0.0) - (view.before.offset_s or 0.0)
    if view.clock is None and not running:
        return unknown()
    rate = offset = None
    if view.clock is not None:
        rate, offset = view.clock.rate_ppm, view.clock.offset_ns
    stepped = step is not None and abs(step) >= STEP_S
    value = message(
        "doctor.time_sync.value",
        synchronised=None if view.clock is None else view.clock.synchronised,
        daemons=[*running],
        rate=None if rate is None else _signed(rate),
        step=_signed(step * 1e3) if step is not None and stepped else None,
    )
    data: dict[str, Any] = {
        "daemons": running,
        "rate_ppm": rate,
        "offset_ns": offset,
        "step_s": step,
    }
    if stepped:
        return fail(
            value,
            "network",
            "times",
            why=message("doctor.time_sync.step"),
            change=message("doctor.time_sync.wait"),
            **data,
        )
    if rate is not None and abs(rate) >= RATE_PPM:
        return fail(
            value,
            "speed",
            why=message("doctor.time_sync.oscillator"),
            change=message("doctor.time_sync.show"),
            **data,
        )
    if len(running) > 1:
        return warn(
            value,
            "times",
            why=message("doctor.time_sync.two"),
            change=message("doctor.time_sync.disable", daemon=running[-1]),
            **data,
        )
    return ok(value, **data)


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


UNIT = Check(
    description=Description(
        name="time_sync",
        title="time synchronisation",
        question="Is the clock set while it is measured by?",
        source="adjtimex(2): the rate is corrected by at most 500 ppm",
    ),
    order=62,
    examine=examine,
)
