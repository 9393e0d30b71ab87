"""systemd-nspawn: the container that comes with systemd."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from tare.errors import PlatformError, Typed
from tare.host import programs
from tare.host.lease import Remnant, session_of
from tare.platforms import callers, nest, root, users, versions
from tare.platforms.layer import Layer, Place, Told, View
from tare.registry import Description
from tare.workloads.application import HOST_NAME

PROGRAM = "systemd-nspawn"
#: Unknown to systemd's machine manager and its units; what is around it holds it to limits.
ALONE = ("--register=no", "--keep-unit", "--link-journal=no", "--resolv-conf=off", "--timezone=off")

#: Where it makes a folder for each container, which it leaves where /run is on a disk.
PROPAGATED = Path("/run/systemd/nspawn/propagate")

#: What it leaves to a container's root beyond what Docker does: with these, root in it could write
#: to the files of the machine that are shown, and look into the agent.
DROPPED = tuple(
    f"CAP_{name}"
    for name in (
        "AUDIT_CONTROL", "DAC_READ_SEARCH", "IPC_OWNER", "LEASE", "LINUX_IMMUTABLE", "MKNOD",
        "NET_ADMIN", "NET_BROADCAST", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_PTRACE",
        "SYS_RESOURCE", "SYS_TTY_CONFIG",
    )
)  # fmt: skip

#: Where it mounts what is always there.
POINTS = (root.SHARED, "/dev", "/proc", "/run", "/sys", "/tmp")


class Nspawn(Layer):
    """A container with private network, and a read-only root of the system's directories."""

    description = Description(
        name="nspawn",
        title="a container of systemd-nspawn",
        question="What does the container cost that systemd brings?",
        parameters=root.PARAMETERS,
        source="systemd-nspawn(1)",
    )
    needs = (PROGRAM,)
    own_files = True
    takes_root = True
    brings_files = True
    privileged = True

    def check_here(self, place: Place) -> None:
        """See that it is on PATH, and that this user may use it."""
        programs.find(PROGRAM, "systemd-container")
        if os.geteuid() != 0:
            raise PlatformError(
                "systemd-nspawn needs root's rights", Typed("sudo   (or use bubblewrap)")
            )

    def view(self, outer: View, place: Place) -> View:
        """Show the container: system directories, the agent, the shared directory."""
        return root.view()

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Run a container whose root is an empty directory with everything bound into it."""
        shown = _with_usr(root.shown(outer, place, self.settings(place)), outer)
        written = root.written(outer, place)
        folder = nest.folder(outer, place, self.description.name)
        user = users.base(outer, place.name)
        words = [
            *(
                callers.named(PROGRAM, outer),
                "--quiet",
                "--console=pipe",
                f"--machine={place.name}",
                *ALONE,
            ),
            *([] if place.root is None else [f"--hostname={HOST_NAME}"]),
            *(f"--directory={folder}/root", "--read-only"),
            *([] if place.network is not None else ["--private-network"]),
            *([] if user is None else [f"--private-users={user}:{users.COUNT}"]),
            *("--tmpfs=/tmp:mode=1777", f"--bind-ro={outer.agent}:{root.AGENT}"),
            f"--bind{'' if place.writable else '-ro'}={outer.shared}:{root.SHARED}",
            *(f"--bind={_escaped(source)}:{path}" for path, source in written),
            *(f"--bind-ro={_escaped(source)}:{_escaped(path)}" for path, source in shown.all),
            f"--drop-capability={','.join(DROPPED)}",
        ]
        plain = [path for path, source in shown.all if not Path(source).is_dir()]
        files = [root.AGENT, *plain]
        folders = [path for path, _ in (*written, *shown.all) if path not in files]
        points = _points([*POINTS, *folders], files)
        made = nest.Nest(
            # It gives what is inside a group below its own, in which others may be made.
            group=nest.Group(name=place.name),
            after=(("rm", "--force", "--dir", "--", f"{PROPAGATED}/{place.name}"),),
            folders=tuple(
                f"{folder}{path}" for path in ("", "/root", *(f"/root{p}" for p in points))
            ),
            files=tuple(nest.File(path=f"{folder}/root{path}", text="") for path in files),
            links=tuple((f"{folder}/root{path}", target) for path, target in shown.links),
        )
        return nest.around([*words, "--", *argv], made, outer, place)

    def mend(self, said: str) -> str | None:
        """Explain what it lacks."""
        if "os-release" in said:
            # It takes the machine's own into every container.
            return 'use "runc" there, or give the machine /usr/lib/os-release'
        if "Failed to" in said and "o such file or directory" in said:
            return "[platforms.nspawn] root, show: name what is there"
        return None

    def remnants(self) -> list[Remnant]:
        """Return the folders that containers left whose end nobody saw."""
        return [
            Remnant(path.name, f"directory {path}", path.rmdir)
            for path in PROPAGATED.glob("tare-*")
            if session_of(path.name) is not None
        ]

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell its version."""
        return versions.told("nspawn_version", PROGRAM)


def _escaped(path: str) -> str:
    """Write a path as an option takes it, in which a colon ends a path."""
    return path.replace("\\", "\\\\").replace(":", "\\:")


def _with_usr(shown: root.Shown, outer: View) -> root.Shown:
    """Return the same with /usr bound: without one it takes no directory for a root."""
    if outer.host_files:
        return shown
    ((path, source), *_) = shown.binds
    usr = ("/usr", f"{source.rstrip('/')}/usr")
    links = tuple(link for link in shown.links if link[0] != "/usr")
    return shown._replace(binds=((path, source), usr), links=links)


def _points(folders: list[str], files: list[str]) -> list[str]:
    """Return the directories on which something is mounted, or in which a file is, outer first.

    It makes them itself, but not below a root that is read-only.
    """
    parents = [str(one) for path in (*folders, *files) for one in PurePosixPath(path).parents]
    return sorted({*folders, *parents} - {"/"})


UNIT = Nspawn()
