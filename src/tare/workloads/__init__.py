"""What is measured: each kind of workload is one file with one ``UNIT``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from tare import registry

if TYPE_CHECKING:
    from tare.agent import record
    from tare.workloads.specification import WorkloadSpec
    from tare.workloads.workload import Workload

__all__ = ["job"]


def job(
    spec: WorkloadSpec,
    levels: Mapping[str, str],
    *,
    repetitions: int | None,
    seed: int,
    surroundings: Mapping[str, str],
    hosts: Mapping[str, str] = MappingProxyType({}),
) -> record.Workload:
    """Return what the agent is to execute in a trial of a cell.

    Parameters
    ----------
    spec : WorkloadSpec
    levels : mapping
        Level of every factor in the trial's cell.
    repetitions : int or None
        Executions in one timed region of a kernel; None: one.
    seed : int
        Of the input, the same for all cells of a block.
    surroundings : mapping
        Environment variables of who calls tare.
    hosts : mapping
        Placeholders of the network in which it runs; empty: the machine's own.
    """
    units: dict[str, Workload] = registry.scan("tare.workloads")
    unit = units["command" if spec.kernel is None else "kernel"]
    return unit.job(
        spec, levels, repetitions=repetitions, seed=seed, surroundings=surroundings, hosts=hosts
    )
