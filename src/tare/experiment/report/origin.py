"""Where a report comes from: what it takes to measure the same again."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any

from tare.experiment import plan_file
from tare.experiment.results import Results
from tare.results.columns import Columns
from tare.results.report import Origin

#: Of an experiment file that the page shows.
_MOST_CHARACTERS = 20_000


def origin(folder: Path, results: Results) -> Origin:
    """Read what an experiment's folder says of where it comes from."""
    sessions = results.sessions
    digests = []
    content = plan_file.text(folder)
    text = None
    if content is not None:
        digests.append((plan_file.TEXT, hashlib.sha256(content).hexdigest()))
        text = content.decode(errors="replace")[:_MOST_CHARACTERS]
    digests.append(
        (plan_file.FILE, hashlib.sha256(plan_file.content(folder / plan_file.FILE)).hexdigest())
    )
    digests += [("agent", str(d)) for d in dict.fromkeys(_told(sessions, "agent_digest"))]
    versions = tuple(dict.fromkeys(str(v) for v in _told(sessions, "tare")))
    return Origin(
        file=text,
        commands=tuple(_commands(results, text)),
        versions=versions,
        digests=tuple(digests),
        seed=results.experiment.seed,
    )


def _commands(results: Results, text: str | None) -> list[str]:
    if text is not None:
        return ["tare experiment run experiment.toml --out again"]
    asked = _told(results.sessions, "argv")
    return [shlex.join(["tare", *(str(word) for word in asked[0][1:])])] if asked else []


def _told(sessions: Columns, name: str) -> list[Any]:
    return sessions[name].tolist() if name in sessions else []
