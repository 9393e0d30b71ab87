"""A machine of its own, or one that somebody else divides."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown, warn
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import Message, message

#: Hypervisor by a sign in a file.
SIGNS = (
    ("/sys/class/dmi/id/sys_vendor", "amazon ec2", "Amazon EC2"),
    ("/sys/class/dmi/id/sys_vendor", "google", "Google Compute Engine"),
    ("/sys/class/dmi/id/sys_vendor", "qemu", "KVM (QEMU)"),
    ("/sys/class/dmi/id/product_name", "virtualbox", "VirtualBox"),
    ("/sys/class/dmi/id/sys_vendor", "vmware", "VMware"),
    ("/sys/class/dmi/id/sys_vendor", "microsoft", "Hyper-V"),
    ("/sys/hypervisor/type", "xen", "Xen"),
    ("/proc/cmdline", "firecracker", "KVM (Firecracker)"),
    ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock", "KVM"),
    ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "hyperv", "Hyper-V"),
    ("/proc/device-tree/hypervisor/compatible", "kvm", "KVM"),
    ("/proc/device-tree/hypervisor/compatible", "xen", "Xen"),
)


def examine(view: View) -> Diagnosis:
    """Look for the hypervisor's flag, and for who it is."""
    virtual = view.virtual()
    inside = _container(view)
    if virtual:
        name = _hypervisor(view)
        return fail(
            _placed(message("doctor.virtualization.machine", hypervisor=name), inside),
            "speed",
            why=message("doctor.virtualization.shared"),
            change=message("doctor.virtualization.own"),
            hypervisor=name,
        )
    if virtual is None:
        return unknown(_placed(message("doctor.virtualization.unknown"), inside))
    if inside:
        return warn(
            _placed(message("doctor.virtualization.bare"), inside),
            why=message("doctor.virtualization.neighbours"),
        )
    return ok(message("doctor.virtualization.bare"))


def _hypervisor(view: View) -> str | None:
    for file, word, name in SIGNS:
        if word in (view.kernel.read(file) or "").lower():
            return name
    return None


def _container(view: View) -> str | None:
    """Return what kind of container this is in, if that shows."""
    if view.kernel.exists("/.dockerenv"):
        return "Docker"
    if view.kernel.exists("/run/.containerenv"):
        return "Podman"
    return view.kernel.read("/run/systemd/container") or None


def _placed(machine: Message, container: str | None) -> Message:
    if container is None:
        return machine
    return message("doctor.virtualization.contained", machine=machine, container=container)


UNIT = Check(
    description=Description(
        name="virtualization",
        title="virtualisation",
        question="Does the machine belong to whoever measures?",
        source="Ou et al., Exploiting Hardware Heterogeneity within the Same Instance Type of "
        "Amazon EC2, 2012",
    ),
    order=10,
    examine=examine,
)
