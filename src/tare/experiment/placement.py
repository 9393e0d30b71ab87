"""Which CPUs workers and instances get: by the machine's topology, a pure function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tare.experiment.specification import Cell, Experiment, listed_cpus


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
    """One hardware thread; caches and cores are named after their first CPU."""

    cpu: int
    package: int
    node: int | None = None
    #: Last-level cache.
    cache: int
    core: int
    #: 0 for the machine's fastest kind of core, 1 for the next.
    tier: int = 0


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
    #: Where each CPU is; empty: not known, so that all of them are alike.
    cpus: tuple[Cpu, ...] = ()

    @staticmethod
    def parse(topology: Mapping[str, Any]) -> Machine:
        """Take what planning needs out of ``tare-agent topology``."""
        fields = Machine.__struct_fields__
        return msgspec.convert(
            {name: topology[name] for name in fields if name in topology}, Machine
        )


def placement(
    experiment: Experiment, cell: Cell, machine: Machine
) -> tuple[tuple[int, ...] | None, ...]:
    """Return the CPUs of each worker; None where the scheduler is free.

    Services are kept from the CPUs of their load generator.

    Parameters
    ----------
    experiment : Experiment
        Says what the cell's size gives, and whether it gives it to each worker or to all of them.
    cell : Cell
        Says how many workers there are and how they are pinned.
    machine : Machine
        Has the order in which workers take CPUs; more workers than CPUs go round again.
    """
    found = _workers_cpus(experiment, cell, machine)
    driver = driver_cpus(experiment, cell, machine)
    if driver is None or found != (None,):
        return found
    return (tuple(sorted(set(machine.compact) - set(driver))),)


def _workers_cpus(
    experiment: Experiment, cell: Cell, machine: Machine
) -> tuple[tuple[int, ...] | None, ...]:
    if (listed := listed_cpus(cell.pinning)) is not None:
        return (listed,) * cell.workers
    own = experiment.instances == "own"
    if cell.pinning == "pinned":
        each = math.ceil(experiment.given_cores(cell) or 1)
        sets = cpu_sets(machine, each, cell.workers if own else 1)
        return sets if own else sets * cell.workers
    order = machine.spread if cell.pinning == "spread" else machine.compact
    if (confined := experiment.limits(cell.size).cpuset) is not None:
        if own:
            return _round(order, confined, cell.workers)
        order = order[:confined]
        if cell.pinning == "none":
            return (tuple(sorted(order)),) * cell.workers
    if cell.pinning == "none":
        return (None,) * cell.workers
    return _round(order, cpus_each(experiment, cell), cell.workers)


def driver_cpus(experiment: Experiment, cell: Cell, machine: Machine) -> tuple[int, ...] | None:
    """Return the CPUs of the load generator of an application that serves, which no service has.

    None: what is left beyond the size is too few, or the size is the whole machine, so that both
    share all CPUs.
    """
    application = cell.workload.application
    if application is None or application.driver is None:
        return None
    count = application.driver.cpus
    given = _workers_cpus(experiment, cell, machine)
    if given != (None,):
        taken = {cpu for some in given for cpu in some or ()}
        free = [cpu for cpu in machine.compact if cpu not in taken]
    else:
        cores = experiment.given_cores(cell)
        left = len(machine.compact) if cores is None else math.ceil(cores)
        free = list(machine.compact[left:])
    return tuple(sorted(free[-count:])) if len(free) >= count else None


def _round(order: Sequence[int], each: int, workers: int) -> tuple[tuple[int, ...], ...]:
    """Give so many CPUs to each worker in turn, beginning anew where none is left."""
    return tuple(
        tuple(sorted({order[(worker * each + n) % len(order)] for n in range(each)}))
        for worker in range(workers)
    )


def cpus_each(experiment: Experiment, cell: Cell) -> int:
    """Return how many CPUs a pinned worker needs for what its instance gets."""
    own = experiment.instances == "own"
    if cell.pinning == "pinned":
        return math.ceil((experiment.given_cores(cell) or 1) / (1 if own else cell.workers))
    cores = experiment.cores(cell) or 1.0
    return math.ceil(cores if own else cores / cell.workers)


def cpu_sets(machine: Machine, each: int, instances: int) -> tuple[tuple[int, ...], ...]:
    """Choose the CPUs of instances that are pinned: disjoint as long as there are enough.

    Each is given cores of its own that share as much as possible (a last-level cache, a NUMA
    node, a package), second hardware threads only where no cores are left, and slower kinds of
    core only where no faster ones are.
    """
    free = set(machine.compact)
    found = []
    for _ in range(instances):
        if len(free) < each:
            free = set(machine.compact)
        taken = _nearest(machine, free, each)
        free -= set(taken)
        found.append(tuple(sorted(taken)))
    return tuple(found)


def _nearest(machine: Machine, free: set[int], count: int) -> list[int]:
    """Return the free CPUs that are nearest to each other, of the best kind that there is."""
    where = {one.cpu: one for one in machine.cpus}
    if not free <= set(where):
        return [cpu for cpu in machine.compact if cpu in free][:count]
    for parts in _choices(machine, [where[cpu] for cpu in machine.compact if cpu in free]):
        # Of those that are large enough, the one that it fills best; then the first.
        enough = [part for part in parts if len(part) >= count]
        if enough:
            return [one.cpu for one in min(enough, key=len)[:count]]
    raise AssertionError(f"{count} of {len(free)} CPUs")


def _choices(machine: Machine, free: list[Cpu]) -> Iterator[list[list[Cpu]]]:
    """Yield parts of the machine to take CPUs from, those that are best to take from first."""
    busy = {one.core for one in machine.cpus if one not in free}
    firsts: dict[int, Cpu] = {}
    for one in free:
        if one.core not in busy:
            firsts.setdefault(one.core, one)
    own = list(firsts.values())
    for threads in (own, [*own, *(one for one in free if one not in own)]):
        for tier in sorted({one.tier for one in machine.cpus}):
            some = [one for one in threads if one.tier <= tier]
            for part in ("cache", "node", "package"):
                yield _parted(some, part)
            yield [some]


def _parted(cpus: Iterable[Cpu], part: str) -> list[list[Cpu]]:
    parts: dict[tuple[int, int | None], list[Cpu]] = {}
    for one in cpus:
        parts.setdefault((one.package, getattr(one, part)), []).append(one)
    return list(parts.values())
