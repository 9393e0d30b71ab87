"""What the executions of one trial printed, where an application's values and checks need it."""

from __future__ import annotations

import base64
import binascii
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from tare.agent import record
from tare.applications import output
from tare.applications.refusal import Refusal
from tare.errors import AgentError
from tare.experiment.metrics import PRINTED
from tare.results.message import Chosen, message
from tare.workloads.application import Application

_STREAMS: dict[str, Literal["stdout", "stderr"]] = {"out": "stdout", "err": "stderr"}

#: Worker and iteration.
Execution = tuple[int, int]


class Printed:
    """Takes a trial's records, and yields the values that were printed.

    Parameters
    ----------
    limit_bytes : int
        Of each stream of an execution that the agent is asked for; one of as many is cut.
    reading : callable
        Reads the formats of other tools.
    """

    def __init__(self, limit_bytes: int, reading: output.Reading) -> None:
        self._limit_bytes = limit_bytes
        self._reading = reading
        self._known: dict[Execution, dict[str, float]] = {}
        self._streams: defaultdict[Execution, dict[str, bytearray]] = defaultdict(
            lambda: {name: bytearray() for name in _STREAMS.values()}
        )
        self._phases: dict[Execution, record.Phase] = {}

    def add(self, got: record.Output | record.Sample) -> None:
        """Take a record; raises AgentError where it is none that the agent may send."""
        if isinstance(got, record.Sample):
            # What goes on until the last worker has finished is cut short.
            if got.worker is not None and got.iteration is not None and got.phase != "tail":
                self._phases[got.worker, got.iteration] = got.phase
            return
        kept = self._streams[got.worker, got.iteration][_STREAMS[got.stream]]
        kept += decoded(got)
        if len(kept) > self._limit_bytes:
            raise AgentError(f"the agent sent more than {self._limit_bytes} bytes of an output")

    def executions(self) -> Iterator[tuple[Execution, record.Phase, str]]:
        """Yield each execution with its phase, and what it wrote to standard output."""
        for execution, phase in sorted(self._phases.items()):
            yield execution, phase, self._of(execution)["stdout"].decode(errors="replace")

    @property
    def standard_output(self) -> str:
        """What all executions printed there, as text."""
        parts = (self._of(one)["stdout"] for one in sorted(self._streams))
        return b"".join(parts).decode(errors="replace")

    def judged(
        self, application: Application, fill: Callable[[str], str], data: Path | None
    ) -> Refusal | None:
        """Return why the first execution that is not valid is not; None: all are."""
        found = (self._cut(application, one) or output.refusal(
            application, self._of(one), self._values(application, one), fill, data
        ) for one in sorted(self._phases))  # fmt: skip
        return next((one for one in found if one is not None), None)

    def _cut(self, application: Application, execution: Execution) -> Refusal | None:
        """Return that a stream that is read is not whole: its last value is not known."""
        read = {one.stream for one in application.check.outputs}
        read |= {one.stream for one in application.metrics}
        for stream, kept in self._streams[execution].items():
            if stream in read and len(kept) >= self._limit_bytes:
                limit = Chosen(self._limit_bytes - 1, "bytes")
                return Refusal(
                    "application.cut",
                    message(
                        "it printed more than {limit} to {stream}, which is not read further: "
                        "its last value is not known",
                        stream=stream,
                        limit=limit,
                    ),
                )
        return None

    def samples(self, application: Application, trial: int) -> Iterator[record.Sample]:
        """Yield the values that executions printed."""
        for (worker, iteration), phase in self._phases.items():
            for metric, value in self._values(application, (worker, iteration)).items():
                yield record.Sample(
                    id=0, trial=trial, worker=worker, iteration=iteration, phase=phase,
                    metric=metric, source=PRINTED, value=value,
                )  # fmt: skip

    def _values(self, application: Application, execution: Execution) -> dict[str, float]:
        if execution not in self._known:
            found = output.values(application, self._of(execution), self._reading)
            self._known[execution] = dict(found)
        return self._known[execution]

    def _of(self, execution: Execution) -> dict[str, bytes]:
        return {name: bytes(data) for name, data in self._streams[execution].items()}


def decoded(got: record.Output) -> bytes:
    """Return what a piece of an output holds; raises AgentError where it is none."""
    try:
        return base64.b64decode(got.data, validate=True)
    except binascii.Error as error:
        raise AgentError(f"the agent sent an output that is not in base 64: {error}") from error
