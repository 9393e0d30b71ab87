"""What ``tare selftest`` prints."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from tare.cli import output
from tare.cli.progress import Bar
from tare.execute import Outcome
from tare.experiment import Cell
from tare.selftest import telling
from tare.selftest.document import Accuracy, FalseAlarms
from tare.selftest.lines import Line
from tare.selftest.programs import BY_NAME

#: Beside an error that is not as promised: its sign, so that nobody depends on colour.
_MARKS = {"off": " ✕", "open": " ?", "told": " ·", "kept": ""}


class Progress(Bar):
    """How far the programs are; those that are to fail have not failed."""

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        """Tell that a trial is over."""
        if outcome.status == "failed" and BY_NAME[cell.workload.name].known:
            outcome = Outcome("ok", None, outcome.seconds)
        super().ended(cell, outcome, done, seconds_left)


def show(accuracy: Accuracy) -> None:
    """Print the answer, what stands for all, what is off and why, and the table."""
    output.out.print(telling.answer(accuracy), style="bold")
    for name, line in accuracy.head().items():
        _say(telling.NAMES[name], telling.head(line))
    for told in telling.groups(accuracy.off):
        _say("Off", told)
    for told in telling.groups(accuracy.off_unused):
        _say("Off", told)
    for told in telling.groups([one for one in accuracy.lines if one.verdict == "open"]):
        _say("Open", told)
    for one in accuracy.unchecked:
        _say("Not had", telling.unchecked(one))
    for note in accuracy.notes:
        _say("Note", note)
    if accuracy.lines:
        output.out.print(_table(accuracy))
        output.out.print(
            "Error: measured − true, median with its 95 % interval; of several programs the one "
            "that is off most.  ✕ off  ? not decided  · nothing promised",
            style="dim",
            soft_wrap=True,
        )


def show_alarms(found: FalseAlarms) -> None:
    """Print what came of comparing a program with itself."""
    output.out.print(telling.alarms(found), style="bold", soft_wrap=True)
    verdicts = ", ".join(f"{word} {n}" for word, n in found.verdicts.items())
    _say("Verdicts", verdicts)


def _say(head: str, text: str) -> None:
    output.out.print(f"{head:<9} {text}", soft_wrap=True)


def _table(accuracy: Accuracy) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("figure", "source"):
        table.add_column(column)
    for column in ("at once", *accuracy.platforms):
        table.add_column(column, justify="right")
    rows: dict[tuple[str, str, int], dict[str, list[Line]]] = {}
    for one in accuracy.lines:
        key = (one.metric, one.source, one.workers)
        rows.setdefault(key, {}).setdefault(one.platform, []).append(one)
    for (metric, source, workers), cells in sorted(rows.items(), key=_order(accuracy.lines)):
        table.add_row(
            metric, source, str(workers), *(_cell(cells.get(p, ())) for p in accuracy.platforms)
        )
    return table


def _order(lines: Iterable[Line]):  # type: ignore[no-untyped-def]
    places = {(one.metric, one.source): n for n, one in reversed(list(enumerate(lines)))}
    return lambda row: (places[row[0][:2]], row[0][2])


def _cell(lines: Iterable[Line]) -> str:
    worst = max(lines, key=lambda one: abs(one.median), default=None)
    return "–" if worst is None else f"{worst.error}{_MARKS[worst.verdict]}"
