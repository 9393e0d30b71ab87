"""CPUs that are kept free for measuring."""

from __future__ import annotations

import re
from typing import Any

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, good, hidden, note
from tare.doctor.view import View
from tare.kernel_files import cpu_list, cpus
from tare.registry import Description, scan

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
        return hidden()
    data: dict[str, Any] = {
        "isolated": list(isolated),
        "nohz_full": list(tickless),
        "rcu_nocbs": list(offloaded),
    }
    if isolated:
        rest = [n for n, there in (("nohz_full", tickless), ("rcu_nocbs", offloaded)) if not there]
        told = f"CPUs {cpu_list(isolated)} are isolated"
        return good(told + (f", without {' and '.join(rest)}" if rest else ""), **data)
    online = view.online()
    setting = scan("settings")["isolation"]
    can = len(online) > 1 and bool(setting.names(kernel))
    last = str(online[-1]) if online else "1"
    return note(
        "no CPU is isolated",
        "times",
        why="the scheduler may put anything on the measuring CPU, and its timer ticks there",
        change=f"sudo tare doctor --fix isolation={last} -- COMMAND" if can
        else f"boot with isolcpus={last} nohz_full={last} rcu_nocbs={last}"
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
    effect="a tick costs 1 to 5 µs, 100 to 1,000 times a second; a foreign task, its time slice",
    examine=examine,
)
