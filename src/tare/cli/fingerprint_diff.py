"""``tare fingerprint diff``: what changed between two fingerprints, and whether it matters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from tare.cli import output

if TYPE_CHECKING:
    from tare.fingerprint.difference import Change, Difference

#: Exit codes, as of ``diff``.
SAME, CHANGED = 0, 1


def diff(before: Path, after: Path, json: str | None) -> int:
    """Tell what changed between two fingerprints, and return the exit code.

    Raises
    ------
    StoreError
        If one of the files is no fingerprint.
    """
    from tare.catalogue import catalogue
    from tare.fingerprint import file
    from tare.fingerprint.difference import compare

    output.check_writable(json)
    found = compare(file.read(before), file.read(after), catalogue().probes)
    if json is not None:
        output.write_json(found, json)
    if json != "-":
        _show(found)
    return CHANGED if found.changed else SAME


def _show(found: Difference) -> None:
    output.out.print(_headline(found), style="bold")
    shown = [c for c in found.changes if c.verdict != "same"]
    if shown:
        output.out.print(_table(shown))
    same = sum(c.verdict == "same" for c in found.changes)
    if same:
        output.out.print(f"Same     {same} of {len(found.changes)} metrics, within what matters.")
    for name, (was, now) in found.facts.items():
        output.out.print(f"Fact     {name}: {_fact(was)} → {_fact(now)}")
    for what, names in (("first", found.only_before), ("second", found.only_after)):
        if names:
            output.out.print(f"Only in the {what}: {', '.join(names)}")


def _headline(found: Difference) -> str:
    if not found.changes:
        return "The two have no metric with rounds in common, so that nothing can be compared."
    if not found.changed:
        return f"No change that matters in {len(found.changes)} metrics."
    worse = sum(c.direction == "worse" for c in found.changed)
    better = sum(c.direction == "better" for c in found.changed)
    parts = [f"{n} {word}" for n, word in ((worse, "worse"), (better, "better")) if n]
    n = len(found.changed)
    return f"{n} of {len(found.changes)} metrics changed by more than matters" + (
        f": {', '.join(parts)}." if parts else "."
    )


def _table(changes: list[Change]) -> Table:
    from tare.findings.phrasing import change_interval, percent, quantity

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric")
    for title in ("before", "after", "change", "matters beyond"):
        table.add_column(title, justify="right")
    table.add_column("")
    for c in changes:
        table.add_row(
            c.metric,
            quantity(c.before, c.unit),
            quantity(c.after, c.unit),
            change_interval(c.ratio, c.low, c.high),
            percent(c.margin),
            c.direction or c.verdict,
        )
    return table


def _fact(value: bool | int | float | str | None) -> str:
    return "not told" if value is None else str(value)
