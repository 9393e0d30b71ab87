"""A lane: CPUs on which one run follows the other, each through its program and its check."""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tare.agent import record
from tare.errors import AgentError
from tare.experiment.session.answers import Asked, check, heard
from tare.experiment.session.resident import Resident
from tare.experiment.session.trial import MOST
from tare.features.tasks import checks
from tare.features.tasks.runs import Result
from tare.features.tasks.specification import EXPECTED, OUTPUT, TASK, Task, TaskSet
from tare.results.message import Duration, Said, message
from tare.workloads import placeholders

#: Metrics that are kept of every run.
KEPT = frozenset({
    "wall_ns", "cpu_ns", "memory_bytes", "exit_code", "signal", "involuntary_switches", "wait_ns",
})  # fmt: skip
#: What a fault says of a program; all others are of its platform.
_OF_FAULT: Mapping[str, Result] = {
    "timeout": "timeout", "cpu_time": "cpu_time", "out_of_memory": "out_of_memory",
    "output": "output", "processes": "processes", "exit": "crashed", "signal": "crashed",
}  # fmt: skip
#: How a checker says that an output is wrong: 1, and 2 where it is malformed.
_WRONG = (1, 2)
#: Kept of what a checker says.
_MOST_SAID = 300


class Work(NamedTuple):
    """A run that is to be done."""

    cell: int
    task: int
    trial: int


class Ended(NamedTuple):
    """How a run ended."""

    result: Result
    why: Said | None
    values: dict[str, dict[str, int | float]]


@dataclass
class Running:
    """A program at work in an instance.

    Attributes
    ----------
    work : Work
    asked : Asked
        Its agent.
    run : int
        Number of the run.
    limit_bytes : int
        Of its output, that is kept; more was not asked for.
    """

    work: Work
    asked: Asked
    run: int
    limit_bytes: int
    began_ns: int = field(default_factory=time.monotonic_ns)
    values: dict[str, dict[str, int | float]] = field(default_factory=dict)
    output: bytearray = field(default_factory=bytearray)
    fault: record.Fault | None = None

    @property
    def resident(self) -> Resident:
        """Where it runs."""
        return self.asked.resident

    def hear(self) -> bool:
        """Take what its agent has said; return whether that is all.

        Raises
        ------
        AgentError
            If it is none that an agent may say, or something survived the run.
        """
        for _, got in heard(self.asked):
            self._take(got)
        return self.asked.answer.whole

    def look(self) -> None:
        """Look whether its agent can still answer; raises AgentError."""
        check(self.asked)

    def _take(self, got: record.Record) -> None:
        if not isinstance(got, record.Sample | record.Fault | record.Output):
            return
        if got.trial not in (self.run, None) or got.worker not in (None, 0):
            raise AgentError("the agent sent a record of another run")
        if isinstance(got, record.Sample):
            if abs(got.value) > MOST:
                raise AgentError(f"the agent sent a {got.metric} of {got.value}")
            if got.phase == "measured" and got.metric in KEPT:
                self.values.setdefault(got.metric, {})[got.source] = got.value
        elif isinstance(got, record.Output):
            self._write(got)
        elif got.kind == "survived":
            # With the instance, what is left of it may end as well.
            raise AgentError(got.message)
        elif got.kind != "warning":
            self.fault = self.fault or got

    def _write(self, piece: record.Output) -> None:
        if piece.stream != "out":
            return
        try:
            self.output += base64.b64decode(piece.data, validate=True)
        except binascii.Error as error:
            raise AgentError(f"the agent sent an output that is not in base 64: {error}") from error
        if len(self.output) > self.limit_bytes:
            raise AgentError("the agent sent more output than was asked for")

    def ended(self) -> Ended | None:
        """Return how the program ended; None: well, so that its output is to be judged.

        Raises
        ------
        AgentError
            If its platform failed it.
        """
        if self.fault is None:
            return None
        result = _OF_FAULT.get(self.fault.kind)
        # What is of no iteration ended the agent's own process.
        if result is None or self.fault.iteration is None:
            raise AgentError(self.fault.message)
        if self.fault.kind == "signal" and signal.SIGKILL in self.values.get("signal", {}).values():
            result = "killed"
        return Ended(result, self.fault.message, self.values)

    def judged(self, task: Task, asked: TaskSet) -> Ended:
        """Compare the output with what is expected, where no checker does that."""
        if task.expected is None:
            return Ended("done", None, self.values)
        expected = Path(task.expected).read_bytes()
        if self.limit_bytes == len(self.output):
            longer = message("tasks.differs.longer", of=len(expected))
            return Ended("wrong", longer, self.values)
        found = checks.difference(bytes(self.output), expected, asked)
        return Ended("correct" if found is None else "wrong", found, self.values)


