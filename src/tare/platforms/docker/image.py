"""Images that tare makes: of the agent and the programs of layers inside a container, of a root."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tare.agent import client as agent
from tare.errors import PlatformError
from tare.host import lease, programs
from tare.platforms.layer import Root
from tare.platforms.root import OWN

if TYPE_CHECKING:
    import docker

REPOSITORY = "tare-agent"
#: Images of roots; of so many, the oldest unused ones go.
APPLICATIONS = "tare-application"
MOST = 4
#: With their rights, which what is mounted at one takes over.
FOLDERS = {"tare": 0o755, "tare/shared": 0o755, "tmp": 0o1777}
#: What systems say of themselves; systemd-nspawn starts nothing without.
ABOUT = (Path("/etc/os-release"), Path("/usr/lib/os-release"))

_importing = threading.Lock()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Import in one session at a time: a second import of a name leaves the first image nameless.

    Sessions of one user wait for each other.
    """
    with _importing:
        folder = os.open(lease.writable(), os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


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
    with _alone():
        try:
            client.images.get(name)
        except ImageNotFound:
            with tempfile.TemporaryFile() as packed:
                pack(packed, files)
                packed.seek(0)
                client.api.import_image_from_data(packed, repository=REPOSITORY, tag=tag)
    return name


def of_root(client: docker.DockerClient, root: Root) -> str:
    """Return the image with the files of a root; make it if missing.

    Raises
    ------
    PlatformError
        If the files cannot be read.
    """
    from docker.errors import ImageNotFound

    name = f"{APPLICATIONS}:{root.digest[:32]}"
    with _alone():
        try:
            client.images.get(name)
        except ImageNotFound:
            _shrink(client)
            data = _packed(Path(root.path))
            client.api.import_image_from_data(
                data, repository=APPLICATIONS, tag=name.rpartition(":")[2]
            )
    return name


def _packed(root: Path) -> Iterator[bytes]:
    """Yield a directory's files as tar, but for what a container makes for itself."""
    names = sorted(path.name for path in root.iterdir() if path.name not in OWN)
    argv = ["tar", "--create", "--numeric-owner", f"--directory={root}", "--", *names]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        ) as tar,
    ):
        assert tar.stdout is not None
        while data := tar.stdout.read(1 << 20):
            yield data
        if tar.wait():
            said.seek(0)
            why = said.read().decode(errors="replace").strip()
            raise PlatformError(f"the files of {root} cannot be packed for Docker: {why}")


def _shrink(client: docker.DockerClient) -> None:
    """Remove the oldest images of roots, so that there is room for one; those in use stay."""
    from docker.errors import APIError

    found = client.images.list(APPLICATIONS)
    found.sort(key=lambda image: str(image.attrs["Created"]), reverse=True)
    for image in found[MOST - 1 :]:
        for tag in image.tags:
            with contextlib.suppress(APIError):
                client.api.remove_image(tag)


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
            # Docker refuses a path that is there twice, such as that of a program below /tmp.
            if str(file).strip("/") in FOLDERS:
                continue
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
