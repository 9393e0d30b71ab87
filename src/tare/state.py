"""Where tare keeps what outlives a session: one folder a user."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """Return the folder, which may not be there yet: ``/var/lib/tare`` for root."""
    if os.geteuid() == 0:
        return Path("/var/lib/tare")
    given = os.environ.get("XDG_STATE_HOME")
    return (Path(given) if given else Path.home() / ".local" / "state") / "tare"
