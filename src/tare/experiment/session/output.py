"""What commands write, as agents send it: kept in the experiment's folder."""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tare.agent import record
from tare.errors import AgentError, StoreError

FOLDER = "output"


class Outputs:
    """The files ``output/TRIAL.WORKER.ITERATION.out`` and ``.err`` of a session.

    Those of what drives services are ``output/TRIAL.driver.out`` and ``.err``.

    The folder is opened once: whoever puts another in its place, or a link, gets nothing of it.

    Parameters
    ----------
    folder : Path
        Of the experiment.

    Raises
    ------
    StoreError
        If it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FOLDER
        try:
            self._path.mkdir(exist_ok=True)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            self._folder = os.open(self._path, flags)
        except OSError as error:
            raise _lost(self._path, error) from error

    @contextlib.contextmanager
    def trial(self, limit_bytes: int, of: str | None = None) -> Iterator[Keep]:
        """Give what keeps the output of one trial.

        Parameters
        ----------
        limit_bytes : int
            Of each stream of an iteration; more was not asked for.
        of : str, optional
            Whose it is, instead of a worker and an iteration.
        """
        keep = Keep(self._folder, limit_bytes, self._path, of)
        try:
            yield keep
        finally:
            keep.close()

    def keep(self, pieces: Iterable[record.Output], limit_bytes: int, of: str) -> None:
        """Keep what somebody else than a worker wrote, as :meth:`trial` does."""
        with self.trial(limit_bytes, of) as kept:
            for piece in pieces:
                kept.add(piece)

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._folder)


class Keep:
    """Keeps the output of one trial; pieces of a stream come in order, one stream at a time."""

    def __init__(self, folder: int, limit_bytes: int, path: Path, of: str | None) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._path = path
        self._of = of
        self._name: str | None = None
        self._file = -1
        self._kept = 0

    def add(self, piece: record.Output) -> None:
        """Append a piece.

        Raises
        ------
        AgentError
            If it is none that the agent may send.
        StoreError
            If it cannot be written.
        """
        of = self._of or f"{piece.worker}.{piece.iteration}"
        name = f"{piece.trial}.{of}.{piece.stream}"
        try:
            data = base64.b64decode(piece.data, validate=True)
        except binascii.Error as error:
            raise AgentError(f"the agent sent an output that is not in base 64: {error}") from error
        try:
            if name != self._name:
                self.close()
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self._file = os.open(name, flags, 0o644, dir_fd=self._folder)
                self._name, self._kept = name, 0
            self._kept += len(data)
            if self._kept > self._limit_bytes:
                raise AgentError(f"the agent sent more than {self._limit_bytes} bytes as {name}")
            while data:
                data = data[os.write(self._file, data) :]
        except FileExistsError as error:
            raise AgentError(f"the agent sent {name} a second time") from error
        except OSError as error:
            raise _lost(self._path / name, error) from error

    def close(self) -> None:
        """Close the file of the last stream."""
        if self._name is not None:
            os.close(self._file)
            self._name = None


def _lost(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write {path}: {error.strerror}",
        "free some room, then run the same command again with --resume",
    )
