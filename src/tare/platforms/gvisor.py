"""gVisor: a kernel of its own, in user space, between the agent and the machine's."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from typing import Any

from tare.errors import PlatformError
from tare.host import programs
from tare.platforms import nest, oci, root
from tare.platforms.layer import Place, Told, View
from tare.registry import Description, Parameter

#: Ways to take hold of system calls, best first, of those that every machine should have.
USUAL = ("systrap", "ptrace")
#: What a kernel says of processors and nodes of memory.
PROCESSORS = "/sys/devices/system"
#: By a file that some kernels show in every network namespace runsc takes each for the machine's.
#: With a part of /proc hidden, no user namespace may show one of its own, unless a whole one is
#: anywhere: in the directory that comes next.
WITHOUT_SIGN = (
    *("unshare", "--mount", "--propagation", "private", "--", "sh", "-c"),
    'mkdir "$0" && mount -t proc proc "$0" && mount -t tmpfs none /proc/sys/net && exec "$@"',
)


class Gvisor(oci.Container):
    """A sandbox of runsc in a control group, where it is limited."""

    description = Description(
        name="gvisor",
        title="a sandbox of gVisor (runsc)",
        question="What does a kernel in user space cost, and which system calls pay for it?",
        parameters=(
            Parameter(
                name="platform",
                meaning="how it takes hold of system calls; auto: systrap where runsc has it, "
                "otherwise ptrace",
                default="auto",
                choices=("auto", "systrap", "ptrace", "kvm"),
            ),
            *root.PARAMETERS,
        ),
        source="https://gvisor.dev/docs/",
    )
    program = "runsc"
    package = "runsc   (or see https://gvisor.dev/docs/user_guide/install/)"
    needs = ("runsc",)
    holds = True
    network_end = "own_namespace"
    #: Memory that is shared with the host is not waited on across its kernel.
    shares_memory = False

    def group(self, place: Place) -> nest.Group | None:
        """Hold all of it, its kernel included: runsc's own groups do not work everywhere."""
        return nest.group(place) if place.limited else None

    def options(self, outer: View, place: Place) -> list[str]:
        """Name its way; no network, and none of its own control groups."""
        user = ["--rootless"] if oci.rootless(outer) else []
        platform = self._platform(place)
        network = "none" if place.network is None else "sandbox"
        return [f"--platform={platform}", f"--network={network}", "--ignore-cgroups", *user]

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Run it where it finds no sign of the machine's own network, which it would refuse."""
        words = super().wrap(argv, outer, place)
        if place.network is None:
            return words
        return [*WITHOUT_SIGN, f"{outer.scratch}/proc", *words]

    def configured(
        self, argv: list[str], files: oci.Files, outer: View, place: Place
    ) -> dict[str, Any]:
        """Return a configuration that asks nothing of this machine's kernel but for users."""
        if place.root is not None:
            # Its own kernel says nothing of processors and nodes, by which programs place threads.
            files = [*files, (PROCESSORS, PROCESSORS)]
        spec = oci.configuration(argv, files, outer, place, own_kernel=True)
        if place.network is not None:
            # It takes the interfaces of a namespace that is named, and of none else.
            spec["linux"]["namespaces"].append({"type": "network", "path": place.network})
        return spec

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell its version, and which way it takes."""
        told = [fact for fact in super().facts(place) if fact[0] != "gvisor_seccomp"]
        return (*told, ("gvisor_platform", self._platform(place), None, "runsc"))

    def mend(self, said: str) -> str | None:
        """Name a way that works everywhere, or what a user lacks."""
        if "kvm" in said and "platform" in said:
            return '[platforms.gvisor] platform = "ptrace"   (/dev/kvm cannot be used here)'
        return super().mend(said)

    def _platform(self, place: Place) -> str:
        asked: str = self.settings(place)["platform"]
        if asked != "auto":
            return asked
        return next((one for one in USUAL if one in _known()), USUAL[-1])


@cache
def _known() -> frozenset[str]:
    """Return the ways that the runsc of this machine lists, those it warns of left out."""
    try:
        done = subprocess.run(
            [programs.find("runsc"), "flags"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, PlatformError, subprocess.TimeoutExpired):
        return frozenset()
    found = re.search(r"-platform string\n(.*)", done.stdout + done.stderr)
    return frozenset(re.findall(r"\w+", found.group(1))) if found else frozenset()


UNIT = Gvisor()
