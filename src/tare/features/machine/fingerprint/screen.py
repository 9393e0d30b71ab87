"""What ``tare fingerprint`` prints: a table by group, the staircase of memory, what failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.padding import Padding
from rich.text import Text

from tare.cli import console
from tare.experiment.fingerprints.machine.document import Figure, Fingerprint
from tare.features.machine.fingerprint import summary
from tare.features.machine.fingerprint.picture import CURVE as STAIRCASE
from tare.features.machine.fingerprint.picture import staircase
from tare.render.charts.beside import NEAR
from tare.render.words import sentence, sentences, text
from tare.results.message import message
from tare.units import quantity, significant

_HEADS = ("", "value", "95 % interval", "n", "predicted", "")
#: Fewest figures of a kind that share a row, unless they were requested by name.
_MANY = 4
#: Figures of a table that has their reasons between its rows.
_MOST_WITH_REASONS = 12
#: Most unavailable figures that are listed.
_MOST_MISSING = 5


class _Row(NamedTuple):
    cells: tuple[str, ...]
    why: str | None


def show(found: Fingerprint, *, named: bool = False, json: str | None = None) -> None:
    """Print a fingerprint for a person.

    Parameters
    ----------
    found : Fingerprint
    named : bool
        Whether probes were asked for by name: then every figure has its row, and few their reasons.
    json : str or None
        File that has all of it.
    """
    out = console.out
    out.print(sentence(summary.machine(found)), style="bold", soft_wrap=True)
    said = [summary.clock(found), summary.predicted(found), *summary.trust(found)]
    for line in sentences(one for one in said if one is not None):
        out.print(line, soft_wrap=True)
    if found.metrics:
        _table(_shown(found.metrics, named=named), named=named)
    for line in staircase(found):
        out.print(line, soft_wrap=True)
    curves = [name for name in found.curves if name != STAIRCASE]
    if curves:
        told = message("{names | join(', ')}   (--report FILE.html shows them)", names=curves)
        out.print(f"\nCurves  {text(told)}", soft_wrap=True)
    if found.problems:
        out.print()
        missing([(problem.probe, problem.why) for problem in found.problems], json)
    out.print()


def missing(some: Sequence[tuple[str, str]], json: str | None) -> None:
    """Print what could not be measured, and why."""
    lines = [message("{probe}: {why}", probe=name, why=why) for name, why in some[:_MOST_MISSING]]
    if len(some) > _MOST_MISSING:
        n = len(some) - _MOST_MISSING
        where = json or "--json -"
        lines.append(message("{n} more ({where} has all)", n=n, where=where))
    for line in lines:
        console.out.print(f"Missing {text(line)}", style="yellow", soft_wrap=True)


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
    # Reasons of many figures would hide the figures.
    reasons = named and len(rows) <= _MOST_WITH_REASONS
    console.out.print()
    console.out.print(Text(_line(_HEADS, widths), style="dim"), soft_wrap=True)
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        console.out.print(_line(row.cells, widths), soft_wrap=True)
        # What holds for several in a row is printed once, below the last of them.
        same = following is not None and following.why == row.why
        if reasons and row.why is not None and not same:
            console.out.print(Padding(Text(row.why, style="dim"), (0, 0, 0, 4)))
    far = next((row.cells[0] for row in rows if row.cells[5]), None)
    if far is not None and not reasons:
        told = message(
            "×: measured over predicted. Reasons for one figure: tare fingerprint {metric}",
            metric=far,
        )
        console.out.print(text(told), style="dim", soft_wrap=True)


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
    """Return how far a value is from its prediction, where that is not near."""
    ratio = summary.ratio(one)
    if ratio is None or 1 / NEAR <= ratio <= NEAR:
        return ""
    return f"× {significant(ratio, 2)}"
