"""What tare wrote and what holds no values of trials: which command makes use of it."""

from __future__ import annotations

import csv
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
#: First columns of exported runs of a task set.
_TASK_RUNS = ("experiment", "folder", "workload", "task", "result")
#: What the folder of a task set has.
_TASK_SET = "tasks.json"


def is_report(head: bytes) -> bool:
    """Tell whether a document calls itself a saved report."""
    return json_file.outline(head).issuperset(_REPORT)


def command(head: bytes, file: Path) -> str | None:
    """Return what to type for such a document; None: it is none of these."""
    if (folder := task_set(head, file)) is not None:
        return Typed(f"tare tasks report {shlex.quote(folder)}   (it holds runs of a task set)")
    keys = json_file.outline(head)
    for needed, typed in _READ_BY.items():
        if keys.issuperset(needed):
            return filled(typed, file=shlex.quote(str(file)))
    return None


def task_set(head: bytes, file: Path) -> str | None:
    """Return the folder of the task set that a file or a folder has runs of; None: it has none.

    Their answers are no levels of a factor, and single runs of tasks no trials.
    """
    if file.is_dir():
        return str(file) if (file / _TASK_SET).is_file() else None
    lines = head.decode(errors="replace").splitlines()
    names, *rows = csv.reader(lines[:2]) if lines else [[]]
    if tuple(names[: len(_TASK_RUNS)]) == _TASK_RUNS:
        return rows[0][1] if rows and len(rows[0]) > 1 else "DIR"
    if not json_file.outline(head).issuperset(f"[].{name}" for name in _TASK_RUNS):
        return None
    return head.decode(errors="replace").partition('"folder":"')[2].partition('"')[0] or "DIR"
