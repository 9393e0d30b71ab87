"""Makes the report of ``tare selftest``, and stores its facts for later sessions."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence

from tare.agent import client
from tare.experiment import machine_facts
from tare.features.machine.selftest.accuracy import Accuracy
from tare.features.machine.selftest.control import ALARM_FACTS, FalseAlarms
from tare.features.machine.selftest.lines import Line
from tare.host import state
from tare.results.finding import Table
from tare.results.message import Amount, Deviation, Levels, Message, message
from tare.results.report import Entry, NextStep, Origin, Report

_NAME_TEXTS = {
    "wall": "Wall",
    "cpu": "CPU",
    "memory": "Memory",
}
_VERDICT_TEXTS = {
    "yes": "as specified",
    "no": "outside",
    "inconclusive": "inconclusive",
    "none": "nothing specified",
}

#: Sign after an error that is not as specified.
_SIGNS = {"no": "✕", "inconclusive": "?", "none": "·", "yes": None}


def make(found: Accuracy | FalseAlarms, seed: int) -> Report:
    """Make the report of errors of figures, or of false alarms."""
    accuracy = found if isinstance(found, Accuracy) else None
    false_alarms = found if isinstance(found, FalseAlarms) else None
    if isinstance(found, Accuracy):
        fine, entries = not found.off, tuple(_entries(found))
        next_step = NextStep(
            "tare selftest --false-alarms", message("how often a program differs from itself")
        )
    else:
        fine, entries = found.consistent, tuple(_alarm_entries(found))
        next_step = (
            NextStep("tare selftest", message("errors of its figures"))
            if found.close
            else NextStep(
                "tare selftest --false-alarms --budget '10 min'", message("a closer bound")
            )
        )
    return Report(
        command="selftest",
        exit_code=0 if fine else 1,
        figures={
            "agent_digest": client.digest(),
            "kernel": platform.release(),
            "seed": seed,
            "accuracy": accuracy,
            "false_alarms": false_alarms,
        },
        name="selftest",
        question=message("Does tare measure correctly here?"),
        entries=entries,
        next_steps=(next_step,),
        further=(_table(accuracy),) if accuracy is not None and accuracy.lines else (),
        origin=Origin(seed=seed),
    )


def keep(found: Accuracy | FalseAlarms) -> None:
    """Store the facts of a self-test, with what the other kind found of the same agent here.

    Raises
    ------
    StoreError
        If they cannot be written, or too little was measured.
    """
    own = found.facts()
    replaced = {one.name.startswith(ALARM_FACTS) for one in own}
    others = (
        one
        for one in machine_facts.selftest_facts()
        if one.name.startswith(ALARM_FACTS) not in replaced
    )
    document = {
        "agent_digest": client.digest(),
        "kernel": platform.release(),
        "facts": (*others, *own),
    }
    state.write(state.SELFTEST, document)


def _entries(accuracy: Accuracy) -> Iterator[Entry]:
    """State the answer, the figures that stand for all, then what is off and why."""
    yield Entry("Answer", answer(accuracy), "strong")
    for said in head(accuracy):
        yield Entry("Error", said)
    labelled = (
        ("Outside", accuracy.off),
        ("Open", accuracy.open),
        ("Unused", accuracy.doubtful_unused),
    )
    for label, some in labelled:
        for said in groups(some):
            yield Entry(label, said)
    for note in accuracy.notes:
        yield Entry("Note", note)
    if accuracy.lines:
        yield Entry(
            "Table",
            message(
                "Error: measured − true, median with half of its 95 % interval; of several "
                "programs the largest. ✕ outside the specified error, ? inconclusive, · nothing "
                "specified."
            ),
            "quiet",
        )


def _alarm_entries(found: FalseAlarms) -> Iterator[Entry]:
    yield Entry("Answer", alarms(found), "strong")
    yield Entry("Verdicts", ", ".join(f"{word} {n}" for word, n in found.verdicts.items()))


def _table(accuracy: Accuracy) -> Table:
    """Lay out the largest error of each figure, by platform."""
    order = list(dict.fromkeys((one.metric, one.source) for one in accuracy.lines))
    found: dict[tuple[str, str, int], dict[str, Line]] = {}
    for one in accuracy.lines:
        row = found.setdefault((one.metric, one.source, one.workers), {})
        row[one.platform] = max(one, row.get(one.platform, one), key=lambda line: line.badness)
    return Table.of(
        message("Errors"),
        ("figure", "source", "workers", *accuracy.platforms),
        (
            (*key, *(_cell(found[key].get(name)) for name in accuracy.platforms))
            for key in sorted(found, key=lambda key: (order.index(key[:2]), key[2]))
        ),
    )


def _cell(line: Line | None) -> Message | None:
    if line is None:
        return None
    return message(
        "{error}{% if sign %} {sign}{% endif %}", error=line.error, sign=_SIGNS[line.verdict]
    )


def answer(accuracy: Accuracy) -> Message:
    """Return whether tare measures correctly here."""
    judged, open_ = len(accuracy.judged), len(accuracy.open)
    if accuracy.off:
        return message(
            "tare measures incorrectly here: {off} of {judged | counted('figure')} that it "
            "uses {% if off == 1 %}is{% else %}are{% endif %} outside the specified error.",
            off=len(accuracy.off),
            judged=judged,
        )
    if not judged:
        return message("No figure could be checked here.")
    if accuracy.verdict == "yes":
        return message(
            "tare measures correctly here: {% if judged == 1 %}the only figure that it uses "
            "is{% else %}all {judged} figures that it uses are{% endif %} within the "
            "specified error.",
            judged=judged,
        )
    return message(
        "tare measures correctly here as far as checked: {kept} of "
        "{judged | counted('figure')} that it uses {% if kept == 1 %}is{% else %}are"
        "{% endif %} within the specified error{% if open %}; {open} inconclusive{% endif %}"
        "{% if unmeasured %}; {unmeasured} of {cells} measurements failed{% endif %}"
        "{% if few %}; some have {few | counted('trial')}, too few for an interval{% endif %}"
        ".",
        kept=judged - open_,
        judged=judged,
        open=open_,
        unmeasured=accuracy.unmeasured,
        cells=accuracy.cells,
        few=accuracy.few,
    )


def specified(line: Line) -> Message:
    """Return the specified range of an error."""
    low, high = line.promised
    if low is None or high is None:
        return message("nothing")
    if low == high == 0:
        return message("exact")
    return message(
        "{low} to {high}", low=Deviation(low, line.unit), high=Deviation(high, line.unit)
    )


def head(accuracy: Accuracy) -> list[Message]:
    """Return the figures that stand for all."""
    return [
        message(
            "{name} from {source}, which reports use: largest error {error} ({place}, n = {n}"
            "{% if not interval %}, no interval{% endif %})",
            name=message(_NAME_TEXTS[name]),
            error=line.error,
            source=line.source,
            place=Levels({"workload": line.program, "platform": line.platform}),
            n=line.n,
            interval=line.low is not None,
        )
        for name, line in accuracy.head().items()
    ]


def groups(some: Sequence[Line]) -> list[Message]:
    """Return lines of the same metric and source together, with the largest error."""
    found: dict[tuple[str, str], list[Line]] = {}
    for one in some:
        found.setdefault((one.metric, one.source), []).append(one)
    return [_group(lines) for lines in found.values()]


def _group(lines: list[Line]) -> Message:
    worst = max(lines, key=lambda one: one.badness)
    return message(
        "{figure}: {error}, specified: {specified}{% if others %}; also in "
        "{others | counted('other place')}{% endif %}{% if unused %}; {unused}, but not used "
        "here{% endif %}{% if why %}: {why}{% endif %}",
        figure=worst.named,
        error=worst.error,
        specified=specified(worst),
        others=len(lines) - 1,
        unused=None if worst.used else message(_VERDICT_TEXTS[worst.verdict]),
        why=worst.why,
    )


def alarms(found: FalseAlarms) -> Message:
    """Return how often tare called a program different from itself."""
    return message(
        "{alarms | counted('alarm')} in {comparisons | counted('comparison')} of a program "
        "with itself on {platform}: {% if consistent %}fewer than {limit} are consistent "
        "with 5 %{% else %}{limit} or more are too many for 5 %{% endif %}; true rate below "
        "{below} (95 %).",
        alarms=found.alarms,
        comparisons=found.comparisons,
        platform=found.platform,
        consistent=found.consistent,
        limit=found.limit,
        below=Amount(found.rate_below, "share"),
    )
