"""Where tare keeps what outlives a session: one folder a user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from tare.errors import StoreError

#: What `tare selftest` found at last.
SELFTEST = "selftest.json"


def folder() -> Path:
    """Return the folder, which may not be there yet: ``/var/lib/tare`` for root."""
    if os.geteuid() == 0:
        return Path("/var/lib/tare")
    given = os.environ.get("XDG_STATE_HOME")
    return (Path(given) if given else Path.home() / ".local" / "state") / "tare"


def read(name: str) -> dict[str, Any] | None:
    """Return a document of the folder; None where there is none that can be read."""
    try:
        return msgspec.json.decode((folder() / name).read_bytes(), type=dict[str, Any])
    except (OSError, RuntimeError, msgspec.DecodeError):
        return None  # RuntimeError: a user without a home


def write(name: str, document: Any) -> Path:
    """Put a document into the folder, whole or not at all.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    try:
        path = folder() / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = path.with_name(f".{name}.{os.getpid()}.new")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
        fresh.replace(path)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreError(
            f"cannot write {name} to where tare keeps its state: {why}",
            "set XDG_STATE_HOME to a folder that may be written to",
        ) from error
    return path
