"""The image that tare makes: the agent, and the programs that layers inside a container need."""

from __future__ import annotations

import contextlib
import hashlib
import io
import tarfile
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tare.agent import client as agent
from tare.platforms import programs

if TYPE_CHECKING:
    import docker

REPOSITORY = "tare-agent"
#: With their rights, which what is mounted at one takes over.
FOLDERS = {"tare": 0o755, "tare/shared": 0o755, "tmp": 0o1777}
#: What systems say of themselves; systemd-nspawn starts nothing without.
ABOUT = (Path("/etc/os-release"), Path("/usr/lib/os-release"))

_importing = threading.Lock()


def own(client: docker.DockerClient, needs: Sequence[str] = (), more: Sequence[str] = ()) -> str:
    """Return the image with the agent and some programs of this machine; make it if missing.

    Parameters
    ----------
    client : DockerClient
        The engine that has it.
    needs : sequence of str
        Names of programs; what they are linked with is there as well.
    more : sequence of str
        Further files of this machine.

    Raises
    ------
    PlatformError
        If a program is not on this machine.
    """
    from docker.errors import ImageNotFound

    files = _files(needs, more)
    tag = agent.digest()[:12] + (f"-{_digest(files)}" if files else "")
    name = f"{REPOSITORY}:{tag}"
    with _importing:
        try:
            client.images.get(name)
        except ImageNotFound:
            with tempfile.TemporaryFile() as packed:
                pack(packed, files)
                packed.seek(0)
                client.api.import_image_from_data(packed, repository=REPOSITORY, tag=tag)
    return name


def pack(packed: IO[bytes], files: Iterable[Path] = ()) -> None:
    """Write an image's files, as tar."""
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for folder, mode in FOLDERS.items():
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            archive.addfile(entry)
        data = agent.binary().read_bytes()
        entry = tarfile.TarInfo("tare/tare-agent")
        entry.size, entry.mode = len(data), 0o755
        archive.addfile(entry, io.BytesIO(data))
        for file in files:
            with contextlib.suppress(PermissionError):
                archive.add(file, recursive=False)


def _files(needs: Sequence[str], more: Sequence[str]) -> list[Path]:
    if not needs:
        return []
    about = [path for path in ABOUT if path.exists()]
    return programs.closure([*(programs.find(need) for need in needs), *about, *more])


def _digest(files: Iterable[Path]) -> str:
    """Tell one set of files from another by what lstat says, as reading all of it takes long."""
    said = hashlib.sha256()
    for file in files:
        about = file.lstat()
        said.update(f"{file} {about.st_mode} {about.st_size} {about.st_mtime_ns}\n".encode())
    return said.hexdigest()[:12]
