"""What is measured: a kernel of the agent or a command, as the agent is told to execute it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from tare import registry
from tare.agent import record
from tare.streams import PIPE
from tare.workloads import placeholders
from tare.workloads.application import SCRATCH
from tare.workloads.specification import WorkloadSpec

__all__ = [
    "AGENT", "CAPTURE_LIMIT_BYTES", "ENVIRONMENT", "KEPT_LIMIT_BYTES", "given", "inherited", "job",
    "of_hosts",
    "parameters", "values", "written",
]  # fmt: skip

#: Kept of each captured stream: enough to see what a program said, too little to fill a disk.
KEPT_LIMIT_BYTES = 1 << 20
#: What an agent is asked for: one byte more shows that a stream is longer than what is kept.
CAPTURE_LIMIT_BYTES = KEPT_LIMIT_BYTES + 1
#: Of what runs in an application's image, where no user's own is.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": SCRATCH,
    "LANG": "C.UTF-8",
}
#: How what the agent launches finds the agent's file, wherever that is.
AGENT = "/proc/self/exe"


def job(
    spec: WorkloadSpec,
    levels: Mapping[str, str],
    *,
    repetitions: int | None,
    seed: int,
    surroundings: Mapping[str, str],
    hosts: Mapping[str, str] = MappingProxyType({}),
    given: Mapping[str, str] = MappingProxyType({}),
) -> record.Workload:
    """Return what the agent is to execute in a trial of a cell.

    A command has the cell's levels in its words and in its environment.

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
    given : mapping
        Of an application: what its size gives, as :func:`given` returns it.
    """
    if spec.kernel is not None:
        return record.Kernel(
            name=spec.kernel,
            parameters=spec.parameters,
            repetitions=1 if repetitions is None else repetitions,
            seed=seed,
        )
    assert spec.command is not None
    levels = values(spec, levels, seed=seed, given=given)

    def fill(text: str) -> str:
        return placeholders.fill(text, {**levels, **hosts})

    return record.Command(
        argv=(*((AGENT,) if spec.of_agent else ()), *(fill(word) for word in spec.command)),
        environment={
            **({} if spec.application is None else ENVIRONMENT),
            **inherited(spec.inherit, surroundings),
            **{f"TARE_{name.upper()}": level for name, level in levels.items()},
            **of_hosts(hosts),
            **{name: fill(value) for name, value in spec.environment.items()},
        },
        directory=None if spec.directory is None else fill(spec.directory),
        input=None if spec.input is None else fill(spec.input),
        capture=_capture(spec),
        ignored_exits=spec.ignore_failure,
    )


def _capture(spec: WorkloadSpec) -> record.Capture | None:
    """Return how much of its output is read and sent; None: it writes to ``/dev/null``."""
    # What an application prints are its results.
    if spec.keeps_output or (spec.application is not None and not spec.serves):
        return record.Capture(limit_bytes=CAPTURE_LIMIT_BYTES)
    return record.Capture(limit_bytes=0, reads_output=True) if spec.output == PIPE else None


def values(
    spec: WorkloadSpec, levels: Mapping[str, str], *, seed: int, given: Mapping[str, str]
) -> dict[str, str]:
    """Return what the placeholders of a workload stand for, but for hosts."""
    sizes = {} if spec.application is None else given
    return {**sizes, **levels, **parameters(spec, levels, sizes), placeholders.SEED: str(seed)}


def given(cores: float, memory_bytes: int) -> dict[str, str]:
    """Return what stands for the CPUs and the memory that an instance is given."""
    return {placeholders.CORES: f"{cores:g}", placeholders.MEMORY: str(memory_bytes)}


def parameters(
    spec: WorkloadSpec,
    levels: Mapping[str, str],
    given: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the values of an application's parameters as text; factors of their names go first.

    One that follows the size has its whole CPUs, rounded up, where ``given`` has the size.
    """
    cores = placeholders.CORES
    whole = str(math.ceil(float(given[cores]))) if cores in given else registry.CORES
    found = {name: levels.get(name, written(value)) for name, value in spec.arguments.items()}
    return {name: whole if text == registry.CORES else text for name, text in found.items()}


def written(value: bool | int | float | str) -> str:
    """Write a parameter's value as a command takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def of_hosts(hosts: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that tell a command of the network's hosts; few, as they are long."""
    named = (placeholders.HOSTS, placeholders.HOST_FILE)
    return {f"TARE_{name.upper()}": hosts[name] for name in named if name in hosts}


def inherited(patterns: Iterable[str], surroundings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of who calls tare whose names a pattern fits."""
    return {
        name: value
        for name, value in surroundings.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    }
