"""The command that judges outputs instead of tare: what it is called with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tare.agent import record
from tare.workloads import placeholders


def command(checker: Sequence[str], files: Mapping[str, str]) -> record.Command:
    """Return it with files by placeholder; where it has no placeholder, they stand at its end."""
    named = any(placeholders.names(word) for word in checker)
    words = [placeholders.fill(word, files) for word in checker] if files else checker
    return record.Command(
        argv=tuple(words if named else [*words, *files.values()]),
        # A program may have written modules into the caller's home.
        environment={**os.environ, "PYTHONNOUSERSITE": "1"},
        directory=None,
        input=None,
        capture=record.Capture(limit_bytes=0),
    )
