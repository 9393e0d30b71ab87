"""bubblewrap: the sandbox behind Flatpak, which every distribution has."""

from __future__ import annotations

from tare.platforms import oci, programs, root, unshare, versions
from tare.platforms.layer import Layer, Place, Told, View
from tare.registry import Description

PROGRAM = "bwrap"
#: All namespaces but that of control groups: inside, the agent is to find its own.
NAMESPACES = (
    "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
)  # fmt: skip


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
        as_caller = programs.as_caller(outer, place)
        as_root = False if as_caller else None
        shown = root.shown(outer, place, self.settings(place), as_root=as_root)
        # Without --die-with-parent, for which the thread that started it would do as the parent:
        # the agent ends with its standard input, and with the agent the namespace.
        kept = [] if place.network is None else ["--unshare-net"]
        own = [word for word in NAMESPACES if word not in kept]
        words = [*as_caller, programs.named(PROGRAM, outer), *own]
        # Root in it would otherwise have all rights over what it shows, and could write to it. The
        # first process of a namespace can be neither killed nor stopped from inside.
        words += ["--cap-drop", "ALL", "--as-pid-1"]
        for inside, outside in shown.binds:
            words += ["--ro-bind", outside, inside]
        for inside, target in shown.links:
            words += ["--symlink", target, inside]
        words += ["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys"]
        for path in oci.READ_ONLY:
            # To root, who owns what is there, it is open without any right.
            words += ["--ro-bind-try", path, path]
        words += ["--tmpfs", "/tmp", "--dir", "/tare"]
        for inside, outside in shown.late:
            words += ["--ro-bind", outside, inside]
        bind = "--bind" if place.writable else "--ro-bind"
        words += ["--ro-bind", outer.agent, root.AGENT, bind, outer.shared, root.SHARED]
        return [*words, "--remount-ro", "/", "--chdir", "/", "--", *argv]

    def mend(self, said: str) -> str | None:
        """Name the switch that forbids user namespaces, or the path that is not there."""
        if "bwrap:" not in said:
            return None
        if "Can't find source path" in said:
            return "[platforms.bubblewrap] root, show: name what is there"
        return unshare.switch(said)

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell its version."""
        return versions.told("bubblewrap_version", PROGRAM)


UNIT = Bubblewrap()
