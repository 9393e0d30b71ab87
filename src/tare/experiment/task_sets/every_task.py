"""The table of all tasks of a set, for a page."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.task_sets import phrases
from tare.experiment.task_sets.outcomes import (
    LIMITED,
    MIXED,
    RESULTS,
    Pair,
    Result,
    Scored,
    medians,
    several,
)
from tare.render.large_table import LargeColumn, LargeTable, Look
from tare.render.words import text
from tare.results.message import Message, message

#: Finding whose section has the table.
RUNS = "runs"
#: Configurations up to which the table has all columns of each.
_MOST_FULL = 4
_LOOKS: dict[Result, Look] = {
    "correct": "good", "done": "good", "wrong": "wrong", "crashed": "crash", "killed": "crash",
    "failed": "crash", "unchecked": "unknown", "lost": "unknown", "unknown": "unknown",
    **dict.fromkeys(LIMITED, "limit"),
}  # fmt: skip


def every_task(
    some: Sequence[Scored], tasks: Sequence[str], compared: Sequence[Pair], note: Message
) -> LargeTable:
    """Return the table with a row for each task, and columns of every configuration.

    ``note``: where more is, if of many configurations not everything is shown.
    """
    columns = [LargeColumn("task", "task", "text", tasks)]
    words = [text(message(phrases.RESULT_TEXTS[one])) for one in (*RESULTS, "mixed")]
    looks = {words[i]: _LOOKS[one] for i, one in enumerate(RESULTS)} | {words[MIXED]: "unknown"}
    full = len(some) <= _MOST_FULL
    for one in some:
        group = one.label if len(some) > 1 else None
        results = [None if code < 0 else words[code] for code in one.ends.tolist()]
        key = f"result_{one.number}"
        columns.append(LargeColumn(key, "result", "choice", results, group=group, looks=looks))
        for place, measure in enumerate(one.measures[: None if full else 1]):
            values = medians(one.values[measure.key])
            key, unit = f"m{place}_{one.number}", measure.unit
            columns.append(LargeColumn(key, measure.title, "number", values, unit, group=group))
        if full and any(why is not None for why in one.why):
            key = f"why_{one.number}"
            columns.append(LargeColumn(key, "reason", "text", one.why, group=group))
    return LargeTable(
        RUNS,
        message(
            "{% if several %}Every task, medians over its trials{% else %}Every task{% endif %}",
            several=several(some),
        ),
        tuple(columns),
        tuple((f"result_{one.first.number}", f"result_{one.second.number}") for one in compared),
        note=None if full else note,
    )
