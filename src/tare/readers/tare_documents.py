"""JSON that tare wrote and that holds no values of trials: which command makes use of it."""

from __future__ import annotations

import shlex
from pathlib import Path

from tare.errors import Typed, filled
from tare.readers import json_file

#: First keys of a saved report.
_REPORT = ("format", "version", "tare", "command")
#: First keys of a document to what reads it, or what it was made from.
_READ_BY = {
    _REPORT: Typed("tare report {file}   (it is a saved report)"),
    ("version", "verdict", "exit_code", "precision_required"):
        "name the file of results to tare audit, not its audit",
    ("version", "question", "headline", "overview"):
        "name the folder of the experiment to tare audit, or tare experiment report",
    ("version", "agent", "effort", "platform"):
        "it is a fingerprint: compare it with another one by tare fingerprint diff",
    ("version", "effort", "end", "direction"):
        "it is a fingerprint of a network: compare it with another one by tare net fingerprint "
        "diff",
}  # fmt: skip


def is_report(head: bytes) -> bool:
    """Tell whether a document calls itself a saved report."""
    return json_file.outline(head).issuperset(_REPORT)


def command(head: bytes, file: Path) -> str | None:
    """Return what to type for such a document; None: it is none of these."""
    keys = json_file.outline(head)
    for needed, typed in _READ_BY.items():
        if keys.issuperset(needed):
            return filled(typed, file=shlex.quote(str(file)))
    return None
