"""What is done to the clock while it is measured by."""

from __future__ import annotations

from typing import Any

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import View
from tare.registry import Description

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
    who = f"by {' and '.join(running)}" if running else "no daemon seen"
    step = None
    if view.before and view.after and None not in (view.before.offset_s, view.after.offset_s):
        step = (view.after.offset_s or 0.0) - (view.before.offset_s or 0.0)
    if view.clock is None and not running:
        return hidden()
    told = f"disciplined {who}"
    rate = offset = None
    if view.clock is not None:
        rate, offset = view.clock.rate_ppm, view.clock.offset_ns
        state = "synchronised" if view.clock.synchronised else "not synchronised"
        told = f"{state}, {who}, rate corrected by {rate:+.1f} ppm"
    data: dict[str, Any] = {
        "daemons": running,
        "rate_ppm": rate,
        "offset_ns": offset,
        "step_s": step,
    }
    if step is not None and abs(step) >= STEP_S:
        return bad(
            f"{told}; set by {step * 1e3:+.1f} ms just now",
            "network",
            "times",
            why="whoever times with the time of day sees the step",
            change="wait until it is synchronised: timedatectl status, chronyc tracking",
            **data,
        )
    if rate is not None and abs(rate) >= RATE_PPM:
        return bad(
            told,
            "speed",
            why="the machine's oscillator is far off, or the correction is",
            change="chronyc tracking, or adjtimex --print",
            **data,
        )
    if len(running) > 1:
        return note(
            told,
            "times",
            why="two daemons pull at one clock",
            change=f"sudo systemctl disable --now {running[-1]}",
            **data,
        )
    return good(told, **data)


UNIT = Check(
    description=Description(
        name="time_sync",
        title="time synchronisation",
        question="Is the clock set while it is measured by?",
        source="adjtimex(2): the rate is corrected by at most 500 ppm",
    ),
    order=62,
    effect="a rate of at most 0.05 %; a step has any size, but tare's clock does not see it",
    examine=examine,
)
