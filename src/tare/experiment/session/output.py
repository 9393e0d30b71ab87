"""What commands write, as agents send it: kept in the files that workloads name."""

from __future__ import annotations

import base64
import binascii
import contextlib
import errno
import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tare.agent import record
from tare.errors import AgentError, StoreError, Typed, room
from tare.experiment import plan_file
from tare.results.message import Amount, Message, message
from tare.workloads import CAPTURE_LIMIT_BYTES, KEPT_LIMIT_BYTES, placeholders


class Outputs:
    """The files of a session in which commands' output is kept.

    Standard error is kept in the file of the same name with ``.err``, if there is any. Output of
    services on host 2 of a network, and of what drives services, has ``.host2`` and ``.driver``
    before that. Each trial begins its files anew; several iterations follow each other in one file.

    Each folder is opened once, so output does not follow a folder or link that replaces it.

    Parameters
    ----------
    folder : Path
        Of the experiment, in which relative names are.
    names : iterable of str
        The files, with placeholders in their names.
    note : callable
        Takes what is to be reported with the results.

    Raises
    ------
    StoreError
        If a folder cannot be made, or output would replace a file of the results.
    """

    def __init__(self, folder: Path, names: Iterable[str], note: Callable[[Message], None]) -> None:
        self._folder = folder
        self._note = note
        #: Whether it is noted that a file has not the whole output.
        self._is_noted = False
        #: Descriptor of each folder of files.
        self._folders: dict[Path, int] = {}
        for path in [folder / name for name in dict.fromkeys(names)]:
            if path.parent not in self._folders:
                self._folders[path.parent] = _open_folder(path.parent)
            _is_there(path.name, self._folders[path.parent], path)

    @contextlib.contextmanager
    def trial(
        self, name: str, levels: Mapping[str, str], of: str | None = None
    ) -> Iterator[KeptFiles]:
        """Give what keeps the output of one trial.

        Parameters
        ----------
        name : str
            File, as the workload names it.
        levels : mapping
            What placeholders in the name stand for, besides trial, worker and iteration.
        of : str, optional
            Whose output it is, if not the command's.
        """
        path = self._folder / name
        keep = KeptFiles(path, self._folders[path.parent], levels, of)
        try:
            yield keep
        finally:
            keep.close()
            if keep.is_cut and not self._is_noted:
                self._is_noted = True
                self._note(
                    message(
                        "{file} has the first {most} of what was written, not all of it",
                        file=str(path),
                        most=Amount(KEPT_LIMIT_BYTES, "bytes"),
                    )
                )

    def keep(
        self, pieces: Iterable[record.Output], name: str, levels: Mapping[str, str], of: str
    ) -> None:
        """Keep what something else than the command wrote, as :meth:`trial` does."""
        with self.trial(name, levels, of) as kept:
            for piece in pieces:
                kept.add(piece)

    def close(self) -> None:
        """Close the folders."""
        for folder in self._folders.values():
            os.close(folder)


class KeptFiles:
    """Keeps the output of one trial; pieces of a stream come in order, one stream at a time."""

    def __init__(self, path: Path, folder: int, levels: Mapping[str, str], of: str | None) -> None:
        self._path = path
        self._folder = folder
        self._levels = levels
        self._of = of
        #: Worker, iteration and stream of the last piece, and of those before it.
        self._stream: tuple[int, int, str] | None = None
        self._ended: set[tuple[int, int, str]] = set()
        #: Files of this trial.
        self._begun: set[str] = set()
        self._file = -1
        #: Bytes of the current stream.
        self._received = 0
        #: Whether a stream is longer than what is kept of it.
        self.is_cut = False

    def add(self, piece: record.Output) -> None:
        """Append a piece.

        Raises
        ------
        AgentError
            If it is none that the agent may send.
        StoreError
            If it cannot be written.
        """
        stream = piece.worker, piece.iteration, piece.stream
        try:
            data = base64.b64decode(piece.data, validate=True)
        except binascii.Error as error:
            raise AgentError(f"the agent sent an output that is not in base 64: {error}") from error
        if stream != self._stream:
            self.close()
            if stream in self._ended:
                raise AgentError(f"the agent sent {' '.join(map(str, stream))} a second time")
            self._stream, self._received = stream, 0
        room = KEPT_LIMIT_BYTES - self._received
        self._received += len(data)
        self.is_cut |= len(data) > room
        if self._received > CAPTURE_LIMIT_BYTES:
            raise AgentError(f"the agent sent more than {CAPTURE_LIMIT_BYTES} bytes of an output")
        data = data[: max(0, room)]
        name = self._name(piece)
        try:
            if self._file < 0 and (data or piece.stream == "out" or name in self._begun):
                self._file = self._open(name)
            elif self._file < 0:
                self._remove(name)
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise _lost(self._path.with_name(name), error) from error

    def close(self) -> None:
        """Close the file of the last stream."""
        if self._stream is not None:
            self._ended.add(self._stream)
            self._stream = None
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _name(self, piece: record.Output) -> str:
        own = {"trial": piece.trial, "worker": piece.worker, "iteration": piece.iteration}
        values = {**self._levels, **{name: str(number) for name, number in own.items()}}
        ends = (self._of, "err" if piece.stream == "err" else None)
        return ".".join((placeholders.fill_name(self._path.name, values), *filter(None, ends)))

    def _open(self, name: str) -> int:
        """Open a file: what an earlier trial wrote is removed, what this one wrote is kept."""
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        if name in self._begun:
            return os.open(name, flags | os.O_APPEND, dir_fd=self._folder)
        self._remove(name)
        self._begun.add(name)
        return os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=self._folder)

    def _remove(self, name: str) -> None:
        """Remove an earlier file, but nothing else, such as a device or a link to one."""
        if _is_there(name, self._folder, self._path):
            os.unlink(name, dir_fd=self._folder)


def _is_there(name: str, folder: int, path: Path) -> bool:
    """Whether a folder has a file of a name; raises StoreError if output may not replace it."""
    if _is_of_results(name, folder):
        raise StoreError(
            f"{path.with_name(name)} belongs to the results, so output is not kept in it",
            "name another file as output",
        )
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        raise StoreError(
            f"{path.with_name(name)} is no file, so output is not kept in it",
            "name another file as output",
        )
    return True


def _is_of_results(name: str, folder: int) -> bool:
    """Whether tare itself keeps a file of this name in this folder."""
    if name in plan_file.OWN_FILES and _holds_results(".", folder):
        return True
    if not _holds_results("..", folder):
        return False
    here = os.fstat(folder)
    return any(
        (own := _found(f"../{other}", folder)) is not None and os.path.samestat(own, here)
        for other in plan_file.OWN_FOLDERS
    )


def _holds_results(path: str, folder: int) -> bool:
    """Whether a folder, relative to an open one, has a plan."""
    plans = plan_file.FILE, plan_file.TASKS, plan_file.FLEET
    return any(_found(f"{path}/{name}", folder) is not None for name in plans)


def _found(path: str, folder: int) -> os.stat_result | None:
    """Return what is at a path relative to an open folder; None: nothing that can be read."""
    try:
        return os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def _open_folder(path: Path) -> int:
    try:
        path.mkdir(exist_ok=True)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(
            f"cannot write to the folder {path}: {error.strerror}",
            Typed(f"mkdir -p {shlex.quote(str(path))}"),
        ) from error


def _lost(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write {path}: {error.strerror}",
        room(path.parent) if error.errno in (errno.ENOSPC, errno.EDQUOT) else "name another file",
    )
