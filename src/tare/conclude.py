"""From a file to an answer: the one place where the parts are put together.

``prepare`` reads the question and looks what this machine has, ``execute`` measures,
``answers`` concludes. The command line only adds words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare import execute as execution
from tare import (
    experiment_file,
    journal,
    loads,
    machine,
    plan,
    plan_file,
    platforms,
    record,
    remnants,
)
from tare.availability import Availability
from tare.calibration import remembered
from tare.catalogue import catalogue
from tare.errors import ExperimentError, PlatformError, StoreError
from tare.execute.past import Past
from tare.execute.past import past as count
from tare.experiment import Cell, Experiment
from tare.placement import Machine

if TYPE_CHECKING:
    from tare.findings.finding import Finding


@dataclass
class Prepared:
    """A question that this machine can be asked."""

    experiment: Experiment
    machine: Machine
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
    here = Machine.parse(found)
    experiment, notes = _fitting(experiment, here, skip_missing or experiment.skip_missing)
    experiment, apart = _meeting(experiment, skip_missing or experiment.skip_missing)
    notes += apart
    for factor, missing in (
        ("platform", _platforms(experiment, here)),
        ("load", _loads(experiment)),
    ):
        if not missing:
            continue
        if not (skip_missing or experiment.skip_missing):
            raise _refusal(missing, others=len(experiment.factors[factor]) > len(missing))
        notes += [_left_out(factor, level, one) for level, one in missing.items()]
        experiment = plan.without(experiment, factor, missing)
    made = plan.cells(experiment, here)
    notes += [journal.Note(message=told) for told in plan.notes(experiment, made, here)]
    facts = machine.facts(found)
    facts += remembered.facts(facts, experiment.factors.get("platform", ("bare",)))
    return Prepared(experiment, here, facts, made, notes, text)


def _fitting(
    experiment: Experiment, here: Machine, skip: bool
) -> tuple[Experiment, list[journal.Note]]:
    """Leave out sizes that this machine cannot hold: instance types, or any where it may be."""
    large = plan.too_large(experiment, here)
    named = plan.instance_types(experiment)
    large = {size: why for size, why in large.items() if skip or size in named}
    if large and len(large) == len(experiment.factors["size"]):
        told = "; ".join(f"{size} asks for {why}" for size, why in large.items())
        raise ExperimentError(f"no size is left to measure: {told}", f'"{len(here.spread)}c"')
    if large:
        experiment = plan.without(experiment, "size", large)
    return experiment, [
        journal.Note(
            message=f"size {size} was left out: it asks for {why}.",
            detail={"size": size, "why": why},
        )
        for size, why in large.items()
    ]


def _meeting(experiment: Experiment, skip: bool) -> tuple[Experiment, list[journal.Note]]:
    """Leave out, where that may be, what cannot be as a platform's memory is not this machine's.

    Raises
    ------
    ExperimentError
        If workers could not meet, or what commands say could not be kept.
    """
    stacks = experiment.factors.get("platform", ("bare",))
    apart = [stack for stack in stacks if not platforms.shares_memory(str(stack))]
    if not apart:
        return experiment, []
    if experiment.instances == "own" and experiment.factors.get("workers", (1,)) != (1,):
        why = "workers in several instances of {} have no memory to meet in"
        mend = 'instances = "shared" (--instances shared), so that they stand in one'
        if not skip or len(apart) == len(stacks):
            raise ExperimentError(f"instances: {why.format(apart[0])}", mend)
        return plan.without(experiment, "platform", apart), [
            journal.Note(
                message=f"platform {stack} was left out: {why.format(stack)}. To have it: {mend}",
                detail={"platform": str(stack), "why": why.format(stack)},
            )
            for stack in apart
        ]
    if any(workload.capture for workload in experiment.workloads):
        raise ExperimentError(
            f"capture: what commands say in {apart[0]} does not reach this machine",
            "leave capture out; how a command failed is told anyhow",
        )
    return experiment, []


def _platforms(experiment: Experiment, here: Machine) -> dict[str, Availability]:
    """Return the levels of ``platform`` that do not work here."""
    needed = execution.needed(plan.cells(experiment, here), os.environ)
    asked = {
        str(stack): platforms.availability(
            str(stack),
            experiment.platforms,
            experiment.runs_commands,
            # Where the files are this machine's, none has to be brought along.
            () if platforms.shares_memory(str(stack)) else needed,
        )
        for stack in experiment.factors.get("platform", ("bare",))
    }
    return {stack: found for stack, found in asked.items() if not found.works}


def _loads(experiment: Experiment) -> dict[str, Availability]:
    """Return the levels of ``load`` that do not work here."""
    asked = {
        name: loads.availability(spec.kind, spec.parameters)
        for name, spec in experiment.loads.items()
        if name in experiment.factors.get("load", ())
    }
    return {name: found for name, found in asked.items() if not found.works}


def _refusal(missing: Mapping[str, Availability], *, others: bool) -> PlatformError:
    fixes = [found.fix for found in missing.values() if found.fix]
    if others:
        fixes.append("--skip-missing, to leave it out")
    return PlatformError(
        "; ".join(f"{level} is not available here: {f.why}" for level, f in missing.items()),
        "   or: ".join(dict.fromkeys(fixes)) or None,
    )


def _left_out(factor: str, level: str, found: Availability) -> journal.Note:
    fix = f" To have it: {found.fix}" if found.fix else ""
    return journal.Note(
        message=f"{factor} {level} was left out: {found.why}.{fix}",
        detail={factor: level, "why": found.why, "fix": found.fix},
    )


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
        decide=_decide(made, progress),
        progress=progress,
        past=past,
        user=None if as_root else calling_user(),
        teardown=teardown or any(w.command for w in prepared.experiment.workloads),
        notes=prepared.notes,
        first_look=first_look(prepared.experiment),
        weigh=_weigh if prepared.experiment.fingerprint else None,
    )
    return execution.conduct(request)


def _weigh(moment: journal.Moment) -> list[journal.MachineFigure]:
    """Take a brief fingerprint of the machine."""
    from tare.fingerprint import brief, difference

    probes = catalogue().probes
    figures = []
    for metric, figure in brief.take().metrics.items():
        rule = difference.rule(metric, figure.unit, probes)
        figures.append(
            journal.MachineFigure(
                moment=moment,
                metric=metric,
                unit=rule.unit,
                better=rule.better,
                margin=rule.margin,
                values=figure.values,
            )
        )
    return figures


def _begin(made: plan.Plan, text: str | None, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            holds = (folder / plan_file.FILE).exists()
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
    plan_file.write(made, folder)


def _continue(made: plan.Plan, folder: Path) -> tuple[plan.Plan, Past]:
    made = plan_file.resume(made, plan_file.read(folder))
    plan_file.write(made, folder)
    compared = made.experiment.stopping.compare is not None
    return made, count(journal.read_all(folder), made.metric if compared else None)


def _decide(made: plan.Plan, progress: execution.Progress) -> execution.Decide:
    """Return the stopping rule: where stability is the question, the spread has a target too."""
    experiment = made.experiment
    stopping = experiment.stopping
    if stopping.compare is not None:
        from tare.findings.pairing import stopping_rule

        return stopping_rule(made, progress.running)
    metrics = (plan.metric(experiment), *stopping.also)

    def rule(*values: execution.Values) -> Mapping[int, execution.Decision]:
        from tare.statistics import repetitions

        about_spread = any(len(experiment.factors.get(f, ())) > 1 for f in ("platform", "workers"))
        spread = repetitions.spread_target(experiment.parallel_growth) if about_spread else None
        by_metric = {
            metric: repetitions.decide(
                some,
                stopping.precision,
                spread if metric == metrics[0] else None,
                quantile=stopping.quantile,
                anytime=stopping.anytime,
                family=len(metrics),
            )
            for metric, some in zip(metrics, values, strict=True)
        }
        return {
            cell: repetitions.together({m: by_metric[m][cell] for m in metrics})
            for cell in values[0]
        }

    return rule


def first_look(experiment: Experiment) -> int:
    """Trials below which nothing stops; where fewer fit the budget, n is fixed beforehand."""
    if experiment.stopping.compare is not None:
        return 0  # its looks share one error, however early they are
    from tare.statistics import repetitions

    return repetitions.first_look(experiment.stopping.quantile)


def calling_user() -> record.User | None:
    """Return who called sudo, so that measured commands run as that user, not as root."""
    if os.geteuid() != 0 or "SUDO_UID" not in os.environ:
        return None
    try:
        uid, gid = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (ValueError, KeyError) as error:
        raise ExperimentError(
            "SUDO_UID and SUDO_GID do not say who called sudo, so it is not known whom the command "
            "is to run as",
            "unset SUDO_UID, or --as-root",
        ) from error
    if uid == 0:
        return None
    import pwd

    try:
        groups = os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        groups = [gid]
    return record.User(uid=uid, gid=gid, groups=tuple(groups))


def answers(folder: Path, tell: Callable[[int, int], None] = lambda done, of: None) -> Answers:
    """Conclude from what a folder holds, and store the findings in it.

    ``tell`` is told how many questions of how many were asked.

    Raises
    ------
    StoreError
        If the machine was not the same in all sessions.
    """
    from tare import store
    from tare.findings import all_findings, headline
    from tare.findings.same_machine import chosen

    results = chosen(store.load(folder), (), folder)
    found = tuple(all_findings(results, tell))
    store.save_findings(folder, found)
    return Answers(headline=tuple(headline(results, found)), findings=found)
