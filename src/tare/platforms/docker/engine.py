"""Docker's engine as tare needs it: reach it, explain why not, image, container, stream."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

from tare.agent.client import SocketChannel
from tare.errors import AgentError, PlatformError, Typed
from tare.host.lease import InUseError
from tare.platforms.docker.frames import Frames

STOPPED = "Docker's engine stopped answering"
#: How long a container may take to end by itself when its standard input has.
END_S = 5.0
#: How long it is watched after a container's end, whether it was the engine's.
STOPS_S = 1.0
#: How long the engine may take to remove one.
GONE_S = 20.0


def connect() -> docker.DockerClient:
    """Connect to the engine of this machine.

    Raises
    ------
    PlatformError
        If it does not run, is not there, or refuses this user.
    """
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not address.startswith("unix://"):
        raise PlatformError(
            f"DOCKER_HOST is {address}, but only an engine on this machine can be measured",
            Typed("unset DOCKER_HOST"),
        )
    path = address.removeprefix("unix://")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except PermissionError:
            raise PlatformError(
                f"Docker's socket {path} refuses this user",
                Typed("sudo usermod -aG docker $USER && newgrp docker"),
            ) from None
        except OSError as error:
            raise PlatformError(
                f"Docker does not run ({path}: {error.strerror})", _start_engine()
            ) from None
    try:
        client = docker.DockerClient(base_url=address, version="auto", timeout=60)
    except DockerException as error:
        raise PlatformError(f"Docker does not answer: {error}", _start_engine()) from error
    return client


@contextlib.contextmanager
def connected() -> Iterator[docker.DockerClient]:
    """Yield a client, and close it; raises PlatformError where the engine stops meanwhile."""
    client = connect()
    try:
        yield client
    except OSError as error:
        # requests has its own errors, which are of this kind.
        raise PlatformError(f"{STOPPED} ({error})", _start_engine()) from error
    finally:
        client.close()


def _start_engine() -> str:
    if shutil.which("dockerd") is None:
        return Typed("sudo apt install docker.io")
    systemd = Path("/run/systemd/system").exists()
    return Typed("sudo systemctl start docker") if systemd else Typed("sudo dockerd &")


def named_image(client: docker.DockerClient, image: str) -> str:
    """Return an image that the user named.

    Raises
    ------
    PlatformError
        If the engine does not have it.
    """
    try:
        client.images.get(image)
    except ImageNotFound:
        raise PlatformError(
            f"Docker has no image {image}", Typed(f"docker pull {shlex.quote(str(image))}")
        ) from None
    except APIError as error:
        raise PlatformError(f"Docker refuses the image {image!r}: {error.explanation}") from error
    return image


class ContainerChannel(SocketChannel):
    """The stream of an agent that is the first process of a container.

    Parameters
    ----------
    client : DockerClient
        Closed with the channel.
    container : str
        A container that was created and not started yet.

    Raises
    ------
    PlatformError
        If it cannot be started.
    """

    around = "the container"

    def __init__(self, client: docker.DockerClient, container: str) -> None:
        self._client = client
        self._id = container
        self._open = True
        # Attached before the start, nothing that it says is missed.
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        try:
            attached: Any = client.api.attach_socket(container, params=streams)
            self._attached = attached
            connected: socket.socket = getattr(attached, "_sock", attached)
            connected.settimeout(None)
            super().__init__(connected)
            self._frames = Frames(self._lines)
            client.api.start(container)
        except APIError as error:
            _remove(client, container)
            client.close()
            raise PlatformError(
                f"Docker cannot start the container: {error.explanation}"
            ) from error
        except OSError as error:
            client.close()
            raise PlatformError(f"{STOPPED} ({error})", _start_engine()) from error

    def last_words(self) -> str:
        """Return what came on standard error, and whether the engine is there."""
        words = self._frames.words() or "it said nothing"
        if self._engine_stops():
            return f"{STOPPED}: {_start_engine()}; {words}"
        return f"the container has ended: {words}"

    def close(self) -> None:
        """Close the agent's standard input and wait for the container's end; then remove it."""
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(OSError, AgentError):
            self._socket.shutdown(socket.SHUT_WR)
            deadline = time.monotonic() + END_S
            while self._selector.select(max(0.0, deadline - time.monotonic())) and self._read():
                pass
        self._selector.close()
        self._attached.close()
        self._socket.close()
        # An engine that has stopped ended its containers, or `tare cleanup` will, once it runs.
        with contextlib.suppress(OSError):
            _remove(self._client, self._id)
        self._client.close()

    def _engine_stops(self) -> bool:
        """Tell whether the engine is gone; one that stops ends its containers first."""
        deadline = time.monotonic() + STOPS_S
        while time.monotonic() < deadline:
            try:
                self._client.ping()
            except (DockerException, OSError):
                return True
            time.sleep(0.05)
        return False

    def _feed(self, data: bytes) -> None:
        self._frames.feed(data)


def remove_container(container: str) -> None:
    """Remove a container, whatever it does."""
    with connected() as client:
        _remove(client, container)


def remove_image(tag: str) -> None:
    """Remove an image of the agent.

    Raises
    ------
    InUseError
        If a container of another user was made from it.
    PlatformError
        If the engine refuses for another reason.
    """
    with connected() as client:
        try:
            client.api.remove_image(tag)
        except ImageNotFound:
            return
        except APIError as error:
            if error.status_code == HTTPStatus.CONFLICT:
                raise InUseError(tag) from error
            raise PlatformError(
                f"the image {tag} cannot be removed: {error.explanation}",
                Typed(f"docker rmi {shlex.quote(tag)}"),
            ) from error


def _remove(client: docker.DockerClient, container: str) -> None:
    """Remove a container and wait until it is gone; the engine may be at it already."""
    deadline = time.monotonic() + GONE_S
    while True:
        try:
            client.api.remove_container(container, force=True)
        except NotFound:
            return
        except APIError as error:
            if time.monotonic() > deadline:
                raise PlatformError(
                    f"the container {container[:12]} cannot be removed: {error.explanation}",
                    Typed(f"docker rm -f {container[:12]}"),
                ) from error
            time.sleep(0.005)
