"""From a question to its trials: cells, order, placement, seeds; pure functions of the seed."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tare.errors import ExperimentError
from tare.experiment import KNOWN_FACTORS, TOPOLOGY, Cell, Experiment, WorkloadSpec

#: Version of the layout of an experiment's folder: plan, journal and store.
VERSION = 1
#: A plan with more cells than this is a slip of the finger, not a question.
MOST_CELLS = 100_000


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What planning must know of a machine."""

    #: CPUs in the order in which workers take them.
    spread: tuple[int, ...]
    compact: tuple[int, ...]
    #: STABILITY's worker counts.
    steps: tuple[int, ...]
    cores: int
    packages: int
    memory_bytes: int

    @staticmethod
    def parse(topology: Mapping[str, Any]) -> Machine:
        """Take what planning needs out of ``tare-agent topology``."""
        fields = Machine.__struct_fields__
        return msgspec.convert({name: topology[name] for name in fields}, Machine)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment with its cells, and the repetitions that are frozen for all platforms."""

    version: int = VERSION
    experiment: Experiment
    cells: tuple[Cell, ...]
    metric: str
    #: Executions in one timed region, by name of workload.
    repetitions: dict[str, int] = {}


def cells(experiment: Experiment, machine: Machine) -> tuple[Cell, ...]:
    """Cross every workload with every level of every factor.

    Raises
    ------
    ExperimentError
        If a quota or a size is beyond the machine, or there are more cells than anybody can mean.
    """
    factors = dict(experiment.factors)
    if tuple(factors.get("workers", ())) == (TOPOLOGY,):
        factors["workers"] = machine.steps
    _check_quotas(experiment, machine)
    _check_sizes(experiment, machine)
    count = math.prod(len(levels) for levels in factors.values()) * len(experiment.workloads)
    if count > MOST_CELLS:
        raise ExperimentError(
            f"{experiment.name} has {count} cells, more than {MOST_CELLS}",
            "every workload is crossed with every level of every factor: ask less at a time",
        )
    crossed = itertools.product(experiment.workloads, *factors.values())
    return tuple(
        _cell(number, workload, dict(zip(factors, levels, strict=True)))
        for number, (workload, *levels) in enumerate(crossed)
    )


def _cell(number: int, workload: WorkloadSpec, levels: dict[str, Any]) -> Cell:
    known = {name: level for name, level in levels.items() if name in KNOWN_FACTORS}
    others = {name: str(level) for name, level in levels.items() if name not in KNOWN_FACTORS}
    return Cell(cell=number, workload=workload, others=others, **known)


def _check_quotas(experiment: Experiment, machine: Machine) -> None:
    most = len(machine.spread)
    beyond = [level for level in experiment.factors.get("quota", ()) if level > most]
    if beyond:
        raise ExperimentError(
            f"a quota of {beyond[0]:g} CPUs is asked, this machine has {most}",
            f"[factors] quota: at most {most}",
        )


def _check_sizes(experiment: Experiment, machine: Machine) -> None:
    most = len(machine.spread)
    for name in experiment.factors.get("size", ()):
        size = experiment.sizes.get(str(name))
        if size is None:
            continue
        for key, asked in (("cores", size.cores), ("cpuset", size.cpuset)):
            if asked is not None and asked > most:
                what = f"{asked:g} cores" if key == "cores" else f"a cpuset of {asked} CPUs"
                raise ExperimentError(
                    f"size {name!r} asks for {what}, this machine has {most} CPUs",
                    f"give [sizes.{name}] at most {key} = {most}",
                )
        if size.memory_bytes is not None and size.memory_bytes > machine.memory_bytes:
            raise ExperimentError(
                f"size {name!r} asks for {size.memory_bytes} bytes of memory, this machine has "
                f"{machine.memory_bytes}",
                f"give [sizes.{name}] less memory",
            )


def notes(experiment: Experiment, made: Iterable[Cell], machine: Machine) -> list[str]:
    """Return what is to be told with the answers: pinned workers that have to share CPUs."""
    sharing = {
        (cell.pinning, cell.workers, each)
        for cell in made
        if cell.pinning != "none"
        and cell.workers * (each := _cpus_each(experiment, cell)) > len(machine.spread)
    }
    return [
        f"pinning {pinning}: {workers} workers of {cores} CPU{'s' * (cores > 1)} share "
        f"{len(machine.spread)} CPUs, so some of them are pinned to the same"
        for pinning, workers, cores in sorted(sharing)
    ]


def make(experiment: Experiment, made: tuple[Cell, ...]) -> Plan:
    """Return the plan of an experiment the repetitions of whose kernels are not found yet."""
    return Plan(experiment=experiment, cells=made, metric=metric(experiment))


def metric(experiment: Experiment) -> str:
    """Return the metric that the stopping rule and the answers are about."""
    if experiment.metric is not None:
        return experiment.metric
    if experiment.window is not None:
        return "throughput"
    kernels = all(workload.kernel for workload in experiment.workloads)
    return "kernel_cpu_ns" if kernels else "wall_ns"


def without(experiment: Experiment, factor: str, levels: Iterable[Any]) -> Experiment:
    """Leave levels of a factor out.

    Raises
    ------
    ExperimentError
        If none is left.
    """
    gone = set(levels)
    asked = experiment.factors[factor]
    left = tuple(level for level in asked if level not in gone)
    if not left:
        raise ExperimentError(
            f"no {factor} is left to measure: nothing of {', '.join(map(str, asked))} is available"
        )
    return msgspec.structs.replace(experiment, factors={**experiment.factors, factor: left})


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


def placement(
    experiment: Experiment, cell: Cell, machine: Machine
) -> tuple[tuple[int, ...] | None, ...]:
    """Return the CPUs of each worker; None where the scheduler is free.

    Parameters
    ----------
    experiment : Experiment
        Says what the cell's size gives, and whether it gives it to each worker or to all of them.
    cell : Cell
        Says how many workers there are and how they are pinned.
    machine : Machine
        Has the order in which workers take CPUs; more workers than CPUs go round again.
    """
    order = machine.spread if cell.pinning == "spread" else machine.compact
    if (confined := experiment.limits(cell.size).cpuset) is not None:
        if experiment.instances == "own":
            return _round(order, confined, cell.workers)
        order = order[:confined]
        if cell.pinning == "none":
            return (tuple(sorted(order)),) * cell.workers
    if cell.pinning == "none":
        return (None,) * cell.workers
    return _round(order, _cpus_each(experiment, cell), cell.workers)


def _round(order: Sequence[int], each: int, workers: int) -> tuple[tuple[int, ...], ...]:
    """Give so many CPUs to each worker in turn, beginning anew where none is left."""
    return tuple(
        tuple(sorted({order[(worker * each + n) % len(order)] for n in range(each)}))
        for worker in range(workers)
    )


def _cpus_each(experiment: Experiment, cell: Cell) -> int:
    """Return how many CPUs a pinned worker needs for what its instance gets."""
    cores = experiment.cores(cell) or 1.0
    return math.ceil(cores if experiment.instances == "own" else cores / cell.workers)


def fixed_trials(left_s: float, block_s: float) -> int:
    """Return how many more blocks fit into what is left of the budget."""
    if math.isinf(left_s) or block_s <= 0:
        return 1 << 30
    return int(left_s / block_s)


def estimate(experiment: Experiment, made: Sequence[Cell], iteration_s: float) -> float:
    """Return about how many seconds one block of all cells takes."""
    each = (experiment.iterations + experiment.warmup) * iteration_s
    if experiment.window is not None:
        # Beside its periods, the one in which it waits to be throttled.
        each = max(iteration_s, (experiment.window.periods + 1) * experiment.longest_period_s)
    return len(made) * (each + experiment.rest_s)


def freeze(plan: Plan, repetitions: Mapping[str, int]) -> Plan:
    """Return the plan with its repetitions, which hold for all platforms from now on."""
    return msgspec.structs.replace(plan, repetitions=dict(repetitions))
