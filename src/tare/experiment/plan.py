"""From a question to its trials: cells, order, placement, seeds; pure functions of the seed."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tare.errors import ExperimentError
from tare.experiment import metrics
from tare.experiment.placement import Machine, cpus_each
from tare.experiment.specification import (
    HALVING,
    INSTANCE_TYPES,
    KNOWN_FACTORS,
    TOPOLOGY,
    Cell,
    Experiment,
    SizeSpec,
    listed_cpus,
)
from tare.render.words import text
from tare.results.message import Amount, Message, Said, message
from tare.workloads.application import Needs
from tare.workloads.specification import WorkloadSpec

#: Version of the layout of an experiment's folder: plan and journals.
VERSION = 2
#: A plan with more cells than this is a slip of the finger, not a question.
MOST_CELLS = 100_000
MIB = 1 << 20


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment with its cells, and the repetitions that are frozen for all platforms."""

    version: int = VERSION
    experiment: Experiment
    cells: tuple[Cell, ...]
    metric: str
    #: Executions in one timed region, by name of workload.
    repetitions: dict[str, int] = {}


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """Why cells that share some levels cannot be."""

    #: Factor and level, as in the experiment file.
    levels: tuple[tuple[str, str], ...]
    why: Said
    #: What to type to have them.
    fix: str | None = None


class CellsLeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """All cells that cannot be for one reason."""

    #: Of each factor, the levels that they share; every one of these with every other.
    levels: dict[str, tuple[str, ...]]
    cells: int
    why: Said
    fix: str | None = None


#: Tells why a cell cannot be on the machine; None: it can.
Refuse = Callable[[Cell], LeftOut | None]


def cells(
    experiment: Experiment, machine: Machine, refuse: Refuse = lambda cell: None
) -> tuple[Cell, ...]:
    """Cross every workload with the levels that it takes, but for cells that cannot be.

    Parameters
    ----------
    experiment : Experiment
        What is asked.
    machine : Machine
        Of which it is asked.
    refuse : callable
        What only trying finds out about it.

    Raises
    ------
    ExperimentError
        If a quota, a size or a list of CPUs is beyond the machine, no cell can be, or there are
        more of them than anybody can mean.
    """
    _check_quotas(experiment, machine)
    _check_sizes(experiment, machine)
    _check_lists(experiment, machine)
    crossed = _crossed(experiment, machine)
    out = {cell.cell: _impossible(experiment, cell, machine) or refuse(cell) for cell in crossed}
    made = [cell for cell in crossed if out[cell.cell] is None]
    if not made:
        first = out[crossed[0].cell]
        assert first is not None
        why = f"nothing is left to measure: {text(first.why)}"
        raise ExperimentError(why, first.fix or _PINNABLE)
    return tuple(msgspec.structs.replace(cell, cell=number) for number, cell in enumerate(made))


def _crossed(experiment: Experiment, machine: Machine) -> list[Cell]:
    factors = dict(experiment.factors)
    if tuple(factors.get("workers", ())) == (TOPOLOGY,):
        factors["workers"] = machine.steps
    own = [
        [
            [x for x in levels if experiment.takes(w.name, name, x)]
            for name, levels in factors.items()
        ]
        for w in experiment.workloads
    ]
    count = sum(math.prod(len(levels) for levels in some) for some in own)
    if count > MOST_CELLS:
        raise ExperimentError(
            f"{experiment.name} has {count} cells, more than {MOST_CELLS}",
            "every workload is crossed with every level of every factor, but for those that its "
            "only leaves out: ask less at a time",
        )
    taken = [
        (workload, dict(zip(factors, levels, strict=True)))
        for workload, some in zip(experiment.workloads, own, strict=True)
        for levels in itertools.product(*some)
    ]
    return [_cell(number, *one) for number, one in enumerate(taken)]


def _cell(number: int, workload: WorkloadSpec, levels: dict[str, Any]) -> Cell:
    known = {name: level for name, level in levels.items() if name in KNOWN_FACTORS}
    others = {name: str(level) for name, level in levels.items() if name not in KNOWN_FACTORS}
    return Cell(cell=number, workload=workload, others=others, **known)


_PINNABLE = 'size = ["1c"], or another one with whole cores; or pinning = ["none"]'


