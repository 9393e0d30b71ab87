"""What tare wrote and what holds no values of trials: which command makes use of it."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tare.errors import Typed, filled
from tare.readers import json_file
from tare.readers.text_file import head_text, label

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
#: First columns of exported runs of a task set.
_TASK_RUNS = ("experiment", "folder", "workload", "task", "result")
#: What the folder of a task set has.
_TASK_SET = "tasks.json"


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


def task_set(head: bytes, file: Path) -> str | None:
    """Return the hint for a file or a folder that has runs of a task set; None: it has none.

    Their answers are no levels of a factor, and single runs of tasks no trials.
    """
    if file.is_dir():
        folder = str(file) if (file / _TASK_SET).is_file() else None
    else:
        run = _first_run(head)
        folder = None if run is None else str(run.get("folder") or "")
    if folder is None:
        return None
    if not folder or folder != label(folder):
        return "name the folder of the task set to tare tasks report"
    return Typed(f"tare tasks report {shlex.quote(folder)}   (it holds runs of a task set)")


def _first_run(head: bytes) -> Mapping[str, Any] | None:
    """Return the first exported run of a task, empty if it is cut off; None: there are none."""
    text = head_text(head)
    lines = text.splitlines()
    names, *rows = csv.reader(lines[:2]) if lines else [[]]
    if tuple(names[: len(_TASK_RUNS)]) == _TASK_RUNS:
        return dict(zip(names, rows[0], strict=False)) if rows else {}
    if not json_file.outline(head).issuperset(f"[].{name}" for name in _TASK_RUNS):
        return None
    try:
        run, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return {}
    return dict(run)
