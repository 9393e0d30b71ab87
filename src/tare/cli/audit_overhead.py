"""What ``tare audit`` prints of a study of platforms: what is found, then every size's cost."""

from __future__ import annotations

from collections.abc import Sequence

from tare.audit import Audit
from tare.audit import overhead_telling as words
from tare.audit.cold_telling import cold_told, item_name
from tare.audit.overhead import Cost, Line, OverheadAudit, Place
from tare.cli import output
from tare.units import chosen

#: Rows of the table, columns of it, and caveats that a screen holds; the page has all.
_MOST_ROWS = 30
_MOST_COLUMNS = 4
_MOST_CAVEATS = 7
#: Columns that the word takes which heads a line.
_HEAD = 8


def show_platforms(audit: Audit) -> None:
    """Print what platforms cost and how series begin; every size's cost where that was asked."""
    found = audit.overhead
    told = [] if found is None else words.brief(found)
    if audit.cold is not None and audit.cold.found:
        told.append(("Cold", cold_told(audit.cold, item_name(audit))))
    asked = audit.question.finding is not None
    if told and not asked:
        output.out.print()
    for head, text in told:
        output.out.print(f"{head:<{_HEAD}}", style="bold", end="")
        output.out.print(text, soft_wrap=True)
    if found is None or not asked:
        return
    output.out.print()
    _show_costs(found, audit.question.margin)
    output.out.print()
    for text in words.caveats(found)[:_MOST_CAVEATS]:
        output.out.print(f"{'But':<{_HEAD}}{text}", style="dim", soft_wrap=True)
    output.out.print()


def _show_costs(found: OverheadAudit, margin: float) -> None:
    """Print platforms and sizes as rows, and a column for each way of pinning."""
    columns = list(dict.fromkeys((x.pinning, x.where) for x in found.lines))[:_MOST_COLUMNS]
    rows = _rows(found.lines, columns)
    heads = [
        "",
        *(" ".join(filter(None, c)) or f"beside {found.design.reference}" for c in columns),
    ]
    table = [heads, *rows[:_MOST_ROWS]]
    widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
    for k, row in enumerate(table):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        output.out.print("   ".join(cells).rstrip(), style="dim" if k == 0 else "", soft_wrap=True)
    left = len(rows) - _MOST_ROWS
    if left > 0:
        output.out.print(f"… and {left:,} more (--json, --report)", style="dim")
    output.out.print(
        f"Beside {found.design.reference} of the same size. =: the same within "
        f"{chosen(margin)}; ?: inconclusive.",
        style="dim",
        soft_wrap=True,
    )


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
    return "–" if found is None else f"{words.ratio_told(found)}{_sign(found)}"


def _sign(c: Cost) -> str:
    return {"equivalent": " =", "inconclusive": " ?"}.get(c.verdict.direction, "  ")
