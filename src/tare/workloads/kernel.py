"""A built-in workload of the agent, which times itself."""

from __future__ import annotations

from collections.abc import Mapping

from tare.agent import record
from tare.registry import Description
from tare.workloads.specification import WorkloadSpec
from tare.workloads.workload import Workload


class Kernel(Workload):
    """The same bytes everywhere: the kernel is part of the agent."""

    description = Description(
        name="kernel",
        title="a kernel of the agent (tare describe kernels), with its parameters",
        question="How stable are times of work whose every step is known?",
        source="STABILITY",
    )

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
        """Return the kernel with its parameters and the seed of its input."""
        assert spec.kernel is not None
        return record.Kernel(
            name=spec.kernel,
            parameters=spec.parameters,
            repetitions=1 if repetitions is None else repetitions,
            seed=seed,
        )


UNIT = Kernel()
