"""How deep an idle CPU sleeps, and how long it takes to wake up."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown
from tare.features.machine.doctor.view import View
from tare.host.settings import units
from tare.registry import Description
from tare.results.message import message

STATES = "/sys/devices/system/cpu/cpu*/cpuidle/state*"
#: What takes longer to leave is seen in round trips over a network, and in pipes.
LIMIT_US = 10


def examine(view: View) -> Diagnosis:
    """Find the deepest state that is enabled, unless somebody holds the latency down."""
    kernel = view.kernel
    states: dict[str, int] = {}
    for state in kernel.glob(STATES):
        latency = kernel.number(f"{state}/latency")
        if latency is not None and kernel.number(f"{state}/disable") == 0:
            states[kernel.read(f"{state}/name") or state.rpartition("/")[2]] = latency
    if not states:
        return unknown(message(f"doctor.idle_states.{'virtual' if view.virtual() else 'none'}"))
    held = units()["idle_states"].read(kernel)
    if held is not None and held.isdigit() and int(held) < max(states.values()):
        return ok(
            message("doctor.idle_states.held", latency=_us(int(held))),
            states=states,
            held_us=int(held),
        )
    name = max(states, key=lambda one: states[one])
    takes = _us(states[name])
    value = message("doctor.idle_states.value", state=name, latency=takes)
    if states[name] <= LIMIT_US:
        return ok(value, states=states)
    return fail(
        value,
        "times",
        "network",
        why=message("doctor.idle_states.wakes"),
        change=message("doctor.idle_states.set"),
        fix={"idle_states": "0"},
        effect=message("doctor.idle_states.deepest", latency=takes),
        source="cpuidle/state*/latency of this machine",
        states=states,
    )


def _us(us: int) -> str:
    # As the kernel tells it: it has no digits more.
    return f"{us} µs"


UNIT = Check(
    description=Description(
        name="idle_states",
        title="idle states",
        question="Does whoever waits pay for the CPU's sleep?",
        source="Documentation/admin-guide/pm/cpuidle.rst",
    ),
    order=24,
    examine=examine,
)
