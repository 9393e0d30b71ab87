"""The shared libraries of a program, found as the dynamic linker finds them, which is not run.

``ld.so --list`` would execute code of whoever wrote the program: it loads what a program names by
``DT_AUDIT``, and maps the program beside itself. See ld.so(8) and the ELF specification.
"""

from __future__ import annotations

import os
import struct
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from tare import files
from tare.errors import PlatformError

#: How an ELF file begins.
MAGIC = b"\x7fELF"
#: Bytes read of an ELF file's beginning, of a table, and of a string.
HEAD, MOST_TABLE, MOST_TEXT = 64, 1 << 20, 4096
#: Types of program headers, and tags of dynamic entries.
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NULL, DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 0, 1, 5, 15, 29
#: A program that needs more, or whose libraries take longer to find, is refused.
MOST_LIBRARIES, LONGEST_S = 1000, 10.0
#: Where the linkers of glibc and of musl look in the end.
FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
FOLDERS_OF_MUSL = ("/lib", "/usr/local/lib", "/usr/lib")


@dataclass(frozen=True)
class Object:
    """What an ELF file says of how it is linked.

    Attributes
    ----------
    kind : bytes
        Class, byte order and machine, which a program and its libraries have in common.
    interpreter : str or None
        Path of the dynamic linker; None: a static program, or a library.
    needed : tuple of str
        Names or paths of libraries.
    rpath, runpath : tuple of str
        Folders where they are looked for; ``rpath`` holds for their libraries as well.
    """

    kind: bytes
    interpreter: str | None = None
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def read(path: Path) -> Object | None:
    """Return what an ELF file says; None: it is none.

    Raises
    ------
    PlatformError
        If it cannot be read, or is damaged.
    """
    try:
        # Some of the kernel's files, such as /proc/kmsg, would be waited for.
        with files.open_plain(path, links=True) as file:
            head = file.read(HEAD) or b""
            return _read(file, head) if head.startswith(MAGIC) else None
    except OSError as error:
        raise PlatformError(f"{path} cannot be read: {error.strerror}") from error
    except (struct.error, ValueError, OverflowError) as error:
        raise PlatformError(f"{path} is a damaged ELF file: {error}") from error


def _read(file: BinaryIO, head: bytes) -> Object:
    order, wide = ">" if head[5] == 2 else "<", head[4] == 2
    kind = head[4:6] + head[18:20]
    (offset,) = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)
    size, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
    # Of a program header: type, place in the file, address, and length in the file.
    entry = struct.Struct(order + ("I4xQQ8xQ" if wide else "III4xI"))
    interpreter, dynamic = None, b""
    loaded: list[tuple[int, int, int]] = []
    table = _at(file, offset, size * count)
    for at in range(0, len(table) - entry.size + 1, max(size, 1)):
        header, place, address, length = entry.unpack_from(table, at)
        if header == PT_INTERP:
            interpreter = _at(file, place, min(length, MOST_TEXT)).partition(b"\0")[0].decode()
        elif header == PT_DYNAMIC:
            dynamic = _at(file, place, length)
        elif header == PT_LOAD:
            loaded.append((address, length, place))
    found: dict[int, list[int]] = defaultdict(list)
    for tag, value in struct.iter_unpack(order + ("qQ" if wide else "iI"), _whole(dynamic, wide)):
        if tag == DT_NULL:
            break
        found[tag].append(value)
    if not found[DT_STRTAB]:
        return Object(kind, interpreter)
    base = _place(found[DT_STRTAB][0], loaded)

    def texts(tag: int, most: int = 1) -> Iterator[str]:
        if len(found[tag]) > most:
            raise ValueError(f"it has {len(found[tag])} entries of type {tag}")
        for value in found[tag]:
            text, end, _ = _at(file, base + value, MOST_TEXT).partition(b"\0")
            if not end:
                raise ValueError("a name is too long")
            yield os.fsdecode(text)

    def folders(tag: int) -> tuple[str, ...]:
        return tuple(folder for text in texts(tag) for folder in text.split(":") if folder)

    return Object(
        kind, interpreter, tuple(texts(DT_NEEDED, MOST_LIBRARIES)), folders(DT_RPATH),
        folders(DT_RUNPATH),
    )  # fmt: skip


