"""crun, the runtime in C below Podman, without an engine above it."""

from __future__ import annotations

from tare.platforms import oci, root
from tare.registry import Description


class Crun(oci.Container):
    """A container of crun."""

    description = Description(
        name="crun",
        title="a container of crun, without an engine",
        question="Does it matter which runtime makes a container, in C or in Go?",
        parameters=root.PARAMETERS,
        source="crun(1), https://github.com/containers/crun",
    )
    program = "crun"
    package = "crun"
    needs = ("crun",)
    holds = True

    def mend(self, said: str) -> str | None:
        """Say which control groups it works with."""
        if "cgroups in hybrid mode not supported" in said:
            return (
                'use "runc", or "vm/crun", or boot this machine with '
                "systemd.unified_cgroup_hierarchy=1"
            )
        return super().mend(said)


UNIT = Crun()
