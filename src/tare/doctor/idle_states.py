"""How deep an idle CPU sleeps, and how long it takes to wake up."""

from __future__ import annotations

import msgspec

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.view import View
from tare.registry import Description, scan

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
        virtual = "virtual CPUs sleep as the hypervisor likes" if view.virtual() else None
        return hidden(virtual or "no idle states are visible here")
    held = scan("settings")["idle_states"].read(kernel)
    if held is not None and held.isdigit() and int(held) < max(states.values()):
        return good(f"held to {held} µs by somebody", states=states, held_us=int(held))
    name = max(states, key=lambda one: states[one])
    told = f"down to {name}, which takes {states[name]} µs to leave"
    if states[name] <= LIMIT_US:
        return good(told, states=states)
    return msgspec.structs.replace(
        bad(
            told,
            "times",
            "network",
            why="whoever waits for a pipe, a disk or a packet wakes a sleeping CPU",
            change="sudo cpupower idle-set -D 10",
            fix={"idle_states": "0"},
            states=states,
        ),
        effect=f"up to {states[name]} µs for every time that something waited",
        source="cpuidle/state*/latency of this machine",
    )


UNIT = Check(
    description=Description(
        name="idle_states",
        title="idle states",
        question="Does whoever waits pay for the CPU's sleep?",
        source="Documentation/admin-guide/pm/cpuidle.rst",
    ),
    order=24,
    effect="some 100 µs for every time that something waited",
    examine=examine,
)
