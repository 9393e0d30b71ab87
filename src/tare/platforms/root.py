"""The root of a sandbox: what of a machine's own files is shown, read-only, and where.

Or the files of an application in their place: see :class:`~tare.platforms.layer.Root`.

By default a sandbox shows the system directories of where it stands under their own names, so
that the same bytes of a workload run in it as beside it. Home directories and what says what else
runs are not shown. What in them is for root alone, root of a sandbox may not use: see
:mod:`tare.platforms.users`.
"""

from __future__ import annotations

import shlex
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from tare.errors import PlatformError, Typed
from tare.platforms.layer import Place, Root, View
from tare.registry import Parameter, words
from tare.workloads.application import HOST_NAME

#: Where a sandbox shows the agent, and the shared directory.
AGENT, SHARED = "/tare/tare-agent", "/tare/shared"
#: What a sandbox has for itself, where layers inside may make files.
SCRATCH = "/tmp"
#: Top-level directories that hold programs, their libraries and their settings.
SYSTEM = ("bin", "etc", "lib", "lib32", "lib64", "libx32", "nix", "opt", "sbin", "usr")
#: What a sandbox makes for itself.
OWN = ("dev", "proc", "run", "sys", "tare", "tmp")
#: Where an application finds the instance's folder on a disk of this machine, writable.
DISK = "/disk"
#: Where a virtual machine has it, if a layer inside shows it at ``DISK``.
CARRIED_DISK = "/tare/disk"
#: Where files are shown of which it is not known beforehand what there is of them.
OUTER = "/outer"
#: In which a root says that the machine's name is the machine itself.
HOSTS = "/etc/hosts"
#: What to do about a root that cannot be used.
FIX = "build the image again   (it was changed, or made by something else)"

SHOW = Parameter(
    name="show",
    meaning="further files and directories that it shows, read-only, separated by blanks",
    default="",
)
PARAMETERS = (
    Parameter(
        name="root",
        meaning="directory whose files it shows; without, the system directories of where it is",
    ),
    SHOW,
)


class Shown(NamedTuple):
    """What is shown, each as a path inside and what is behind it."""

    #: Path outside.
    binds: tuple[tuple[str, str], ...]
    #: Target of a symbolic link.
    links: tuple[tuple[str, str], ...]
    #: Path outside, below what the sandbox makes for itself or what is shown.
    late: tuple[tuple[str, str], ...]

    @property
    def all(self) -> tuple[tuple[str, str], ...]:
        """Everything that is bound, in an order that hides nothing."""
        return (*self.binds, *self.late)


def view() -> View:
    """Return what is seen in every sandbox that shows files in this way."""
    return View(agent=AGENT, shared=SHARED, scratch=SCRATCH, users=False)


def shown(outer: View, place: Place, settings: dict[str, Any]) -> Shown:
    """Return what a sandbox shows of where it stands.

    Parameters
    ----------
    outer : View
        Where it stands. On this machine every top-level directory is looked at; elsewhere all
        files are shown at one place, and links lead there.
    place : Place
        Its ``files`` are shown as well.
    settings : dict
        ``root`` and ``show``.

    Returns
    -------
    Shown
        Nothing of it is writable.
    """
    if place.root is not None:
        return _of_root(place.root, outer.root)
    # A sandbox has the kernel's files of its own.
    named = [file for file in place.files if PurePosixPath(file).parts[1] not in ("proc", "sys")]
    files = [*named, *further(settings["show"])]
    if outer.host_files:
        binds, links = _looked_at(settings["root"])
    else:
        tops = [PurePosixPath(file).parts[1] for file in files]
        names = [*SYSTEM, *(top for top in tops if top not in (*SYSTEM, *OWN))]
        binds = [(OUTER, settings["root"] or "/")]
        links = [(f"/{name}", f"{OUTER[1:]}/{name}") for name in dict.fromkeys(names)]
    there = {path for path, _ in (*binds, *links)}
    more = [file for file in files if not any(_below(file, path) for path in there)]
    return Shown(tuple(binds), tuple(links), tuple((file, file) for file in dict.fromkeys(more)))


