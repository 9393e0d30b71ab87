"""What of an experiment this machine can be asked: sizes, platforms and loads that it has."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tare import execute, journal, loads, plan, platforms
from tare.availability import Availability
from tare.errors import ExperimentError, PlatformError
from tare.execute import network_trial
from tare.experiment import Experiment
from tare.placement import Machine


def fitted(
    experiment: Experiment, here: Machine, *, skip: bool
) -> tuple[Experiment, list[journal.Note]]:
    """Leave out what this machine has not, where that may be.

    Parameters
    ----------
    experiment : Experiment
        What is asked.
    here : Machine
        Of which it is asked.
    skip : bool
        Whether what is missing may be left out.

    Returns
    -------
    experiment, notes
        What is left to ask, and what was left out.

    Raises
    ------
    ExperimentError
        If it asks for more than the machine has.
    PlatformError
        If a platform or load is missing; says what would make it work.
    """
    experiment, notes = _sizes(experiment, here, skip)
    experiment, apart = _meeting(experiment, skip)
    notes += apart
    for factor, look in (("platform", _platforms), ("load", _loads), ("network", _networks)):
        missing = look(experiment, here)
        if not missing:
            continue
        if not skip:
            raise _refusal(missing, others=len(experiment.factors[factor]) > len(missing))
        notes += [_left_out(factor, level, one) for level, one in missing.items()]
        experiment = plan.without(experiment, factor, missing)
    return experiment, notes


def _sizes(
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
        If workers could not meet.
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
    return experiment, []


def _platforms(experiment: Experiment, here: Machine) -> dict[str, Availability]:
    """Return the levels of ``platform`` that do not work here."""
    hosts = experiment.network.hosts if experiment.networked else 0
    stacks = [str(stack) for stack in experiment.factors.get("platform", ("bare",))]
    # Where the files are this machine's, none has to be brought along.
    apart = [stack for stack in stacks if not platforms.shares_memory(stack)]
    needed = execute.needed(plan.cells(experiment, here), os.environ, hosts) if apart else ()
    asked = {
        stack: _outside(experiment, stack)
        or platforms.availability(
            stack,
            experiment.platforms,
            experiment.runs_commands,
            needed if stack in apart else (),
        )
        for stack in stacks
    }
    return {stack: found for stack, found in asked.items() if not found.works}


def _outside(experiment: Experiment, stack: str) -> Availability | None:
    """Return that a stack cannot be in the experiment's network, where that is so."""
    own = platforms.own_network(stack)
    if own is None or not experiment.networked:
        return None
    return Availability(
        name=stack,
        works=False,
        why=f"what runs in {own} is in a network of its own, and so in none that is emulated",
        fix='platform = ["bare"], or one that keeps the network: cgroup, unshare, runc',
    )


def _loads(experiment: Experiment, here: Machine) -> dict[str, Availability]:
    """Return the levels of ``load`` that do not work here."""
    asked = {
        name: loads.availability(spec.kind, spec.parameters)
        for name, spec in experiment.loads.items()
        if name in experiment.factors.get("load", ())
    }
    return {name: found for name, found in asked.items() if not found.works}


def _networks(experiment: Experiment, here: Machine) -> dict[str, Availability]:
    """Return the levels of ``network`` that this machine cannot make."""
    return network_trial.refused(experiment) if experiment.networked else {}


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
