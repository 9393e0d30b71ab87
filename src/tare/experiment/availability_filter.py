"""What of an experiment this machine can be asked: sizes, platforms and loads that it has."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from tare import loads, platforms
from tare.errors import ExperimentError, PlatformError, TareError, TrialError, Typed, in_words
from tare.experiment import journal, plan, remnants, session
from tare.experiment.placement import Machine
from tare.experiment.specification import Cell, Experiment
from tare.host import lease
from tare.registry import Availability
from tare.render.words import sentence, text
from tare.results.message import Message, message
from tare.workloads.specification import WorkloadSpec


class Fitted(NamedTuple):
    """What is left to ask."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    #: What was left out.
    notes: list[journal.Note]


def fitted(experiment: Experiment, here: Machine, *, skip: bool) -> Fitted:
    """Leave out what this machine has not, where that may be.

    Cells that cannot be are left out always, as long as every platform has others.

    Parameters
    ----------
    experiment : Experiment
        What is asked.
    here : Machine
        Of which it is asked.
    skip : bool
        Whether levels that are missing may be left out.

    Raises
    ------
    ExperimentError
        If it asks for more than the machine has.
    TrialError
        If it names a program that is not there.
    PlatformError
        If a platform or load is missing; says what would make it work.
    """
    asked = experiment.workloads
    experiment = plan.halved(experiment, here)
    experiment, notes = _sizes(experiment, here, skip)
    _check_programs(experiment, plan.cells(experiment, here))
    for factor, look in (
        ("platform", _platforms), ("load", _loads), ("network", _networks), ("platform", _nowhere),
    ):  # fmt: skip
        missing = look(experiment, here)
        if not missing:
            continue
        others = len(experiment.factors.get(factor, ())) > len(missing)
        if not (skip and others):
            raise _refusal(missing, others=others)
        notes += [_level_left_out(factor, level, one) for level, one in missing.items()]
        experiment = plan.without(experiment, factor, missing)
    refuse = _Trying(experiment, here).refuse
    made = plan.cells(experiment, here, refuse)
    notes += [_cells_left_out(one) for one in plan.left_out(experiment, here, refuse)]
    kept = {cell.workload.name for cell in made}
    notes += [_workload_left_out(w.name) for w in asked if w.name not in kept]
    experiment = plan.of_workloads(experiment, kept)
    notes += [journal.Note(message=text(one)) for one in plan.notes(experiment, made, here)]
    return Fitted(experiment, made, notes)


def _sizes(
    experiment: Experiment, here: Machine, skip: bool
) -> tuple[Experiment, list[journal.Note]]:
    """Leave out sizes that this machine cannot hold: instance types, or any where it may be."""
    large = plan.too_large(experiment, here)
    named = plan.instance_types(experiment)
    large = {size: why for size, why in large.items() if skip or size in named}
    if large and len(large) == len(experiment.factors["size"]):
        told = "; ".join(f"{size} asks for {text(why)}" for size, why in large.items())
        raise ExperimentError(f"no size is left to measure: {told}", f'"{len(here.spread)}c"')
    if large:
        experiment = plan.without(experiment, "size", large)
    return experiment, [
        _note(
            message("size {size} was left out: it asks for {why}", size=size, why=why),
            {"size": size, "why": why},
        )
        for size, why in large.items()
    ]


