"""What settings were before tare changed them: a file beside the lease, until they are put back.

It is on the disk before anything is changed, so that whatever kills the session, ``cleanup`` and
the next session know what to restore. A reboot restores by itself: the kernel keeps none of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import msgspec

from tare import files, registry
from tare.decoding import DecodeError, decode
from tare.errors import PlatformError, Typed, room
from tare.host import lease as leases
from tare.host.kernel_files import KernelFiles
from tare.host.lease import Remnant
from tare.host.settings.setting import FileSetting, Saved, Setting
from tare.results.message import Message, message

#: Files of one setting can depend on each other (EPP on the governor, minimum on maximum): what
#: the kernel refuses is tried again after the others.
PASSES = 4
#: What settings are: files of the kernel, and processes that are stopped.
_SETTINGS = re.compile(r"/sys/|/proc/sys/|/proc/irq/|/proc/[0-9]+$")


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What one session changed."""

    name: str
    pid: int
    boot_id: str | None
    #: Seconds since boot, asleep or not: the time of day may be set meanwhile.
    since: float
    wanted: dict[str, str]
    #: By setting: text by file, as it was.
    saved: dict[str, Saved]


def keep(name: str, kernel: KernelFiles, units: dict[str, Setting], wanted: dict[str, str]) -> Kept:
    """Save what settings are, on the disk, before they are changed.

    Parameters
    ----------
    name : str
        Of the session, which holds its lease.
    kernel : KernelFiles
        Where they are.
    units : dict
        Setting by name.
    wanted : dict
        What each is about to be set to.

    Raises
    ------
    PlatformError
        If another session that lives holds one of them, or nothing can be saved.
    """
    with _alone():
        _put_back_dead(kernel)
        for other in _living():
            shared = sorted(set(other.wanted) & set(wanted))
            # Whoever was started by the holder ends first, and puts back what the holder set.
            if shared and other.pid not in _ancestors():
                raise PlatformError(
                    f"{', '.join(shared)} is held by another tare ({other.name}, "
                    f"process {other.pid})",
                    Typed(
                        f"kill {other.pid}   (it puts back what it changed; or wait for its end)"
                    ),
                )
        kept = Kept(
            name=name,
            pid=os.getpid(),
            boot_id=_boot(kernel),
            since=time.clock_gettime(time.CLOCK_BOOTTIME),
            wanted=wanted,
            saved={setting: unit.save(kernel, name) for setting, unit in units.items()},
        )
        _write(kept)
    return kept


def put_back(kept: Kept, kernel: KernelFiles) -> None:
    """Restore what a session changed, then forget it.

    Raises
    ------
    PlatformError
        If something could not be restored; everything else was, and what was saved stays.
    """
    if kept.boot_id == _boot(kernel):
        units: dict[str, Setting] = registry.units_of("setting")
        left, unknown = [], []
        for setting, saved in reversed(kept.saved.items()):
            unit = units.get(setting)
            for name, text in saved.items():
                if unit is not None and _is_setting(name, unit, kernel):
                    left.append((unit, name, text))
                else:
                    unknown.append(f"{setting} ({name} to {text!r})")
        said: dict[str, str] = {}
        for _ in range(PASSES):
            left = [one for one in left if one[0].now(kernel, one[1]) != one[2]]
            for unit, name, text in left:
                try:
                    unit.put(kernel, name, text)
                except OSError as error:
                    said[name] = error.strerror or str(error)
        left = [one for one in left if one[0].now(kernel, one[1]) != one[2]]
        if left:
            what = "; ".join(
                f"{name} to {text!r} ({said.get(name, 'it did not stay')})"
                for _, name, text in left
            )
            raise PlatformError(f"could not put back {what}", Typed("sudo tare cleanup"))
        if unknown:
            raise PlatformError(
                f"could not put back {'; '.join(unknown)}: this tare has no such setting",
                f"put it back by hand, then rm {_path(kept.name)}",
            )
    _forget(kept.name)


def _is_setting(name: str, unit: Setting, kernel: KernelFiles) -> bool:
    """Tell whether a saved name is of a setting, whoever wrote what was saved."""
    path = Path(name)
    if ".." in path.parts:
        return False
    if isinstance(unit, FileSetting):
        return any(fnmatchcase(name, pattern) for pattern in unit.files)
    # Its control group may be mounted anywhere.
    beside = {str(Path(file).parent) for file in unit.names(kernel)}
    return _SETTINGS.match(name) is not None or str(path.parent) in beside


