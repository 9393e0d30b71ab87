"""What ``tare audit`` prints of a study of platforms: the answer, then the overhead by size."""

from __future__ import annotations

from collections.abc import Sequence

from tare.cli import console
from tare.features.audit import overhead_messages as words
from tare.features.audit.audit import Audit
from tare.features.audit.cold_messages import cold_start, item_name
from tare.features.audit.overhead import Cost, Line, OverheadAudit, Place
from tare.render.words import sentence, shown
from tare.results.message import Chosen, message

#: Rows of the table, columns of it, and caveats that a screen holds; the page has all.
_MOST_ROWS = 12
_MOST_COLUMNS = 4
_MOST_CAVEATS = 5
#: Columns that the word takes which heads a line.
_HEAD = 9


def show_platforms(audit: Audit) -> None:
    """Print what platforms cost and how series begin."""
    found = audit.overhead
    said = [] if found is None else words.brief(found)
    if audit.cold is not None and audit.cold.found:
        said.append(("Cold", cold_start(audit.cold, item_name(audit))))
    for head, one in said:
        console.out.print(f"{head:<{_HEAD}}", style="bold", end="")
        console.out.print(sentence(one), soft_wrap=True)


def show_costs(audit: Audit, whole: str) -> None:
    """Print the overhead of every size, and what weakens it; ``whole``: where all of it is."""
    found = audit.overhead
    if found is None:
        return
    _show_table(found, audit.question.margin, whole)
    caveats = words.caveats(found)
    said = caveats[:_MOST_CAVEATS]
    if more := caveats[_MOST_CAVEATS:]:
        said.append(message("audit.overhead.caveats", n=len(more), whole=whole))
    console.out.print()
    for one in said:
        console.out.print(f"{'Note':<{_HEAD}}{sentence(one)}", style="dim", soft_wrap=True)


def _show_table(found: OverheadAudit, margin: float, whole: str) -> None:
    """Print platforms and sizes as rows, and a column for each way of pinning."""
    columns = list(dict.fromkeys((x.pinning, x.where) for x in found.lines))[:_MOST_COLUMNS]
    rows = _rows(found.lines, columns)
    heads = ["", *(" ".join(filter(None, c)) or f"vs. {found.design.reference}" for c in columns)]
    console.table([heads, *rows[:_MOST_ROWS]])
    left = len(rows) - _MOST_ROWS
    notes = [message("audit.overhead.rows", left=left, whole=whole)] if left > 0 else []
    notes.append(
        message("audit.overhead.legend", reference=found.design.reference, margin=Chosen(margin))
    )
    for note in notes:
        console.out.print(sentence(note), style="dim", soft_wrap=True)


def _rows(lines: Sequence[Line], columns: Sequence[tuple[str | None, str]]) -> list[list[str]]:
    rows = []
    for platform in dict.fromkeys(x.platform for x in lines):
        some = {(x.pinning, x.where): x for x in lines if x.platform == platform}
        places: list[Place] = [c.place for x in some.values() for c in x.costs]
        places.sort(key=lambda p: p.cores or 0.0)
        for size in dict.fromkeys(p.size for p in places):
            name = next(words.size_name(p) for p in places if p.size == size)
            row = [f"{platform}  {name}".rstrip()]
            row += [_cell(some.get(c), size) for c in columns]
            rows.append(row)
    return rows


def _cell(line: Line | None, size: str | None) -> str:
    found = next((c for c in line.costs if c.place.size == size), None) if line else None
    return "–" if found is None else f"{shown(words.ratio(found))}{_sign(found)}"


def _sign(c: Cost) -> str:
    return {"equivalent": " =", "inconclusive": " ?"}.get(c.verdict.direction, "  ")