def written(outer: View, place: Place) -> tuple[tuple[str, str], ...]:
    """Return what is shown and writable beside the shared directory: path inside, and outside."""
    if place.disk is None:
        return ()
    return ((DISK, place.disk if outer.root is None else CARRIED_DISK),)


def _of_root(root: Root, carried: str | None) -> Shown:
    """Return what is shown of an application's files, its layers in place of what is there.

    ``carried``: where the layer around has all of them, each under its path.
    """
    binds, links = _looked_at(root.path)
    covered = {path for path, _ in root.layers}
    kept = tuple((path, outside) for path, outside in binds if path not in covered)
    if carried is None:
        return Shown(kept, tuple(links), root.layers)
    there = [[(path, f"{carried}{path}") for path, _ in one] for one in (kept, root.layers)]
    return Shown(tuple(there[0]), tuple(links), tuple(there[1]))


def check(root: Root) -> None:
    """Raise PlatformError where something of a root could lead a mount elsewhere, or nowhere.

    Links of an image are followed inside of it alone; on the way of what tare mounts there may be
    none.
    """
    try:
        _check(root)
    except OSError as error:
        raise PlatformError(
            f"the files of an application cannot be read: {error.filename}: {error.strerror}", FIX
        ) from error


def _check(root: Root) -> None:
    base = Path(root.path)
    disk = () if root.disk_parent is None else (DISK,)
    for path in ("/", HOSTS, *disk, *(path for path, _ in root.layers)):
        parts = PurePosixPath(path).parts[1:]
        for found in (base.joinpath(*parts[:number]) for number in range(len(parts) + 1)):
            if found.is_symlink():
                raise PlatformError(f"{found} is a symbolic link, where {path} is to be shown", FIX)
    for path, _ in root.layers:
        if not _has_place(base, path):
            raise PlatformError(f"the root {base} has no directory for {path}", FIX)
    if not (base / HOSTS[1:]).is_file():
        raise PlatformError(
            f"the root {base} has no file {HOSTS}, which says where {HOST_NAME} is",
            Typed(f"echo '127.0.0.1 localhost {HOST_NAME}' > {shlex.quote(f'{base}{HOSTS}')}"),
        )


def _has_place(base: Path, path: str) -> bool:
    """Tell whether a directory can be shown at a path: at the top, or where the root has one."""
    parts = PurePosixPath(path).parts[1:]
    if not parts or parts[0] in OWN or ".." in parts:
        return False
    there = base.joinpath(*parts)
    return there.is_dir() or (len(parts) == 1 and not there.exists())


def further(show: str) -> list[str]:
    """Return the absolute paths that the option ``show`` names.

    Raises
    ------
    PlatformError
        If one of them is not absolute, or all of the machine.
    """
    paths = words("show", show)
    for path in paths:
        if not PurePosixPath(path).is_relative_to("/") or path.strip("/") == "":
            raise PlatformError(
                f"show = {show!r} names {path!r}, which is no absolute path of a file or directory",
                f'show = "{Path(path).absolute()}"' if path.strip("/") else None,
            )
    return paths


def _looked_at(root: str | None) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return binds and links for the files of this machine, or of a directory of it."""
    try:
        entries = sorted(Path(root or "/").absolute().iterdir())
    except OSError as error:
        raise PlatformError(
            f"the directory {root}, to be shown as a root, cannot be read: {error.strerror}",
            Typed(f"ls -d {shlex.quote(str(root))}"),
        ) from error
    named = [one for one in entries if (one.name not in OWN if root else one.name in SYSTEM)]
    plain = [one for one in named if not one.is_symlink() and (one.is_dir() or one.is_file())]
    binds = [(f"/{one.name}", str(one)) for one in plain]
    links = [(f"/{one.name}", str(one.readlink())) for one in named if one.is_symlink()]
    return binds, links


def _below(file: str, folder: str) -> bool:
    return PurePosixPath(file).is_relative_to(folder)
