"""The kernel of a guest: one of this machine's, or a file."""

from __future__ import annotations

import platform
import re
import shlex
import struct
from pathlib import Path
from typing import NamedTuple

from tare.errors import PlatformError, Typed
from tare.host import programs

BOOT = Path("/boot")
MODULES = Path("/lib/modules")
#: Where a kernel for x86 says so, and a text of its version; the same of one for 64-bit ARM.
X86_AT, X86 = 0x202, b"HdrS"
X86_VERSION_AT = 0x20E
ARM_AT, ARM = 56, b"ARM\x64"
GZIP = b"\x1f\x8b"
#: How to come by a kernel; one that is unpacked by hand has lib/modules beside its boot.
HINT = Typed("sudo apt install linux-image-cloud-amd64   (or: [platforms.vm] kernel = PATH)")


class Kernel(NamedTuple):
    """A kernel with its modules."""

    path: Path
    version: str
    modules: Path


def chosen(option: str) -> Kernel:
    """Return the kernel that an option names.

    Parameters
    ----------
    option : str
        ``auto``, or the path of a file.

    Raises
    ------
    PlatformError
        If it is not there, cannot be read, or is for another machine.
    """
    if option == "auto":
        return newest()
    path = Path(option).expanduser()
    if not path.is_absolute() or not path.is_file():
        raise PlatformError(
            f"[platforms.vm] kernel: there is no file {option}", Typed(f"ls {BOOT}/vmlinuz-*")
        )
    return _read(path)


def newest() -> Kernel:
    """Return the newest kernel of this machine with its modules; those for clouds are smallest."""
    found = sorted(BOOT.glob("vmlinuz-*"), key=_age, reverse=True)
    refused = []
    for path in found:
        try:
            return _read(path)
        except PlatformError as error:
            refused.append(error.message)
    why = "; ".join(refused) or f"{BOOT} has none"
    raise PlatformError(f"no kernel for a virtual machine: {why}", HINT)


def _read(path: Path) -> Kernel:
    """Return a kernel that can be read, is for this machine, and has its modules."""
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
    except OSError as error:
        raise PlatformError(
            f"the kernel {path} cannot be read: {error.strerror}",
            Typed(f"sudo chmod a+r {shlex.quote(str(path))}"),
        ) from error
    own = platform.machine()
    its = _machine(path, head)
    if its != own:
        raise PlatformError(f"{path} is {f'a kernel for {its}' if its else 'no kernel'}, not {own}")
    version = _version(path, head)
    if not version:
        raise PlatformError(
            f"{path} does not say its version, so that it has no modules",
            f"name it as the others are: {BOOT}/vmlinuz-VERSION",
        )
    for folder in (path.parent.parent / "lib/modules" / version, MODULES / version):
        if folder.is_dir():
            return Kernel(path, version, folder)
    raise PlatformError(f"the kernel {path} has no modules: there is no {MODULES / version}")


def _machine(path: Path, head: bytes) -> str | None:
    """Return the machine that a kernel is for; None: it is no kernel."""
    if head[X86_AT : X86_AT + 4] == X86:
        return "x86_64"
    if head[ARM_AT : ARM_AT + 4] == ARM:
        return "aarch64"
    if head.startswith(GZIP):
        return "aarch64"  # only those are compressed as a whole
    number = programs.machine(path)
    return next((name for name, one in programs.MACHINES.items() if one == number), None)


def _version(path: Path, head: bytes) -> str:
    if head[X86_AT : X86_AT + 4] == X86:
        at = int(struct.unpack_from("<H", head, X86_VERSION_AT)[0]) + 0x200
        return head[at : at + 200].split(b"\0")[0].decode(errors="replace").partition(" ")[0]
    return path.name.partition("-")[2]


def _age(path: Path) -> tuple[bool, list[int]]:
    return "cloud" in path.name, [int(number) for number in re.findall(r"\d+", path.name)]
