"""What ``tare fingerprint`` prints of several platforms: the overhead of each, by primitive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from tare.cli import console
from tare.features.machine.fingerprint import summary
from tare.features.machine.fingerprint.screen import missing
from tare.features.machine.fingerprint.weights import Weights
from tare.features.machine.fingerprint.weights_table import head, rows
from tare.render import words
from tare.render.words import sentences, text
from tare.results.message import message

#: Between columns.
_GAP = "  "


def show(found: Weights, *, named: bool = False, json: str | None = None) -> None:
    """Print the overhead of platforms.

    Parameters
    ----------
    found : Weights
    named : bool
        Whether probes were asked for by name: then every figure is shown.
    json : str or None
        File that has all of it.
    """
    first, *others = found.platforms
    for said in sentences(summary.versus(one, first.platform) for one in others):
        console.out.print(said, style="bold", soft_wrap=True)
    besides = (summary.apart(one, first) for one in others)
    for said in sentences(one for one in besides if one is not None):
        console.out.print(said, soft_wrap=True)
    laid = [("", [head(one) for one in found.platforms])]
    for label, cells in rows(found.platforms, every=named):
        laid.append((label, ["–" if cell is None else words.shown(cell) for cell in cells]))
    labels = max(len(label) for label, _ in laid)
    room = max(console.out.width, 60) - labels
    shown = [index for index, one in enumerate(others, 1) if one.why is None or one.costs]
    for some in _fitting(laid, shown, room):
        console.out.print()
        for line in _lines(laid, [0, *some], labels):
            console.out.print(line, soft_wrap=True)
    console.out.print(
        Text(text(message("▲ slower   ▽ faster   = equivalent   ? inconclusive")), style="dim")
    )
    missing(
        [(f"{one.platform}, {p.probe}", p.why) for one in found.platforms for p in one.problems],
        json,
    )
    console.out.print()


Laid = list[tuple[str, list[str]]]


def _fitting(laid: Laid, shown: Sequence[int], room: int) -> Iterable[list[int]]:
    """Yield the platforms of each table, so many as fit next to the first."""
    widths = [max(len(row[1][i]) for row in laid) + len(_GAP) for i in range(len(laid[0][1]))]
    some: list[int] = []
    for index in shown:
        if some and widths[0] + sum(widths[i] for i in [*some, index]) > room:
            yield some
            some = []
        some = [*some, index]
    yield some


def _lines(laid: Laid, shown: Sequence[int], labels: int) -> Iterable[str]:
    widths = [max(len(row[1][i]) for row in laid) for i in shown]
    for label, cells in laid:
        padded = (cells[i].rjust(width) for i, width in zip(shown, widths, strict=True))
        yield _GAP.join([label.ljust(labels), *padded]).rstrip()