def _impossible(experiment: Experiment, cell: Cell, machine: Machine) -> LeftOut | None:
    """Return why a cell cannot be; None: as far as is known it can."""
    cores = experiment.given_cores(cell)
    listed = listed_cpus(cell.pinning)
    why = None
    if listed is not None and cores is not None and math.ceil(cores) > len(listed):
        why = message(
            "{cpus} is fewer CPUs than the {cores} cores of the size",
            cpus=cell.pinning,
            cores=f"{cores:g}",
        )
    elif cell.pinning == "pinned" and cores is None:
        why = message("it has no number of cores that could be pinned")
    elif cell.pinning == "pinned" and cores != int(cores or 0):
        why = message("fractions of a core cannot be pinned, whole ones can")
    elif cell.workload.spans_hosts and cell.pinning != "none":
        why = message("its hosts share the CPUs of this machine and cannot be pinned")
    if why is not None:
        levels = (("size", cell.size), ("pinning", cell.pinning))
        return LeftOut(levels=levels, why=why)
    return _too_small(experiment, cell, cores) or _too_large(experiment, cell, machine)


def _too_small(experiment: Experiment, cell: Cell, cores: float | None) -> LeftOut | None:
    """Return why a size gives too little to an application, or None."""
    if (application := cell.workload.application) is None:
        return None
    needs, memory_bytes = application.needs, experiment.limits(cell.size).memory_bytes
    needed: tuple[Amount | None, Amount | None] = (None, None)
    if needs.cores is not None and cores is not None and cores < needs.cores:
        needed = Amount(needs.cores, "CPUs"), Amount(cores, "CPUs")
    elif (
        needs.memory_bytes is not None
        and memory_bytes is not None
        and memory_bytes < needs.memory_bytes
    ):
        needed = Amount(needs.memory_bytes, "bytes"), Amount(memory_bytes, "bytes")
    if None in needed:
        return None
    why = message(
        "{name} needs at least {needed}, the size gives {given}",
        name=application.name,
        needed=needed[0],
        given=needed[1],
    )
    return LeftOut(
        levels=(("workload", cell.workload.name), ("size", cell.size)),
        why=why,
        fix=f"a larger size, such as {_enough(application.needs, experiment.limits(cell.size))}",
    )


def _enough(needs: Needs, given: SizeSpec) -> str:
    """Return the name of the size that is given, with the CPUs and memory that are needed."""
    cores = max(given.cores or given.cpuset or 1, needs.cores or 0)
    if given.memory_bytes is None:
        return f"{cores:g}c"
    mib = math.ceil(max(given.memory_bytes, needs.memory_bytes or 0) / MIB)
    return f"{cores:g}c{mib}m" if mib % 1024 else f"{cores:g}c{mib // 1024}g"


def instances(experiment: Experiment, cell: Cell) -> int:
    """Return how many instances of its size a cell has: one on each host, and its command's."""
    return experiment.network.hosts + 1 if cell.workload.spans_hosts else 1


def _too_large(experiment: Experiment, cell: Cell, machine: Machine) -> LeftOut | None:
    """Return why the hosts of an application do not fit the machine, or None."""
    each = experiment.limits(cell.size).memory_bytes
    count = instances(experiment, cell)
    if not cell.workload.spans_hosts or each is None or count * each <= machine.memory_bytes:
        return None
    return LeftOut(
        levels=(("workload", cell.workload.name), ("size", cell.size)),
        why=message(
            "{instances} instances of {each} need {needed} of memory, this machine has {there}",
            instances=count,
            each=Amount(each, "bytes"),
            needed=Amount(count * each, "bytes"),
            there=Amount(machine.memory_bytes, "bytes"),
        ),
        fix="fewer hosts, or a size with less memory, such as 1c512m",
    )


def _check_quotas(experiment: Experiment, machine: Machine) -> None:
    most = len(machine.spread)
    beyond = [level for level in experiment.factors.get("quota", ()) if level > most]
    if beyond:
        raise ExperimentError(
            f"a quota of {beyond[0]:g} CPUs is asked, this machine has {most}",
            f"[factors] quota: at most {most}",
        )


def _check_lists(experiment: Experiment, machine: Machine) -> None:
    for pinning in experiment.factors.get("pinning", ()):
        missing = sorted(set(listed_cpus(pinning) or ()) - set(machine.compact))
        if missing:
            raise ExperimentError(
                f"pinning {pinning}: there is no CPU {missing[0]} here, or tare may not use it",
                f"this machine has {', '.join(map(str, sorted(machine.compact)))}",
            )


def _check_sizes(experiment: Experiment, machine: Machine) -> None:
    for name in map(str, experiment.factors.get("size", ())):
        found = _too_much(experiment.limits(name), machine)
        if found is None:
            continue
        why, most = found
        whose = f"give [sizes.{name}]" if name in experiment.sizes else "ask a size that has"
        raise ExperimentError(f"size {name!r} asks for {text(why)}", f"{whose} {most}")


def too_large(experiment: Experiment, machine: Machine) -> dict[str, Message]:
    """Return the levels of ``size`` that this machine cannot hold, and what is too much."""
    named = map(str, experiment.factors.get("size", ()))
    found = {name: _too_much(experiment.limits(name), machine) for name in named}
    return {name: much[0] for name, much in found.items() if much is not None}


