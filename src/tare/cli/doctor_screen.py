"""What ``tare doctor`` prints: what is bad first, the good in few words."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tare.cli import output
from tare.doctor import PURPOSES, Diagnosis, Report
from tare.registry import scan
from tare.settings import kept

#: How a judgement is shown: a sign and its word, so that no one depends on colour.
#: In the order in which they are told.
SIGNS = {"bad": "✕ bad", "note": "· note", "good": "✓ good", "hidden": "? hidden"}
SIGN_WIDTH = 8
#: Checks that took their time.
WAITED_FOR = ("noise",)
STYLES = {"good": "green", "note": "", "bad": "bold red", "hidden": "dim"}


def show(report: Report, wanted: list[str], *, every: bool, sources: bool) -> None:
    """Print the summary, what is bad, what is worth knowing, then all the rest in few words."""
    output.out.print(summary(report, wanted))
    for words in holders():
        output.out.print(words)
    output.out.print()
    shown = {
        name: one
        for name, one in report.diagnoses.items()
        if not one.purposes or set(one.purposes) & set(wanted)
    }
    for judgement in SIGNS:
        chosen = {name: one for name, one in shown.items() if one.judgement == judgement}
        # What was waited for is told, whatever it says.
        whole = every or judgement in ("bad", "note")
        told = {name: one for name, one in chosen.items() if whole or name in WAITED_FOR}
        for name, one in told.items():
            _line(one, _title(name), one.value)
            for words in _details(one, sources):
                output.out.print(Padding(Text(words), (0, 0, 0, SIGN_WIDTH + 2)))
        brief(judgement, {name: one for name, one in chosen.items() if name not in told})
    if not every:
        output.out.print("\nWith the value of each: tare doctor --all", style="dim")


def brief(judgement: str, chosen: dict[str, Diagnosis]) -> None:
    """Print in few lines what is good, by name, and what is hidden, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for name, one in chosen.items():
        by_reason.setdefault(one.value if judgement == "hidden" else "", []).append(_title(name))
    for reason, titles in by_reason.items():
        words = ", ".join(titles)
        _line(next(iter(chosen.values())), f"{words}: {reason}" if reason else words)


def _line(one: Diagnosis, *words: str) -> None:
    """Print the sign and word of a judgement with what it is about."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, width=SIGN_WIDTH)
    for _ in words[1:]:
        table.add_column(no_wrap=True, width=_title_width())
    table.add_column(overflow="fold")
    table.add_row(Text(SIGNS[one.judgement], STYLES[one.judgement]), *map(Text, words))
    output.out.print(table)


def summary(report: Report, wanted: list[str]) -> str:
    """Say what the machine is fit for, what not and why, and what to type."""
    unfit = {name: checks for name, checks in report.unfit().items() if name in wanted}
    fit = [PURPOSES[name] for name in report.fit() if name in wanted]
    hidden = [one for name, one in report.diagnoses.items() if name not in WAITED_FOR]
    seen = ", as far as can be seen" * any(one.judgement == "hidden" for one in hidden)
    lines = [f"Fit for {_list(fit)}{seen}."] if fit else []
    # Purposes that fail for the same reasons are told together.
    reasons: dict[tuple[str, ...], list[str]] = {}
    for name, checks in unfit.items():
        reasons.setdefault(tuple(checks), []).append(PURPOSES[name])
    for against, purposes in reasons.items():
        lines.append(f"Not fit for {_list(purposes)}, because of {_list(map(_title, against))}.")
    if fixes := report.fixes(wanted):
        count = f"{len(fixes)} setting{'s' * (len(fixes) > 1)}"
        asked = "all" if fixes == report.fixes() else _asked(fixes)
        lines.append(
            f"{count} could be changed while something runs: "
            f"{_sudo()}tare doctor --fix {asked} -- COMMAND"
        )
    return "\n".join(lines)


def holders() -> list[str]:
    """Tell who holds settings at this moment, and which were left by somebody who was killed."""
    told = []
    for one, lives in kept.every():
        names = _list(sorted(one.wanted))
        told.append(
            f"Held by tare, process {one.pid}: {_asked(one.wanted)}; what is judged here is that."
            if lives
            else f"A tare that was killed left {names} changed: {_sudo()}tare cleanup"
        )
    return told


def _details(diagnosis: Diagnosis, sources: bool) -> list[str]:
    """Return what stands below a line that is not good."""
    if diagnosis.judgement not in ("bad", "note"):
        return []
    against = "bad for " if diagnosis.judgement == "bad" else "concerns "
    words = [against + ", ".join(PURPOSES[p] for p in diagnosis.purposes)] * bool(
        diagnosis.purposes
    )
    if diagnosis.why:
        words = [f"{': '.join([*words, diagnosis.why])}"]
    if diagnosis.effect:
        words.append(f"size: {diagnosis.effect}")
    if sources and diagnosis.source:
        words.append(f"source: {diagnosis.source}")
    if diagnosis.change:
        words.append(f"change: {diagnosis.change}")
    if diagnosis.fix:
        words.append(f"for a while: {_sudo()}tare doctor --fix {_asked(diagnosis.fix)} -- COMMAND")
    return words


def _title(name: str) -> str:
    return str(scan("doctor")[name].description.title)


def _list(words: Iterable[str]) -> str:
    *most, last = list(words)
    return f"{', '.join(most)} and {last}" if most else last


def _title_width() -> int:
    return max(len(check.description.title) for check in scan("doctor").values())


def _asked(fixes: dict[str, str]) -> str:
    """Write settings as they are typed."""
    return ",".join(f"{name}={value}" for name, value in fixes.items())


def _sudo() -> str:
    folder = shlex.quote(str(Path(sys.argv[0]).parent.absolute()))
    return "" if os.geteuid() == 0 else f"sudo {folder}/"
