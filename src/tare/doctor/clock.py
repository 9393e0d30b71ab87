"""Which counter times are read from, and whether the kernel still trusts it."""

from __future__ import annotations

from typing import Any

import msgspec

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.view import View
from tare.registry import Description

FOLDER = "/sys/devices/system/clocksource/clocksource0"
#: Read without a system call, in some ten nanoseconds.
FAST = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase")
#: The kernel's words where its watchdog found a counter to be wrong.
ALARMS = ("marking clocksource", "clocksource: timekeeping watchdog", "tsc unstable")
#: A counter that goes on at one rate in all states.
STEADY = ("constant_tsc", "nonstop_tsc")

UPDATE = "update firmware and kernel; compare with another clock before any result"


def examine(view: View) -> Diagnosis:
    """Compare the source in use with what there is, and listen to the kernel's watchdog."""
    current = view.kernel.read(f"{FOLDER}/current_clocksource")
    if current is None:
        return hidden()
    available = (view.kernel.read(f"{FOLDER}/available_clocksource") or "").split()
    alarms = [m for m in view.messages() if any(word in m.lower() for word in ALARMS)]
    # A /proc that is hidden promises nothing, and denies nothing.
    flags = view.flags()
    missing = [flag for flag in STEADY if current == "tsc" and flags and flag not in flags]
    others = ", ".join(name for name in available if name != current)
    told = current + (f" (there are also {others})" if others else "")
    data: dict[str, Any] = {"current": current, "available": available, "alarms": alarms}
    heard = f"the kernel's watchdog says: {alarms[-1].strip()}" if alarms else ""
    if current not in FAST:
        better = next((name for name in available if name in FAST), None)
        # What the watchdog gave up is not to be taken back by hand.
        change = f"echo {better} | sudo tee {FOLDER}/current_clocksource" if better else None
        return bad(
            told,
            "times",
            "speed",
            "network",
            why=f"every reading is a system call or reads a device{'; ' * bool(heard)}{heard}",
            change=UPDATE if heard else change,
            **data,
        )
    if heard:
        return _drifting(told, why=heard, change=UPDATE, **data)
    if missing:
        return _drifting(
            told,
            why=f"the processor does not promise {' and '.join(missing)}: its rate may change",
            **data,
        )
    return good(told, **data)


def _drifting(told: str, *, why: str, change: str | None = None, **data: Any) -> Diagnosis:
    found = bad(told, "times", "speed", why=why, change=change, **data)
    return msgspec.structs.replace(found, effect="every time is wrong by what the rate is wrong")


UNIT = Check(
    description=Description(
        name="clock",
        title="clock source",
        question="Are times read fast, and from a counter that the kernel trusts?",
        source="Documentation/timers/timekeeping.rst; vdso(7)",
    ),
    order=12,
    effect="a reading takes 20 ns from the TSC, about 1 µs from hpet or acpi_pm",
    examine=examine,
)
