"""Lanes and the programs that run in them: that of a task, then what checks its output."""

from __future__ import annotations

import base64
import binascii
import hashlib
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tare import files
from tare.agent import record
from tare.errors import AgentError
from tare.experiment.session.answers import PendingAnswer, check_record
from tare.experiment.session.control import last
from tare.experiment.session.resident import Key, Resident
from tare.experiment.task_sets.outcomes import Result
from tare.features.tasks import checks
from tare.features.tasks.specification import (
    MOST_EXPECTED_BYTES,
    MOST_OUTPUT_BYTES,
    Task,
    TaskSet,
)
from tare.results.message import Message, Said, message

_ENDED = "{what}{% if said %}: {said}{% endif %}"
_ANSWER_CHANGED = "the expected output is another than when the set was read"
_ANSWER_GONE = "the expected output cannot be read any more: {why}"

#: Metrics that are kept of every run.
KEPT = frozenset({
    "wall_ns", "cpu_ns", "memory_bytes", "exit_code", "signal", "involuntary_switches", "wait_ns",
    "throttled_ns",
})  # fmt: skip
#: Result of a program for each fault that the program causes; other faults are the platform's.
_OF_FAULT: Mapping[str, Result] = {
    "timeout": "timeout", "cpu_time": "cpu_time", "out_of_memory": "out_of_memory",
    "output": "output", "processes": "processes", "exit": "crashed", "signal": "crashed",
}  # fmt: skip
#: Exit codes with which a checker rejects an output: 1 wrong, 2 malformed.
_WRONG = (1, 2)
#: Kept of what a program or a checker said last.
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
    values: dict[str, dict[str, float]]


class RefusedError(AgentError):
    """The agent works, and reports that it could not run the program."""


@dataclass
class Running:
    """A program at work in an instance.

    Attributes
    ----------
    work : Work
    pending : PendingAnswer
        What its agent sends.
    run : int
        Number of the run.
    limit_bytes : int
        Of its output, that is kept; more was not asked for.
    judges : Running or None
        The run whose output it judges, where it is a checker.
    kept : Path or None
        Where that output is meanwhile.
    """

    work: Work
    pending: PendingAnswer
    run: int
    limit_bytes: int
    judges: Running | None = None
    kept: Path | None = None
    #: When it was asked for.
    began_ns: int = 0
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    output: bytearray = field(default_factory=bytearray)
    fault: record.Fault | None = None

    @property
    def resident(self) -> Resident:
        """Where it runs."""
        return self.pending.resident

    def take(self, got: record.Record) -> None:
        """Take a record that its agent has sent.

        Raises
        ------
        AgentError
            If it is none that an agent may send, or something survived the run.
        """
        check_record(got, self.run, (0,))
        if isinstance(got, record.Sample):
            if got.phase == "measured" and got.metric in KEPT:
                self.values.setdefault(got.metric, {})[got.source] = got.value
        elif isinstance(got, record.Output):
            self._write(got)
        elif isinstance(got, record.Fault) and got.kind == "survived":
            # With the instance, what is left of it may end as well.
            raise AgentError(got.message)
        elif isinstance(got, record.Fault) and got.kind != "warning":
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
        if result is None:
            raise RefusedError(self.fault.message)
        if self.fault.iteration is None:
            # It ended the agent's own process.
            raise AgentError(self.fault.message)
        if self.fault.kind == "signal" and signal.SIGKILL in self.values.get("signal", {}).values():
            result = "killed"
        said = message(_ENDED, what=self.fault.message, said=self._last_words())
        return Ended(result, said, self.values)

    def verdict(self) -> Ended:
        """Return how the run ended whose checker this is."""
        values = {} if self.judges is None else self.judges.values
        fault = self.fault
        if fault is None:
            return Ended("correct", None, values)
        said = self._last_words()
        code = next(iter(self.values.get("exit_code", {}).values()), None)
        if fault.kind == "exit" and code in _WRONG:
            return Ended("wrong", message("{said or 'the checker says so'}", said=said), values)
        return Ended("unchecked", message(_ENDED, what=fault.message, said=said), values)

    def remove_output(self) -> None:
        """Remove the output that was kept for a checker."""
        if self.kept is not None:
            self.kept.unlink(missing_ok=True)

    def _last_words(self) -> str | None:
        assert self.fault is not None
        lines = last(self.fault.evidence or "")
        # They stand in a sentence, which has a full stop of its own.
        return lines[-1][:_MOST_SAID].rstrip(".") if lines else None

    def cut(self) -> Ended | None:
        """Return the result of a run whose output was truncated; None: it was not."""
        if len(self.output) < MOST_OUTPUT_BYTES:
            return None
        why = message(
            "its output has more than {mib} MiB, which is all that is kept for a checker",
            mib=MOST_OUTPUT_BYTES >> 20,
        )
        return Ended("unchecked", why, self.values)

    def unanswered(self, task: Task) -> Ended | None:
        """Return how a run ended whose checker would be given another answer."""
        known = None if task.expected is None else _changed(task, Path(task.expected))
        return None if known is None else Ended("unchecked", known, self.values)

    def judged(self, task: Task, asked: TaskSet) -> Ended:
        """Compare the output with what is expected, where no checker does that."""
        if task.expected is None:
            return Ended("done", None, self.values)
        expected = answer(task)
        if isinstance(expected, Unusable):
            return Ended("unchecked", expected.why, self.values)
        if self.limit_bytes == len(self.output):
            longer = message(
                "far longer than the {of | counted('byte')} that are expected", of=len(expected)
            )
            return Ended("wrong", longer, self.values)
        found = checks.difference(bytes(self.output), expected, asked)
        return Ended("correct" if found is None else "wrong", found, self.values)


@dataclass
class Lane:
    """CPUs on which one run follows the other."""

    number: int
    cpus: tuple[int, ...]
    #: The program or the checker that is at work in it.
    at_work: Running | None = None

    def waits_for(self, pending: PendingAnswer) -> bool:
        """Return whether the lane's run waits for this answer."""
        return self.at_work is not None and self.at_work.pending is pending

    @property
    def busy(self) -> list[Key]:
        """Instances that its run still needs."""
        running = self.at_work
        some = () if running is None else (running, running.judges)
        return [one.resident.key for one in some if one is not None]


def _changed(task: Task, expected: Path) -> Message | None:
    """Return why what is expected is not what it was when it was found."""
    try:
        digest = files.digest(expected)
    except OSError as error:
        return message(_ANSWER_GONE, why=error.strerror)
    return message(_ANSWER_CHANGED) if task.answer not in (None, digest) else None


class Unusable(NamedTuple):
    """Why the expected output of a task cannot be used.

    Attributes
    ----------
    why : Message
    is_large : bool
        Whether it is as it was, but too large to be compared.
    """

    why: Message
    is_large: bool = False


def answer(task: Task) -> bytes | Unusable:
    """Return what is expected of a task; or why that is not known any more.

    Programs may have put something else in its place: it counts as it was when it was found.
    """
    assert task.expected is not None
    try:
        with files.open_plain(Path(task.expected), links=True) as file:
            expected = file.read(MOST_EXPECTED_BYTES + 1)
    except OSError as error:
        return Unusable(message(_ANSWER_GONE, why=error.strerror))
    if len(expected) > MOST_EXPECTED_BYTES:
        return Unusable(message("the expected output has become too large"), is_large=True)
    if task.answer not in (None, hashlib.sha256(expected).hexdigest()):
        return Unusable(message(_ANSWER_CHANGED))
    return expected
