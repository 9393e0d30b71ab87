"""The image of an application: from the cache, or made now."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tare.applications.image import artefacts, cache, debian, engine, phrases, sources, tree
from tare.applications.image.cache import Entry
from tare.applications.image.engine import EngineImage
from tare.applications.image.lock import Lock, Package
from tare.errors import ExperimentError
from tare.host.cache import stamp_of_tree
from tare.results.message import Said, message
from tare.version import __version__
from tare.workloads.application import DATA, FILES, HOST_NAME, Application

_IMAGE_FILES = "adding the application's files to the image, and computing its SHA-256"

_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9-]+)?(=[0-9][A-Za-z0-9.+~:-]*)?")
_SUITE = re.compile(r"[a-z][a-z0-9-]*")
_ARTEFACT = {
    "maven": re.compile(r"[A-Za-z0-9][\w.-]*(:[A-Za-z0-9][\w.-]*){1,2}", re.ASCII),
    "pypi": re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII),
}
_VERSION = re.compile(r"[A-Za-z0-9][\w.+!-]*", re.ASCII)

Stage = Callable[[Said], None]

#: Where something is mounted, or will be.
MOUNT_POINTS = (FILES, DATA, "/tare", "/proc", "/sys", "/dev", "/tmp", "/run", "/var", "/var/tmp")
#: What every image has, however it was made.
PLACED = {
    "etc/hosts": f"127.0.0.1 localhost {HOST_NAME}\n::1 localhost ip6-localhost ip6-loopback\n",
    "etc/resolv.conf": "",
    "etc/machine-id": "",
}


@dataclass
class Built:
    """An image; it stays in the cache until it is closed, or this process ends."""

    #: Directory that is the root.
    path: Path
    #: SHA-256 of its content; of a directory of the user's: of names, sizes and times in it.
    digest: str
    lock: Lock
    #: Whether it had to be made.
    made: bool = False
    held: list[Entry] = field(default_factory=list)

    def close(self) -> None:
        """Let the cache remove it, and the layers of it; may be called twice."""
        for one in self.held:
            one.close()


def built(application: Application, stage: Stage, lock: Lock | None = None) -> Built:
    """Return the image of an application, which is made unless the cache has it.

    Parameters
    ----------
    application : Application
        Whose image it is.
    stage : callable
        Is told what goes on, and the time left.
    lock : Lock, optional
        Make it of exactly what this names. What was made then has the same digest, as long as
        the programs that make images do the same.

    Raises
    ------
    ExperimentError
        If the application names what is not there, or the lock is another application's.
    PlatformError
        If a program is missing or fails.
    """
    _check_names(application)
    files = artefacts.files(application)
    hashes = {path: file.sha256 for path, file in files.items()}
    if application.image.root is not None:
        return _directory(application)
    source = _find(application)
    if lock is not None:
        _check(lock, application, source, hashes)
    base, made = _base(application, source, lock, stage)
    try:
        entry, added = _with_files(application, base, files, stage)
    except BaseException:
        base.close()
        raise
    if entry is not base:
        base.close()
    found = Lock(
        tare=__version__,
        digest=entry.about.digest,
        suite=source if isinstance(source, str) else None,
        packages=base.about.packages,
        oci=source.digest if isinstance(source, EngineImage) else None,
        artefacts=application.image.artefacts,
        files=hashes,
    )
    return Built(entry.path, entry.about.digest, found, made or added, [entry])


def size_bytes(application: Application) -> int | None:
    """Return the size of an application's image in the cache; None: it is not there.

    Raises
    ------
    TareError
        As :func:`built` does, for what the application names.
    """
    if application.image.root is not None:
        return None
    base = cache.look(_base_key(application, _find(application)))
    if base is None:
        return None
    base.close()
    if not _has_files(application):
        return base.about.size_bytes
    entry = cache.look(_key(application, base, artefacts.files(application)))
    if entry is None:
        return None
    entry.close()
    return entry.about.size_bytes


def _check_names(application: Application) -> None:
    """Raise where a name is none of its registry's, but an option, a path or an address."""
    image = application.image
    wrong = [one for one in image.packages if not _PACKAGE.fullmatch(one)]
    wrong += [one for one in [image.suite] if one is not None and not _SUITE.fullmatch(one)]
    wrong += [
        f"{one.name} {one.version}"
        for one in image.artefacts
        if not (_ARTEFACT[one.registry].fullmatch(one.name) and _VERSION.fullmatch(one.version))
    ]
    if wrong:
        raise ExperimentError(
            f"the image of {application.name} names {wrong[0]!r}, which is no name of a package",
            'packages = ["NAME", "NAME=VERSION"]',
        )


