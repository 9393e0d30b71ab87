"""The layer ``/data``: what commands of the application leave there, made once in its image."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, BinaryIO, cast

from tare import files
from tare.agent import client, record
from tare.applications.image import cache, phrases, tree
from tare.applications.image.build import Built, Stage
from tare.applications.image.lock import Package
from tare.applications.image.running import contained, ending, identity, last_lines, remove
from tare.errors import ExperimentError, PlatformError
from tare.results.message import message
from tare.workloads import ENVIRONMENT
from tare.workloads.application import DATA, Application

#: That one command may take, and all may leave.
LIMIT_S = 3600.0
MOST_BYTES = 8 << 30
#: How often is looked at both.
LOOK_S = 1.0
#: Of a command's output, for an error.
OUTPUT_BYTES = 4096


def prepared(
    application: Application,
    built: Built,
    commands: Sequence[Sequence[str]],
    stage: Stage,
    user: record.User | None = None,
    given: Mapping[str, tuple[Path, str]] = MappingProxyType({}),
) -> tuple[Path, str]:
    """Return the layer ``/data``, from the cache or made now: its directory and digest.

    Parameters
    ----------
    application : Application
        Whose it is.
    built : Built
        Its image, which holds the layer in the cache as well.
    commands : sequence
        What runs in order, filled with parameters.
    stage : callable
        Is told what goes on.
    user : User, optional
        Who called sudo, as whom they run; None: as this process.
    given : mapping
        Files and folders of this machine that the layer has before they run, by name, with their
        digests.

    Raises
    ------
    ExperimentError
        If a command fails, takes too long, or leaves too much; or a file cannot be given.
    """
    digests = {name: digest for name, (_, digest) in sorted(given.items())}

    def make(data: Path) -> tuple[Package, ...]:
        if given:
            _hide(data.parent, user)
        own = data if user is None else _folder_of(user, data)
        for name, (path, digest) in given.items():
            _give(path, own / name, digest)
        for number, command in enumerate(commands, 1):
            stage(
                message(
                    "prepare: command {number} of {of}: {command}",
                    number=number,
                    of=len(commands),
                    command=" ".join(command),
                )
            )
            _run(application.name, built, command, own, user)
        if user is None:
            tree.make_readable(data)
        else:
            _take(own, data, user)
        stage(message("prepare: computing the SHA-256 of what the commands left"))
        return ()

    # What a user made, others do not use: it need not be what the commands leave.
    who = None if user is None else user.uid
    content = [digests] if digests else []
    name = cache.key("data", built.digest, [list(command) for command in commands], who, *content)
    entry, _ = cache.entry(name, make, lambda: stage(message(phrases.IMAGE_WAITING)))
    built.held.append(entry)
    return entry.path, entry.about.digest


def given_digest(path: Path) -> str:
    """Return the SHA-256 of a file or folder of this machine.

    Raises
    ------
    ExperimentError
        If it cannot be read, or is too large.
    """
    try:
        if path.is_dir():
            tree.require_plain(path)
            size = tree.size_bytes(path)
            found = "" if size > MOST_BYTES else tree.digest(path)
        else:
            with files.open_plain(path) as file:
                size = os.fstat(file.fileno()).st_size
                found = "" if size > MOST_BYTES else hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from error
    except PlatformError as error:
        raise ExperimentError(f"{path}: {error.message}", "leave it out of the folder") from error
    if not found:
        raise ExperimentError(f"{path} has {size:,} bytes, more than {MOST_BYTES:,}")
    return found


def _give(path: Path, to: Path, digest: str) -> None:
    """Copy a file or folder of this machine, readable to all."""
    try:
        if path.is_dir():
            shutil.copytree(path, to, symlinks=True)
            tree.make_readable(to)
        else:
            with files.open_plain(path) as file, to.open("xb") as copy:
                shutil.copyfileobj(file, copy)
            executable = path.stat().st_mode & 0o111
            to.chmod(0o755 if executable else 0o644)
    except (OSError, shutil.Error) as error:
        raise ExperimentError(f"cannot copy {path}: {error}") from error
    if given_digest(to) != digest:
        raise ExperimentError(f"{path} was changed while it was copied", "run the command again")


def _hide(entry: Path, user: record.User | None) -> None:
    """Close an entry to other users, who may have no right to read the files given."""
    if user is not None:
        os.chown(entry, -1, user.gid)
    entry.chmod(0o710)


def _folder_of(user: record.User, data: Path) -> Path:
    """Make a directory of a user's next to the one that is only root's."""
    own = data.parent / "own"
    own.mkdir(mode=0o700)
    os.chown(own, user.uid, user.gid)
    return own


def _take(own: Path, data: Path, user: record.User) -> None:
    """Copy what a user has made as far as that user may read it, following none of its links."""
    with subprocess.Popen(
        [*ending(), "tar", "--directory", str(own), "--create", "."],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **identity(user),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        tree.Unpacked(data).read(cast("BinaryIO", process.stdout))
    remove(own)


def _run(
    name: str, built: Built, command: Sequence[str], data: Path, user: record.User | None
) -> None:
    argv = [
        *(str(client.binary()), "enter", "--root", str(built.path)),
        *("--write", f"{DATA}={data}", "--", *command),
    ]
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(
            contained(argv, user=user, networked=False), env=ENVIRONMENT,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, **identity(user),
        ) as process:  # fmt: skip
            try:
                why = _wait(process, data)
            finally:
                process.kill()
        if why is None and process.returncode:
            why = f"failed (exit code {process.returncode})"
        if why is not None:
            raise ExperimentError(
                f"{name}: prepare: {' '.join(command)} {why}:\n{_last_lines(output)}",
                "correct this command of prepare in application.toml",
            )


def _wait(process: subprocess.Popen[bytes], data: Path) -> str | None:
    """Wait for a command; return why it may not go on."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            process.wait(LOOK_S)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        if _size_bytes(data) > MOST_BYTES:
            return f"leaves more than {MOST_BYTES} bytes in {DATA}"
        if ended:
            return None
        if time.monotonic() > deadline:
            return f"took more than {LIMIT_S:g} s"


def _size_bytes(data: Path) -> int:
    try:
        return tree.size_bytes(data)
    except OSError:
        return 0  # it is being changed; the next look has it


def _last_lines(output: IO[bytes]) -> str:
    end = output.seek(0, 2)
    output.seek(max(0, end - OUTPUT_BYTES))
    return last_lines(output.read().decode(errors="replace"))
