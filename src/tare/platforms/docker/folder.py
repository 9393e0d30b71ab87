"""The image that is made of a directory: a root file system, as its files are now."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tare.errors import PlatformError
from tare.platforms.docker.image import REPOSITORY

if TYPE_CHECKING:
    import docker


def image(client: docker.DockerClient, folder: str) -> str:
    """Return the image of a directory's files; make it if its files have changed.

    Raises
    ------
    PlatformError
        If it cannot be read, or the engine has no room for it.
    """
    from docker.errors import ImageNotFound

    tag = f"root-{_digest(folder)}"
    name = f"{REPOSITORY}:{tag}"
    try:
        client.images.get(name)
    except ImageNotFound:
        _make(client, folder, tag)
    return name


def _make(client: docker.DockerClient, folder: str, tag: str) -> None:
    from docker.errors import APIError

    command = ["tar", "-C", folder, "--numeric-owner", "--one-file-system", "-cf", "-", "."]
    # Into a file: nobody reads complaints while the engine takes in what is packed.
    with tempfile.TemporaryFile() as complaints:
        packing = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints)
        assert packing.stdout is not None
        try:
            said = client.api.import_image_from_data(packing.stdout, repository=REPOSITORY, tag=tag)
        except APIError as error:
            said = f'"error": {error.explanation}'
        finally:
            packing.stdout.close()
            packing.wait()
        complaints.seek(0)
        complaint = complaints.read(4096).decode(errors="replace").strip()
    if '"error' in said:
        raise PlatformError(
            f"Docker cannot make an image of {folder}: {said.strip()[:500]}",
            "docker system df   (and make room: docker system prune)",
        )
    if packing.returncode:
        client.images.remove(f"{REPOSITORY}:{tag}")
        raise PlatformError(
            f"{folder} cannot be packed for Docker: {complaint}", f"sudo tar -C {folder} -c . | wc"
        )


def _digest(folder: str) -> str:
    """Tell one state of a directory from another by what lstat says of all that is in it."""
    said = hashlib.sha256(str(Path(folder).absolute()).encode())
    try:
        for where, folders, files in os.walk(folder, onerror=_fail):
            folders.sort()
            for name in sorted((*folders, *files)):
                about = (Path(where) / name).lstat()
                said.update(
                    f"{name} {about.st_mode} {about.st_size} {about.st_mtime_ns}\n".encode()
                )
    except OSError as error:
        raise PlatformError(
            f"the directory {folder}, to be a root, cannot be read: {error.strerror}",
            f"ls -d {folder}",
        ) from error
    return said.hexdigest()[:12]


def _fail(error: OSError) -> None:
    raise error
