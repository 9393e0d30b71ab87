"""Which CPUs there are, and whether they are alike."""

from __future__ import annotations

from tare.host.check import Diagnosis, Look, fail, ok, unknown, warn
from tare.host.kernel_files import cpu_list, cpus
from tare.host.view import View
from tare.registry import Description
from tare.results.message import message

CPU = "/sys/devices/system/cpu"


def examine(view: View) -> Diagnosis:
    """Look for CPUs that are slower than others, switched off, or not for us."""
    online = view.online()
    if not online:
        return unknown()
    allowed = cpus(view.kernel.fields("/proc/self/status").get("Cpus_allowed_list"))
    offline = cpus(view.kernel.read(f"{CPU}/offline"))
    value = message(
        "{online} online{% if offline %}, {offline} offline{% endif %}{% if allowed %}, tare "
        "may use {allowed}{% endif %}",
        online=len(online),
        offline=cpu_list(offline),
        allowed=cpu_list(allowed) if allowed and set(allowed) < set(online) else None,
    )
    kinds = _kinds(view)
    if len(kinds) > 1:
        each = [
            message("{cpus} ({kind})", cpus=cpu_list(members), kind=kind)
            for kind, members in kinds.items()
        ]
        fast = cpu_list(max(kinds.items(), key=_rank)[1])
        return fail(
            message("{cpus}; of several kinds: {kinds | listing}", cpus=value, kinds=[*each]),
            "times", "speed", "parallel",
            why=message("the scheduler decides which kind a trial gets"),
            change=message("taskset -c {cpus} tare …", cpus=fast),
        )  # fmt: skip
    if len(online) == 1 or len(allowed) == 1:
        return warn(
            value,
            "parallel",
            why=message("everything else that runs shares the only CPU"),
            effect=message("n workers on one CPU take n times as long"),
        )
    return ok(value)


def _kinds(view: View) -> dict[str, tuple[int, ...]]:
    """Return the CPUs by kind: Intel names them, Arm gives each a capacity."""
    kernel = view.kernel
    core = cpus(kernel.read("/sys/devices/cpu_core/cpus"))
    atom = cpus(kernel.read("/sys/devices/cpu_atom/cpus"))
    if core and atom:
        return {"performance": core, "efficiency": atom}
    found: dict[str, tuple[int, ...]] = {}
    for cpu in view.online():
        capacity = kernel.number(f"{CPU}/cpu{cpu}/cpu_capacity")
        if capacity is not None:
            found[f"capacity {capacity}"] = (*found.get(f"capacity {capacity}", ()), cpu)
    return found


def _rank(kind: tuple[str, tuple[int, ...]]) -> int:
    word = kind[0].rpartition(" ")[2]
    return int(word) if word.isdigit() else int(word == "performance")


UNIT = Look(
    description=Description(
        name="cores",
        title="CPUs",
        question="Are all CPUs alike, and may they be used?",
        source="Documentation/scheduler/sched-capacity.rst",
    ),
    order=13,
    effect=message("a small core has a quarter to a half of a large one's capacity"),
    look=examine,
)