class Checking:
    """A checker at work on the output of a run.

    Parameters
    ----------
    running : Running
        The run, which is over.
    task : Task
    asked : TaskSet
        With the checker's command.
    folder : Path
        Where the output is kept meanwhile; others can go through, but list nothing.
    user : User or None
        As whom it runs.
    cpus : tuple of int
        On which it runs: those of the run.
    """

    def __init__(
        self,
        running: Running,
        task: Task,
        asked: TaskSet,
        folder: Path,
        user: record.User | None,
        cpus: tuple[int, ...],
    ) -> None:
        assert asked.checker is not None
        self.running = running
        self._limit_s = asked.checker_timeout_s
        # What is measured meanwhile does not find it by its name.
        self._output = folder / secrets.token_hex(16)
        self._said = os.fdopen(os.memfd_create("said"), "r+b")
        self._output.write_bytes(running.output)
        self._output.chmod(0o644)
        files = {TASK: task.input, OUTPUT: str(self._output)}
        if task.expected is not None:
            files[EXPECTED] = task.expected
        named = any(placeholders.names(word) for word in asked.checker)
        words = [placeholders.fill(word, files) for word in asked.checker]
        self._deadline = time.monotonic() + self._limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._pidfd = -1
        self._why: str | None = None
        try:
            self._process = subprocess.Popen(
                words if named else [*words, *files.values()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                start_new_session=True,
                user=None if user is None else user.uid,
                group=None if user is None else user.gid,
                extra_groups=None if user is None else user.groups,
            )
            self._pidfd = os.pidfd_open(self._process.pid)
            with contextlib.suppress(OSError):
                os.sched_setaffinity(self._process.pid, cpus)
        except OSError as error:
            self._why = error.strerror
            self.close()

    def fileno(self) -> int:
        """Return what is readable when it has ended."""
        return self._pidfd

    @property
    def over(self) -> bool:
        """Whether it has ended, or has to."""
        late = time.monotonic() > self._deadline
        return self._process is None or late or self._process.poll() is not None

    def ended(self) -> Ended:
        """Return what it found, and end it where it has not."""
        values = self.running.values
        if self._process is None:
            return Ended("unchecked", message("tasks.checker.unable", why=self._why), values)
        code = self._process.poll()
        self.close()
        said = self._last_words()
        if code is None:
            limit = Duration(self._limit_s)
            return Ended("unchecked", message("tasks.checker.late", limit=limit), values)
        if code == 0:
            return Ended("correct", None, values)
        if code in _WRONG:
            return Ended("wrong", message("tasks.checker.wrong", said=said), values)
        failed = message("tasks.checker.failed", code=code, said=said)
        return Ended("unchecked", failed, values)

    def _last_words(self) -> str | None:
        self._said.seek(0)
        lines = self._said.read(1 << 16).decode(errors="replace").strip().splitlines()
        self._said.close()
        return lines[-1][:_MOST_SAID] if lines else None

    def close(self) -> None:
        """End it, and remove what it was given."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        self._output.unlink(missing_ok=True)
