"""Any command, with the cell's levels in its words and in its environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from tare.agent import record
from tare.registry import Description
from tare.workloads import placeholders
from tare.workloads.specification import WorkloadSpec
from tare.workloads.workload import Workload

#: Kept of each captured stream: enough to see what a program said, too little to fill a disk.
CAPTURE_LIMIT_BYTES = 1 << 20
#: How what the agent launches finds the agent's file, wherever that is.
AGENT = "/proc/self/exe"


class Command(Workload):
    """A program of the user's; a fresh process in every iteration."""

    description = Description(
        name="command",
        title="a command, with {factor} as a placeholder and TARE_FACTOR in its environment",
        question="What does my program take, and how far can its times be trusted?",
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
        """Return the command with all placeholders filled in."""
        assert spec.command is not None
        levels = {**levels, placeholders.SEED: str(seed)}

        def fill(text: str) -> str:
            return placeholders.fill(text, {**levels, **hosts})

        return record.Command(
            argv=(*((AGENT,) if spec.of_agent else ()), *(fill(word) for word in spec.command)),
            environment={
                **inherited(spec.inherit, surroundings),
                **{f"TARE_{name.upper()}": level for name, level in levels.items()},
                **of_hosts(hosts),
                **{name: fill(value) for name, value in spec.environment.items()},
            },
            directory=None if spec.directory is None else fill(spec.directory),
            input=None if spec.input is None else fill(spec.input),
            capture=record.Capture(limit_bytes=CAPTURE_LIMIT_BYTES) if spec.capture else None,
            ignored_exits=spec.ignore_failure,
        )


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


UNIT = Command()
