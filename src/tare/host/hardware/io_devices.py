"""Network controllers and the I/O bus, by sysfs: PCI IDs, drivers, speeds of links."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from tare.host.kernel_files import KernelFiles

#: Most network controllers that are read: a host with SR-IOV may have hundreds.
_MAX_CONTROLLERS = 8
#: Names of vendors and devices by ID, as ``lspci`` reads them.
_PCI_IDS = ("usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids")
_PCI = "sys/bus/pci/devices"
#: PCI class of the bridge between CPUs and the bus.
_HOST_BRIDGE = "0x0600"
#: Buses of machines without PCI, in the order in which they are looked for.
_OTHER_BUSES = (("virtio", "virtio-mmio"), ("vmbus", "VMBus"), ("xen", "Xen bus"))


class NetworkController(msgspec.Struct, frozen=True, kw_only=True):
    """The hardware behind a network interface; software interfaces have none."""

    #: Name of the interface: ``eth0``.
    interface: str
    driver: str | None
    #: Bus that the driver addresses, and the bus beneath: ``pci``, ``virtio on pci``.
    bus: str | None
    #: Vendor and device, ``10ec:8168``; None: not on PCI.
    pci_id: str | None
    #: Class, subclass and programming interface: ``020000`` is an Ethernet controller.
    pci_class: str | None
    #: Vendor and device in words; None: this machine has no list of names.
    model: str | None
    #: Megabits per second of the link; None: down, or the driver does not know.
    link_mbit_per_s: int | None


class IoBus(msgspec.Struct, frozen=True, kw_only=True):
    """The bus that connects devices with the CPUs."""

    #: ``PCI Express``, ``PCI``, or a bus of hypervisors.
    kind: str
    #: Vendor and device of the host bridge, and its name where a list has it.
    host_bridge: str | None
    #: Transfers per second and lane of the fastest link; None: no link is shown.
    link_transfers_hz: int | None
    #: Lanes of the widest link.
    link_lanes: int | None


def network_controllers(files: KernelFiles) -> tuple[NetworkController, ...]:
    """Read the controllers of the network interfaces, in the order of their names."""
    paths = files.glob("sys/class/net/*/device/uevent")
    return tuple(_controller(files, Path(path).parent) for path in paths[:_MAX_CONTROLLERS])


def _controller(files: KernelFiles, device: Path) -> NetworkController:
    own = _uevent(files, f"{device}/uevent")
    # The device of a paravirtual driver stands below the PCI device that carries it.
    beneath = {} if "PCI_ID" in own else _uevent(files, f"{device}/../uevent")
    pci = own if "PCI_ID" in own else beneath
    pci_id = pci["PCI_ID"].lower() if "PCI_ID" in pci else None
    bus = own.get("MODALIAS", "").partition(":")[0] or None
    speed = files.number(f"{device.parent}/speed")
    return NetworkController(
        interface=device.parent.name,
        driver=own.get("DRIVER"),
        bus=f"{bus} on pci" if bus and "PCI_ID" in beneath else bus,
        pci_id=pci_id,
        pci_class=pci["PCI_CLASS"].lower().zfill(6) if "PCI_CLASS" in pci else None,
        model=_model(files, pci_id),
        link_mbit_per_s=speed if speed and speed > 0 else None,
    )


def io_bus(files: KernelFiles) -> IoBus | None:
    """Read the I/O bus; None: the kernel shows none."""
    devices = files.glob(f"{_PCI}/*")
    if not devices:
        other = (kind for name, kind in _OTHER_BUSES if files.glob(f"sys/bus/{name}/devices/*"))
        kind = next(other, None)
        if kind is None:
            return None
        return IoBus(kind=kind, host_bridge=None, link_transfers_hz=None, link_lanes=None)
    speeds = [_transfers_hz(files.read(f"{device}/max_link_speed")) for device in devices]
    lanes = [files.number(f"{device}/max_link_width") or 0 for device in devices]
    fastest = max(speeds)
    return IoBus(
        kind="PCI Express" if fastest else "PCI",
        host_bridge=_host_bridge(files, devices),
        link_transfers_hz=fastest or None,
        # 255 stands for an unknown width.
        link_lanes=max((n for n in lanes if n <= 32), default=0) or None,
    )


def _host_bridge(files: KernelFiles, devices: list[str]) -> str | None:
    for device in devices:
        if not (files.read(f"{device}/class") or "").startswith(_HOST_BRIDGE):
            continue
        numbers = [files.read(f"{device}/{name}") or "" for name in ("vendor", "device")]
        pci_id = ":".join(number.removeprefix("0x") for number in numbers)
        model = _model(files, pci_id)
        return pci_id if model is None else f"{pci_id} {model}"
    return None


def _transfers_hz(text: str | None) -> int:
    """Return the rate in ``8.0 GT/s PCIe``; 0: unknown."""
    found = re.match(r"(\d+(?:\.\d+)?) GT/s", text or "")
    return round(float(found[1]) * 1e9) if found else 0


def _uevent(files: KernelFiles, name: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in files.lines(name))
    return {key: value for key, _, value in pairs}


def _model(files: KernelFiles, pci_id: str | None) -> str | None:
    """Look up vendor and device in the list of PCI IDs, if there is one."""
    vendor_id, _, device_id = (pci_id or "").partition(":")
    lines = next((lines for name in _PCI_IDS if (lines := files.lines(name))), [])
    vendor = None
    for line in lines if device_id else []:
        if line.startswith(vendor_id):
            vendor = line.removeprefix(vendor_id).strip()
        elif vendor and line.startswith(f"\t{device_id}"):
            return f"{vendor} {line.strip().removeprefix(device_id).strip()}"
        elif vendor and not line.startswith(("\t", "#")):
            break
    return vendor
