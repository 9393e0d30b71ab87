"""bubblewrap: the sandbox behind Flatpak, which every distribution has."""

from __future__ import annotations

from pathlib import PurePosixPath

from tare.host import programs
from tare.platforms import callers, nest, oci, root, unshare, users, versions
from tare.platforms.layer import Layer, Place, Told, View
from tare.registry import Description
from tare.workloads.application import HOST_NAME

PROGRAM = "bwrap"
#: All namespaces but that of control groups: inside, the agent is to find its own.
NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts")
#: With these the agent becomes root of the sandbox alone, and gives them up.
TO_BECOME = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")


class Bubblewrap(Layer):
    """Namespaces, a read-only root of the system's directories, a private /tmp, no network."""

    description = Description(
        name="bubblewrap",
        title="a sandbox of bubblewrap",
        question="What does a sandbox without privileges cost, as Flatpak and judges use it?",
        parameters=root.PARAMETERS,
        source="bwrap(1), https://github.com/containers/bubblewrap",
    )
    needs = (PROGRAM,)
    own_files = True
    takes_root = True
    brings_files = True
    privileged = True
    stacks = ("docker/bubblewrap",)

    def check_here(self, place: Place) -> None:
        """See that bwrap is on PATH."""
        programs.find(PROGRAM, "bubblewrap")

    def view(self, outer: View, place: Place) -> View:
        """Show the sandbox: system directories, the agent, the shared directory."""
        return root.view()

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Put bwrap before it."""
        as_caller = callers.as_caller(outer, place)
        shown = root.shown(outer, place, self.settings(place))
        # Without --die-with-parent, for which the thread that started it would do as the parent:
        # the agent ends with its standard input, and with the agent the namespace.
        kept = [] if place.network is None else ["--unshare-net"]
        own = [word for word in NAMESPACES if word not in kept]
        user = None if as_caller else users.base(outer, place.name)
        words = [*as_caller, callers.named(PROGRAM, outer), *own]
        words += ["--unshare-user"] if user is None else ["--userns", f"{nest.DESCRIPTOR}"]
        # Root in it would otherwise have all rights over what it shows, and could write to it. The
        # first process of a namespace can be neither killed nor stopped from inside.
        words += ["--cap-drop", "ALL", "--as-pid-1"]
        if user is not None:
            words += [word for right in TO_BECOME for word in ("--cap-add", right)]
            argv = [root.AGENT, "shed", "--", *argv]
        for inside, outside in shown.binds:
            words += ["--ro-bind", outside, inside]
        for inside, target in shown.links:
            words += ["--symlink", target, inside]
        words += ["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys"]
        for path in oci.READ_ONLY:
            # To root, who owns what is there, it is open without any right.
            words += ["--ro-bind-try", path, path]
        words += ["--perms", "1777", "--tmpfs", "/tmp", "--dir", "/tare"]
        if place.root is not None:
            words += _as_root_has_it(known=user is not None)
        for inside, outside in root.written(outer, place):
            words += ["--bind", outside, inside]
        for inside, outside in shown.late:
            # It would close those above a file of root's to all others.
            above = [str(folder) for folder in reversed(PurePosixPath(inside).parents)]
            words += [word for folder in above[1:] for word in ("--dir", folder)]
            words += ["--ro-bind", outside, inside]
        bind = "--bind" if place.writable else "--ro-bind"
        words += ["--ro-bind", outer.agent, root.AGENT, bind, outer.shared, root.SHARED]
        words += ["--remount-ro", "/", "--chdir", "/", "--", *argv]
        # The sandbox outlives bwrap; what is around it ends both.
        made = nest.Nest() if user is None else nest.Nest(users=nest.Users(first=user))
        return nest.around(words, made, outer, place)

    def mend(self, said: str) -> str | None:
        """Name the switch that forbids user namespaces, or the path that is not there."""
        if "bwrap:" not in said and "user namespace" not in said:
            return None
        if "Can't find source path" in said:
            return "[platforms.bubblewrap] root, show: name what is there"
        return unshare.switch(said)

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell its version."""
        return versions.told("bubblewrap_version", PROGRAM)


def _as_root_has_it(*, known: bool) -> list[str]:
    """Return the options for what an application finds beside its files.

    ``known``: it becomes root of the sandbox anyway. Otherwise it is the user of this machine, whom
    its files need not know; without rights, root has no more than he.
    """
    memory = [
        word for path in ("/run", "/dev/shm") for word in ("--perms", "1777", "--tmpfs", path)
    ]
    return [*memory, "--hostname", HOST_NAME, *([] if known else ["--uid", "0", "--gid", "0"])]


UNIT = Bubblewrap()
