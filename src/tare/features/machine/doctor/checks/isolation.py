"""CPUs that are kept free for measuring."""

from __future__ import annotations

import re
from typing import Any

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, ok, unknown, warn
from tare.features.machine.doctor.view import View
from tare.host.kernel_files import cpu_list, cpus
from tare.host.settings import units
from tare.registry import Description
from tare.results.message import message

CPU = "/sys/devices/system/cpu"


def examine(view: View) -> Diagnosis:
    """Read which CPUs are isolated, without a tick, and without RCU's callbacks."""
    kernel = view.kernel
    isolated = cpus(kernel.read(f"{CPU}/isolated"))
    tickless = cpus(kernel.read(f"{CPU}/nohz_full"))
    command_line = kernel.read("/proc/cmdline")
    found = re.search(r"rcu_nocbs=(\S+)", command_line or "")
    offloaded = cpus(found[1]) if found else ()
    if not kernel.exists(CPU) and command_line is None:
        return unknown()
    data: dict[str, Any] = {
        "isolated": list(isolated),
        "nohz_full": list(tickless),
        "rcu_nocbs": list(offloaded),
    }
    if isolated:
        rest = [n for n, there in (("nohz_full", tickless), ("rcu_nocbs", offloaded)) if not there]
        value = message("doctor.isolation.value", cpus=cpu_list(isolated), missing=[*rest])
        return ok(value, **data)
    online = view.online()
    setting = units()["isolation"]
    can = len(online) > 1 and bool(setting.names(kernel))
    last = str(online[-1]) if online else "1"
    return warn(
        message("doctor.isolation.none"),
        "times",
        why=message("doctor.isolation.anything"),
        change=message(f"doctor.isolation.{'hold' if can else 'boot'}", cpu=last)
        if len(online) > 1 else None,
        **data,
    )  # fmt: skip


UNIT = Check(
    description=Description(
        name="isolation",
        title="isolated CPUs",
        question="Is a CPU kept free for what is measured?",
        source="Documentation/timers/no_hz.rst; Documentation/admin-guide/cgroup-v2.rst",
    ),
    order=41,
    examine=examine,
)
