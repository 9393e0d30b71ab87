"""What a program needs of this machine's files to run where they are not: its closure.

A program with its interpreter and the libraries that it is linked with, a script with what its
first line names. What a program opens by itself (modules of Python, data) nobody can know: that
wants directories, or a whole root file system.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tare import files
from tare.agent import record
from tare.errors import PlatformError, Typed
from tare.host import libraries

#: Where administrators' programs are, which an ordinary user's PATH may lack.
MORE = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
#: Links of most distributions to what is below /usr: programs name files either way.
MERGED = tuple(map(Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64")))
#: As the kernel has them.
MOST_LINKS = 40
#: Of a file's beginning: an ELF header with its program headers, or a script's first line.
HEAD = 4096
#: The number of a machine by its name.
MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243, "ppc64le": 21, "s390x": 22}


def find(name: str, package: str | None = None) -> Path:
    """Return where a program is.

    Parameters
    ----------
    name : str
        Its name, or a path with a slash in it.
    package : str, optional
        What to install where it is missing; without, what is called as it is.

    Raises
    ------
    PlatformError
        If it is not there.
    """
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:{MORE}")
    if found is None:
        raise PlatformError(
            f"{name} is not on this machine", Typed(f"sudo apt install {package or name}")
        )
    return Path(found).absolute()


def rights(user: record.User | None) -> list[str]:
    """Return the options of setpriv with which a program has the rights of a user."""
    if user is None:
        return []
    groups = f"--groups={','.join(map(str, user.groups))}" if user.groups else "--clear-groups"
    return [f"--reuid={user.uid}", f"--regid={user.gid}", groups]


def closure(paths: Iterable[str | Path]) -> list[Path]:
    """Return all that programs, other files and directories need, parents first.

    Parameters
    ----------
    paths : iterable of str or Path
        Absolute.

    Returns
    -------
    list of Path
        Directories, symbolic links and files of this machine as ``lstat`` tells them; none of
        them is below a link, so that they can be packed as they are.

    Raises
    ------
    PlatformError
        If one is not there, or a library of one is not.
    """
    found: set[Path] = set()
    waiting = [Path(path) for path in paths]
    if waiting:
        waiting += [path for path in MERGED if path.is_symlink()]
    known: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in known:
            continue
        known.add(path)
        real = _with_links(path, found)
        if path in MERGED:
            continue
        if real.is_dir():
            waiting += [Path(folder) / name for folder, _, names in os.walk(real) for name in names]
            found.update(Path(folder) for folder, _, _ in os.walk(real))
        elif real.is_file():
            waiting += map(Path, _needs(str(real), real.stat().st_mtime_ns))
    return sorted(found)


def check_readable(paths: Iterable[Path], user: record.User) -> None:
    """Refuse to pack a file that the user who called sudo cannot read.

    A first line, a link, or a library that a program names can lead to any file.

    Raises
    ------
    PlatformError
        If there is one.
    """
    for path in paths:
        if path.is_file() and not files.can_read(path, user.uid, [user.gid, *user.groups]):
            raise PlatformError(
                f"{path} is not packed, as user {user.uid} may not read it",
                "as root, without sudo, whatever root can read is packed",
            )


def machine(path: Path) -> int | None:
    """Return the number of the machine that an ELF file is for; None: it is none."""
    head = _head(path)
    if head[:4] != libraries.MAGIC or len(head) < 20:
        return None
    return int(struct.unpack_from(_order(head) + "H", head, 18)[0])


def _with_links(path: Path, found: set[Path]) -> Path:
    """Note a path, the links on the way and the directories above; return where it ends."""
    if not path.is_absolute():
        raise PlatformError(f"{path} is no absolute path, so that it has no place elsewhere")
    done, left = Path("/"), list(path.parts[1:])
    links = 0
    while left:
        part = left.pop(0)
        if part == "..":
            done = done.parent
            continue
        done /= part
        try:
            is_link = stat.S_ISLNK(done.lstat().st_mode)
        except OSError as error:
            raise PlatformError(f"{path} cannot be packed: {done}: {error.strerror}") from error
        found.add(done)
        if is_link:
            links += 1
            if links > MOST_LINKS:
                raise PlatformError(f"{path} cannot be packed: links without end")
            target = done.readlink()
            left = [*(p for p in target.parts if p != "/"), *left]
            done = Path("/") if target.is_absolute() else done.parent
    return done


@cache
def _needs(path: str, _changed: int) -> tuple[str, ...]:
    """Return what a file names: interpreter and libraries; those need more themselves."""
    needed: tuple[str, ...] = ()
    if _head(Path(path)).startswith(b"#!"):
        needed = tuple(_of_script(_head(Path(path))))
    elif (found := libraries.read(Path(path))) is not None and found.interpreter is not None:
        needed = (found.interpreter, *libraries.of(Path(path)))
    # Otherwise a static program, or a library: those are found with what is linked with them.
    for name in needed:
        # Of a folder, all that is in it would be packed.
        if Path(name).is_dir():
            raise PlatformError(f"{path} names {name} as a program, which is a folder")
    return needed


def _of_script(head: bytes) -> Iterator[str]:
    words = head[2:].splitlines()[0].decode(errors="replace").split() or ["/bin/sh"]
    yield words[0]
    if Path(words[0]).name == "env":
        name = next((w for w in words[1:] if not w.startswith("-") and "=" not in w), None)
        if name is not None:
            yield str(find(name))


def _order(head: bytes) -> str:
    return ">" if head[5] == 2 else "<"


def _head(path: Path) -> bytes:
    try:
        with files.open_plain(path, links=True) as file:
            return file.read(HEAD) or b""
    except OSError as error:
        raise PlatformError(f"{path} cannot be read: {error.strerror}") from error
