"""What ``tare selftest`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tare.cli import console
from tare.cli.progress import Bar
from tare.experiment.session import Outcome
from tare.experiment.specification import Cell
from tare.features.machine.selftest import phrases
from tare.features.machine.selftest.document import Accuracy, FalseAlarms, Unchecked
from tare.features.machine.selftest.lines import Line
from tare.features.machine.selftest.programs import BY_NAME
from tare.render.terminal import Row, aligned
from tare.render.words import text
from tare.results.message import Amount, Deviation, Message, Said, message
from tare.units import off_by

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

#: Columns of the table that are names.
_NAMES = 2
#: After an error that is not as specified: its sign, so that nobody depends on colour.
_MARKS = {"no": " ✕", "inconclusive": " ?", "none": " ·", "yes": ""}


class Progress(Bar):
    """How far the programs are; a failure that is expected counts as a success."""

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Show that a trial has ended."""
        if outcome.status != "ok" and BY_NAME[cell.workload.name].known:
            outcome = Outcome("ok", None, outcome.seconds)
        super().ended(cell, outcome, done, seconds_left)


def show(accuracy: Accuracy) -> None:
    """Print the answer, what stands for all, what is off and why, and the table."""
    console.out.print(text(answer(accuracy)), style="bold")
    for one in head(accuracy):
        console.out.print(text(one), soft_wrap=True)
    labelled: tuple[tuple[str, Iterable[Said]], ...] = (
        ("Outside", groups(accuracy.off)),
        ("Open", groups(accuracy.open)),
        ("Unused", groups(accuracy.doubtful_unused)),
        ("Note", map(unchecked, accuracy.unchecked)),
        ("Note", accuracy.notes),
    )
    for label, some in labelled:
        for said in some:
            _say(label, text(said))
    if accuracy.lines:
        console.table(_table(accuracy), left=_NAMES)
        console.out.print(
            text(
                message(
                    "Error: measured − true, median with half of its 95 % interval; of several "
                    "programs the largest. ✕ outside the specified error, ? inconclusive, · "
                    "nothing "
                    "specified."
                )
            ),
            style="dim",
            soft_wrap=True,
        )


def show_alarms(found: FalseAlarms) -> None:
    """Print what came of comparing a program with itself."""
    console.out.print(text(alarms(found)), style="bold", soft_wrap=True)
    verdicts = ", ".join(f"{word} {n}" for word, n in found.verdicts.items())
    _say("Verdicts", verdicts)


def _say(head: str, words: str) -> None:
    console.labelled(head, words, 9)


def _table(accuracy: Accuracy) -> list[Row]:
    """Lay all figures out; where the terminal is too narrow, without their intervals."""
    whole = _laid(accuracy, intervals=True)
    fits = max(map(len, aligned(whole, _NAMES))) <= console.out.width
    return whole if fits else _laid(accuracy, intervals=False)


def _laid(accuracy: Accuracy, *, intervals: bool) -> list[Row]:
    laid: list[Row] = [("figure", "source", "workers", *accuracy.platforms, "")]
    rows: dict[tuple[str, str, int], dict[str, list[Line]]] = {}
    for one in accuracy.lines:
        key = (one.metric, one.source, one.workers)
        rows.setdefault(key, {}).setdefault(one.platform, []).append(one)
    order = list(dict.fromkeys((metric, source) for metric, source, _ in rows))
    for key in sorted(rows, key=lambda key: (order.index(key[:2]), key[2])):
        metric, source, workers = key
        laid.append((metric, source, str(workers), *_cells(rows[key], accuracy, intervals)))
    return laid


def _cells(row: dict[str, list[Line]], accuracy: Accuracy, intervals: bool) -> list[str]:
    """Write a row in one unit, which stands at its end: of each platform what is off most."""
    worst = {p: max(some, key=lambda one: one.badness) for p, some in row.items()}
    size = max(max(abs(one.median), one.half or 0.0) for one in worst.values())
    unit = ""
    cells = []
    for platform in accuracy.platforms:
        one = worst.get(platform)
        if one is None:
            cells.append("–")
            continue
        cell = off_by(one.median, one.unit, one.half, size)
        if not intervals:
            cell = " ".join([cell.split(" ", 1)[0], *cell.split(" ")[3 if one.half else 1 :]])
        if one.unit != "1":
            cell, unit = cell.rsplit(" ", 1)
        cells.append(cell + _MARKS[one.verdict])
    return [*cells, unit]


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
            place=message(phrases.PLACE, program=line.program, platform=line.platform),
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


def unchecked(one: Unchecked) -> Message:
    """Return which source is not here."""
    return message(
        "Not checked: {source} ({metrics | listing}) on {platforms | listing}; {why}",
        source=one.source,
        metrics=[*one.metrics],
        platforms=[*one.platforms],
        why=one.why,
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
