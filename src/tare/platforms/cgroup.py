"""A control group of its own in every hierarchy, and nothing else around the agent."""

from __future__ import annotations

from tare.platforms import nest
from tare.platforms.layer import Layer, Place, View
from tare.registry import Description


class Cgroup(Layer):
    """Accounting by every controller, and limits where they are asked for."""

    description = Description(
        name="cgroup",
        title="a control group of its own",
        question="What does the kernel's accounting alone cost, which the bare machine has only "
        "while it is held to cores or memory?",
        source="cgroups(7)",
    )
    holds = True
    # The agent of the layer around it makes the groups: it needs no program.
    needs = ()
    privileged = True
    keeps_rights = True

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Have groups made below those of what is around it, with the limits of the place."""
        return nest.around(argv, nest.Nest(group=nest.group(place)), outer, place)

    def mend(self, said: str) -> str | None:
        """Say who may make control groups."""
        if "control group" in said:
            return "run it as root or under systemd, which hands groups on to users"
        return None


UNIT = Cgroup()
