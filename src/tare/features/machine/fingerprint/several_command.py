"""``tare fingerprint`` of several platforms: measured, shown, kept, drawn."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tare.cli import console
from tare.cli.again import again
from tare.errors import ExperimentError, InterruptError, StoreError
from tare.render.words import text
from tare.results.message import message

#: So many times as long as before: as many times the rounds, half the intervals.
AGAIN = 4

if TYPE_CHECKING:
    from tare.experiment.fingerprints.machine.document import Fingerprint
    from tare.features.machine.fingerprint.request import Asked
    from tare.features.machine.fingerprint.weights import Weights


def measure(stacks: Sequence[str], asked: Asked, json: str | None, report: Path | None) -> None:
    """Measure platforms vs. the first of them.

    Raises
    ------
    ExperimentError
        If it was asked for what needs another machine.
    InterruptError, StoreError
        After everything that was measured has been shown.
    """
    from tare.features.machine.fingerprint import several
    from tare.features.machine.fingerprint.progress import Bar
    from tare.features.machine.fingerprint.weights_screen import show

    if asked.peer is not None or asked.remote is not None:
        raise ExperimentError(
            "--peer and --remote measure another machine, not platforms of this one",
            "leave them out, or name one --platform",
        )
    with Bar() as bar:
        found, interrupted = several.take(stacks, asked, bar)
        unwritten = write(found, json)
    if json != "-":
        show(found, named=bool(asked.words), json=json)
    if report is not None:
        _report(found, report)
    if unwritten is not None:
        raise unwritten
    if interrupted:
        raise InterruptError(f"interrupted{'' if json is None else f'; what there is: {json}'}")
    if json != "-" and (next_ := _next(found, asked, reported=report is not None)) is not None:
        console.out.print(next_, soft_wrap=True)


def _next(found: Weights, asked: Asked, *, reported: bool) -> str | None:
    """Return the next command worth typing: what is inconclusive is settled first."""
    from tare.units import duration

    open_ = any(c.verdict == "inconclusive" for one in found.platforms for c in one.costs)
    if open_ and asked.budget_s is not None:
        budget = duration(AGAIN * asked.budget_s)
        return follow(again("fingerprint", {"--budget": budget}), "settle")
    if reported:
        return None
    return follow(f"{typed()} --report machine.html", "page_of_platforms")


def write(found: Fingerprint | Weights, json: str | None) -> StoreError | None:
    """Write the file that was asked for; return why it could not be."""
    from tare.features.machine.fingerprint import file

    if json == "-":
        console.write_json(found, json)
    elif json is not None:
        try:
            file.write(found, Path(json))
        except StoreError as error:
            return error
    return None


def typed() -> str:
    """Return what was typed, to be typed again."""
    return shlex.join(["tare", *sys.argv[1:]])


def follow(command: str, brings: str) -> str:
    """Write the next command worth typing, and what it brings."""
    told = message(f"fingerprint.brings.{brings}")
    return f"Next    {text(message('fingerprint.screen.next', command=command, brings=told))}"


def _report(found: Weights, destination: Path) -> None:
    from tare.features.machine.fingerprint import weights_page
    from tare.render import files

    for path in files.write(weights_page.make(found, typed()), destination):
        console.err.print(f"Wrote   {path}")
