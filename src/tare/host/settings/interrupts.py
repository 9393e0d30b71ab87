"""Which CPUs serve the interrupts of devices, and how many."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter

from tare.errors import ExperimentError, PlatformError
from tare.host.check import Diagnosis, fail, ok, unknown
from tare.host.kernel_files import KernelFiles, cpu_list, cpus
from tare.host.settings.setting import Release, Saved, Setting, check_writable
from tare.host.view import View
from tare.registry import Description
from tare.results.message import message

FILES = "/proc/irq/*/smp_affinity_list"
ONLINE = "/sys/devices/system/cpu/online"
#: Would move them back; it waits meanwhile.
DAEMON = "irqbalance"
RUNNING, STOPPED = "running", "stopped"
#: So many a second, at some 4 µs each, are 1 % of a CPU.
LIMIT_HZ = 2500.0
#: Told of a machine that has many.
MOST_CPUS = 4


class Interrupts(Setting):
    """Devices' interrupts on some CPUs, so that the others are left alone."""

    description = Description(
        name="interrupts",
        title="interrupts of devices",
        question="Do the measuring CPUs work for devices as well?",
        source="Documentation/core-api/irq/irq-affinity.rst; irqbalance(1); "
        "Documentation/trace/osnoise-tracer.rst, whose example has them at 1 to 5 µs",
    )
    order = 42
    effect = message("2 to 5 µs each, more with the work that a packet or a block brings")
    wanted = "0"

    def examine(self, view: View) -> Diagnosis:
        """Count devices' interrupts on each CPU over a moment."""
        if view.before is None or view.after is None or not view.after.interrupts:
            watched = not view.kernel.lines("/proc/interrupts")
            return unknown() if watched else unknown(message("not counted (--quick)"))
        rates, devices = _rates(view)
        running = any(process.name == DAEMON for process in view.after.processes.values())
        if not rates:
            return ok(
                message(
                    "no device needs any at the moment{% if balanced %}; irqbalance moves them"
                    "{% endif %}",
                    balanced=running,
                )
            )
        busiest = sorted(rates, key=lambda cpu: -rates[cpu])[:MOST_CPUS]
        value = message(
            "{% if rates %}{rates | join(', ')}{% else %}less than one a second{% endif %} "
            "(most: {devices | join(', ')}){% if balanced %}; irqbalance moves them"
            "{% endif %}",
            rates=[
                message("{hz} a second on CPU {cpu}", hz=round(rates[cpu]), cpu=str(cpu))
                for cpu in sorted(busiest)
                if rates[cpu] >= 1
            ],
            devices=[*sorted(devices, key=lambda name: -devices[name])[:2]],
            balanced=running,
        )
        if max(rates.values()) < LIMIT_HZ:
            return ok(value)
        several = len(view.online()) > 1
        return fail(
            value,
            "times",
            "network",
            why=message("CPU {cpu} also serves devices", cpu=str(busiest[0])),
            change=message("sudo tare doctor --fix interrupts=0   (measure on the others)")
            if several
            else None,
            fix={"interrupts": "0"} if several and busiest[0] != 0 else None,
        )

    def names(self, kernel: KernelFiles) -> list[str]:
        """Return the files of all interrupts that devices have."""
        return kernel.glob(FILES)

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that the CPUs are there."""
        if not (names := self.names(kernel)):
            raise PlatformError("interrupts cannot be moved: /proc/irq is not visible here")
        online = cpus(kernel.read(ONLINE))
        if not cpus(wanted) or not set(cpus(wanted)) <= set(online):
            raise ExperimentError(
                f"interrupts go to CPUs, not to {wanted!r}", f"of {cpu_list(online)}, such as 0"
            )
        check_writable(self, kernel, names)

    def read(self, kernel: KernelFiles) -> str | None:
        """Return which CPUs may serve them; where they differ, how many of them."""
        found = Counter(kernel.read(name) for name in self.names(kernel)).most_common()
        if len(found) < 2:
            return found[0][0] if found else None
        return ", ".join(f"{where} ({count} of them)" for where, count in found)

    def save(self, kernel: KernelFiles, session: str) -> Saved:
        """Save where each may go, and that the daemon runs."""
        daemon = {f"/proc/{pid}": RUNNING for pid in _daemons(kernel)}
        return {**super().save(kernel, session), **daemon}

    def apply(self, kernel: KernelFiles, wanted: str, session: str) -> Release | None:
        """Stop the daemon and move what can be moved; some interrupts are bound to their CPU."""
        for pid in _daemons(kernel):
            self.put(kernel, f"/proc/{pid}", STOPPED)
        for name in self.names(kernel):
            with contextlib.suppress(OSError):
                kernel.write(name, cpu_list(cpus(wanted)))
        return None

    def verify(self, kernel: KernelFiles, wanted: str) -> None:
        """See that no interrupt that counts goes elsewhere."""
        asked = set(cpus(wanted))
        bound = [n for n in self.names(kernel) if not set(cpus(kernel.read(n))) <= asked]
        if len(bound) == len(self.names(kernel)):
            raise PlatformError("no interrupt could be moved: all are bound to their CPUs")

    def now(self, kernel: KernelFiles, name: str) -> str | None:
        """Return the CPUs of an interrupt, or whether the daemon runs."""
        if not name.startswith("/proc/irq/"):
            fields = kernel.fields(f"{name}/status")
            if fields.get("Name") != DAEMON:
                return RUNNING  # it has ended, and another may have its number
            return STOPPED if fields.get("State", "").startswith("T") else RUNNING
        # An interrupt that went with its device needs nothing.
        return kernel.read(name)

    def put(self, kernel: KernelFiles, name: str, text: str) -> None:
        """Put back where an interrupt goes, or let the daemon go on."""
        if name.startswith("/proc/irq/"):
            if kernel.exists(name):
                kernel.write(name, text)
        elif kernel.live and kernel.fields(f"{name}/status").get("Name") == DAEMON:
            number = int(name.rpartition("/")[2])
            os.kill(number, signal.SIGCONT if text == RUNNING else signal.SIGSTOP)


def _daemons(kernel: KernelFiles) -> list[int]:
    found = []
    for name in kernel.glob("/proc/[0-9]*/comm"):
        if kernel.read(name) == DAEMON:
            found.append(int(name.split("/")[2]))
    return found


def _rates(view: View) -> tuple[dict[int, float], dict[str, float]]:
    """Return devices' interrupts a second: by CPU, and by device."""
    assert view.before is not None
    assert view.after is not None
    by_cpu: dict[int, float] = {}
    by_device: dict[str, float] = {}
    seconds = view.seconds or 1.0
    # Columns are the CPUs that run.
    online = view.online()
    for number, (name, counts) in view.after.interrupts.items():
        if not number.isdigit() or number not in view.before.interrupts:
            continue
        for cpu, now, then in zip(online, counts, view.before.interrupts[number][1], strict=False):
            if now > then:
                rate = (now - then) / seconds
                by_cpu[cpu] = by_cpu.get(cpu, 0.0) + rate
                by_device[name] = by_device.get(name, 0.0) + rate
    return by_cpu, by_device


UNIT = Interrupts()
