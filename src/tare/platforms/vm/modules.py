"""Modules of a guest's kernel: which ones are needed, in which order, as plain files.

``modules.dep`` names what a module needs. Those that are compressed are decompressed here: the
guest's agent loads what it is given.
"""

from __future__ import annotations

import gzip
import lzma
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from tare.errors import PlatformError, Typed

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: What a signed module ends with.
SIGNED = b"~Module signature appended~\n"


def ordered(folder: Path, names: Iterable[str]) -> list[Path]:
    """Return the files of modules with all that they need, in the order to load them.

    Parameters
    ----------
    folder : Path
        ``/lib/modules/VERSION``.
    names : iterable of str
        As ``modprobe`` takes them. One that is built into the kernel is left out.

    Raises
    ------
    PlatformError
        If one is neither there nor built in.
    """
    builtin = {_name(line) for line in _lines(folder / "modules.builtin")}
    table = _table(folder)
    done: dict[str, Path] = {}

    def add(name: str, needed_by: str | None, above: tuple[str, ...]) -> None:
        if name in done or name in builtin or name in above:
            return
        if name not in table:
            whom = f" (which {needed_by} needs)" if needed_by else ""
            raise PlatformError(
                f"the guest's kernel has no module {name}{whom} in {folder}",
                Typed(
                    f"sudo depmod {shlex.quote(str(folder.name))}   "
                    "(or another [platforms.vm] kernel)"
                ),
            )
        path, needs = table[name]
        for one in needs:
            add(one, name, (*above, name))
        done[name] = path

    for name in names:
        add(name.replace("-", "_"), None, ())
    return list(done.values())


def content(path: Path) -> bytes:
    """Return a module, decompressed, and without its signature, which takes long to verify.

    Raises
    ------
    PlatformError
        If it cannot be read.
    """
    try:
        data = path.read_bytes()
        reads = {".xz": lzma.decompress, ".gz": gzip.decompress, ".zst": zstd.decompress}
        return _unsigned(reads.get(path.suffix, bytes)(data))
    except (OSError, lzma.LZMAError, zstd.ZstdError, EOFError, ValueError) as error:
        raise PlatformError(f"the module {path} cannot be read: {error}") from error


def _unsigned(data: bytes) -> bytes:
    """Cut off what is behind the code: signature, 12 bytes about it (its length last), a mark."""
    if not data.endswith(SIGNED):
        return data
    end = len(data) - len(SIGNED)
    return data[: end - 12 - int.from_bytes(data[end - 4 : end], "big")]


def _table(folder: Path) -> dict[str, tuple[Path, list[str]]]:
    """Return file and needs of every module by name."""
    found = {}
    for line in _lines(folder / "modules.dep"):
        path, _, needs = line.partition(":")
        # The last one named is the first one needed.
        found[_name(path)] = (folder / path, [_name(one) for one in reversed(needs.split())])
    return found


def _name(path: str) -> str:
    name = path.strip().rpartition("/")[2]
    return name.partition(".ko")[0].replace("-", "_")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
