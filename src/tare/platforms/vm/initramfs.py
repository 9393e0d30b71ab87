"""The first files of a guest: agent, modules, programs; made once for all instances of a kind."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from tare.agent import client, record
from tare.host import programs
from tare.host.cache import stamp
from tare.platforms.vm import cache, modules
from tare.platforms.vm.cpio import Archive

#: Paths in the guest: of the agent, as the kernel starts it and as a root disk leaves it; of what
#: it is told.
FIRST = "/init"
AGENT = "/tare/tare-agent"
FOLDER = "/tare"
#: What a session shows, and where layers keep their files; the agent makes both.
SHARED, SCRATCH = "/tare/shared", "/tare/scratch"
#: Where the files of an application are that a layer inside shows.
CARRIED = "/tare/root"


class Initramfs(NamedTuple):
    """An open image, with what it takes in memory."""

    file: BinaryIO
    size_bytes: int
    #: Whether it had to be made.
    cold: bool


def made(
    modules_folder: Path,
    names: Sequence[str],
    needed: Sequence[str],
    own: dict[str, Any],
    shown: Sequence[Path] = (),
    reader: record.User | None = None,
) -> Initramfs:
    """Return the image of an instance: what all of its kind share, and behind it what it has alone.

    Parameters
    ----------
    modules_folder : Path
        ``/lib/modules/VERSION``.
    names : sequence of str
        Modules, as ``modprobe`` takes them.
    needed : sequence of str
        Paths of programs and files of this machine.
    own : dict
        What the agent there is told of this instance.
    shown : sequence of Path
        Files of the shared directory that it sees as they are now.
    reader : User, optional
        With whose rights programs and files are read; None: with those of who runs this.

    Raises
    ------
    PlatformError
        If a module or file is missing, or there is no space.
    """
    files = modules.ordered(modules_folder, names)
    packed = programs.closure(needed)
    # What one user may read is not packed for another one.
    user = b"" if reader is None else str(reader.uid).encode()
    identity = stamp([*files, *packed]) + client.digest().encode() + user

    def make(path: Path) -> None:
        with path.open("xb") as file:
            _write(Archive(file), files, packed, reader)

    base, cold = cache.image("cpio", identity, make)
    file = os.fdopen(os.memfd_create("initramfs", os.MFD_CLOEXEC), "w+b")
    with base:
        shutil.copyfileobj(base, file, 1 << 20)
    # The kernel looks for the next archive where a word begins, after any number of zeros.
    archive = Archive(file)
    archive.text(f"{FOLDER}/guest.json", msgspec.json.encode(own))
    for path in shown:
        archive.file(f"{SHARED}/{path.name}", path)
    archive.close()
    file.flush()
    return Initramfs(file, file.tell(), cold)


def _write(
    archive: Archive, files: list[Path], packed: list[Path], reader: record.User | None
) -> None:
    # Without it, what the kernel starts first has no standard streams.
    archive.device("/dev/console", 5, 1)
    archive.copies(packed, reader)
    archive.file(FIRST, client.binary())
    for number, path in enumerate(files):
        name = path.name.partition(".ko")[0]
        archive.text(f"{FOLDER}/modules/{number:03}-{name}.ko", modules.content(path))
    archive.close()
