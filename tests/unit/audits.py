"""What an audit says, as a terminal and as JSON have it."""

from __future__ import annotations

import json
from typing import Any

from tare.features.audit import report
from tare.features.audit.audit import Audit
from tare.render import files, screen


def shown(audit: Audit, *written: str) -> str:
    """Return what a wide terminal shows; ``written``: files that have the whole audit."""
    made = report.make(audit, "", written, page=False)
    return "\n".join(line.text for line in screen.lines(made, 200))


def documented(audit: Audit) -> dict[str, Any]:
    """Return the JSON of an audit."""
    found: dict[str, Any] = json.loads(files.encode(report.make(audit, page=False)))
    return found


def findings_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the findings of a JSON by name."""
    return {one["finding"]["name"]: one["finding"] for one in document["sections"]}
