"""A machine of its own, or one that somebody else divides."""

from __future__ import annotations

from tare.host.check import Diagnosis, Look, fail, ok, unknown, warn
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Message, message

_VIRTUALIZATION_BARE = "bare metal"


def examine(view: View) -> Diagnosis:
    """Look for the hypervisor's flag, and for a container."""
    virtual = view.virtual()
    inside = _container(view)
    if virtual:
        return fail(
            _placed(message("virtual machine"), inside),
            "speed",
            why=message(
                "frequency, caches and cores are shared with neighbours that are not visible"
            ),
            change=message("use a dedicated machine, or compare within one session only"),
        )
    if virtual is None:
        return unknown(
            _placed(message("the processor does not report whether it is virtual"), inside)
        )
    if inside:
        return warn(
            _placed(message(_VIRTUALIZATION_BARE), inside),
            why=message("other containers of the machine are not visible"),
        )
    return ok(message(_VIRTUALIZATION_BARE))


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
    return message(
        "{machine}, in a container{% if container %} ({container}){% endif %}",
        machine=machine,
        container=container,
    )


UNIT = Look(
    description=Description(
        name="virtualization",
        title="virtualisation",
        question="Does the machine belong to whoever measures?",
        source="Ou et al., Exploiting Hardware Heterogeneity within the Same Instance Type of "
        "Amazon EC2, 2012",
    ),
    order=10,
    effect=message("up to 40 % between instances of one type and price, 60 % with some programs"),
    look=examine,
)
