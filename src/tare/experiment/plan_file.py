"""The plan in an experiment's folder: kept, read, and gone on with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TypeVar

import msgspec

from tare import files
from tare.decoding import DecodeError, decode
from tare.errors import ExperimentError, StoreError, Typed
from tare.experiment.file import changes
from tare.experiment.plan import VERSION, Plan

T = TypeVar("T")
#: Where it is kept, and the experiment as its author wrote it.
FILE, TEXT = "plan.json", "experiment.toml"
#: Where another command keeps the plan of a task set, which is no experiment in blocks.
TASKS = "tasks.json"
#: Where a fleet has a folder of results of each host.
HOSTS = "hosts"
#: Where it says what became of each.
FLEET = "fleet.json"
#: All files and folders that tare itself keeps in a folder of results.
OWN_FILES = frozenset({
    FILE, TEXT, TASKS, FLEET, "report.html", "joined.html", "hosts.html", "measuring.lock", ".lock",
})  # fmt: skip
OWN_FOLDERS = frozenset({"journal", HOSTS, "requests", "tasks"})


def write(plan: Plan, folder: Path) -> None:
    """Keep the plan in the experiment's folder."""
    data = msgspec.json.format(msgspec.json.encode(plan), indent=1)
    files.write(folder / FILE, data, "free some room, or choose another --out")


def read(folder: Path) -> Plan:
    """Read the plan that an experiment's folder holds.

    Raises
    ------
    StoreError
        If there is none, or it is of another version.
    """
    path = folder / FILE
    try:
        data = content(path)
    except OSError as error:
        found = (
            f"{folder} holds no experiment: {path.name} cannot be read ({error.strerror})"
            if folder.is_dir()
            else f"{folder} is no folder that tare run --out has made"
        )
        hint = "name the folder that --out named"
        if (folder / TASKS).is_file():
            hint = Typed(f"tare tasks report {shlex.quote(str(folder))}   (it holds a task set)")
        elif is_fleet(folder):
            found = f"{folder} holds a fleet; the results of each host are in {folder / HOSTS}"
            hint = Typed(f"tare fleet report {shlex.quote(str(folder))}   (compares the hosts)")
        raise StoreError(found, hint) from error
    return decoded(data, Plan, VERSION, path)


def is_fleet(folder: Path) -> bool:
    """Whether a folder holds the results of a fleet, rather than of one host."""
    return (folder / HOSTS).is_dir() and not (folder / FILE).exists()


def check_no_fleet(folder: Path) -> None:
    """Refuse to measure one host into the folder of a fleet."""
    if is_fleet(folder):
        raise StoreError(
            f"{folder} holds a fleet's results, so nothing was measured",
            "go on with it with --fleet ADDRESS, or choose another --out",
        )


def hosts(folder: Path) -> list[Path]:
    """Return the folder of each host of a fleet that has a plan, ``host-10`` after ``host-9``."""
    if (folder / HOSTS).is_symlink():
        raise StoreError(f"{folder / HOSTS} is a link, so what it leads to is not read")
    files.check_owner(folder / HOSTS)
    try:
        some = [path for path in (folder / HOSTS).iterdir() if not path.is_symlink()]
    except OSError as error:
        raise StoreError(
            f"{folder / HOSTS} cannot be read ({error.strerror})",
            "name the folder that tare experiment run --fleet has made",
        ) from error
    found = [path for path in some if (path / FILE).exists()]
    return sorted(found, key=lambda path: _natural(path.name))


class _HostOfFleet(msgspec.Struct):
    name: str
    blocks: int = 0


class _Fleet(msgspec.Struct):
    hosts: tuple[_HostOfFleet, ...]


def lost(folder: Path) -> dict[str, str]:
    """Return hosts that have measured, as a fleet's record says, but have no results: name, why."""
    try:
        record = decode(content(folder / FLEET), _Fleet)
    except (OSError, DecodeError):
        return {}
    measured = (host.name for host in record.hosts if host.blocks)
    lacking = ((name, _lacking(folder / HOSTS, name)) for name in measured)
    return {name: why for name, why in lacking if why is not None}


def _lacking(hosts: Path, name: str) -> str | None:
    own = hosts / name
    try:
        is_own = own.parent == hosts and not own.is_symlink()
        there = {path.name for path in own.iterdir()} if is_own else set()
        journal = is_own and any((own / "journal").glob("*.ndjson"))
    except (OSError, ValueError):
        there, journal = set(), False
    if not there:
        return "its folder is missing"
    if FILE not in there:
        return f"it has no {FILE}"
    return None if journal else "it has no journal"


def _natural(name: str) -> list[tuple[int, int | str]]:
    parts = re.split(r"(\d+)", name)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]


def decoded(data: bytes, kind: type[T], version: int, path: Path) -> T:
    """Return what a file of a folder holds, of one version; raises StoreError."""
    try:
        found = decode(data, _Versioned).version
        if found == version:
            return decode(data, kind)
    except DecodeError as error:
        raise StoreError(f"{path} is damaged: {error}", "restore it from a copy") from error
    raise StoreError(
        f"{path} was written by another tare (layout {found}, this one reads {version})",
        "open it with the tare that wrote it",
    )


def content(path: Path) -> bytes:
    """Return what a file of the folder holds, if it is one; raises OSError."""
    with files.open_plain(path) as file:
        return file.read()


def text(folder: Path) -> bytes | None:
    """Return the experiment as its author wrote it; None: there is no such file."""
    try:
        return content(folder / TEXT)
    except OSError:
        return None


class _Versioned(msgspec.Struct):
    version: int


def resume(asked: Plan, stored: Plan, texts: tuple[str | None, str | None] = (None, None)) -> Plan:
    """Return the plan to go on with: the stored one, with the stopping rule that is asked now.

    Parameters
    ----------
    asked : Plan
        Of the experiment file as it is.
    stored : Plan
        Of the folder; has the repetitions that are frozen.
    texts : (str or None, str or None)
        The file as it was, and as it is, where there is one.

    Raises
    ------
    ExperimentError
        If the experiment has changed in more than when to stop, naming the keys; or if this
        machine makes other cells of it.
    """
    found = changes.changes(stored.experiment, asked.experiment)
    if found:
        then, now = texts
        written = None if then is None or now is None else changes.edited(then, now)
        what = (
            "the file has not changed, but what of it can be measured here has"
            if written == []
            else "the experiment has changed since it began"
        )
        raise ExperimentError(
            f"{what}: {'; '.join(map(changes.sentence, written or found))}",
            "measure it into a new folder with --out",
        )
    if asked.cells != stored.cells:
        raise ExperimentError(
            "this machine makes other cells of the experiment than the one where it began",
            "measure it into a new folder with --out",
        )
    return msgspec.structs.replace(stored, experiment=asked.experiment)
