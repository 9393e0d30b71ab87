"""What a session says of itself: where its journal is, and its first and last line."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import tare
from tare import agent, journal, machine, plan
from tare.errors import StoreError
from tare.execute.request import Request


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
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from error
    return folder / f"{request.past.sessions + 1}.ndjson"


def opening(request: Request, name: str, nonce: int) -> journal.Session:
    """Return the journal's first line."""
    return journal.Session(
        version=plan.VERSION,
        session=request.past.sessions + 1,
        name=name,
        nonce=nonce,
        boot_id=machine.boot_id(),
        started=_now(),
        tare=tare.__version__,
        agent_digest=agent.digest(),
        argv=tuple(sys.argv),
    )


def ending(reason: str) -> journal.SessionEnd:
    """Return the journal's last line: when and why it ended."""
    return journal.SessionEnd(ended=_now(), reason=reason)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
