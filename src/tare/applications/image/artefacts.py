"""What is put into ``/application``: artefacts of package registries, and the folder's files."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tare.applications.image import tree
from tare.applications.image.running import run
from tare.errors import ExperimentError, PlatformError
from tare.platforms import programs
from tare.results.message import Said, message
from tare.workloads.application import Application, Artefact

FETCH_S = 1800.0
#: Of all files of a folder together.
MOST_BYTES = 1 << 30
MOST_FILES = 10_000
#: What to do where one cannot be fetched.
_HINTS = {
    "maven": "mvn help:effective-settings   (mirrors and proxies that Maven uses)",
    "pypi": "pip config list   (mirrors that pip uses; only a wheel can be an artefact)",
}


def fetch(artefact: Artefact, target: Path, scratch: Path, stage: Callable[[Said], None]) -> None:
    """Fetch an artefact into a directory by the program that knows the user's mirrors.

    Parameters
    ----------
    artefact : Artefact
        What is wanted.
    target : Path
        Where it is put.
    scratch : Path
        A directory on the same disk, for what is fetched and not checked yet.
    stage : callable
        Is told what goes on.

    Raises
    ------
    PlatformError
        If it cannot be had.
    ExperimentError
        If it is another file than is named.
    """
    stage(message("application.image.artefact", name=artefact.name, version=artefact.version))
    what = f"{artefact.name} {artefact.version}"
    with tempfile.TemporaryDirectory(dir=scratch) as own:
        folder = Path(own, "file")
        folder.mkdir()
        try:
            run(_command(artefact, folder), FETCH_S, folder)
        except PlatformError as error:
            raise PlatformError(
                f"{what} of {artefact.registry} cannot be fetched: {error.message}",
                error.hint or _HINTS[artefact.registry],
            ) from error
        found = [*folder.iterdir()]
        if len(found) != 1:
            raise PlatformError(f"{what} is {len(found)} files, not one")
        with found[0].open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != artefact.sha256:
            raise ExperimentError(
                f"{what} has another SHA-256 than application.toml says: {digest}",
                f'sha256 = "{digest}"   (if this is the file that is meant)',
            )
        if (target / found[0].name).exists():
            raise ExperimentError(f"two files of the application are called {found[0].name}")
        found[0].chmod(0o644)
        shutil.move(found[0], target / found[0].name)


def _command(artefact: Artefact, folder: Path) -> list[str]:
    if artefact.registry == "maven":
        return [
            *(str(programs.find("mvn", "maven")), "--batch-mode", "--quiet", "dependency:copy"),
            f"-Dartifact={artefact.name}:{artefact.version}",
            f"-DoutputDirectory={folder}",
        ]
    wanted = folder.parent / "requirements.txt"
    wanted.write_text(f"{artefact.name}=={artefact.version} --hash=sha256:{artefact.sha256}\n")
    # Wheels alone: of others, pip runs code on this machine to see what they are.
    return [
        *_pip(), "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
        f"--dest={folder}", f"--requirement={wanted}",
    ]  # fmt: skip


def _pip() -> list[str]:
    for name in ("pip", "pip3"):
        if shutil.which(name):
            return [name]
    return [sys.executable, "-m", "pip"]


class File(NamedTuple):
    """A file that the application's folder has."""

    sha256: str
    executable: bool


def files(application: Application, target: Path | None = None) -> dict[str, File]:
    """Return the folder's files by their path in ``/application``.

    Parameters
    ----------
    application : Application
        Whose ``image.files`` they are.
    target : Path, optional
        Directory to which they are copied.

    Raises
    ------
    ExperimentError
        If one is not there, is a link, or they are too large.
    """
    found: dict[str, File] = {}
    total = 0
    if not application.image.files:
        return found
    try:
        top = os.open(application.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ExperimentError(
            f"the folder of {application.name} cannot be read: "
            f"{application.folder}: {error.strerror}"
        ) from error
    try:
        for name in application.image.files:
            for path, source in _opened(top, PurePosixPath(name), PurePosixPath(".")):
                total += os.fstat(source).st_size
                if total > MOST_BYTES or len(found) >= MOST_FILES:
                    most = f"{MOST_FILES} files or {MOST_BYTES} bytes"
                    raise ExperimentError(f"the application's files are more than {most}")
                found[str(path)] = _read(source, None if target is None else _at(target, path))
    finally:
        os.close(top)
    return found


def _opened(
    above: int, left: PurePosixPath, done: PurePosixPath
) -> Iterator[tuple[PurePosixPath, int]]:
    """Yield all plain files at or below a path, opened one step after another."""
    name = left.parts[0] if left.parts else ""
    path = done / name
    if name in ("", "..", "/"):
        raise ExperimentError(f"image.files: {left} is outside of the application's folder")
    try:
        file = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=above
        )
    except OSError as error:
        why = "is a link" if error.errno == errno.ELOOP else error.strerror
        raise ExperimentError(
            f"image.files: {path}: {why}", f"ls -l {path}   (in the application's folder)"
        ) from error
    try:
        mode = os.fstat(file).st_mode
        if len(left.parts) > 1:
            yield from _opened(file, PurePosixPath(*left.parts[1:]), path)
        elif stat.S_ISDIR(mode):
            for one in sorted(os.listdir(file)):  # noqa: PTH208
                yield from _opened(file, PurePosixPath(one), path)
        elif stat.S_ISREG(mode):
            yield path, file
        else:
            raise ExperimentError(f"image.files: {path} is neither a file nor a folder")
    finally:
        os.close(file)


def _read(source: int, copy: Path | None) -> File:
    """Hash a file, and copy it."""
    about = os.fstat(source)
    executable = bool(about.st_mode & 0o111)
    with open(source, "rb", closefd=False) as file:
        # No more than was counted, should it grow meanwhile.
        content = file.read(about.st_size)
    if copy is not None:
        copy.write_bytes(content)
        copy.chmod(0o755 if executable else 0o644)
    return File(hashlib.sha256(content).hexdigest(), executable)


def _at(target: Path, path: PurePosixPath) -> Path:
    """Return where a file is copied to, with the directories above it."""
    at = target
    for part in path.parts[:-1]:
        at /= part
        tree.make_folder(at)
    return at / path.name