def exists(name: str) -> bool:
    """Tell whether a session has still to put something back."""
    return _path(name).exists()


def every() -> list[tuple[Kept, bool]]:
    """Return what sessions have changed since boot and not put back, and whether each lives."""
    living, boot_id = leases.sessions(), _boot(KernelFiles())
    return [(one, living.get(one.name, False)) for one in _all() if one.boot_id == boot_id]


def remnants(kernel: KernelFiles | None = None) -> list[Remnant]:
    """Return what sessions have changed, the last first: they can have done so one on another."""
    there = kernel or KernelFiles()
    found = sorted(_all(), key=lambda kept: kept.since, reverse=True)
    return [Remnant(kept.name, _what(kept, there), partial(_clean, kept, there)) for kept in found]


def _what(kept: Kept, kernel: KernelFiles) -> Message:
    if kept.boot_id != _boot(kernel):
        return message(
            "note of settings that the reboot put back ({settings | join(', ')})",
            settings=[*kept.saved],
        )
    settings = []
    for setting, saved in kept.saved.items():
        was = dict.fromkeys(f"{Path(name).name} {text}" for name, text in saved.items())
        settings.append(
            message(
                "{setting}{% if was %} ({was | join(' and ')} again){% endif %}",
                setting=setting,
                was=[*was],
            )
        )
    return message("change of {settings | join(', ')}", settings=settings)


def _clean(kept: Kept, kernel: KernelFiles) -> None:
    with _alone():
        if not _path(kept.name).exists():
            raise FileNotFoundError(kept.name)
        for other in _living():
            if other.name != kept.name and set(other.wanted) & set(kept.wanted):
                raise PlatformError(f"still held by {other.name} (process {other.pid})")
        put_back(kept, kernel)


def _put_back_dead(kernel: KernelFiles) -> None:
    """Restore what dead sessions left: otherwise that would be taken for what it was."""
    held = {setting for other in _living() for setting in other.wanted}
    living = leases.sessions()
    for kept in sorted(_all(), key=lambda kept: kept.since, reverse=True):
        if not living.get(kept.name, False) and not held & set(kept.wanted):
            put_back(kept, kernel)
            leases.forget(kept.name)


def _living() -> list[Kept]:
    living = leases.sessions()
    return [kept for kept in _all() if living.get(kept.name, False)]


def _all() -> list[Kept]:
    found = []
    for folder in leases.places():
        with contextlib.suppress(OSError):
            for path in folder.glob("tare-*.settings"):
                with contextlib.suppress(OSError, DecodeError), files.open_plain(path) as file:
                    kept = decode(file.read(), Kept)
                    # Its name is part of paths.
                    if kept.name == path.stem:
                        found.append(kept)
    return found


def _write(kept: Kept) -> None:
    path = _path(kept.name)
    raw = path.with_name(f".{path.name}")
    try:
        with raw.open("wb") as file:
            file.write(msgspec.json.encode(kept))
            file.flush()
            os.fsync(file.fileno())
        raw.rename(path)
        files.sync_folder(path.parent)
    except OSError as error:
        raw.unlink(missing_ok=True)
        raise PlatformError(
            f"what the settings are cannot be saved in {path.parent}, so nothing is changed: "
            f"{error.strerror}",
            room(path.parent),
        ) from error


def _forget(name: str) -> None:
    path = _path(name)
    path.unlink(missing_ok=True)
    files.sync_folder(path.parent)


def _path(name: str) -> Path:
    """Return where a session's is: beside its lease."""
    for folder in leases.places():
        if (folder / f"{name}.settings").exists():
            return folder / f"{name}.settings"
    return leases.writable() / f"{name}.settings"


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep other tares from looking who holds what, until this one is done with it."""
    with (leases.writable() / "settings.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _ancestors() -> set[int]:
    """Return the processes that this one descends from, itself included."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 1 and pid not in found:
        found.add(pid)
        fields = KernelFiles().fields(f"/proc/{pid}/status")
        pid = int(fields.get("PPid", "0"))
    return found


def _boot(kernel: KernelFiles) -> str | None:
    return kernel.read("/proc/sys/kernel/random/boot_id")
