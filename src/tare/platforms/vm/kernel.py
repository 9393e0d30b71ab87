"""The kernel of a guest: one of this machine's, a file, or the distribution's package."""

from __future__ import annotations

import platform
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

from tare.errors import PlatformError
from tare.platforms import programs
from tare.platforms.vm import cache

BOOT = Path("/boot")
MODULES = Path("/lib/modules")
#: Debian's name of an architecture.
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
#: Where a kernel for x86 says so, and a text of its version; the same of one for 64-bit ARM.
X86_AT, X86 = 0x202, b"HdrS"
X86_VERSION_AT = 0x20E
ARM_AT, ARM = 56, b"ARM\x64"
GZIP = b"\x1f\x8b"
#: A package takes its time over a slow line.
DOWNLOAD_S = 600
#: Names of packages that stand for the newest kernel for virtual machines: Debian's, Ubuntu's.
META = ("linux-image-cloud-{arch}", "linux-image-virtual")


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
        ``auto``, ``package``, or the path of a file.

    Raises
    ------
    PlatformError
        If it is not there, cannot be read, or is for another machine.
    """
    if option == "auto":
        return newest()
    if option == "package":
        return packaged() or _downloaded()
    path = Path(option).expanduser()
    if not path.is_absolute() or not path.is_file():
        raise PlatformError(
            f"[platforms.vm] kernel: there is no file {option}", f"ls {BOOT}/vmlinuz-*"
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
    if (kept := packaged()) is not None:
        return kept
    why = "; ".join(refused) or f"{BOOT} has none"
    raise PlatformError(f"no kernel for a virtual machine: {why}", hint())


def hint() -> str:
    """Return how to come by a kernel without changing the machine, or for all its users."""
    return '[platforms.vm] kernel = "package"   (tare then downloads one, for itself alone)'


def _read(path: Path) -> Kernel:
    """Return a kernel that can be read, is for this machine, and has its modules."""
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
    except OSError as error:
        raise PlatformError(
            f"the kernel {path} cannot be read: {error.strerror}", f"sudo chmod a+r {path}"
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


def packaged() -> Kernel | None:
    """Return the newest kernel that was downloaded before."""
    found = sorted((cache.folder() / "kernels").glob("*/boot/vmlinuz-*"), key=_age, reverse=True)
    for path in found:
        try:
            return _read(path)
        except PlatformError:
            continue
    return None


def _downloaded() -> Kernel:
    """Fetch the distribution's kernel for virtual machines, and unpack it into the cache."""
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise PlatformError(
                f"kernels are downloaded by {program}, which this machine does not have",
                '[platforms.vm] kernel = "/path/of/vmlinuz"   (with lib/modules beside boot/)',
            )
    names = _names()
    fresh = cache.folder() / "kernels" / f".{names[0]}"
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700, parents=True)
        _do(["apt-get", "download", *names], fresh)
        for package in fresh.glob("*.deb"):
            _do(["dpkg-deb", "-x", package.name, "."], fresh)
            package.unlink()
        for folder in (fresh / "usr/share", fresh / "usr/lib/debug"):
            shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(fresh.with_name(names[0]))
    except OSError as error:
        raise PlatformError(
            f"the kernel's package cannot be kept in {fresh.parent}: {error.strerror}",
            f"df -h {fresh.parent}   (and make room there, or set XDG_CACHE_HOME)",
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    kernel = packaged()
    if kernel is None:
        raise PlatformError(f"the packages {' '.join(names)} hold no kernel with modules")
    return kernel


def _names() -> list[str]:
    """Return the packages that hold the newest kernel and its modules."""
    arch = DEBIAN.get(platform.machine(), platform.machine())
    for meta in META:
        done = subprocess.run(
            ["apt-cache", "depends", meta.format(arch=arch)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        names = re.findall(r"Depends: (linux-(?:image|modules)-\d\S+)", done.stdout)
        if names:
            return sorted(set(names))
    tried = " and ".join(meta.format(arch=arch) for meta in META)
    raise PlatformError(f"apt knows neither of the packages {tried}", "sudo apt update")


def _do(argv: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            argv, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=DOWNLOAD_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise PlatformError(f"{' '.join(argv)} took more than {DOWNLOAD_S} s") from error
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise PlatformError(f"{' '.join(argv)}: {said[0]}", "sudo apt update")
