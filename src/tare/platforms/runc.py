"""runc, the runtime below Docker and Podman, without an engine above it."""

from __future__ import annotations

from tare.platforms import oci, root
from tare.registry import Description


class Runc(oci.Container):
    """A container of runc."""

    description = Description(
        name="runc",
        title="a container of runc, without an engine",
        question="What does a container itself cost, without Docker's engine around it?",
        parameters=root.PARAMETERS,
        source="runc(8), https://github.com/opencontainers/runc",
    )
    program = "runc"
    package = "runc"
    needs = ("runc",)
    holds = True
    slow_stacks = ("vm/runc",)


UNIT = Runc()
