"""Archives that the kernel unpacks into memory as its first files: cpio, ``newc``, uncompressed.

Several of them after one another are one: what an instance has of its own is put behind what all
have.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from tare import files
from tare.agent import record
from tare.errors import PlatformError

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
        with files.open_plain(source, links=True) as data:
            self._content(path, data)

    def copies(self, paths: Iterable[Path], reader: record.User | None = None) -> None:
        """Add files, links and directories of this machine under the paths that they have.

        Raises
        ------
        PlatformError
            If ``reader``, where there is one, may not read a file.
        """
        for path in paths:
            kind = path.lstat().st_mode
            if stat.S_ISLNK(kind):
                self.link(str(path), str(path.readlink()))
            elif stat.S_ISDIR(kind):
                self.folder(str(path), stat.S_IMODE(kind))
            elif stat.S_ISREG(kind):
                self.folder(str(path.parent))
                with _opened(path, reader) as data:
                    self._content(str(path), data)

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

    def _content(self, path: str, data: BinaryIO) -> None:
        about = os.fstat(data.fileno())
        self._header(path, stat.S_IFREG | stat.S_IMODE(about.st_mode), about.st_size)
        left = about.st_size
        while left > 0 and (piece := data.read(min(left, 1 << 20))):
            self._file.write(piece)
            left -= len(piece)
        # One that has become shorter meanwhile ends in zeros.
        self._file.write(bytes(left))
        self._pad(about.st_size)

    def _data(self, data: bytes) -> None:
        self._file.write(data)
        self._pad(len(data))

    def _pad(self, size: int) -> None:
        self._file.write(b"\0" * (-size % 4))


def _opened(path: Path, reader: record.User | None) -> BinaryIO:
    """Open a file that is no link, with the rights of a user."""
    if reader is None:
        return files.open_plain(path)
    try:
        with files.rights_of(reader.uid, reader.gid):
            data = files.open_plain(path)
        groups = [reader.gid, *reader.groups]
        if files.allows(os.fstat(data.fileno()), 4, reader.uid, groups):
            return data
        data.close()
        why = "Permission denied"
    except OSError as error:
        why = error.strerror or str(error)
    raise PlatformError(f"{path} cannot be packed as user {reader.uid}: {why}")
