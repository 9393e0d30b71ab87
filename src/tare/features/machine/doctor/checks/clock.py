"""Which counter times are read from, and whether the kernel still trusts it."""

from __future__ import annotations

from tare.host.check import Diagnosis, Look, fail, ok, unknown
from tare.host.view import View
from tare.registry import Description
from tare.results.message import message

FOLDER = "/sys/devices/system/clocksource/clocksource0"
#: Read without a system call, in some ten nanoseconds.
FAST = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase")
#: The kernel's words where its watchdog found a counter to be wrong.
ALARMS = ("marking clocksource", "clocksource: timekeeping watchdog", "tsc unstable")
UPDATE = message("update firmware and kernel; compare with another clock before any result")


def examine(view: View) -> Diagnosis:
    """Compare the source in use with what there is, and listen to the kernel's watchdog."""
    current = view.kernel.read(f"{FOLDER}/current_clocksource")
    if current is None:
        return unknown()
    available = (view.kernel.read(f"{FOLDER}/available_clocksource") or "").split()
    alarms = [m for m in view.messages() if any(word in m.lower() for word in ALARMS)]
    value = message(
        "{current}{% if others %} (available: {others | join(', ')}){% endif %}",
        current=current,
        others=[name for name in available if name != current],
    )
    alarm = (
        message("the kernel's watchdog reports: {line}", line=alarms[-1].strip())
        if alarms
        else None
    )
    if current not in FAST:
        better = next((name for name in available if name in FAST), None)
        # What the watchdog gave up is not to be taken back by hand.
        change = (
            message(
                "echo {better} | sudo tee {folder}/current_clocksource",
                better=better,
                folder=FOLDER,
            )
            if better
            else None
        )
        return fail(
            value,
            "times",
            "speed",
            "network",
            why=message(
                "every reading is a system call or reads a device{% if alarm %}; {alarm}"
                "{% endif %}",
                alarm=alarm,
            ),
            change=UPDATE if alarm else change,
        )
    if alarm:
        effect = message("every time is off by the error of the rate")
        return fail(value, "times", "speed", why=alarm, change=UPDATE, effect=effect)
    return ok(value)


UNIT = Look(
    description=Description(
        name="clock",
        title="clock source",
        question="Are times read fast, and from a counter that the kernel trusts?",
        source="Documentation/timers/timekeeping.rst; vdso(7)",
    ),
    order=12,
    effect=message("a reading takes 20 ns from the TSC, about 1 µs from hpet or acpi_pm"),
    look=examine,
)