def instance_types(experiment: Experiment) -> set[str]:
    """Return the levels of ``size`` that name an instance type and are not of the user's own."""
    named = map(str, experiment.factors.get("size", ()))
    return {name for name in named if name in INSTANCE_TYPES and name not in experiment.sizes}


def halved(experiment: Experiment, machine: Machine) -> Experiment:
    """Put the machine's halves in the place of :data:`HALVING`.

    Whole cores as far as possible, since fractions of one cannot be pinned: with ``pinned``,
    further whole sizes are added until four can be. A size that is one of PINNING's instance types
    has its name and memory, where the machine has so much.
    """
    if experiment.factors.get("size") != (HALVING,):
        return experiment
    from tare.statistics.platform_size import FEWEST_SIZES  # loads scipy

    cpus = len(machine.spread)
    cores = [float(cpus)]
    while len(cores) < FEWEST_SIZES:
        half = cores[-1] / 2
        cores.append(float(int(half)) if half > 1 else half)
    if "pinned" in experiment.factors.get("pinning", ()):
        whole = [n for n in range(2, cpus) if n not in cores]
        cores += whole[: max(0, FEWEST_SIZES - sum(n >= 1 for n in cores))]
    types = {n: (name, gib << 30) for name, (n, gib) in INSTANCE_TYPES.items()}
    sizes = []
    for n in sorted(cores):
        name, memory_bytes = types.get(int(n), ("", 0)) if n >= 1 else ("", 0)
        sizes.append(name if 0 < memory_bytes <= machine.memory_bytes else f"{n:g}c")
    factors = {**experiment.factors, "size": tuple(sizes)}
    return msgspec.structs.replace(experiment, factors=factors)


