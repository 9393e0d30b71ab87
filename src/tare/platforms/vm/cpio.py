"""Archives that the kernel unpacks into memory as its first files: cpio, ``newc``, uncompressed.

Several of them after one another are one: what an instance has of its own is put behind what all
have.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

#: What each header begins with, and the name of the last one.
MAGIC = b"070701"
TRAILER = "TRAILER!!!"


class Archive:
    """Writes one archive.

    Parameters
    ----------
    file : binary file
        Where it is appended.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inode = 0
        self._folders: set[str] = {""}

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Add a directory and, before it, those above that are not there yet."""
        path = path.strip("/")
        if path in self._folders:
            return
        self.folder(path.rpartition("/")[0])
        self._folders.add(path)
        self._header(path, stat.S_IFDIR | mode, 0)

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link."""
        self.folder(path.rpartition("/")[0])
        text = target.encode()
        self._header(path, stat.S_IFLNK | 0o777, len(text))
        self._data(text)

    def device(self, path: str, major: int, minor: int) -> None:
        """Add a character device that its owner alone may use."""
        self.folder(path.rpartition("/")[0])
        self._header(path, stat.S_IFCHR | 0o600, 0, (major, minor))

    def text(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Add a file with this content."""
        self.folder(path.rpartition("/")[0])
        self._header(path, stat.S_IFREG | mode, len(data))
        self._data(data)

    def file(self, path: str, source: Path) -> None:
        """Add a file of this machine."""
        self.folder(path.rpartition("/")[0])
        with source.open("rb") as data:
            size = source.stat().st_size
            self._header(path, stat.S_IFREG | stat.S_IMODE(source.stat().st_mode), size)
            shutil.copyfileobj(data, self._file, 1 << 20)
        self._pad(size)

    def copies(self, paths: Iterable[Path]) -> None:
        """Add files, links and directories of this machine under the paths that they have."""
        for path in paths:
            kind = path.lstat().st_mode
            if stat.S_ISLNK(kind):
                self.link(str(path), str(path.readlink()))
            elif stat.S_ISDIR(kind):
                self.folder(str(path), stat.S_IMODE(kind))
            elif stat.S_ISREG(kind):
                self.file(str(path), path)

    def close(self) -> None:
        """Write the end of the archive; the file stays open."""
        self._header(TRAILER, 0, 0)

    def _header(self, path: str, mode: int, size: int, device: tuple[int, int] = (0, 0)) -> None:
        name = path.strip("/").encode() + b"\0"
        self._inode += 1
        # Inode, mode, user, group, links, time, size, the device where it is and that which it is
        # (two numbers each), length of the name, sum.
        fields = (self._inode, mode, 0, 0, 1, 0, size, 0, 0, *device, len(name), 0)
        header = MAGIC + b"".join(b"%08x" % field for field in fields)
        self._file.write(header + name)
        self._pad(len(header) + len(name))

    def _data(self, data: bytes) -> None:
        self._file.write(data)
        self._pad(len(data))

    def _pad(self, size: int) -> None:
        self._file.write(b"\0" * (-size % 4))
