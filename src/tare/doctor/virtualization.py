"""A machine of its own, or one that somebody else divides."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import View
from tare.registry import Description

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
        return bad(
            f"virtual machine ({name or 'hypervisor not told'}){inside}",
            "speed",
            why="frequency, caches and cores are shared with neighbours that cannot be seen",
            change="measure on a machine of your own, or compare within one session only",
            hypervisor=name,
        )
    if virtual is None:
        return hidden(f"the processor does not say whether it is virtual{inside}")
    if inside:
        return note(
            f"bare metal{inside}",
            why="other containers of the machine cannot be seen",
        )
    return good("bare metal")


def _hypervisor(view: View) -> str | None:
    for file, word, name in SIGNS:
        if word in (view.kernel.read(file) or "").lower():
            return name
    return None


def _container(view: View) -> str:
    """Say what kind of container this is in, if that shows."""
    if view.kernel.exists("/.dockerenv"):
        return ", in a container (Docker)"
    if view.kernel.exists("/run/.containerenv"):
        return ", in a container (Podman)"
    kind = view.kernel.read("/run/systemd/container")
    return f", in a container ({kind})" if kind else ""


UNIT = Check(
    description=Description(
        name="virtualization",
        title="virtualisation",
        question="Does the machine belong to whoever measures?",
        source="Ou et al., Exploiting Hardware Heterogeneity within the Same Instance Type of "
        "Amazon EC2, 2012",
    ),
    order=10,
    effect="up to 40 % between instances of one type and price, with some programs 60 %",
    examine=examine,
)
