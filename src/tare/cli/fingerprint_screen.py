"""What ``tare fingerprint`` prints: a table by group, the staircase of memory, what failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.text import Text

from tare.cli import output
from tare.cli.fingerprint_picture import staircase
from tare.findings.phrasing import counted, quantity
from tare.fingerprint.document import Figure, Fingerprint

#: A measured value that far from its prediction needs a word.
_FAR = 1.25
_HEADS = ("", "value", "95 % interval", "n", "predicted")


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
    rows = [(name, _row(name, one), one) for name, one in found.metrics.items()]
    if rows:
        _table(rows, named=named)
    for line in staircase(found):
        out.print(line, soft_wrap=True)
    curves = [name for name in found.curves if name != "memory.latency"]
    if curves:
        out.print(
            f"\nCurves  {', '.join(curves)}   (--report FILE.html shows them)", soft_wrap=True
        )
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


def _table(rows: Sequence[tuple[str, tuple[str, ...], Figure]], *, named: bool) -> None:
    cells = [row for _, row, _ in rows]
    widths = [max(len(row[i]) for row in [_HEADS, *cells]) for i in range(len(_HEADS))]
    output.out.print()
    output.out.print(Text(_line(_HEADS, widths), style="dim"), soft_wrap=True)
    for _, group in groupby(rows, key=lambda row: row[0].split(".")[0]):
        some = list(group)
        for _, row, one in some:
            output.out.print(_line(row, widths), soft_wrap=True)
            if one.why is not None and (named or _is_far(one)):
                output.out.print(f"    {one.why}", style="dim")


def _line(cells: Iterable[str], widths: Sequence[int]) -> str:
    padded = (
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()


def _row(name: str, one: Figure) -> tuple[str, ...]:
    predicted = "" if one.predicted is None else quantity(one.predicted, one.unit)
    return name, quantity(one.value, one.unit), interval(one), str(one.n), predicted


def interval(one: Figure) -> str:
    """Write the interval of a figure; "–" where there is none."""
    if one.ci is None:
        return "–"
    low, high = (quantity(bound, one.unit) for bound in one.ci)
    number, _, unit = low.rpartition(" ")
    if unit and high.endswith(f" {unit}"):
        return f"[{number}, {high.removesuffix(f' {unit}')}]"
    return f"[{low}, {high}]"


def _is_far(one: Figure) -> bool:
    if one.predicted is None or one.value <= 0 or one.predicted <= 0:
        return False
    ratio = one.value / one.predicted
    return ratio > _FAR or ratio < 1 / _FAR
