"""What is put into ``/application``: artefacts of package registries, and the folder's files."""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tare.applications.image import sdist, tree
from tare.applications.image.running import run
from tare.errors import ExperimentError, PlatformError, Typed
from tare.host import programs, python
from tare.results.message import Said, message
from tare.workloads.application import Application, Artefact

FETCH_S = 1800.0
#: Where programs that come with tare are.
PROGRAMS = Path(__file__).parents[2] / "bin"
#: Most bytes and files of a folder.
MOST_BYTES = 1 << 30
MOST_FILES = 10_000
#: Hint for an artefact that cannot be fetched, by its kind.
_HINTS = {
    "maven": Typed("mvn help:effective-settings   (mirrors and proxies that Maven uses)"),
    "pypi": Typed(
        "pip config list   (mirrors that pip uses; without sdist, an artefact is a wheel)"
    ),
}


def fetch(
    artefacts: Sequence[Artefact], target: Path, scratch: Path, stage: Callable[[Said], None]
) -> None:
    """Fetch artefacts into a directory by the programs that know the user's mirrors.

    Parameters
    ----------
    artefacts : sequence of Artefact
        What is wanted.
    target : Path
        Where they are put.
    scratch : Path
        A directory on the same disk, for what is fetched and not checked yet.
    stage : callable
        Is told what goes on.

    Raises
    ------
    PlatformError
        If one cannot be had.
    ExperimentError
        If one is another file than is named.
    """
    maven = [one for one in artefacts if one.registry == "maven"]
    # One start of Maven takes as long as all that it fetches.
    for some in [*([maven] if maven else []), *([a] for a in artefacts if a.registry == "pypi")]:
        if len(some) == 1:
            stage(
                message(
                    "making the image: fetching {name} {version}",
                    name=some[0].name,
                    version=some[0].version,
                )
            )
        else:
            stage(message("making the image: fetching {count} artefacts of Maven", count=len(some)))
        with tempfile.TemporaryDirectory(dir=scratch) as own:
            folder = Path(own, "files")
            folder.mkdir()
            try:
                if some[0].sdist:
                    sdist.download(some[0], pip(), folder)
                else:
                    command = (
                        _maven(some, folder) if maven == some else _pip_download(some[0], folder)
                    )
                    run(command, FETCH_S, folder)
            except PlatformError as error:
                what = _what(some[0]) if len(some) == 1 else f"{len(some)} artefacts"
                raise PlatformError(
                    f"{what} of {some[0].registry} cannot be fetched: {error.message}",
                    error.hint or _HINTS[some[0].registry],
                ) from error
            _check(some, folder)
            if some[0].sdist:
                folder = sdist.unpacked(some[0], next(folder.iterdir()), Path(own))
            for file in sorted(folder.iterdir()):
                if (target / file.name).exists():
                    raise ExperimentError(f"two files of the application are called {file.name}")
                if not some[0].sdist:
                    file.chmod(0o644)
                # Java's archives of classes know jars by their times, and an image is made again.
                for path in (file, *file.rglob("*")):
                    os.utime(path, (0, 0), follow_symlinks=False)
                shutil.move(file, target / file.name)


def _check(artefacts: Sequence[Artefact], folder: Path) -> None:
    """Raise unless these files, and no others, were fetched."""
    found = {path.name: path for path in folder.iterdir()}
    if len(found) != len(artefacts):
        what = _what(artefacts[0]) if len(artefacts) == 1 else f"{len(artefacts)} artefacts"
        raise PlatformError(
            f"{what} of {artefacts[0].registry} came as {len(found)} files",
            "no artefact twice, and none in two versions",
        )
    for artefact in artefacts:
        # The one file that came for one artefact need not be called as expected.
        path = next(iter(found.values())) if len(found) == 1 else found.get(_jar(artefact))
        if path is None:
            raise PlatformError(f"Maven fetched no {_jar(artefact)}")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != artefact.sha256:
            raise ExperimentError(
                f"{_what(artefact)} has another SHA-256 than the application says: {digest}",
                f"{digest}   (in the place of the other, if this is the file that is meant)",
            )


def _what(artefact: Artefact) -> str:
    return f"{artefact.name} {artefact.version}"


def _jar(artefact: Artefact) -> str:
    """Return how Maven calls the file."""
    _, name, *classifier = artefact.name.split(":")
    return f"{'-'.join([name, artefact.version, *classifier])}.jar"


def _maven(artefacts: Sequence[Artefact], folder: Path) -> list[str]:
    """Return what fetches artefacts without what they need themselves."""
    project = folder.parent / "pom.xml"
    project.write_text(_PROJECT.format("".join(_dependency(one) for one in artefacts)))
    return [
        *(str(programs.find("mvn", "maven")), "dependency:copy-dependencies"),
        *("--batch-mode", "--quiet", f"--file={project}"),
        *("-DexcludeTransitive=true", f"-DoutputDirectory={folder}"),
    ]


_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>tare</groupId><artifactId>image</artifactId><version>0</version>
<dependencies>
{}</dependencies>
</project>
"""


def _dependency(artefact: Artefact) -> str:
    # None of these has characters that XML knows: names and versions were checked.
    group, name, *classifier = artefact.name.split(":")
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{artefact.version}</version>"
        f"{''.join(f'<classifier>{one}</classifier>' for one in classifier)}"
        "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
        "</exclusions></dependency>\n"
    )


def _pip_download(artefact: Artefact, folder: Path) -> list[str]:
    wanted = folder.parent / "requirements.txt"
    wanted.write_text(f"{artefact.name}=={artefact.version} --hash=sha256:{artefact.sha256}\n")
    # Wheels alone: of others, pip runs code on this machine to see what they are.
    return [
        *pip(), "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
        f"--dest={folder}", f"--requirement={wanted}",
    ]  # fmt: skip


def pip() -> list[str]:
    """Return how pip is called."""
    for name in ("pip", "pip3"):
        if shutil.which(name):
            return [name]
    return python.module("pip")


class File(NamedTuple):
    """A file of the application's folder, or a program that comes with tare."""

    sha256: str
    executable: bool


def files(application: Application, target: Path | None = None) -> dict[str, File]:
    """Return the folder's files and tare's programs by their path in ``/application``.

    Parameters
    ----------
    application : Application
        Whose ``image.files`` and ``image.programs`` they are.
    target : Path, optional
        Directory to which they are copied.

    Raises
    ------
    ExperimentError
        If one is not there, is a link, or they are too large.
    PlatformError
        If a program is missing.
    """
    found = _of_folder(application, target) if application.image.files else {}
    for name in dict.fromkeys(application.image.programs):
        if name in found:
            raise ExperimentError(f"two files of the application are called {name}")
        found[name] = _program(name, None if target is None else target / name)
    return found


def _program(name: str, copy: Path | None) -> File:
    path = PROGRAMS / name
    try:
        source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise PlatformError(
            f"the program {path} is missing: tare was not built with it",
            Typed("make setup   (or: pip install .)"),
        ) from error
    try:
        return _read(source, copy)
    finally:
        os.close(source)


def _of_folder(application: Application, target: Path | None) -> dict[str, File]:
    found: dict[str, File] = {}
    total = 0
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
            f"image.files: {path}: {why}",
            Typed(f"ls -l {shlex.quote(str(path))}   (in the application's folder)"),
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
