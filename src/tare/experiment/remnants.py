"""What sessions leave on a machine when they are killed, and how it is removed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from tare import registry
from tare.errors import PlatformError, Typed
from tare.host import lease as leases
from tare.host import processes
from tare.host.lease import InUseError, Lease, Remnant
from tare.host.settings import restore
from tare.networks import remnants as networks
from tare.platforms import groups, users
from tare.render.words import text

#: Directories in which sessions keep files, each in one of its own.
FOLDERS = (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"))
#: How often processes are looked for that others started while they were being ended.
_ROUNDS = 10


@contextlib.contextmanager
def lease(name: str, folders: Iterable[Path] = ()) -> Iterator[Lease]:
    """Hold the lease of a session, and remove at its end what is left of it.

    Parameters
    ----------
    name : str
        From :func:`tare.host.lease.new_name`; everything that the session makes begins with it.
    folders : iterable of Path
        Where, beside ``FOLDERS``, it makes directories.
    """
    try:
        with leases.hold(name, folders) as held:
            yield held
            # An agent that was killed has left its groups. Units are asked only after a failure:
            # that takes a while, and whoever gets here has closed what he started.
            _remove(
                lambda: [*networks.found(), *_groups(), *_files()], partial(_of, name), _processes
            )
    except BaseException:
        # What cannot be removed now stays with the lease for ``cleanup``.
        with contextlib.suppress(PlatformError):
            _remove(found, partial(_of, name))
            leases.forget(name)
        raise


def cleanup(*, all: bool = False) -> list[str]:
    """Remove what dead sessions of this user left; never what belongs to a living one.

    Parameters
    ----------
    all : bool
        Also what no lease speaks of, such as after its file was lost.

    Returns
    -------
    list of str
        What was removed, in words.

    Raises
    ------
    PlatformError
        If something could not be removed; everything else was.
    """
    before = leases.sessions()
    removed = _remove(found, partial(_of_the_dead, all_=all))
    # Of a session that died since, not everything has been found: its lease is for the next.
    for name, lives in before.items():
        if not lives:
            leases.forget(name)
    return removed


def found() -> list[Remnant]:
    """Return everything on this machine that tare made for this user, in order of removal."""
    platforms = [one for unit in registry.units_of("platform").values() for one in unit.remnants()]
    return [
        *restore.remnants(), *_running(), *networks.found(), *platforms, *_groups(), *_files(),
        *_images(),
    ]  # fmt: skip


def _running() -> list[Remnant]:
    loads = [one for unit in registry.units_of("load").values() for one in unit.remnants()]
    return [*_processes(), *loads]


def _of(session: str, remnants: list[Remnant]) -> list[Remnant]:
    return [one for one in remnants if leases.session_of(one.name) == session]


def _of_the_dead(remnants: list[Remnant], *, all_: bool) -> list[Remnant]:
    # Read after the remnants: whatever was found has had its lease before. A session that changed
    # settings keeps its lease until they are put back, so that a note without one is of the dead.
    living = {one.name: False for one in restore.remnants()} | leases.sessions()
    return [one for one in remnants if _is_dead(one, living, all_)]


def _is_dead(remnant: Remnant, living: dict[str, bool], all_: bool) -> bool:
    session = leases.session_of(remnant.name)
    if session is None:
        # Shared by sessions, such as the agent's image.
        return not any(living.values())
    return not living.get(session, not all_)


def _remove(
    others: Callable[[], list[Remnant]],
    chosen: Callable[[list[Remnant]], list[Remnant]],
    running: Callable[[], list[Remnant]] = _running,
) -> list[str]:
    """Remove what is chosen of what is found: processes until none is left, then the others."""
    removed: list[str] = []
    failed: dict[str, Exception] = {}
    for _ in range(_ROUNDS):
        # Whoever was ended may have started another since it was listed.
        processes = [one for one in chosen(running()) if text(one.what) not in failed]
        if not processes:
            break
        _remove_each(processes, removed, failed)
    else:
        failed["processes"] = PlatformError("they start others faster than they are ended")
    _remove_each([one for one in chosen(others()) if text(one.what) not in failed], removed, failed)
    if failed:
        told = "; ".join(f"{what}: {error}" for what, error in failed.items())
        hints = (getattr(error, "hint", None) for error in failed.values())
        hint = next((one for one in hints if one is not None), Typed("sudo tare cleanup"))
        raise PlatformError(f"could not be removed: {told}", hint)
    return removed


def _remove_each(remnants: list[Remnant], removed: list[str], failed: dict[str, Exception]) -> None:
    for one in remnants:
        try:
            one.remove()
            removed.append(text(one.what))
        except (FileNotFoundError, InUseError):
            continue
        except (OSError, PlatformError) as error:
            failed[text(one.what)] = error


def _processes() -> list[Remnant]:
    return [
        Remnant(p.name, f"process {p.pid} ({Path(p.argv[0]).name})", partial(processes.kill, p))
        for p in processes.named()
        if _is_own(p.user)
    ]


def _files() -> list[Remnant]:
    return [
        Remnant(path.name, f"directory {path}", partial(_remove_folder, path))
        for folder in {*FOLDERS, *leases.folders()}
        for path in folder.glob("tare-*")
        if leases.session_of(path.name) is not None
        and _is_ours(path)
        and path.is_dir()
        and not path.is_symlink()
    ]


def _remove_folder(path: Path) -> None:
    """Remove a folder, also where a program left folders in it that its user may not change."""
    try:
        shutil.rmtree(path)
    except PermissionError:
        path.chmod(0o700)
        for folder, names, _ in os.walk(path):
            for inner in (Path(folder, name) for name in names):
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(path)


def _images() -> Iterable[Remnant]:
    # Only applications have images, and what builds them takes time to load.
    from tare.applications import image

    return image.remnants()


def _groups() -> list[Remnant]:
    """Return control groups, deepest first."""
    return [
        Remnant(path.name, f"control group {path}", partial(groups.remove, path))
        for path in groups.named(leases.session_of)
        if _is_ours(path)
    ]


def _is_ours(path: Path) -> bool:
    try:
        return _is_own(path.lstat().st_uid)
    except OSError:
        return False


def _is_own(user: int) -> bool:
    return user == os.geteuid() or users.is_of_sandbox(user)
