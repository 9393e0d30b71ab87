"""Programs that a sandbox starts itself: what is launched for them, and which times are theirs.

The agent is outside and launches the sandbox. What it measures from outside, such as the wall time
around the launch, contains the sandbox; what it reads from one process is the sandbox's alone and
is left out. The sandbox reports its own times of the program, and a kernel prints its own.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from tare.agent import record
from tare.decoding import DecodeError, Int64, decode
from tare.errors import AgentError
from tare.experiment.journal import MOST_VALUE
from tare.experiment.session.failing import Why
from tare.experiment.session.files import seen_inside
from tare.experiment.session.parts import RunningTrial, TrialPart
from tare.experiment.session.printed import Printed
from tare.experiment.session.resident import Resident
from tare.platforms import Starter
from tare.workloads import AGENT, CAPTURE_LIMIT_BYTES, inherited

#: Sources that cover the sandbox and all that it starts.
_AROUND = frozenset({"around", "reaped", "rusage", "wait"})
_SELF = "self"
#: Metrics that describe the sandbox's process, not the program.
_OF_SANDBOX = frozenset({"exit_code", "signal"})


class SandboxStart(TrialPart):
    """Has sandboxes start the programs of trials, where a platform does so."""

    #: How the sandbox of the current trial starts programs; None: the agent starts them.
    _starter: Starter | None = None
    #: By the executions of the current trial.
    _printed: Printed

    @contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Take what the sandbox prints during the trial."""
        self._starter = trial.residents[0].instance.starter
        self._printed = Printed(CAPTURE_LIMIT_BYTES, self.resources.reading)
        yield

    def workload(
        self, trial: RunningTrial, workload: record.Workload, resident: Resident
    ) -> record.Workload:
        """Return the command that has the sandbox start a workload."""
        starter = resident.instance.starter
        if starter is None:
            return workload
        if isinstance(workload, record.Command):
            workload = seen_inside(workload, str(self.resources.shared), starter.shared)
        return launched(workload, starter, self.resources.environment)

    def take(self, got: record.Sample | record.Output, resident: Resident) -> None:
        """Take what an execution printed."""
        if self._starter is not None:
            self._printed.add(got)

    def is_kept(self, got: record.Sample | record.Fault) -> bool:
        """Return whether a record describes the program and not the sandbox alone."""
        return isinstance(got, record.Fault) or self._starter is None or is_kept(got, self._starter)

    def judge(self, trial: RunningTrial, failure: Why | None) -> Why | None:
        """Keep what the sandbox measured, or return how it says that the program failed."""
        starter = self._starter
        if starter is None:
            return failure
        workload = trial.cell.workload
        if failure is None:
            kernel = workload.kernel is not None
            trial.keep(samples(self._printed, starter, trial.number, kernel=kernel))
            return None
        program = workload.kernel or " ".join((workload.command or ())[:1])
        reported = program_failure(self._printed, starter, program)
        return failure if reported is None else Why(reported)


def launched(
    workload: record.Workload, starter: Starter, surroundings: Mapping[str, str]
) -> record.Command:
    """Return the command that has the sandbox start a workload.

    Parameters
    ----------
    workload : record.Workload
        A kernel or a command.
    starter : Starter
    surroundings : mapping
        Environment variables of who calls tare: ``PATH`` finds the sandbox.
    """
    capture = record.Capture(limit_bytes=CAPTURE_LIMIT_BYTES)
    if isinstance(workload, record.Kernel):
        script = {
            "name": workload.name,
            "parameters": workload.parameters,
            "repetitions": workload.repetitions,
            "seed": workload.seed,
            "executions": 1,
        }
        own = (starter.agent, "kernel", workload.name, json.dumps(script))
        return record.Command(
            argv=(*starter.words, "--run", "--", *own),
            environment=inherited(("PATH",), surroundings),
            capture=capture,
        )
    variables = [f"{starter.variable}{name}={v}" for name, v in workload.environment.items()]
    folder = () if workload.directory is None else (f"{starter.directory}{workload.directory}",)
    program, *words = workload.argv
    if program == AGENT:
        program = starter.agent
    elif "/" not in program:
        # Sandboxes look for programs nowhere.
        program = shutil.which(program, path=workload.environment.get("PATH")) or program
    # The report alone is to be on standard output.
    silent = ("--stdout=/dev/null",)
    return msgspec.structs.replace(
        workload,
        argv=(*starter.words, *silent, *variables, *folder, "--run", "--", program, *words),
        environment=inherited(("PATH",), surroundings),
        directory=None,
        capture=capture,
    )


def is_kept(sample: record.Sample, starter: Starter) -> bool:
    """Whether a sample of a launched sandbox says something about the program, too."""
    return sample.metric not in _OF_SANDBOX and sample.source in (*_AROUND, _SELF, starter.source)


def samples(printed: Printed, starter: Starter, trial: int, *, kernel: bool) -> list[record.Sample]:
    """Return what the sandbox and, of a kernel, the program report of each execution.

    Raises
    ------
    AgentError
        If a report or the kernel's times are missing or not plausible.
    """
    return [
        record.Sample(
            id=0, trial=trial, worker=worker, iteration=iteration, phase=phase,
            metric=metric, source=source, value=value,
        )
        for (worker, iteration), phase, text in printed.executions()
        for source, figures in _reported(text, starter, kernel=kernel)
        for metric, value in figures.items()
    ]  # fmt: skip


def program_failure(printed: Printed, starter: Starter, program: str) -> str | None:
    """Return how the first program that failed ended, by the sandbox's reports; None: unknown."""
    ends = (starter.read_failure(text) for _, _, text in printed.executions())
    end = next(filter(None, ends), None)
    return None if end is None else f"{program} ended with {end} ({starter.source})"


def _reported(
    text: str, starter: Starter, *, kernel: bool
) -> Iterator[tuple[str, Mapping[str, int]]]:
    figures = starter.read(text)
    if not figures:
        raise AgentError(f"{starter.source} did not report what it measured")
    yield starter.source, figures
    if kernel:
        yield _SELF, _own_times(text)


def _own_times(text: str) -> dict[str, int]:
    """Return the times that a kernel's process has printed in its only line."""
    try:
        found: dict[str, int] = decode(text.partition("\n")[0], dict[str, Int64])
    except DecodeError as error:
        raise AgentError(f"the kernel did not print its times ({error})") from error
    if any(not 0 <= value <= MOST_VALUE for value in found.values()):
        raise AgentError("the kernel printed times that no kernel takes")
    return found