def _find(application: Application) -> str | EngineImage:
    """Return the release of Debian or the engine's image that it is made from."""
    image = application.image
    return engine.find(image.oci) if image.oci is not None else image.suite or sources.suite()


def _directory(application: Application) -> Built:
    """Return a directory of the user's, as it is."""
    root = Path(application.image.root or "")
    if _has_files(application):
        raise ExperimentError(
            f"the image of {application.name} is the directory {root}, so that nothing is put "
            f"into it: no files, no programs, no artefacts",
            f"copy them to {root}{FILES}/, and leave them out of application.toml",
        )
    if not root.is_absolute() or not root.is_dir():
        raise ExperimentError(f"the image of {application.name}, {root}, is no directory")
    if any(root.samefile(own) for own in ("/", "/proc", "/sys", "/dev")):
        raise ExperimentError(
            f"the image of {application.name} is {root}, which is this machine's own",
            "a directory with the files of a system, such as mmdebstrap makes; or a command in the "
            "place of an application",
        )
    try:
        digest = stamp_of_tree(root).hex()
    except OSError as error:
        raise ExperimentError(
            f"the image of {application.name}, {root}, cannot be read: {error}"
        ) from error
    return Built(root, digest, Lock(tare=__version__, digest=digest))


def _check(
    lock: Lock, application: Application, source: str | EngineImage, files: dict[str, str]
) -> None:
    """Raise where a lock is not of this application as it is now."""
    changed = [path for path in {*files, *lock.files} if files.get(path) != lock.files.get(path)]
    if lock.artefacts != application.image.artefacts:
        changed.append("artefacts")
    if isinstance(source, EngineImage):
        if lock.oci != source.digest:
            changed.append(f"image {source.name}")
    else:
        locked = {one.name: one.version for one in lock.packages}
        for asked in application.image.packages:
            name, _, version = asked.partition("=")
            if name not in locked or version not in ("", locked[name]):
                changed.append(f"package {asked}")
        if lock.suite != source:
            changed.append("suite")
    if changed:
        raise ExperimentError(
            f"the lock is of another state of {application.name}; these differ: "
            f"{', '.join(sorted(changed)[:5])}",
            "the same command without the lock; or restore the application as it was",
        )


def _base_key(application: Application, source: str | EngineImage, *locked: Package) -> str:
    if isinstance(source, EngineImage):
        return cache.key("oci", source.digest)
    return cache.key("debian", source, sorted(set(application.image.packages)), locked)


def _base(
    application: Application, source: str | EngineImage, lock: Lock | None, stage: Stage
) -> tuple[Entry, bool]:
    """Return the image without what the application itself has, and whether it was made."""
    locked = () if lock is None else lock.packages
    if locked and (newest := cache.look(_base_key(application, source))) is not None:
        if newest.about.packages == locked:
            return newest, False
        newest.close()

    def make(root: Path) -> tuple[Package, ...]:
        packages: tuple[Package, ...] = ()
        if isinstance(source, EngineImage):
            engine.fill(root, source, stage)
        else:
            packages = debian.fill(root, application.image.packages, source, locked, stage)
        for folder in MOUNT_POINTS:
            tree.make_folder(root / folder[1:])
        for path, text in PLACED.items():
            tree.place(root, path, text.encode())
        stage(message("making the image: computing the SHA-256 of its files"))
        return packages

    return cache.entry(_base_key(application, source, *locked), make, _waiting(stage))


def _has_files(application: Application) -> bool:
    image = application.image
    return bool(image.files or image.programs or image.artefacts)


def _key(application: Application, base: Entry, files: dict[str, artefacts.File]) -> str:
    return cache.key("application", base.about.digest, application.image.artefacts, files)


def _with_files(
    application: Application, base: Entry, files: dict[str, artefacts.File], stage: Stage
) -> tuple[Entry, bool]:
    """Return the image with the application's files and artefacts, and whether it was made."""
    if not _has_files(application):
        return base, False

    def make(root: Path) -> tuple[Package, ...]:
        stage(message(_IMAGE_FILES))
        tree.link_copy(base.path, root)
        target = root / FILES[1:]
        artefacts.fetch(application.image.artefacts, target, root.parent, stage)
        if artefacts.files(application, target) != files:
            raise ExperimentError(f"files of {application.name} changed while they were copied")
        stage(message(_IMAGE_FILES))
        return base.about.packages

    return cache.entry(_key(application, base, files), make, _waiting(stage))


def _waiting(stage: Stage) -> Callable[[], None]:
    return lambda: stage(message(phrases.IMAGE_WAITING))
