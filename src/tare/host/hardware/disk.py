"""The disk beneath a directory, by mounts and sysfs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

from tare.host.kernel_files import KernelFiles

#: ``virtual``: whatever the host has; ``remote``: on another machine; ``memory``: no disk at all.
Kind = Literal["rotating", "SATA SSD", "NVMe", "virtual", "remote", "memory"]

_REMOTE = ("nfs", "cifs", "smb", "9p", "virtiofs", "ceph", "glusterfs", "lustre", "fuse")
_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
#: What disks of hypervisors and clouds call themselves; clouds present them as NVMe, too.
_VIRTUAL = (
    "qemu", "vbox", "vmware", "virtual", "msft", "amazon elastic", "nvme_card", "persistentdisk",
    "google",
)  # fmt: skip


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """A block device, or what stands in for one."""

    #: ``nvme0n1``; of a remote mount its source.
    name: str
    kind: Kind | None
    model: str | None
    scheduler: str | None
    file_system: str


def disk_of(files: KernelFiles, directory: Path) -> Disk | None:
    """Find the disk of a directory; None where mounts do not tell."""
    mount = _mount(files, directory)
    if mount is None:
        return None
    number, file_system, source = mount
    if file_system in _IN_MEMORY:
        return _without(file_system, "memory", file_system)
    if file_system.startswith(_REMOTE):
        return _without(source, "remote", file_system)
    name = _device(files, number, source)
    if name is None:
        return _without(source, None, file_system)
    block = f"sys/block/{name}"
    model = files.read(f"{block}/device/model") or None
    return Disk(
        name=name,
        kind=_kind(files, name, model),
        model=model,
        scheduler=files.value(f"{block}/queue/scheduler"),
        file_system=file_system,
    )


def _without(name: str, kind: Kind | None, file_system: str) -> Disk:
    return Disk(name=name, kind=kind, model=None, scheduler=None, file_system=file_system)


def _mount(files: KernelFiles, directory: Path) -> tuple[str, str, str] | None:
    """Return device number, file system and source of the mount that a directory is on."""
    best: tuple[int, tuple[str, str, str]] | None = None
    for line in files.lines("proc/self/mountinfo"):
        fields, _, rest = line.partition(" - ")
        words, more = fields.split(), rest.split()
        if len(words) < 5 or len(more) < 2:
            continue
        # Spaces stand as octal numbers.
        point = Path(re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), words[4]))
        # Of mounts over each other the last counts.
        if directory.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = len(point.parts), (words[2], more[0], more[1])
    return None if best is None else best[1]


def _device(files: KernelFiles, number: str, source: str) -> str | None:
    """Name the whole disk: not its partition, nor what a volume manager makes of several."""
    name = Path(source).name
    paths = [*files.glob("sys/block/*/dev"), *files.glob("sys/block/*/*/dev")]
    found = next((p for p in paths if files.read(p) == number), None)
    found = found or next((p for p in paths if Path(p).parent.name == name), None)
    if found is None:
        return None
    disk = Path(found).parts[3]
    for _ in range(4):
        below = next(iter(files.glob(f"sys/block/{disk}/slaves/*")), None)
        if below is None:
            break
        part = Path(below).name
        whole = next(iter(files.glob(f"sys/block/*/{part}/dev")), None)
        disk = part if whole is None else Path(whole).parts[3]
    return disk


def _kind(files: KernelFiles, name: str, model: str | None) -> Kind | None:
    told = (model or "").lower()
    if name.startswith(("vd", "xvd")) or any(word in told for word in _VIRTUAL):
        return "virtual"
    if name.startswith(("zram", "ram", "pmem")):
        return "memory"
    if name.startswith("nvme"):
        return "NVMe"
    rotational = files.number(f"sys/block/{name}/queue/rotational")
    return {1: "rotating", 0: "SATA SSD"}.get(-1 if rotational is None else rotational)  # type: ignore[return-value]
