"""Trees of files: unpacked without owners, copied, measured, and known by a digest."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tare.errors import PlatformError

_PART = 1 << 20


class Unpacked:
    """A tar that is unpacked as this user's: no owners, no devices, all readable, no set-user-id.

    It may be hostile: nothing is written through a link. Only directories that were made from it
    count as such, and nobody else writes here meanwhile.
    """

    def __init__(self, top: Path, skip: Callable[[str], bool] = lambda _: False) -> None:
        self._top = top
        self._skip = skip
        self._folders = {PurePosixPath(".")}

    def read(self, stream: BinaryIO) -> None:
        """Unpack a tar to its end.

        Raises
        ------
        PlatformError
            If it is none, is cut short, or has what does not belong into an image.
        """
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    self._member(archive, member)
        except (tarfile.TarError, EOFError) as error:
            raise PlatformError(f"the image is no whole tar archive: {error}") from error

    def _member(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        path = _inside(member.name)
        if path == PurePosixPath(".") or self._skip(str(path)):
            return
        self._make_folder(path.parent)
        at = self._top / path
        if member.isdir():
            self._make_folder(path)
            return
        if path in self._folders:
            raise PlatformError(f"the image has {path} as a directory and as a file")
        at.unlink(missing_ok=True)
        if member.isfile():
            source = archive.extractfile(member)
            assert source is not None
            with at.open("xb") as file:
                shutil.copyfileobj(source, file, _PART)
            at.chmod(0o755 if member.mode & 0o111 else 0o644)
        elif member.issym():
            at.symlink_to(member.linkname)
        elif member.islnk():
            self._link(at, _inside(member.linkname))

    def _make_folder(self, path: PurePosixPath) -> None:
        if path in self._folders:
            return
        self._make_folder(path.parent)
        try:
            (self._top / path).mkdir()
        except FileExistsError:
            raise PlatformError(f"the image has {path} as a directory and as a file") from None
        (self._top / path).chmod(0o755)
        self._folders.add(path)

    def _link(self, at: Path, target: PurePosixPath) -> None:
        source = self._top / target
        if target.parent not in self._folders or not stat.S_ISREG(_mode(source)):
            raise PlatformError(f"the image has a link to {target}, which is no file of it")
        os.link(source, at)


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath("." if name.strip("/") == "" else name.lstrip("/"))
    if ".." in path.parts or "\0" in name:
        raise PlatformError(f"the image has a file outside of it: {name!r}")
    return path


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def place(top: Path, path: str, content: bytes) -> None:
    """Write a file of an image in the place of what is there; no link is followed."""
    at = top
    for part in PurePosixPath(path).parts[:-1]:
        at /= part
        make_folder(at)
    at /= PurePosixPath(path).name
    if stat.S_ISDIR(_mode(at)):
        raise PlatformError(f"the image has a directory in the place of the file /{path}")
    at.unlink(missing_ok=True)
    at.write_bytes(content)
    at.chmod(0o644)


def make_folder(at: Path) -> None:
    """Make a directory of an image, in the place of a link or a file."""
    if not stat.S_ISDIR(_mode(at)):
        at.unlink(missing_ok=True)
        at.mkdir()
        at.chmod(0o755)


def link_copy(source: Path, target: Path) -> None:
    """Copy a tree that nobody writes to: its files are shared."""
    shutil.copytree(source, target, symlinks=True, copy_function=os.link, dirs_exist_ok=True)


def digest(top: Path) -> str:
    """Return the SHA-256 of paths, kinds, whether files are executable, and contents."""
    found = hashlib.sha256()
    for at, about in _walk(top):
        name = os.fsencode(at.relative_to(top))
        if stat.S_ISDIR(about.st_mode):
            found.update(b"d\0%s\0\n" % name)
        elif stat.S_ISLNK(about.st_mode):
            found.update(b"l\0%s\0%s\0\n" % (name, os.fsencode(at.readlink())))
        else:
            with at.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest().encode()
            kind = b"x" if about.st_mode & 0o100 else b"f"
            found.update(b"%s\0%s\0%s\n" % (kind, name, content))
    return found.hexdigest()


def stamp(top: Path) -> str:
    """Return what changes with a file of a tree, without reading any."""
    found = hashlib.sha256()
    for at, about in _walk(top):
        kept = about.st_mode, about.st_size, about.st_mtime_ns
        found.update(b"%s\0%d\0%d\0%d\n" % (os.fsencode(at.relative_to(top)), *kept))
    return found.hexdigest()


def size_bytes(top: Path) -> int:
    """Return the size of all files together; one of several names counts once."""
    files = (about for _, about in _walk(top) if stat.S_ISREG(about.st_mode))
    return sum({about.st_ino: about.st_size for about in files}.values())


def make_readable(top: Path) -> None:
    """Let others read a tree, and nobody else write to it.

    Raises
    ------
    PlatformError
        If it has what is neither a file, a directory nor a link.
    """
    require_plain(top)
    for at, about in _walk(top):
        if stat.S_ISLNK(about.st_mode):
            continue
        is_open = stat.S_ISDIR(about.st_mode) or about.st_mode & 0o111
        at.chmod(0o755 if is_open else 0o644)


def require_plain(top: Path) -> None:
    """See that a tree has files, directories and links alone: to read a pipe might never end.

    Raises
    ------
    PlatformError
        If it has something else.
    """
    for at, about in _walk(top):
        if stat.S_IFMT(about.st_mode) not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            raise PlatformError(f"/{at.relative_to(top)} is neither a file nor a directory")


def _walk(top: Path) -> list[tuple[Path, os.stat_result]]:
    """Return everything below a directory, in the order of names."""
    found = []
    with os.scandir(top) as entries:
        for entry in sorted(entries, key=lambda entry: os.fsencode(entry.name)):
            about = entry.stat(follow_symlinks=False)
            path = top / entry.name
            found.append((path, about))
            if stat.S_ISDIR(about.st_mode):
                found += _walk(path)
    return found
