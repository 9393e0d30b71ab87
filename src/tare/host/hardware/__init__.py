"""What the hardware says of itself: processor, caches, memory modules, the disk, the mitigations.

All of it is read from files below a root, and nothing is run: what another machine said can be
read again. What cannot be read is None.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tare.host.hardware.disk import Disk, disk_of
from tare.host.hardware.io_devices import IoBus, NetworkController, io_bus, network_controllers
from tare.host.hardware.names import microarchitecture
from tare.host.hardware.processor import (
    Cache,
    Clock,
    Processor,
    caches,
    clock,
    hypervisor,
    processor,
)
from tare.host.hardware.smbios import Modules, modules
from tare.host.kernel_files import KernelFiles, cpus

__all__ = [
    "Cache", "Clock", "Disk", "Hardware", "IoBus", "Modules", "NetworkController", "Processor",
    "facts", "read",
]  # fmt: skip

_PRIMARY_HUGE = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size"


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """What one machine is made of, as far as it says."""

    processor: Processor
    #: By family and model: ``Zen 4``; None: not in the table.
    microarchitecture: str | None
    clock: Clock
    #: Those that the first CPU uses for data, the nearest first.
    caches: tuple[Cache, ...]
    #: CPUs that are online.
    cpus: int | None
    #: Hardware threads of a core.
    threads_per_core: int | None
    #: NUMA nodes.
    nodes: int | None
    memory_bytes: int | None
    #: What firmware says of the memory modules; None: it says nothing, or not to this user.
    modules: Modules | None
    #: Name of the hypervisor, "none" on bare metal.
    hypervisor: str | None
    #: Beneath the directory that was asked for.
    disk: Disk | None
    page_bytes: int | None
    huge_page_bytes: int | None
    #: What the kernel does against each flaw of the processor, in its own words.
    mitigations: dict[str, str]
    #: Largest packet of the loopback interface.
    loopback_bytes: int | None
    #: Hardware behind network interfaces; empty where the kernel shows none.
    network: tuple[NetworkController, ...]
    #: Bus of the devices; None: the kernel shows none.
    io_bus: IoBus | None

    @property
    def virtual(self) -> bool | None:
        """Whether a hypervisor stands between; None: not known."""
        return None if self.hypervisor is None else self.hypervisor != "none"

    def cache(self, level: int) -> Cache | None:
        """Return the first CPU's cache for data of a level."""
        return next((c for c in self.caches if c.level == level), None)


def read(directory: Path | None = None, root: Path = Path("/")) -> Hardware:
    """Read what the hardware says of itself.

    Parameters
    ----------
    directory : Path, optional
        Whose disk is meant; none by default.
    root : Path
        Below which ``proc`` and ``sys`` lie.

    Returns
    -------
    Hardware
        Whatever cannot be read is None in it: this raises nothing.
    """
    files = KernelFiles(root)
    found = processor(files)
    node = "sys/devices/system/node"
    topology = "sys/devices/system/cpu/cpu0/topology"
    siblings = cpus(files.read(f"{topology}/thread_siblings_list"))
    return Hardware(
        processor=found,
        microarchitecture=microarchitecture(found.vendor, found.family, found.model),
        clock=clock(files, found),
        caches=caches(files),
        cpus=len(cpus(files.read("sys/devices/system/cpu/online"))) or None,
        threads_per_core=len(siblings) or None,
        nodes=len(cpus(files.read(f"{node}/online"))) or None,
        memory_bytes=files.size_bytes("proc/meminfo", "MemTotal"),
        modules=modules(files),
        hypervisor=hypervisor(files, found),
        disk=None if directory is None else disk_of(files, directory.resolve()),
        page_bytes=files.size_bytes("proc/self/smaps", "KernelPageSize"),
        huge_page_bytes=files.number(_PRIMARY_HUGE),
        mitigations={
            Path(path).name: told
            for path in files.glob("sys/devices/system/cpu/vulnerabilities/*")
            if (told := files.read(path))
        },
        loopback_bytes=files.number("sys/class/net/lo/mtu"),
        network=network_controllers(files),
        io_bus=io_bus(files),
    )


def facts(hardware: Hardware) -> dict[str, bool | int | float | str]:
    """Lay out flat what is known, units as suffixes: the hardware's part of a fingerprint's facts.

    Parameters
    ----------
    hardware : Hardware

    Returns
    -------
    dict
        By name; what is not known is not in it.
    """
    h, p, m, d = hardware, hardware.processor, hardware.modules, hardware.disk
    told: dict[str, bool | int | float | str | None] = {
        "cpu": p.name,
        "cpu_vendor": p.vendor,
        "cpu_family": p.family,
        "cpu_model": p.model,
        "cpu_stepping": p.stepping,
        "microcode": p.microcode,
        "microarchitecture": h.microarchitecture,
        "hypervisor": h.hypervisor,
        "cpus": h.cpus,
        "threads_per_core": h.threads_per_core,
        "numa_nodes": h.nodes,
        "base_hz": h.clock.base_hz,
        "maximum_hz": h.clock.maximum_hz,
        "tsc_hz": h.clock.tsc_hz,
        "memory_bytes": h.memory_bytes,
        "page_bytes": h.page_bytes,
        "huge_page_bytes": h.huge_page_bytes,
        "loopback_mtu_bytes": h.loopback_bytes,
    }
    for cache in h.caches:
        told[f"l{cache.level}_bytes"] = cache.size_bytes
        told[f"l{cache.level}_ways"] = cache.ways
        told[f"l{cache.level}_shared_by"] = len(cache.cpus) or None
    if m is not None:
        told |= {
            "memory_kind": m.kind,
            "memory_modules": m.count,
            "memory_channels": m.channels,
            "memory_transfers_hz": m.transfers_hz,
        }
    if d is not None:
        told |= {
            "disk": d.name,
            "disk_kind": d.kind,
            "disk_model": d.model,
            "disk_scheduler": d.scheduler,
            "file_system": d.file_system,
        }
    for controller in h.network:
        for name, value in msgspec.structs.asdict(controller).items():
            if name != "interface":
                told[f"network_{controller.interface}_{name}"] = value
    if h.io_bus is not None:
        told |= {
            "io_bus": h.io_bus.kind,
            "io_bus_host_bridge": h.io_bus.host_bridge,
            "io_bus_link_transfers_hz": h.io_bus.link_transfers_hz,
            "io_bus_link_lanes": h.io_bus.link_lanes,
        }
    told |= {
        f"mitigation_{name}": words
        for name, words in sorted(h.mitigations.items())
        if words != "Not affected"
    }
    return {name: value for name, value in told.items() if value is not None}
