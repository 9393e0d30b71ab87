"""A container of Docker's engine, with the agent as its first process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from tare.agent.client import Channel
from tare.errors import PlatformError, Typed
from tare.host.lease import Remnant
from tare.platforms import groups, root, users
from tare.platforms.layer import Ground, Layer, Place, Told, View
from tare.registry import Description, Parameter
from tare.workloads.application import HOST_NAME

#: The engine's period behind ``docker --cpus``.
NANO_CPUS_PERIOD_US = 100_000
#: Where layers inside a container make files, beside what those show.
SCRATCH = "/tare-scratch"
#: Where no user is to be had.
NOBODY = 65534
#: What sandboxes use of all the rights that a privileged container has; and their control groups.
SOME_RIGHTS = ("SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE")
GROUPS = "/sys/fs/cgroup"


class Docker(Ground):
    """Containers by the engine's API; no network, read-only root, seccomp as it comes."""

    description = Description(
        name="docker",
        title="a container of Docker Engine",
        question="What does a container cost, and is it less stable than the bare machine?",
        parameters=(
            Parameter(
                name="image",
                meaning="image in which it runs; without, commands see this machine's system "
                "directories and their own files, read-only",
            ),
            root.SHOW,
            Parameter(
                name="network",
                meaning="Docker's network of the container",
                default="none",
                choices=("none", "bridge", "host"),
            ),
            Parameter(
                name="read_only", meaning="the container's own files are read-only", default=True
            ),
            Parameter(
                name="rights",
                meaning="what a stack such as docker/isolate is given to make its sandboxes; "
                "docker alone is given nothing",
                default="auto",
                choices=("auto", "privileged", "sys_admin"),
            ),
        ),
        source="Docker Engine API",
    )

    own_files = True
    takes_root = True
    brings_files = True
    network_end = "container"
    holds = True
    nests = True
    keeps_root = True
    slow_stacks = ("vm/docker",)
    #: What of its rights the engine was found to be able to give.
    _rights: str | None = None

    def inside(self) -> Layer:
        """Return what reaches an engine inside other layers."""
        from tare.platforms.docker.nested import Nested

        return Nested(self.description)

    def check_here(self, place: Place) -> None:
        """Reach the engine, and find the image that the user named."""
        from tare.platforms.docker import engine

        with engine.connected() as client:
            image = self.settings(place)["image"]
            if image is not None:
                engine.named_image(client, image)

    def check_inner(self, place: Place, inner: Sequence[Layer]) -> None:
        """See that no root inside is root to files of this machine, or to the machine."""
        if place.runs_commands and inner and all(layer.keeps_rights for layer in inner):
            names = "/".join(layer.description.name for layer in inner)
            raise PlatformError(
                f"docker/{names} would give programs all rights over this machine",
                Typed("--platform docker --size 1c   (Docker has a control group of its own)"),
            )
        if self._shows_files(place) and not all(layer.own_users for layer in inner):
            raise PlatformError(
                "in a sandbox inside of docker, root would be root to this machine's files: "
                "commands there need an image",
                Typed('--image debian:12   (in a file: [platforms.docker] image = "debian:12")'),
            )

    def view(self, outer: View, place: Place) -> View:
        """Show the image's own files, the agent and the shared directory among them."""
        return msgspec.structs.replace(root.view(), scratch=SCRATCH, machine_root=True)

    def start(self, argv: list[str], place: Place, inner: Sequence[Layer]) -> Channel:
        """Make a container whose first process is the command, attach to it, start it."""
        asked = self.settings(place)["rights"]
        if asked == "auto" and self._rights is not None:
            asked = self._rights
        if asked != "auto":
            return self._started(argv, place, inner, asked)
        try:
            return self._started(argv, place, inner, "privileged")
        except PlatformError as error:
            # An engine that lacks a right itself can give no container all of them.
            if "unable to apply caps" not in error.message:
                raise
            self._rights = "sys_admin"
            return self._started(argv, place, inner, self._rights)

    def _started(
        self, argv: list[str], place: Place, inner: Sequence[Layer], rights: str
    ) -> Channel:
        from docker.errors import DockerException, ImageNotFound

        from tare.platforms.docker import engine

        client = engine.connect()
        try:
            try:
                container = self._created(client, argv, place, inner, rights)
            except ImageNotFound:
                # Another user's cleanup may remove the image after it was found: it is made again.
                container = self._created(client, argv, place, inner, rights)
        except (DockerException, OSError) as error:
            client.close()
            raise PlatformError(f"Docker cannot make the container: {error}") from error
        except BaseException:
            client.close()
            raise
        return engine.ContainerChannel(client, container["Id"])

    def _created(
        self, client: Any, argv: list[str], place: Place, inner: Sequence[Layer], rights: str
    ) -> Any:
        """Create the container from its image, which is made if the engine does not have it."""
        from tare.platforms.docker import nested

        return client.api.create_container(
            self._image(client, place, inner),
            entrypoint=argv[:1],
            command=argv[1:],
            stdin_open=True,
            name=place.name,
            labels={nested.LABEL: place.name, f"{nested.LABEL}.user": str(os.geteuid())},
            host_config=self._host_config(client, place, inner, rights),
            user=self._user(place, inner),
            hostname=None if place.root is None else HOST_NAME,
        )

    def mend(self, said: str) -> str | None:
        """Explain what the engine needs to start the container."""
        from tare.platforms.docker import nested

        if (hint := nested.mend(said)) is not None:
            return hint
        if "executable file not found" in said or "no such file or directory" in said:
            return "[platforms.docker] image: name one that contains it"
        return None

    def facts(self, place: Place) -> tuple[Told, ...]:
        """Tell versions of the engine and the runtime, identity of the image."""
        from tare.platforms.docker import engine

        with engine.connected() as client:
            version = client.api.version()
            image = self.settings(place)["image"]
            told: list[Told] = [("docker_version", version["Version"], None, "engine")]
            told += [
                (f"docker_{part['Name']}_version", part["Version"], None, "engine")
                for part in version.get("Components", [])
                if part["Name"] in ("containerd", "runc")
            ]
            if image is not None:
                identity = client.images.get(image).id
                told.append(("docker_image", f"{image} ({identity})", None, "engine"))
        return tuple(told)

    def remnants(self) -> list[Remnant]:
        """Return containers with tare's label that this user made, and tare's images."""
        from tare.platforms.docker import engine, nested
        from tare.platforms.docker.image import APPLICATIONS, REPOSITORY

        user = f"{nested.LABEL}.user={os.geteuid()}"
        try:
            with engine.connected() as client:
                found = client.api.containers(all=True, filters={"label": [nested.LABEL, user]})
                images = [*client.images.list(REPOSITORY), *client.images.list(APPLICATIONS)]
        except PlatformError:
            return []
        return [
            *(
                Remnant(
                    name=one["Labels"][nested.LABEL],
                    what=f"container {one['Id'][:12]}",
                    remove=partial(engine.remove_container, one["Id"]),
                )
                for one in found
            ),
            *(
                Remnant(tag, f"image {tag}", partial(engine.remove_image, tag))
                for image in images
                for tag in image.tags
            ),
        ]

    def _image(self, client: Any, place: Place, inner: Sequence[Layer]) -> str:
        from tare.platforms.docker import engine
        from tare.platforms.docker import image as images

        settings = self.settings(place)
        if place.root is not None:
            return images.of_root(client, place.root)
        if settings["image"] is not None:
            return engine.named_image(client, settings["image"])
        needs = [need for layer in inner for need in layer.needs]
        return images.own(client, needs, [file for layer in inner for file in layer.files()])

    def _shows_files(self, place: Place) -> bool:
        """Tell whether it shows files of this machine, in place of an image's."""
        own = place.root is not None or self.settings(place)["image"] is not None
        return place.runs_commands and not own

    def _user(self, place: Place, inner: Sequence[Layer]) -> str | None:
        """Return user and group that it runs as; None: root, whose files are an image's alone."""
        if inner or not self._shows_files(place):
            return None
        # Root in it would be root to the kernel, for files of root's that it shows.
        here = View(agent="", shared="", host_files=True)
        unknown = users.base(here, place.name) or (None if os.geteuid() else NOBODY)
        return f"{os.geteuid()}:{os.getegid()}" if unknown is None else f"{unknown}:{unknown}"

    def _files(self, place: Place) -> list[Any]:
        """Return mounts of this machine's files for commands that have no image, or of a root's."""
        from docker.types import Mount

        if place.root is not None:
            # The engine has a file of its own for the names of machines.
            hosts = (root.HOSTS, f"{place.root.path}{root.HOSTS}")
            return [
                Mount(inside, outside, type="bind", read_only=True)
                for inside, outside in (hosts, *place.root.layers)
            ]
        if not self._shows_files(place):
            return []
        here = View(agent="", shared="", host_files=True)
        shown = root.shown(here, place, {"root": None, "show": self.settings(place)["show"]})
        # What is a link here, such as /bin, is its target there.
        links = ((path, path) for path, _ in shown.links)
        return [
            Mount(inside, outside, type="bind", read_only=True)
            for inside, outside in (*shown.binds, *links, *shown.late)
        ]

    def _host_config(
        self, client: Any, place: Place, inner: Sequence[Layer], rights: str
    ) -> dict[str, Any]:
        from docker.types import LogConfig, Mount

        from tare.agent import client as agent

        privileged = any(layer.privileged for layer in inner)
        some = privileged and rights == "sys_admin"
        rightful = self._user(place, inner) is None
        # Of this machine's programs, some would make a user root.
        options = None if rightful else ["no-new-privileges:true"]
        if privileged:
            options = ["apparmor=unconfined", "seccomp=unconfined"]
        mounts = [
            Mount(root.SHARED, place.shared, type="bind", read_only=not place.writable),
            *self._files(place),
        ]
        if place.disk is not None:
            mounts.append(Mount(root.DISK, place.disk, type="bind"))
        if inner:
            # What they tell of themselves is read on this machine.
            mounts.append(Mount(SCRATCH, place.scratch, type="bind"))
        # Libraries that a program unpacks there are executable on every other platform.
        memory = {"/tmp": "exec,mode=1777"} | ({} if place.root is None else {"/run": "mode=755"})
        settings = self.settings(place)
        if settings["image"] is not None or place.root is not None:
            mounts.append(Mount(root.AGENT, str(agent.binary()), type="bind", read_only=True))
        if some:
            mounts.append(Mount(GROUPS, GROUPS, type="bind"))
        config: dict[str, Any] = client.api.create_host_config(
            network_mode=settings["network"],
            # A sandbox inside keeps its boxes among the container's files.
            read_only=settings["read_only"] and not privileged,
            privileged=privileged and rights == "privileged",
            cap_add=list(SOME_RIGHTS) if some else None,
            cap_drop=None if rightful else ["ALL"],
            security_opt=options,
            auto_remove=True,
            # A log would be written in the measured path.
            log_config=LogConfig(type="none"),
            tmpfs=memory,
            mounts=mounts,
            **quota(place),
            cpuset_cpus=None if place.cpus is None else ",".join(map(str, place.cpus)),
            cpuset_mems=groups.near(place.cpus),
            mem_limit=place.memory_bytes,
            memswap_limit=place.memory_bytes,
        )
        if some:
            # What hides a file of /proc keeps sandboxes from showing one of their own.
            config |= {"MaskedPaths": [], "ReadonlyPaths": []}
        return config


def quota(place: Place) -> dict[str, int]:
    """Return the engine's words for a quota: ``nano_cpus`` fixes the period at 100 ms."""
    if place.cores is None:
        return {}
    if place.period_us == NANO_CPUS_PERIOD_US:
        return {"nano_cpus": round(place.cores * 1_000_000_000)}
    return {"cpu_period": place.period_us, "cpu_quota": place.quota_us}


UNIT = Docker()
