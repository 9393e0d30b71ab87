"""What ``tare fingerprint`` prints: a table by group, the staircase of memory, what failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.padding import Padding
from rich.text import Text

from tare.cli import output
from tare.cli.fingerprint_picture import CURVE as STAIRCASE
from tare.cli.fingerprint_picture import staircase
from tare.fingerprint.document import Figure, Fingerprint
from tare.units import counted, quantity, significant

#: A measured value that far from its prediction needs a word.
_FAR = 1.25
_HEADS = ("", "value", "95 % interval", "n", "predicted", "")
#: So many figures of one kind share a row, unless they were asked for by name.
_MANY = 4


class _Row(NamedTuple):
    cells: tuple[str, ...]
    why: str | None


def show(found: Fingerprint, *, named: bool = False) -> None:
    """Print a fingerprint for a person.

    Parameters
    ----------
    found : Fingerprint
    named : bool
        Whether probes were asked for by name: then every reason is told.
    """
    out = output.out
    out.print(_headline(found), style="bold", soft_wrap=True)
    if found.metrics:
        _table(_shown(found.metrics, named=named), named=named)
    for line in staircase(found):
        out.print(line, soft_wrap=True)
    curves = ", ".join(name for name in found.curves if name != STAIRCASE)
    if curves:
        out.print(f"\nCurves  {curves}   (--report FILE.html shows them)", soft_wrap=True)
    if found.problems:
        out.print()
    for problem in found.problems:
        out.print(f"Missing {problem.probe}: {problem.why}", style="yellow", soft_wrap=True)
    out.print()


def _headline(found: Fingerprint) -> str:
    facts = found.facts
    machine = [str(facts[name]) for name in ("cpu", "microarchitecture") if name in facts]
    cpus = counted(int(facts["cpus"]), "CPU") if isinstance(facts.get("cpus"), int) else ""
    where = "" if found.platform == "bare" else f"inside {found.platform}"
    parts = [", ".join(machine), cpus, where, f"{found.effort}, {output.seconds(found.seconds)}"]
    return "Fingerprint  " + " · ".join(part for part in parts if part)


def _shown(metrics: Mapping[str, Figure], *, named: bool) -> list[_Row]:
    """Return rows; figures that differ in their last word, a number, share one."""
    rows: list[_Row] = []
    for _, group in groupby(metrics.items(), key=lambda item: _series(item[0])):
        some = list(group)
        if named or len(some) < _MANY:
            rows += [_Row(_cells(name, one), one.why) for name, one in some]
        else:
            rows.append(_together(some))
    return rows


def _series(name: str) -> str:
    first, _, last = name.rpartition(".")
    return first if last.isdecimal() else name


def _together(some: Sequence[tuple[str, Figure]]) -> _Row:
    """Return the row of many figures: least and largest, as they are no more of them."""
    (first, one), (last, _) = some[0], some[-1]
    ordered = sorted(figure.value for _, figure in some)
    rounds = sorted({figure.n for _, figure in some})
    values = bounds(ordered[0], ordered[-1], one.unit).strip("[]").replace(", ", " … ")
    name = f"{first}…{last.rpartition('.')[2]}"
    shared = quantity(ordered[0], one.unit).rpartition(" ")[2]
    values = values if values.endswith(shared) else f"{values} {shared}"
    return _Row((name, values, "", _range(rounds), "", ""), None)


def _range(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"


def _table(rows: Sequence[_Row], *, named: bool) -> None:
    widths = [max(len(row.cells[i]) for row in [_Row(_HEADS, None), *rows]) for i in range(6)]
    output.out.print()
    output.out.print(Text(_line(_HEADS, widths), style="dim"), soft_wrap=True)
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        output.out.print(_line(row.cells, widths), soft_wrap=True)
        # What holds for several in a row is told once, below the last of them.
        same = following is not None and following.why == row.why
        if named and row.why is not None and not same:
            output.out.print(Padding(Text(row.why, style="dim"), (0, 0, 0, 4)))
    far = next((row.cells[0] for row in rows if row.cells[5]), None)
    if far is not None and not named:
        output.out.print(
            f"×: measured over predicted. Why: tare fingerprint {far}, or --report FILE.html",
            style="dim",
            soft_wrap=True,
        )


def _line(cells: Iterable[str], widths: Sequence[int]) -> str:
    padded = (
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()


def _cells(name: str, one: Figure) -> tuple[str, ...]:
    predicted = "" if one.predicted is None else quantity(one.predicted, one.unit)
    interval = "–" if one.ci is None else bounds(*one.ci, one.unit)
    return name, quantity(one.value, one.unit), interval, str(one.n), predicted, _far(one)


def bounds(low: float, high: float, unit: str) -> str:
    """Write an interval, its unit once where both have the same."""
    first, last = quantity(low, unit), quantity(high, unit)
    number, _, scale = first.rpartition(" ")
    if scale and last.endswith(f" {scale}"):
        return f"[{number}, {last.removesuffix(f' {scale}')}]"
    return f"[{first}, {last}]"


def _far(one: Figure) -> str:
    """Return how far a value is from its prediction, where that needs a word."""
    if one.predicted is None or one.value <= 0 or one.predicted <= 0:
        return ""
    ratio = one.value / one.predicted
    return f"× {significant(ratio, 2)}" if ratio > _FAR or ratio < 1 / _FAR else ""
