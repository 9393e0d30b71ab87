"""How deep an idle CPU may sleep: held by an open file, which the kernel forgets by itself."""

from __future__ import annotations

import contextlib
import os
import struct
import time

from tare.errors import ExperimentError, PlatformError
from tare.host.check import Diagnosis, fail, ok, unknown
from tare.host.kernel_files import KernelFiles
from tare.host.settings.setting import Release, Saved, Setting, check_writable
from tare.host.view import View
from tare.registry import Description
from tare.results.message import message

FILE = "/dev/cpu_dma_latency"
STATES = "/sys/devices/system/cpu/cpu*/cpuidle/state*"
#: What the kernel says where nobody holds it: as deep as it likes.
DEEP = 2_000_000_000
#: Highest that can be asked for, in microseconds.
HIGHEST = 1_000_000
#: What takes longer to leave is seen in round trips over a network, and in pipes.
LIMIT_US = 10
#: How long it is watched whether a deeper state is still entered.
WATCH_S = 0.1


class IdleStates(Setting):
    """The longest time that a CPU may take to wake up, in microseconds: 0 keeps it awake."""

    description = Description(
        name="idle_states",
        title="idle states",
        question="Does whoever waits pay for the CPU's sleep?",
        source="Documentation/admin-guide/pm/cpuidle.rst; Documentation/power/pm_qos_interface.rst",
    )
    order = 24
    effect = message("some 100 µs after every wait")
    wanted = "0"

    def examine(self, view: View) -> Diagnosis:
        """Find the deepest state that is enabled, unless somebody holds the latency down."""
        kernel = view.kernel
        states: dict[str, int] = {}
        for state in kernel.glob(STATES):
            latency = kernel.number(f"{state}/latency")
            if latency is not None and kernel.number(f"{state}/disable") == 0:
                states[kernel.read(f"{state}/name") or state.rpartition("/")[2]] = latency
        if not states:
            return unknown(
                message(
                    "the hypervisor decides how deep virtual CPUs sleep"
                    if view.virtual()
                    else "no idle states are visible here"
                )
            )
        held = self.read(kernel)
        if held is not None and held.isdigit() and int(held) < max(states.values()):
            return ok(message("limited to {latency} by a process", latency=f"{held} µs"))
        name = max(states, key=lambda one: states[one])
        value = message(
            "down to {state}, which takes {latency} to leave",
            state=name,
            latency=f"{states[name]} µs",
        )
        if states[name] <= LIMIT_US:
            return ok(value)
        return fail(
            value,
            "times",
            "network",
            why=message("after a wait for a pipe, a disk or a packet, a sleeping CPU must wake up"),
            change=message("sudo cpupower idle-set -D 10"),
            fix={"idle_states": "0"},
        )

    def names(self, kernel: KernelFiles) -> list[str]:
        """Return the device by which latency is asked for."""
        return [FILE] if kernel.exists(FILE) else []

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that it is a time, and the device can be opened."""
        if not (wanted.isascii() and wanted.isdigit()) or int(wanted) > HIGHEST:
            raise ExperimentError(f"idle_states is a time in µs, not {wanted!r}", "idle_states=0")
        if not self.names(kernel):
            raise PlatformError(
                f"idle_states cannot be changed here: there is no {FILE}: not in this container, "
                "or the kernel has no PM QoS"
            )
        check_writable(self, kernel, [FILE])

    def read(self, kernel: KernelFiles) -> str | None:
        """Return the latency that holds now, in µs, or "any"."""
        try:
            raw = kernel.path(FILE).open("rb").read(4)
        except OSError:
            return None
        if len(raw) < 4:
            return None
        (latency,) = struct.unpack("=i", raw)
        return "any" if latency >= DEEP else str(latency)

    def save(self, kernel: KernelFiles, session: str) -> Saved:
        """Save nothing: the kernel forgets it when the file is closed, however that happens."""
        return {}

    def apply(self, kernel: KernelFiles, wanted: str, session: str) -> Release | None:
        """Open the device and keep it open."""
        file = os.open(kernel.path(FILE), os.O_RDWR | os.O_CLOEXEC)
        os.write(file, struct.pack("=i", int(wanted)))

        def release() -> None:
            with contextlib.suppress(OSError):
                os.close(file)

        return release

    def verify(self, kernel: KernelFiles, wanted: str) -> None:
        """Read what the kernel holds to, and watch whether deeper states are still entered."""
        now = self.read(kernel)
        # Somebody else can hold it lower still.
        if now is None or now == "any" or int(now) > int(wanted):
            raise PlatformError(f"idle_states is {now} although {wanted} µs was asked for")
        if not kernel.live:
            return
        time.sleep(0.01)
        before = _entered(kernel, int(wanted))
        time.sleep(WATCH_S)
        deeper = {n: c - before.get(n, c) for n, c in _entered(kernel, int(wanted)).items()}
        if sum(deeper.values()) > 0:
            most = max(deeper, key=lambda name: deeper[name])
            raise PlatformError(
                f"{wanted} µs was asked for, but the CPUs still enter {most} "
                f"({deeper[most]} times in {WATCH_S:g} s): the idle governor does not obey"
            )


def _entered(kernel: KernelFiles, latency_us: int) -> dict[str, int]:
    """Return how often deeper states were entered, by name."""
    found: dict[str, int] = {}
    for state in kernel.glob(STATES):
        if (kernel.number(f"{state}/latency") or 0) > latency_us:
            name = kernel.read(f"{state}/name") or state
            found[name] = found.get(name, 0) + (kernel.number(f"{state}/usage") or 0)
    return found


UNIT = IdleStates()
