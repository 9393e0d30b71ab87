"""What a kind of workload is: how a specification becomes something that the agent can execute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tare.registry import Description

if TYPE_CHECKING:
    from tare.agent import record
    from tare.workloads.specification import WorkloadSpec


class Workload:
    """One kind of workload; a unit overrides all of it."""

    description: Description

    def job(
        self,
        spec: WorkloadSpec,
        levels: Mapping[str, str],
        *,
        repetitions: int | None,
        seed: int,
        surroundings: Mapping[str, str],
        hosts: Mapping[str, str],
    ) -> record.Workload:
        """Return what the agent is to execute in a trial of a cell.

        Parameters
        ----------
        spec : WorkloadSpec
        levels : mapping
            Level of every factor in the trial's cell.
        repetitions : int or None
            Executions in one timed region, where that is asked of the workload.
        seed : int
            Of the input, the same for all cells of a block.
        surroundings : mapping
            Environment variables of who calls tare.
        hosts : mapping
            Placeholders of the network in which it runs; empty: the machine's own.
        """
        raise NotImplementedError
