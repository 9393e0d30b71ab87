"""What ``tare selftest`` prints."""

from __future__ import annotations

from rich.table import Table

from tare.cli import output
from tare.cli.progress import Bar
from tare.execute import Outcome
from tare.experiment import Cell
from tare.selftest import telling
from tare.selftest.document import Accuracy, FalseAlarms
from tare.selftest.lines import Line
from tare.selftest.programs import BY_NAME
from tare.units import off_by

#: Letters of a figure's name in a line, at least.
_NARROW = 10
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
    """Print what stands for all, the answer, what is off and why, and the table."""
    for name, line in accuracy.head().items():
        output.out.print(
            f"{telling.NAMES[name]:<9} {telling.head(line)}", style="bold", soft_wrap=True
        )
    output.out.print(telling.answer(accuracy), style="bold")
    for told in telling.groups(accuracy.off):
        _say("Off", told)
    for told in telling.groups(accuracy.open):
        _say("Open", told)
    for told in telling.groups(accuracy.doubtful_unused):
        _say("Unused", told)
    for one in accuracy.unchecked:
        _say("Not had", telling.unchecked(one))
    for note in accuracy.notes:
        _say("Note", note)
    if accuracy.lines:
        output.out.print(_table(accuracy))
        output.out.print(
            "Error: measured − true, median with half of its 95 % interval where there is room; "
            "of several programs the one that is off most.  ✕ off  ? inconclusive  · nothing "
            "promised",
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
    """Lay all figures out; where the terminal is too narrow, without their intervals."""
    whole = _laid(accuracy, intervals=True)
    endless = output.out.options.update_width(1000)
    fits = output.out.measure(whole, options=endless).maximum <= output.out.width
    return whole if fits else _laid(accuracy, intervals=False)


def _laid(accuracy: Accuracy, *, intervals: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("figure", overflow="fold", no_wrap=intervals, min_width=_NARROW)
    table.add_column("source", no_wrap=True)
    table.add_column("at\nonce", justify="right")
    for platform in accuracy.platforms:
        table.add_column(platform, justify="right", overflow="fold", no_wrap=intervals)
    table.add_column("", no_wrap=True)
    rows: dict[tuple[str, str, int], dict[str, list[Line]]] = {}
    for one in accuracy.lines:
        key = (one.metric, one.source, one.workers)
        rows.setdefault(key, {}).setdefault(one.platform, []).append(one)
    order = list(dict.fromkeys((metric, source) for metric, source, _ in rows))
    for key in sorted(rows, key=lambda key: (order.index(key[:2]), key[2])):
        metric, source, workers = key
        table.add_row(metric, source, str(workers), *_cells(rows[key], accuracy, intervals))
    return table


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
        text = off_by(one.median, one.unit, one.half, size)
        if not intervals:
            text = " ".join([text.split(" ", 1)[0], *text.split(" ")[3 if one.half else 1 :]])
        if one.unit != "1":
            text, unit = text.rsplit(" ", 1)
        cells.append(text + _MARKS[one.verdict])
    return [*cells, unit]