def _at(file: BinaryIO, place: int, length: int) -> bytes:
    if length > MOST_TABLE:
        raise ValueError("a table is too large")
    file.seek(place)
    return file.read(length)


def _whole(table: bytes, wide: bool) -> bytes:
    """Return a table without a part of an entry at its end."""
    size = 16 if wide else 8
    return table[: len(table) // size * size]


def _place(address: int, loaded: list[tuple[int, int, int]]) -> int:
    """Return where in the file an address is loaded from."""
    for start, length, place in loaded:
        if start <= address < start + length:
            return place + address - start
    raise ValueError("an address is in no segment")


def of(path: Path) -> list[str]:
    """Return the libraries of a program, and theirs, as paths.

    Raises
    ------
    PlatformError
        If one is not there.
    """
    program = read(path)
    if program is None or program.interpreter is None:
        return []
    musl = "musl" in Path(program.interpreter).name
    cached = {} if musl else _cache()
    given = tuple(filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")))
    usual = FOLDERS_OF_MUSL if musl else FOLDERS
    found: dict[str, str] = {}
    ends = time.monotonic() + LONGEST_S
    waiting = [(path, program, program.rpath)]
    while waiting:
        holder, one, rpath = waiting.pop(0)
        origin = str(Path(os.path.realpath(holder)).parent)
        looked = (*(() if one.runpath else rpath), *given, *one.runpath)
        for name in one.needed:
            if name in found:
                continue
            if len(found) >= MOST_LIBRARIES or time.monotonic() > ends:
                raise PlatformError(f"{path} needs too many libraries")
            candidates = [name] if "/" in name else [
                *(f"{_expanded(folder, origin)}/{name}" for folder in looked),
                *cached.get(name, ()),
                *(f"{folder}/{name}" for folder in usual),
            ]  # fmt: skip
            for candidate in candidates:
                library = _library(candidate, program.kind)
                if library is not None:
                    break
            else:
                raise PlatformError(
                    f"the libraries of {path} are not all here: {name} is not found"
                )
            found[name] = candidate
            # An RPATH holds for the libraries of a library as well, as do those around it.
            below = () if library.runpath else library.rpath
            inherited = tuple(_expanded(folder, origin) for folder in rpath)
            waiting.append((Path(candidate), library, (*below, *inherited)))
    return list(found.values())


def _library(path: str, kind: bytes) -> Object | None:
    """Return what a library says; None: there is none of this kind."""
    # Unlike Path.is_file, this raises nothing where a name is too long.
    if not path.startswith("/") or not os.path.isfile(path):  # noqa: PTH113
        return None
    found = read(Path(path))
    return found if found is not None and found.kind == kind else None


def _expanded(folder: str, origin: str) -> str:
    for name in ("$ORIGIN", "${ORIGIN}"):
        folder = folder.replace(name, origin)
    return folder


@cache
def _cache() -> dict[str, list[str]]:
    """Return the linker's cache: paths by name, but for those that need a certain processor."""
    for program in ("/sbin/ldconfig", "/usr/sbin/ldconfig"):
        if Path(program).exists():
            done = subprocess.run(
                [program, "-p"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=20, check=False, env={"LC_ALL": "C"},
            )  # fmt: skip
            break
    else:
        return {}
    found: dict[str, list[str]] = defaultdict(list)
    for line in done.stdout.splitlines()[1:]:
        name, arrow, path = line.strip().partition(" => ")
        if arrow and "hwcap" not in name:
            found[name.partition(" (")[0]].append(path)
    return found
