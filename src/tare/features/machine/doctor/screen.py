"""What ``tare doctor`` prints: the answer, what fails with its reasons, the rest by name."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from rich.padding import Padding
from rich.text import Text

from tare.cli import console
from tare.features.machine.doctor.checks import units
from tare.features.machine.doctor.examination import Report
from tare.host.check import Diagnosis, Purpose, Verdict
from tare.host.settings import restore
from tare.render.vocabulary import CHECKS
from tare.render.words import text
from tare.results.message import Atom, Message, message

_PURPOSE_TEXTS = {
    "times": "wall times of milliseconds",
    "speed": "comparing CPU speeds",
    "memory": "memory latency and bandwidth",
    "disk": "disk times",
    "network": "network latency",
    "parallel": "concurrent workers",
    "accounting": "CPU time and memory of process trees",
    "strangers": "untrusted programs",
}

#: Style of each verdict, in the order of printing.
STYLES: dict[Verdict, str] = {"fail": "bold red", "warn": "yellow", "ok": "green", "unknown": "dim"}
WIDTH = max(map(len, CHECKS.values()))
#: Characters that a value has at least, however narrow the terminal.
_LEAST = 24
#: A check that took its time is printed with its value, whatever it is.
WAITED_FOR = ("noise",)


def show(report: Report, wanted: Sequence[Purpose], *, every: bool) -> None:
    """Print the summary, what fails, then the rest; with ``every``, all with values and reasons."""
    for one in (*summary(report, wanted), *holders()):
        console.out.print(text(one))
    console.out.print()
    shown = {
        name: one
        for name, one in report.diagnoses.items()
        if not one.purposes or set(one.purposes) & set(wanted)
    }
    for verdict in STYLES:
        chosen = {name: one for name, one in shown.items() if one.verdict == verdict}
        full = [name for name in chosen if every or verdict == "fail" or name in WAITED_FOR]
        for name in full:
            _line(verdict, _title(name), text(chosen[name].value))
            for reason in reasons(chosen[name]):
                console.out.print(Padding(Text(text(reason)), (0, 0, 0, WIDTH + 2)))
        brief({name: one for name, one in chosen.items() if name not in full})
    if not every:
        console.out.print(
            f"\n{text(message('Values and reasons of all checks: tare doctor --all'))}", style="dim"
        )


def brief(chosen: dict[str, Diagnosis]) -> None:
    """Print the checks of one verdict by name, those that are unknown by their reason."""
    by_reason: dict[tuple[Verdict, str], list[str]] = {}
    for name, one in chosen.items():
        reason = text(one.value) if one.verdict == "unknown" else ""
        by_reason.setdefault((one.verdict, reason), []).append(_title(name))
    for (verdict, reason), titles in by_reason.items():
        names = ", ".join(titles)
        _line(verdict, f"{names}: {reason}" if reason else names)


def _line(verdict: Verdict, *cells: str) -> None:
    *names, said = cells
    width = max(len(check.description.title) for check in units().values())
    head = "  ".join([f"{CHECKS[verdict]:<{WIDTH}}", *(f"{name:<{width}}" for name in names), ""])
    first, *others = textwrap.wrap(said, max(_LEAST, console.out.width - len(head))) or [""]
    line = Text(head + first)
    line.stylize(STYLES[verdict], 0, WIDTH)
    console.out.print(line, soft_wrap=True)
    for other in others:
        console.out.print(f"{'':<{len(head)}}{other}", soft_wrap=True)


def summary(report: Report, wanted: Sequence[Purpose]) -> list[Message]:
    """Return what the machine is fit for, what not and why, and what to type."""
    unfit = {name: checks for name, checks in report.unfit().items() if name in wanted}
    # Purposes that fail for the same reasons stand together.
    reasons: dict[tuple[str, ...], list[Purpose]] = {}
    for name, checks in unfit.items():
        reasons.setdefault(tuple(checks), []).append(name)
    said = [
        message(
            "Not fit for {purposes | listing}: {checks | listing}.",
            purposes=_purposes(names),
            checks=[_title(c) for c in checks],
        )
        for checks, names in reasons.items()
    ]
    if fit := [name for name in report.fit() if name in wanted]:
        seen = (one for name, one in report.diagnoses.items() if name not in WAITED_FOR)
        said.append(
            message(
                "Fit for {% if purposes %}{purposes | listing}{% else %}all purposes"
                "{% endif %}{% if partial %}, as far as visible{% endif %}.",
                purposes=_purposes(fit),
                partial=any(one.verdict == "unknown" for one in seen),
            )
        )
    if fixes := report.fixes(wanted):
        asked = "all" if fixes == report.fixes() else _asked(fixes)
        said.append(
            message(
                "{count | counted('setting')} can be changed while a command runs; the other "
                "lines stay: {command}",
                count=len(fixes),
                command=_fix(asked),
            )
        )
    return said


def holders() -> list[Message]:
    """Return who holds settings at this moment, and what a killed one left."""
    return [
        message(
            "tare (process {pid}) holds {settings}: the checks see these values.",
            pid=str(one.pid),
            settings=_asked(one.wanted),
        )
        if lives
        else message(
            "A killed tare left {settings | listing} changed: {command}",
            settings=[*sorted(one.wanted)],
            command=f"{_sudo()}tare cleanup",
        )
        for one, lives in restore.every()
    ]


def reasons(diagnosis: Diagnosis) -> list[Message]:
    """Return why a check is not ok, how much it matters, and what changes it."""
    if diagnosis.why is None:
        return []
    # What fails is in the summary, with its purposes.
    concerned = diagnosis.purposes if diagnosis.verdict == "warn" else ()
    found = [
        message(
            "{% if purposes %}concerns {purposes | join(', ')}: {% endif %}{why}"
            "{% if effect %} ({effect}){% endif %}",
            purposes=_purposes(concerned),
            why=diagnosis.why,
            effect=diagnosis.effect,
        )
    ]
    if diagnosis.change:
        found.append(message("to change it: {change}", change=diagnosis.change))
    if diagnosis.fix:
        found.append(
            message("while a command runs: {command}", command=_fix(_asked(diagnosis.fix)))
        )
    return found


def _title(name: str) -> str:
    return str(units()[name].description.title)


def _purposes(names: Sequence[Purpose]) -> list[Atom]:
    return [message(_PURPOSE_TEXTS[name]) for name in names]


def _asked(fixes: dict[str, str]) -> str:
    """Write settings as they are typed."""
    return ",".join(f"{name}={value}" for name, value in fixes.items())


def _fix(asked: str) -> str:
    return f"{_sudo()}tare doctor --fix {asked} -- COMMAND"


def _sudo() -> str:
    folder = shlex.quote(str(Path(sys.argv[0]).parent.absolute()))
    return "" if os.geteuid() == 0 else f"sudo {folder}/"
