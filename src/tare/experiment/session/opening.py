"""What a session says of itself: where its journal is, and its first and last line."""

from __future__ import annotations

import datetime
import errno
import sys
from pathlib import Path

import tare
from tare import files
from tare.agent import client
from tare.errors import StoreError
from tare.experiment import journal, machine_facts, plan
from tare.experiment.session.request import Request


def journal_path(request: Request) -> Path:
    """Return where the session's journal is to be written.

    Raises
    ------
    StoreError
        If there can be none.
    """
    folder = request.folder / "journal"
    try:
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, "it is a link")
        files.sync_folder(request.folder)
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from error
    # A session that was killed at once has left a file, though perhaps not a line.
    number = max((int(path.stem) for path in journal.files(request.folder)), default=0) + 1
    return folder / f"{number}.ndjson"


def opening(path: Path, name: str, nonce: int) -> journal.Session:
    """Return the first line of a journal."""
    return journal.Session(
        version=plan.VERSION,
        session=int(path.stem),
        name=name,
        nonce=nonce,
        boot_id=machine_facts.boot_id(),
        started=_now(),
        tare=tare.__version__,
        agent_digest=client.digest(),
        argv=tuple(sys.argv),
    )


def ending(reason: str) -> journal.SessionEnd:
    """Return the journal's last line: when and why it ended."""
    return journal.SessionEnd(ended=_now(), reason=reason)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
