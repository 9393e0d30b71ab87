"""From a file to an answer: the one place where the parts are put together.

``prepare`` reads the question and looks what this machine has, ``execute`` measures,
``answers`` concludes. The command line only adds words.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tare import execute as execution
from tare import experiment_file, journal, machine, plan, platforms, record, remnants
from tare.availability import Availability
from tare.catalogue import catalogue
from tare.errors import PlatformError, StoreError
from tare.execute.past import Past
from tare.execute.past import past as count
from tare.experiment import Cell, Experiment
from tare.findings.finding import Finding


@dataclass
class Prepared:
    """A question that this machine can be asked."""

    experiment: Experiment
    machine: plan.Machine
    facts: list[journal.MachineFact]
    cells: tuple[Cell, ...]
    #: What was left out, and why.
    notes: list[journal.Note] = field(default_factory=list)
    #: The file as given; None for ``tare run``.
    text: str | None = None


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment says, as ``--json`` writes it."""

    version: int = 1
    headline: tuple[str, ...]
    findings: tuple[Finding, ...]


def prepare(file: Path, *, skip_missing: bool = False) -> Prepared:
    """Read an experiment file and check what it needs.

    Raises
    ------
    ExperimentError
        If the file is wrong, or asks for more than the machine has.
    PlatformError
        If a platform is missing and must not be skipped; says what would make it work.
    """
    text = experiment_file.read(file)
    experiment = experiment_file.parse(text, str(file), catalogue())
    return check(experiment, text=text, skip_missing=skip_missing)


def check(
    experiment: Experiment, *, text: str | None = None, skip_missing: bool = False
) -> Prepared:
    """Look whether the machine has what an experiment needs; leave out what may be."""
    found = machine.topology()
    missing = _missing(experiment)
    notes = []
    if missing:
        if not (skip_missing or experiment.skip_missing):
            raise PlatformError(
                "; ".join(f"{m.name} is not available here: {m.why}" for m in missing),
                "; or ".join(
                    [m.fix for m in missing if m.fix]
                    + ["--skip-missing leaves it out"]
                ),
            )  # fmt: skip
        notes = [
            journal.Note(
                message=f"{m.name} was left out: {m.why}"
                + (f" To have it: {m.fix}" if m.fix else ""),
                detail={"platform": m.name, "why": m.why, "fix": m.fix},
            )
            for m in missing
        ]
        experiment = plan.without(experiment, "platform", [m.name for m in missing])
    here = plan.Machine.parse(found)
    return Prepared(
        experiment, here, machine.facts(found), plan.cells(experiment, here), notes, text
    )


def _missing(experiment: Experiment) -> list[Availability]:
    commands = any(w.command for w in experiment.workloads)
    asked = [
        platforms.availability(str(stack), experiment.platforms, commands)
        for stack in experiment.factors.get("platform", ("bare",))
    ]
    return [a for a in asked if not a.works]


def execute(
    prepared: Prepared,
    folder: Path,
    progress: execution.Progress,
    *,
    resume: bool = False,
    as_root: bool = False,
    teardown: bool = False,
) -> str:
    """Measure one session into a folder.

    Returns
    -------
    str
        Why it ended: ``finished`` or ``budget``.

    Raises
    ------
    StoreError
        If the folder is not empty, or (resuming) holds another experiment.
    """
    made = plan.make(prepared.experiment, prepared.cells)
    if resume:
        made, past = _continue(made, folder)
        remnants.cleanup()
    else:
        _begin(made, prepared.text, folder)
        past = Past()
    request = execution.Request(
        folder=folder,
        plan=made,
        machine=prepared.machine,
        facts=prepared.facts,
        decide=_decide(prepared.experiment),
        progress=progress,
        past=past,
        user=None if as_root else calling_user(),
        teardown=teardown or any(w.command for w in prepared.experiment.workloads),
        notes=prepared.notes,
    )
    return execution.conduct(request)


def _begin(made: plan.Plan, text: str | None, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            holds = (folder / "plan.json").exists()
            raise StoreError(
                f"{folder} is not empty, so nothing was measured",
                "add --resume to go on with it, or choose another --out"
                if holds
                else "choose another --out",
            )
        if text is not None:
            (folder / "experiment.toml").write_text(text)
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror}", "choose another --out"
        ) from error
    plan.write(made, folder)


def _continue(made: plan.Plan, folder: Path) -> tuple[plan.Plan, Past]:
    stored = plan.read(folder)
    plan.same(made, stored)
    return stored, count(journal.read_all(folder))


def _decide(experiment: Experiment) -> execution.Decide:
    """Return the stopping rule: where stability is the question, the spread has a target too."""

    def rule(values: Mapping[int, list[tuple[int, float]]]) -> Mapping[int, execution.Decision]:
        from tare.statistics import repetitions

        about_spread = any(len(experiment.factors.get(f, ())) > 1 for f in ("platform", "workers"))
        spread = repetitions.spread_target(experiment.parallel_growth) if about_spread else None
        return repetitions.decide(values, experiment.stopping.precision, spread)

    return rule


def calling_user() -> record.User | None:
    """Return who called sudo, so that measured commands run as that user, not as root."""
    if os.geteuid() != 0 or "SUDO_UID" not in os.environ:
        return None
    uid, gid = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    if uid == 0:
        return None
    import pwd

    try:
        groups = os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        groups = [gid]
    return record.User(uid=uid, gid=gid, groups=tuple(groups))


def answers(folder: Path) -> Answers:
    """Conclude from what a folder holds, and store the findings in it."""
    from tare import store
    from tare.findings import all_findings, headline

    results = store.load(folder)
    found = tuple(all_findings(results))
    store.save_findings(folder, found)
    return Answers(headline=tuple(headline(results, found)), findings=found)
