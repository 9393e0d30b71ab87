"""Podman: containers by a command, without an engine that runs all the time."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import subprocess
import tempfile
import threading
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from tare.agent import client
from tare.decoding import builtins
from tare.errors import PlatformError, Typed
from tare.host.lease import Remnant
from tare.platforms import nest, root, users
from tare.platforms.docker.nested import LABEL, labels, options
from tare.platforms.layer import Layer, Place, Told, View
from tare.registry import Description, Parameter, words
from tare.workloads.application import HOST_NAME

PROGRAM = "podman"
#: How long one of its own commands may take; the first of a user makes its store.
PATIENCE_S = 30.0
#: To which Podman 4 holds itself, so that it cannot give more.
OWN_PROCESSES = 32768
#: What it makes in a container by itself.
OWN_FILES = ("/etc/hostname", "/etc/resolv.conf")
#: For users to whom no control groups are handed.
NO_GROUPS = ("--cgroups=disabled",)

_ways_found: list[Way] = []
_looking = threading.Lock()


class Way(NamedTuple):
    """Options with which Podman starts containers on this machine."""

    #: Before ``run``.
    general: tuple[str, ...]
    #: After it.
    run: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((*self.general, *self.run))


class Podman(Layer):
    """A container of ``podman run``: an image that is there, or the files of where it stands."""

    description = Description(
        name="podman",
        title="a container of Podman, without root where it can be",
        question="What does a container cost without an engine, and without root's rights?",
        parameters=(
            Parameter(name="image", meaning="image in which it runs; without, it shows files"),
            *root.PARAMETERS,
            Parameter(
                name="network",
                meaning="Podman's network of the container",
                default="none",
                choices=("none", "bridge", "host", "slirp4netns", "pasta"),
            ),
            Parameter(
                name="options",
                meaning="options before `run`, such as --runtime runc; without, tare looks "
                "for some that work on this machine",
                default="",
            ),
        ),
        source="podman-run(1), https://podman.io",
    )
    needs = (PROGRAM, "conmon")
    own_files = True
    takes_root = True
    many_users = True
    brings_files = True
    holds = True
    moves_groups = True
    privileged = True

    def check_here(self, place: Place) -> None:
        """See that it is there, has the image, and can hold what is asked of it."""
        if shutil.which(PROGRAM) is None:
            raise PlatformError("podman is not installed", Typed("sudo apt install podman"))
        image = self.settings(place)["image"]
        way = self._way(place, here=True)
        if place.limited and (not _can_limit() or NO_GROUPS[0] in way.run):
            raise PlatformError(
                "podman without root holds no container to a size or quota on this machine, "
                "whose control groups are not handed to users",
                "run it as root, or boot with systemd.unified_cgroup_hierarchy=1",
            )
        if image is not None and _asked(*way.general, "image", "exists", image).returncode:
            raise PlatformError(
                f"podman has no image {image}", Typed(f"podman pull {shlex.quote(str(image))}")
            )

    def view(self, outer: View, place: Place) -> View:
        """Show the container: its files, the agent, the shared directory."""
        return root.view()

    def wrap(self, argv: list[str], outer: View, place: Place) -> list[str]:
        """Put ``podman run`` before it, and make the directory that is the container's root."""
        settings = self.settings(place)
        way = self._way(place, here=outer.host_files)
        folder = nest.folder(outer, place, "podman")
        user = users.base(outer, settings["image"] or place.name)
        words = [PROGRAM, *way.general, "run", *way.run, "--read-only"]
        words += ["--security-opt=label=disable", *_mapped(user)]
        # The one that is around it.
        network = settings["network"] if place.network is None else "host"
        words += options(outer, place, network)
        after = ((PROGRAM, *way.general, "rm", "--force", "--ignore", "--time=0", place.name),)
        if settings["image"] is not None:
            words += ["--entrypoint", json.dumps(argv[:1]), settings["image"], *argv[1:]]
            made = nest.Nest(folders=(folder,), directory=folder, after=after)
            return nest.around(words, made, outer, place)
        if place.root is not None:
            # By itself it has memory at /var/tmp as well, which an image may lack.
            words += ["--read-only-tmpfs=false", "--tmpfs=/run:mode=755"]
            words += ["--no-hosts", f"--hostname={HOST_NAME}"]
        shown = root.shown(outer, place, settings)
        if place.root is not None:
            shown = _with_room_in_etc(shown)
        words += [_mount(inside, outside) for inside, outside in shown.all]
        words += ["--rootfs", f"{folder}/root", *argv]
        within = (f"{folder}/root", f"{folder}/root/etc")
        made = nest.Nest(
            folders=(folder, *within),
            owners=() if user is None else tuple((one, user) for one in within),
            links=tuple((f"{folder}/root{path}", target) for path, target in shown.links),
            # Its monitor leaves a file where it starts when memory runs out.
            directory=folder,
            after=after,
        )
        return nest.around(words, made, outer, place)

    def mend(self, said: str) -> str | None:
        """Explain what Podman needs."""
        if "hybrid mode not supported" in said or "setrlimit" in said:
            return '[platforms.podman] options = "--runtime runc"   (and runc where it stands)'
        if "image not known" in said or "in local containers storage" in said:
            return "pull it there with podman, or name another one: [platforms.podman] image"
        if "newuidmap" in said or "subuid ranges" in said:
            return Typed(
                "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER"
            )
        return None

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell its version, and the options that it took to start."""
        about = _about()
        told: list[Told] = [
            ("podman_version", about["version"]["Version"], None, PROGRAM),
            ("podman_options", str(self._way(place, here=True)), None, PROGRAM),
        ]
        return tuple(told)

    def remnants(self) -> list[Remnant]:
        """Return the containers with tare's label that this user made."""
        if shutil.which(PROGRAM) is None:
            return []
        said = _asked("ps", "--all", "--format=json", f"--filter=label={LABEL}.user={os.geteuid()}")
        try:
            found = builtins(said.stdout or "[]")
        except ValueError:
            return []
        return [
            Remnant(
                name=one["Labels"][LABEL],
                what=f"container {one['Id'][:12]} of podman",
                remove=partial(_remove, one["Id"]),
            )
            for one in found or []
        ]

    def _way(self, place: Place, *, here: bool) -> Way:
        given = tuple(words("[platforms.podman] options", self.settings(place)["options"]))
        return Way(given) if given or not here else way(place)


