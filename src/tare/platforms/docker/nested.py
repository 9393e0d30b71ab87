"""Docker's engine where another layer stands: on a host, in a guest; by its command line."""

from __future__ import annotations

import io
import os
import re
import tarfile

from tare.errors import PlatformError
from tare.platforms import groups, nest, root
from tare.platforms.docker.image import REPOSITORY
from tare.platforms.layer import Layer, Place, View
from tare.registry import Description
from tare.workloads.application import HOST_NAME

LABEL = "tare"
#: Symbolic links: path and target.
Links = tuple[tuple[str, str], ...]
#: An engine in a guest of tare's own: no store that asks for modules, nothing of a network.
ENGINE = (
    "dockerd", "--storage-driver=vfs", "--bridge=none", "--iptables=false", "--ip6tables=false",
    "--ip-forward=false", "--ip-masq=false", "--log-level=error", "--exec-opt",
    "native.cgroupdriver=cgroupfs",
)  # fmt: skip
#: How long it may take to start in a machine that is emulated.
ENGINE_S = 180.0


class Nested(Layer):
    """A container by ``docker run``, of an image that is there, or of one with nothing in it."""

    own_files = True
    takes_carried_root = True
    network_end = "none"
    holds = True
    moves_groups = True
    needs = ("docker",)
    engine = ("dockerd", "containerd", "containerd-shim-runc-v2", "runc")

    def __init__(self, description: Description) -> None:
        self.description = description

    def patience_s(self, place: Place) -> float:
        """Return how long an engine may take to start in a machine that is emulated."""
        return ENGINE_S

    def view(self, outer: View, place: Place) -> View:
        """Show the image's own files, the agent and the shared directory among them."""
        return root.view()

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Have the engine there start a container, as the ground does here by its API."""
        settings = self.settings(place)
        image = settings["image"]
        if image is None and place.root is None and place.runs_commands:
            raise PlatformError(
                "docker inside another layer needs an image there to run commands in",
                '[platforms.docker] image = "debian:12"',
            )
        folder = nest.folder(outer, place, "docker")
        client, made = _engine(folder) if outer.own_machine else (["docker"], nest.Nest())
        own = f"{REPOSITORY}:{place.name}"
        links, shown = _of_root(outer, place)
        before: tuple[tuple[str, ...], ...] = ()
        if image is None:
            before = ((*client, "import", f"{folder}/empty.tar", own),)
        # The machine is the host of the network; the container shares its interface and address.
        shares = outer.own_machine and place.port is not None
        words = [*client, "run", *options(outer, place, "host" if shares else settings["network"])]
        words += shown
        words += ["--read-only"] if settings["read_only"] else []
        words += ["--entrypoint", argv[0], image or own, *argv[1:]]
        whole = nest.Nest(
            folders=(folder, *made.folders),
            files=(nest.File(path=f"{folder}/empty.tar", text=empty(links)),),
            daemons=made.daemons,
            awaited=made.awaited,
            awaited_s=made.awaited_s,
            before=before,
            # In a guest of tare's own everything ends with the guest.
            after=((*client, "rmi", "--force", own),) if before and not made.daemons else (),
        )
        return nest.around(words, whole, outer, place)

    def mend(self, said: str) -> str | None:
        """Explain what the engine there needs."""
        return mend(said)


def mend(said: str) -> str | None:
    """Return what to do about what the engine, or its client, said."""
    if "Cannot connect to the Docker daemon" in said:
        return "start the engine there: sudo systemctl start docker"
    if "permission denied while trying to connect to the Docker" in said:
        return "let the user there use it: sudo usermod -aG docker USER"
    if re.search(r"(Unable to find image|No such image): '?(?!tare-agent:)", said):
        return "pull it there with docker, or name another one: [platforms.docker] image"
    if "unable to apply caps" in said:
        return '[platforms.docker] rights = "sys_admin"   (the engine may not give all rights)'
    return None


def _engine(folder: str) -> tuple[list[str], nest.Nest]:
    """Return the client's command and what is made around it where no engine runs."""
    address = f"unix://{folder}/docker.sock"
    places = {"data-root": "data", "exec-root": "exec", "pidfile": "pid"}
    own = (f"--{option}={folder}/{name}" for option, name in places.items())
    daemon = (*ENGINE, f"--host={address}", *own)
    made = nest.Nest(daemons=(daemon,), awaited=(f"{folder}/docker.sock",), awaited_s=ENGINE_S)
    return ["docker", "--host", address], made


def options(outer: View, place: Place, network: str) -> list[str]:
    """Return the options of ``docker run`` that every container has; Podman has them as well."""
    access = "rw" if place.writable else "ro"
    # Libraries that a program unpacks in /tmp are executable on every other platform.
    return [
        *("--interactive", "--rm", "--pull=never", f"--name={place.name}", *labels(place)),
        *(f"--network={network}", "--log-driver=none", "--tmpfs=/tmp:exec,mode=1777"),
        f"--volume={outer.shared}:{root.SHARED}:{access}",
        f"--volume={outer.agent}:{root.AGENT}:ro",
        *(f"--volume={outside}:{inside}" for inside, outside in root.written(outer, place)),
        *limits(place, here=outer.host_files),
    ]


def _of_root(outer: View, place: Place) -> tuple[Links, list[str]]:
    """Return what an image has, and which options show the rest of an application's files."""
    if place.root is None:
        return (), []
    shown = root.shown(outer, place, {"root": None, "show": ""})
    # The engine has a file of its own for the names of machines.
    hosts = (root.HOSTS, f"{outer.root}{root.HOSTS}")
    volumes = [f"--volume={outside}:{inside}:ro" for inside, outside in (*shown.all, hosts)]
    return shown.links, [*volumes, f"--hostname={HOST_NAME}", "--tmpfs=/run:mode=755"]


def labels(place: Place) -> tuple[str, ...]:
    """Return the options by which a container is found that nobody removed."""
    return f"--label={LABEL}={place.name}", f"--label={LABEL}.user={os.geteuid()}"


def limits(place: Place, *, here: bool) -> list[str]:
    """Return the options that hold a container: Docker's, which Podman has as well.

    Parameters
    ----------
    place : Place
        What it is held to.
    here : bool
        Whether it is on this machine, whose nodes of memory are known.
    """
    options = []
    if place.cores is not None:
        options += [f"--cpu-period={place.period_us}", f"--cpu-quota={place.quota_us}"]
    if place.cpus is not None:
        options.append(f"--cpuset-cpus={','.join(map(str, place.cpus))}")
    if here and (node := groups.near(place.cpus)) is not None:
        options.append(f"--cpuset-mems={node}")
    if place.memory_bytes is not None:
        # Memory and swap together: none of it may be swapped.
        options += [f"--memory={place.memory_bytes}", f"--memory-swap={place.memory_bytes}"]
    return options


def empty(links: Links = ()) -> str:
    """Return an archive with one directory, and links: an image that holds nothing else."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        entry = tarfile.TarInfo("tare")
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(entry)
        for path, target in links:
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
        size = archive.offset + 2 * tarfile.BLOCKSIZE
    # Without the padding to a tape's block.
    return out.getvalue()[:size].decode()