def _too_much(size: SizeSpec, machine: Machine) -> tuple[Message, str] | None:
    """Return what of a size is more than the machine has, and the most that it could be."""
    most = len(machine.spread)
    if size.cores is not None and size.cores > most:
        cores = message(
            "{cores} cores, this machine has {most} CPUs", cores=f"{size.cores:g}", most=most
        )
        return cores, f"at most cores = {most}"
    if size.cpuset is not None and size.cpuset > most:
        cpuset = message(
            "a cpuset of {cpus} CPUs, this machine has {most} CPUs", cpus=size.cpuset, most=most
        )
        return cpuset, f"at most cpuset = {most}"
    if size.memory_bytes is not None and size.memory_bytes > machine.memory_bytes:
        asked, there = -(-size.memory_bytes // MIB), machine.memory_bytes // MIB
        return message(
            "{asked} MiB of memory, this machine has {there} MiB", asked=asked, there=there
        ), f"at most {there} MiB"
    return None


def left_out(
    experiment: Experiment, machine: Machine, refuse: Refuse = lambda cell: None
) -> list[CellsLeftOut]:
    """Return why cells of an experiment cannot be, and how many of them."""
    found: list[CellsLeftOut] = []
    crossed = _crossed(experiment, machine)
    outs = [_impossible(experiment, cell, machine) or refuse(cell) for cell in crossed]
    apart: list[LeftOut] = []
    for one in outs:
        if one is not None and one not in apart:
            apart.append(one)
    for one in apart:
        levels: dict[str, tuple[str, ...]] = {factor: (level,) for factor, level in one.levels}
        new = CellsLeftOut(levels=levels, cells=outs.count(one), why=one.why, fix=one.fix)
        for other in [*found]:
            if (both := _together(other, new)) is not None:
                found.remove(other)
                new = both
        found.append(new)
    return found


def _together(first: CellsLeftOut, second: CellsLeftOut) -> CellsLeftOut | None:
    """Join two that differ in the levels of one factor; None: they are two reasons."""
    same = (first.why, first.fix, [*first.levels]) == (second.why, second.fix, [*second.levels])
    differing = [f for f, some in first.levels.items() if second.levels.get(f) != some]
    if not same or len(differing) != 1:
        return None
    factor = differing[0]
    levels = {**first.levels, factor: (*first.levels[factor], *second.levels[factor])}
    return msgspec.structs.replace(first, levels=levels, cells=first.cells + second.cells)


def notes(experiment: Experiment, made: Iterable[Cell], machine: Machine) -> list[Message]:
    """Return what answers must come with: workers that share CPUs, idle networks."""
    found = [*_sharing(experiment, made, machine)]
    kernels = [workload.name for workload in experiment.workloads if workload.kernel]
    if experiment.networked and kernels:
        found.append(
            message(
                "{name} is a kernel, which sends nothing: no network makes a difference",
                name=kernels[0],
            )
        )
    return [*found, *supply(experiment, made, machine)]


def supply(experiment: Experiment, made: Iterable[Cell], machine: Machine) -> Iterator[Message]:
    """Say what the hosts of applications need, and what there is."""
    spanning = ((c.workload.name, c.size) for c in made if c.workload.spans_hosts)
    for name, size in dict.fromkeys(spanning):
        limits, hosts = experiment.limits(size), experiment.network.hosts
        yield message(
            "{name}: its {hosts | counted('host')} and its command may use {% if cores %}"
            "{cores} CPUs{% else %}all CPUs{% endif %} and {% if memory %}{memory} of memory"
            "{% else %}all memory{% endif %}; this machine has {cpus | counted('CPU')} and "
            "{there}",
            name=name,
            hosts=hosts,
            cores=limits.cores and f"{(hosts + 1) * limits.cores:g}",
            memory=limits.memory_bytes and Amount((hosts + 1) * limits.memory_bytes, "bytes"),
            cpus=len(machine.spread),
            there=Amount(machine.memory_bytes, "bytes"),
        )


def _sharing(experiment: Experiment, made: Iterable[Cell], machine: Machine) -> Iterator[Message]:
    sharing = {
        (cell.pinning, cell.workers, each)
        for cell in made
        if cell.pinning in ("spread", "compact", "pinned")
        and cell.workers * (each := cpus_each(experiment, cell)) > len(machine.spread)
    }
    for pinning, workers, cores in sorted(sharing):
        yield message(
            "pinning {pinning}: {workers | counted('worker')} of {cores | counted('CPU')} "
            "share {cpus} CPUs, so some of them are pinned to the same",
            pinning=pinning,
            workers=workers,
            cores=cores,
            cpus=len(machine.spread),
        )


def make(experiment: Experiment, made: tuple[Cell, ...]) -> Plan:
    """Return the plan of an experiment the repetitions of whose kernels are not found yet."""
    return Plan(experiment=experiment, cells=made, metric=metric(experiment))


def metric(experiment: Experiment) -> str:
    """Return the metric that the stopping rule and the answers are about."""
    if experiment.metric is not None:
        return experiment.metric
    if experiment.window is not None:
        return "throughput"
    serve = [workload.serves for workload in experiment.workloads]
    if any(serve):
        return metrics.SERVICES_TIME if all(serve) else metrics.TIME
    kernels = all(workload.kernel for workload in experiment.workloads)
    return "kernel_cpu_ns" if kernels else "wall_ns"


def without(experiment: Experiment, factor: str, levels: Iterable[Any]) -> Experiment:
    """Leave levels of a factor out, and workloads that are measured at none of the others.

    Raises
    ------
    ExperimentError
        If none is left.
    """
    gone = set(levels)
    asked = experiment.factors[factor]
    left = tuple(level for level in asked if level not in gone)
    only = {
        name: {f: tuple(x for x in xs if f != factor or x not in gone) for f, xs in some.items()}
        for name, some in experiment.only.items()
    }
    some = [w.name for w in experiment.workloads if all(only.get(w.name, {}).values())]
    if not left or not some:
        raise ExperimentError(
            f"no {factor} is left to measure: nothing of {', '.join(map(str, asked))} is available"
        )
    factors = {**experiment.factors, factor: left}
    return of_workloads(msgspec.structs.replace(experiment, factors=factors, only=only), some)


def of_workloads(experiment: Experiment, names: Iterable[str]) -> Experiment:
    """Keep only some workloads."""
    kept = set(names)
    return msgspec.structs.replace(
        experiment,
        workloads=tuple(w for w in experiment.workloads if w.name in kept),
        only={name: some for name, some in experiment.only.items() if name in kept},
    )


def block_order(
    experiment: Experiment, numbers: Sequence[int], session: int, block: int
) -> tuple[int, ...]:
    """Return the cells of a block in their order: random by the seed, or as they stand."""
    order = list(numbers)
    if experiment.order == "blocks":
        random.Random(f"{experiment.seed}/{session}/{block}").shuffle(order)
    return tuple(order)


def input_seed(experiment: Experiment, block: int) -> int:
    """Return the seed of the generated input: the same for all cells of a block."""
    text = f"{experiment.seed}/input/{block % experiment.inputs}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def fixed_trials(left_s: float, block_s: float) -> int:
    """Return how many more blocks fit into what is left of the budget."""
    if math.isinf(left_s) or block_s <= 0:
        return 1 << 30
    return int(left_s / block_s)


def freeze(plan: Plan, repetitions: Mapping[str, int]) -> Plan:
    """Return the plan with its repetitions, which hold for all platforms from now on."""
    return msgspec.structs.replace(plan, repetitions=dict(repetitions))
