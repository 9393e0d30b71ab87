"""Namespaces by util-linux: the container that every Linux machine has."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from tare.errors import PlatformError, Typed
from tare.platforms import callers
from tare.platforms.layer import Layer, Place, View
from tare.registry import Description

#: --user even for root, so that the same thing is measured whoever asks; --kill-child, since
#: a process that is first in its PID namespace takes everything in it along.
COMMAND = [
    "unshare",
    *("--user", "--map-root-user", "--mount", "--mount-proc"),
    *("--pid", "--fork", "--kill-child", "--net"),
]
#: With rights over its namespaces a program could look into the agent and speak for it.
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
#: Who is root inside of a container.
NOBODY = ("--reuid=65534", "--regid=65534", "--clear-groups")

#: Files that say that user namespaces are off: their content then, and what switches them on.
SWITCHES = (
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
)


class Unshare(Layer):
    """Mount, PID, network and user namespaces around the agent."""

    description = Description(
        name="unshare",
        title="mount, PID, network and user namespaces by unshare(1)",
        question="What do namespaces alone cost, without a container engine?",
        source="unshare(1), util-linux",
    )

    needs = ("unshare", "setpriv")
    privileged = True
    hides = True

    def check_here(self, place: Place) -> None:
        """See that unshare is there."""
        if shutil.which(COMMAND[0]) is None:
            raise PlatformError("unshare is not installed", Typed("sudo apt install util-linux"))

    def view(self, outer: View, place: Place) -> View:
        """Show the host's files; of its users only the caller, who is called root."""
        return msgspec.structs.replace(outer, users=False, machine_root=False)

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Put unshare before it."""
        kept = [] if place.network is None else ["--net"]
        command = [word for word in COMMAND if word not in kept]
        options = [] if kept else ["--loopback"]
        if place.hidden is not None and outer.host_files:
            options += ["--hide", place.hidden]
        entered = [outer.agent, "enter", *options, "--"] if options else []
        words = [*command, "--", *entered, *WITHOUT_RIGHTS, "--", *argv]
        if outer.machine_root:
            # With the rights that unshare needs, root of a container is root to the kernel's files.
            words = ["setpriv", *NOBODY, "--", *words]
        return [*callers.as_caller(outer, place), *words]

    def mend(self, said: str) -> str | None:
        """Name the switch that forbids user namespaces."""
        return switch(said) if "unshare:" in said else None


def switch(said: str) -> str:
    """Return what allows the namespaces that were refused."""
    for path, off, setting in SWITCHES:
        try:
            if Path(path).read_text().strip() == off:
                return Typed(f"sudo {setting}")
        except OSError:
            continue
    if "No space left" in said:
        # The kernel's word for a limit that is reached, of which 0 is one.
        return Typed("sudo sysctl user.max_user_namespaces=10000")
    return "namespaces are refused here (a container or a security module around tare?)"


UNIT = Unshare()