class _Trying:
    """What of an experiment platforms cannot do here, found out by starting them."""

    def __init__(self, experiment: Experiment, here: Machine) -> None:
        self._experiment = experiment
        self._made = plan.cells(experiment, here)
        self._helds = {_held(experiment, cell) for cell in self._made}
        self._found: dict[tuple[str, platforms.Held], Availability] = {}

    def stack(self, stack: str, held: platforms.Held = platforms.NOT_HELD) -> Availability:
        """Tell whether a stack works, with the files that it has to show, held to a size."""
        if (stack, held) not in self._found:
            # Where the files are this machine's, none has to be brought along.
            files = self._files if platforms.own_files(stack) else ()
            e = self._experiment
            self._found[stack, held] = platforms.availability(
                stack, e.platforms, e.runs_commands, files, held
            )
        return self._found[stack, held]

    def refuse(self, cell: Cell) -> plan.LeftOut | None:
        """Return why a cell cannot be whose platform alone can; None: it can."""
        levels = (("platform", cell.platform),)
        apart = not platforms.shares_memory(cell.platform)
        if apart and cell.workers > 1 and self._experiment.instances == "own":
            return plan.LeftOut(
                levels=(*levels, ("workers", str(cell.workers))),
                why=message("its instances share no memory in which workers could meet"),
                fix='instances = "shared", so that they stand in one',
            )
        application = cell.workload.application
        native = application.needs.native if application else None
        if native and self.stack(cell.platform).emulated:
            return plan.LeftOut(
                levels=(*levels, ("workload", cell.workload.name)),
                why=message(
                    "the CPU of {platform} is emulated here: {why}",
                    platform=cell.platform,
                    why=native,
                ),
                fix="a machine with KVM",
            )
        held = _held(self._experiment, cell)
        if held == platforms.NOT_HELD or (found := self._holds(cell.platform, held)).works:
            return None
        size = ("size", cell.size) if cell.quota is None else ("quota", f"{cell.quota:g}")
        return plan.LeftOut(levels=(*levels, size), why=found.why or "", fix=found.fix)

    def _holds(self, stack: str, held: platforms.Held) -> Availability:
        # Where the least of the processors is enough, more of them are.
        alike = [one for one in self._helds if one.memory_bytes == held.memory_bytes]
        least = min(alike, key=lambda one: one.cores or math.inf)
        found = self.stack(stack, least)
        return found if found.works or held == least else self.stack(stack, held)

    @cached_property
    def _files(self) -> tuple[str, ...]:
        e = self._experiment
        return session.needed(self._made, os.environ, e.network.hosts if e.networked else 0)


def _platforms(experiment: Experiment, here: Machine) -> dict[str, Availability]:
    """Return the levels of ``platform`` that do not work here."""
    trying = _Trying(experiment, here)
    stacks = [str(stack) for stack in experiment.factors.get("platform", ("bare",))]
    asked = {
        stack: _outside(experiment, stack)
        or _without_root(experiment, stack)
        or trying.stack(stack)
        for stack in stacks
    }
    return {stack: found for stack, found in asked.items() if not found.works}


def _held(experiment: Experiment, cell: Cell) -> platforms.Held:
    """Return what instances of a cell are held to."""
    limits = experiment.limits(cell.size)
    return platforms.Held(experiment.cores(cell), limits.memory_bytes)


def _nowhere(experiment: Experiment, here: Machine) -> dict[str, Availability]:
    """Return the levels of ``platform`` of which no cell can be."""
    refuse = _Trying(experiment, here).refuse
    there = {cell.platform for cell in plan.cells(experiment, here, refuse)}
    return {
        level: Availability(name=level, works=False, why=one.why, fix=one.fix)
        for one in plan.left_out(experiment, here, refuse)
        for level in one.levels.get("platform", ())
        if level not in there
    }


def _check_programs(experiment: Experiment, made: tuple[Cell, ...]) -> None:
    """Raise TrialError where no trial could be good: a program or an input is not there."""
    here = [
        cell
        for cell in made
        if not platforms.own_files(cell.platform)
        or platforms.brings_files(cell.platform, experiment.platforms)
    ]
    hosts = experiment.network.hosts if experiment.networked else 0
    missing = session.missing(here, os.environ, hosts)
    if missing:
        told = "; ".join(f"{one.name}: {one.why}" for one in missing)
        raise TrialError(told, missing[0].fix)


def _without_root(experiment: Experiment, stack: str) -> Availability | None:
    """Return that a stack cannot show the files of an application, where that is so."""
    if not any(workload.application for workload in _on(experiment, stack)):
        return None
    refusal = platforms.root_refusal(stack, experiment.platforms)
    if refusal is None:
        return None
    return Availability(name=stack, works=False, why=refusal.message, fix=refusal.hint)


def _on(experiment: Experiment, stack: str) -> list[WorkloadSpec]:
    """Return the workloads that are measured on a stack."""
    return [w for w in experiment.workloads if experiment.takes(w.name, "platform", stack)]


def _outside(experiment: Experiment, stack: str) -> Availability | None:
    """Return that a stack cannot be in the experiment's network, where that is so."""
    if not any(experiment.joins(workload) for workload in _on(experiment, stack)):
        return None
    own = platforms.own_network(stack)
    if own is not None:
        return Availability(
            name=stack,
            works=False,
            why=message("{layer} cannot be a host of an emulated network here", layer=own),
            fix='platform = ["bare"], or another layer alone: docker, podman, gvisor, vm, runc',
        )
    if (other := platforms.other_network(stack, experiment.platforms)) is not None:
        layer, network = other
        return Availability(
            name=stack,
            works=False,
            why=message(
                "{layer} is to be in network {network} as well as in the emulated one",
                layer=layer,
                network=network,
            ),
            fix=f"leave out network in [platforms.{layer}], or the factor network",
        )
    if platforms.network_needs_root(stack) and os.geteuid() != 0:
        return Availability(
            name=stack,
            works=False,
            why=message("it can be a host of an emulated network only where root runs tare"),
            fix=Typed("sudo   (or use unshare)"),
        )
    return None


