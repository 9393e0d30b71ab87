"""Makes the report of ``tare doctor``: the answer, failed checks with reasons, others by name."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tare.features.machine.doctor.checks import units
from tare.features.machine.doctor.examination import Examination
from tare.host.check import Diagnosis, Purpose, Verdict
from tare.host.settings import restore
from tare.render.vocabulary import CHECKS
from tare.results.message import Atom, Message, message
from tare.results.report import Emphasis, Entry, NextStep, Report

_REPORT_CHECK = "{titles | join(', ')}{% if value %}: {value}{% endif %}"
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

#: Emphasis of each verdict, in the order of printing.
EMPHASIS: dict[Verdict, Emphasis | None] = {
    "fail": "strong", "warn": None, "ok": None, "unknown": "quiet"
}  # fmt: skip
#: A check that took its time is printed with its value, whatever it is.
WAITED_FOR = ("noise",)


def make(found: Examination, wanted: Sequence[Purpose], *, every: bool) -> Report:
    """Make the report of an examination.

    Parameters
    ----------
    found : Examination
    wanted : sequence of Purpose
        Purposes by which the machine is judged.
    every : bool
        Whether to give values and reasons of all checks.
    """
    return Report(
        command="doctor",
        exit_code=1 if any(name in wanted for name in found.unfit()) else 0,
        figures={
            "fit": found.fit(),
            "unfit": found.unfit(),
            "fixes": found.fixes(),
            "checks": found.diagnoses,
        },
        name="doctor",
        question=message("Is this machine fit for measuring?"),
        entries=(
            *(
                Entry("" if i else "Answer", one, "strong")
                for i, one in enumerate(summary(found, wanted))
            ),
            *(Entry("Held", one) for one in holders()),
            *_checks(found, wanted, every=every),
        ),
        next_steps=()
        if every
        else (NextStep("tare doctor --all", message("values and reasons of all checks")),),
    )


def _checks(found: Examination, wanted: Sequence[Purpose], *, every: bool) -> Iterator[Entry]:
    """State what each check found, the worst first; those that are fine by name alone."""
    shown = {
        name: one
        for name, one in found.diagnoses.items()
        if not one.purposes or set(one.purposes) & set(wanted)
    }
    for verdict, emphasis in EMPHASIS.items():
        brief: dict[str, tuple[Message | None, list[str]]] = {}
        for name, one in shown.items():
            if one.verdict != verdict:
                continue
            if every or verdict == "fail" or name in WAITED_FOR:
                said = message(_REPORT_CHECK, titles=[_title(name)], value=one.value)
                yield Entry(CHECKS[verdict], said, emphasis)
                yield from (Entry("", reason) for reason in reasons(one))
            else:
                # Those that are unknown for one reason stand together.
                value = one.value if verdict == "unknown" else None
                brief.setdefault(repr(value), (value, []))[1].append(_title(name))
        for value, titles in brief.values():
            said = message(_REPORT_CHECK, titles=titles, value=value)
            yield Entry(CHECKS[verdict], said, emphasis)


def summary(found: Examination, wanted: Sequence[Purpose]) -> list[Message]:
    """Return what the machine is fit for, what not and why, and what to type."""
    unfit = {name: checks for name, checks in found.unfit().items() if name in wanted}
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
    if fit := [name for name in found.fit() if name in wanted]:
        seen = (one for name, one in found.diagnoses.items() if name not in WAITED_FOR)
        said.append(
            message(
                "Fit for {% if purposes %}{purposes | listing}{% else %}all purposes"
                "{% endif %}{% if partial %}, as far as visible{% endif %}.",
                purposes=_purposes(fit),
                partial=any(one.verdict == "unknown" for one in seen),
            )
        )
    if fixes := found.fixes(wanted):
        asked = "all" if fixes == found.fixes() else _asked(fixes)
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
