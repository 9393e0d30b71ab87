"""A root file system for a guest: a directory or an archive as a disk that is only read."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec

from tare.errors import PlatformError, Typed
from tare.host import cache as host_cache
from tare.host import programs
from tare.host.cache import stamp, stamp_of_tree
from tare.platforms.layer import Root
from tare.platforms.root import OWN
from tare.platforms.vm import cache

#: Making one may take long, but not for ever.
MAKE_S = 3600
#: What ext4 takes for itself: a tenth, an inode a file, and this.
SLACK_BYTES = 16 << 20
INODE_BYTES = 4096
#: Which an engine in the guest puts files of its own over, and cannot make.
FILLED = ("etc/hostname", "etc/resolv.conf")


def disk(option: str) -> BinaryIO:
    """Return the disk that holds a directory or an archive; made once, then kept.

    Raises
    ------
    PlatformError
        If there is no such thing, no program that makes a disk of it, or no space.
    """
    source = Path(option).expanduser()
    if not (source.is_dir() or (source.is_file() and source.suffix == ".tar")):
        raise PlatformError(
            f"[platforms.vm] root: {option} is neither a directory nor a .tar",
            "write one with docker export, or name a directory",
        )
    programs.find("mke2fs", "e2fsprogs")
    return cache.image("ext4", _identity(source), lambda path: _ext4(source, path))[0]


def disk_of(root: Root) -> BinaryIO:
    """Return the disk that holds a root with its layers; made once for its digest, then kept.

    Raises
    ------
    PlatformError
        If there is no program that makes a disk of it, or no space.
    """
    programs.find("mke2fs", "e2fsprogs")
    identity = msgspec.json.encode([root.digest, root.layers, FILLED])
    return cache.image("ext4", identity, lambda path: _ext4_of_root(root, path))[0]


def written_disk(folder: Path) -> BinaryIO:
    """Make an empty disk as a file in a folder, of a quarter of what is free there.

    Blocks that the guest never writes take no space.

    Raises
    ------
    PlatformError
        If there is no program that makes its file system, or no space.
    """
    free = os.statvfs(folder)
    kib = free.f_bavail * free.f_frsize // 4 // 1024
    path = folder / "disk"
    _do([str(programs.find("mke2fs", "e2fsprogs")), "-q", "-F", "-t", "ext4", str(path), f"{kib}k"])
    _remove_lost_and_found(path)
    return path.open("r+b")


def _ext4_of_root(root: Root, path: Path) -> None:
    """Make one of a copy: what the guest makes for itself is left out, layers are put in."""
    copy = ["cp", "--archive", "--reflink=auto", "--no-target-directory", "--"]
    covered = [PurePosixPath(inside).relative_to("/") for inside, _ in root.layers]
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{os.getpid()}.") as folder:
        for one in Path(root.path).iterdir():
            if one.name not in OWN and PurePosixPath(one.name) not in covered:
                _do([*copy, str(one), f"{folder}/{one.name}"])
        for (_, outside), inside in zip(root.layers, covered, strict=True):
            at = Path(folder, inside)
            if at.exists():
                shutil.rmtree(at)
            _do([*copy, outside, str(at)])
        for name in FILLED:
            _fill(Path(folder), name)
        Path(folder).chmod(0o755)
        _ext4_of(Path(folder), path)
    _remove_lost_and_found(path)


def _remove_lost_and_found(path: Path) -> None:
    """Remove the folder that a repair of the file system would need; other platforms have none."""
    _do([str(programs.find("debugfs", "e2fsprogs")), "-w", "-R", "rmdir lost+found", str(path)])


def _fill(folder: Path, name: str) -> None:
    """Make an empty file where there is nothing; its directory is no link."""
    path = folder / name
    if not (path.is_symlink() or path.exists()):
        path.touch()


def _identity(source: Path) -> bytes:
    """Return what changes with any file of it."""
    return stamp([source.absolute()]) if source.is_file() else stamp_of_tree(source)


def _ext4(source: Path, path: Path) -> None:
    if source.is_dir():
        _ext4_of(source, path)
        return
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{os.getpid()}.") as folder:
        _do(["tar", "-xf", str(source), "-C", folder])
        _ext4_of(Path(folder), path)


def _ext4_of(source: Path, path: Path) -> None:
    size, files = 0, 0
    for folder, names, plain in os.walk(source):
        files += len(names) + len(plain)
        size += sum(-(-(Path(folder) / name).lstat().st_size // 4096) * 4096 for name in plain)
    blocks = (int(size * 1.1) + files * INODE_BYTES + SLACK_BYTES) // 1024
    _do([
        *(str(programs.find("mke2fs")), "-q", "-F", "-t", "ext4", "-O", "^has_journal"),
        *("-N", str(files + 1024)),
        *("-d", str(source), str(path), f"{blocks}k"),
    ])  # fmt: skip


def _do(argv: list[str]) -> None:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=MAKE_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise PlatformError(f"{argv[0]} took more than {MAKE_S} s") from error
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line]
        said = lines[-1] if lines else f"exit code {done.returncode}"
        full = any("space" in line.lower() for line in lines)
        raise PlatformError(
            f"the root file system cannot be made: {argv[0]}: {said}",
            Typed(
                f"df -h {shlex.quote(str(host_cache.folder()))}   "
                "(and make room there, or set XDG_CACHE_HOME)"
            )
            if full
            else None,
        )