def _loads(experiment: Experiment, here: Machine) -> dict[str, Availability]:
    """Return the levels of ``load`` that do not work here."""
    asked = {
        name: loads.availability(spec.kind, spec.parameters)
        for name, spec in experiment.loads.items()
        if name in experiment.factors.get("load", ())
    }
    return {name: found for name, found in asked.items() if not found.works}


def _refusal(missing: Mapping[str, Availability], *, others: bool) -> PlatformError:
    fixes = [*dict.fromkeys(found.fix for found in missing.values() if found.fix)]
    if others:
        fixes.append(Typed("--skip-missing   (leaves it out)"))
    return PlatformError(
        "; ".join(
            f"{level} is not available here: {text(f.why or '')}" for level, f in missing.items()
        ),
        _first(fixes),
    )


def _first(fixes: Sequence[str]) -> str | None:
    """Return the first of several fixes as a hint, with the others in words."""
    if len(fixes) < 2:
        return next(iter(fixes), None)
    first, *others = fixes
    further = " or ".join(fix.command if isinstance(fix, Typed) else fix for fix in others)
    if isinstance(first, Typed):
        return Typed(f"{first.command}   (or {further})")
    return f"{first}; or {further}"


def _level_left_out(factor: str, level: str, found: Availability) -> journal.Note:
    why = found.why
    if isinstance(why, str):
        # That is in the sentence already.
        why = why.removeprefix(f"{level} did not start: ")
    said = message(
        "{factor} {level} was left out{% if why %}: {why}{% endif %}{% if fix %}. To have "
        "it: {fix}{% endif %}",
        factor=factor,
        level=level,
        why=why,
        fix=in_words(found.fix),
    )
    return _note(said, {factor: level, "why": why, "fix": found.fix})


def _cells_left_out(out: plan.CellsLeftOut) -> journal.Note:
    levels = [f"{factor} {' and '.join(some)}" for factor, some in out.levels.items()]
    several = any(len(some) > 1 for some in out.levels.values())
    said = message(
        "{levels | join(' with ')} {% if several %}were{% else %}was{% endif %} left out ("
        "{n | counted('cell')}): {why}{% if fix %}. To have them: {fix}{% endif %}",
        levels=levels,
        n=out.cells,
        several=several,
        why=out.why,
        fix=in_words(out.fix),
    )
    return _note(said, {**out.levels, "cells": out.cells, "why": out.why, "fix": out.fix})


def _workload_left_out(name: str) -> journal.Note:
    return _note(
        message(
            "workload {workload} was left out: none of the levels that it takes is left",
            workload=name,
        ),
        {"workload": name},
    )


def _note(said: Message, detail: dict[str, Any]) -> journal.Note:
    """Return what a session stores: text, and the same as data."""
    written = {k: text(v) if isinstance(v, Message) else v for k, v in detail.items()}
    return journal.Note(message=sentence(said), detail=written)


def _networks(experiment: Experiment, here: Machine) -> dict[str, Availability]:
    """Make the network once, where there is one; return the levels by which it cannot be shaped.

    Raises
    ------
    PlatformError
        If it cannot be made at all: why, and what would mend it.
    """
    if not experiment.networked:
        return {}
    # Only networks need what makes them.
    from tare.networks import replay
    from tare.networks.emulator import Emulator
    from tare.networks.shaping import specification

    found: dict[str, Availability] = {}
    shapings: dict[str, specification.Shaping] = {}
    for level in map(str, experiment.factors["network"]):
        try:
            shapings[level] = replay.resolved(specification.parse(experiment.shaped(level)))
        except TareError as error:
            found[level] = _unavailable(level, error)
    name = lease.new_name()
    try:
        with (
            remnants.lease(name),
            Emulator(name, hosts=min(experiment.network.hosts, 2)) as emulator,
        ):
            for level, shaping in shapings.items():
                try:
                    emulator.shape({1: shaping})
                except TareError as error:
                    found[level] = _unavailable(level, error)
    except TareError as error:
        raise PlatformError(
            f"the network of the experiment cannot be made here: {error.message}", error.hint
        ) from error
    return found


def _unavailable(level: str, error: TareError) -> Availability:
    return Availability(name=level, works=False, why=error.message, fix=error.hint)