def _mount(inside: str, outside: str) -> str:
    """Return the option that shows a path; in the short form, no path may have a colon."""
    fields = ("type=bind", f"source={outside}", f"destination={inside}", "ro=true")
    quoted = ('"' + field.replace('"', '""') + '"' for field in fields)
    return f"--mount={','.join(quoted)}"


def _with_room_in_etc(shown: root.Shown) -> root.Shown:
    """Return the same with every entry of /etc by itself: Podman puts files of its own beside."""
    folder = next((Path(outside) for path, outside in shown.binds if path == "/etc"), None)
    if folder is None:
        return shown
    binds = [bind for bind in shown.binds if bind[0] != "/etc"]
    links = list(shown.links)
    for entry in sorted(folder.iterdir()):
        path = f"/etc/{entry.name}"
        if entry.is_symlink():
            links.append((path, str(entry.readlink())))
        elif path not in OWN_FILES:
            binds.append((path, str(entry)))
    links = [link for link in links if link[0] not in OWN_FILES]
    return shown._replace(binds=tuple(binds), links=tuple(links))


def _mapped(user: int | None) -> tuple[str, ...]:
    """Return the options by which root in it is another user, and others are those after him."""
    if user is None:
        return ()
    return tuple(f"--{kind}map=0:{user}:{users.COUNT}" for kind in ("uid", "gid"))


def way(place: Place) -> Way:
    """Return options with which a container starts here; looked for once.

    Raises
    ------
    PlatformError
        If there are none, with what the last way said.
    """
    with _looking:
        if not _ways_found:
            _ways_found.append(_look(place))
        return _ways_found[0]


def _look(place: Place) -> Way:
    """Try ways, the plain one first."""
    user = users.base(View(agent="", shared="", host_files=True), place.name)
    words = ["--rm", "--network=none", "--log-driver=none", *labels(place), *_mapped(user)]
    held: tuple[str, ...] = ()
    # Among what is the session's, where it is found if this is killed.
    with tempfile.TemporaryDirectory(prefix=f"{place.name}.podman-", dir=place.scratch) as folder:
        shutil.copy(client.binary(), f"{folder}/agent")
        # Podman makes it as root of this machine, in which no other root can make anything.
        settings = Path(folder, "etc")
        settings.mkdir()
        if user is not None:
            os.chown(folder, user, user)
            os.chown(settings, user, user)
        for one in _ways():
            for more in ((), _own_limits()):
                tried = Way(one.general, (*one.run, *(held or more)))
                run = (*tried.run, *words, "--rootfs", folder, "/agent", "nothing")
                done = _asked(*tried.general, "run", *run)
                if done.returncode == 0:
                    return tried
                if "rlimit" not in done.stderr or held:
                    break
                # It would raise limits, and this user may not: so it shall keep what is held.
                held = _own_limits()
    said = done.stderr.strip()
    hint = Podman().mend(said) or Typed("podman info   (and, by hand, run true in its image)")
    raise PlatformError(f"podman starts no container here: {said}", hint)


def _ways() -> list[Way]:
    runtimes = [(), *((f"--runtime={one}",) for one in ("runc", "crun") if shutil.which(one))]
    managers: list[tuple[str, ...]] = [(), ("--cgroup-manager=cgroupfs",)]
    pairs = [(*runtime, *manager) for runtime in runtimes for manager in managers]
    return [*(Way(pair) for pair in pairs), *(Way(one, NO_GROUPS) for one in runtimes)]


def _own_limits() -> tuple[str, ...]:
    """Return options for the limits that this process has."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if processes == resource.RLIM_INFINITY or processes > OWN_PROCESSES:
        processes = OWN_PROCESSES
    return (f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={processes}:{processes}")


@cache
def _about() -> dict[str, Any]:
    said = _asked("info", "--format=json")
    try:
        about: dict[str, Any] = builtins(said.stdout)
    except ValueError as error:
        why = said.stderr.strip()
        raise PlatformError(
            f"podman tells nothing of itself: {why}", Typed("podman info")
        ) from error
    return about


def _can_limit() -> bool:
    host = _about()["host"]
    return not host["security"]["rootless"] or host["cgroupVersion"] == "v2"


def _asked(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 1, "", str(error))


def _remove(container: str) -> None:
    done = _asked("rm", "--force", "--ignore", "--time=0", container)
    if done.returncode:
        raise PlatformError(
            f"the container {container[:12]} of podman cannot be removed: {done.stderr.strip()}",
            Typed(f"podman rm --force {container[:12]}"),
        )


UNIT = Podman()
