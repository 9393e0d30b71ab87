"""A platform instance whose agent says what a script tells it to: no process, no clock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tare.agent import record
from tare.errors import AgentError, PlatformError
from tare.experiment import session
from tare.experiment.placement import Machine
from tare.experiment.session.request import Decide
from tare.experiment.session.resume_state import Past, past
from tare.experiment.store.collector import Collector
from tare.platforms import Instance, Place

MACHINE = Machine(
    spread=(0, 1), compact=(0, 1), steps=(1, 2), cores=2, packages=1, memory_bytes=1 << 30
)
#: From a trial's job and the worker to the value of each (metric, source); an exception is a
#: stream that breaks; a string is a fault, in which a wrong result is one of its own kind.
Behaviour = Callable[[record.Trial, int], "dict[tuple[str, str], float] | str | None"]


class ScriptedChannel:
    """Speaks for an agent."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        #: Facts that it tells of itself.
        self.seen: dict[str, int] = {}
        #: Its address for other hosts of its network; None: it does not reach them.
        self.address: str | None = "10.77.0.1"
        self.lines: deque[bytes] = deque()
        self.closed = False
        #: Readable at any time.
        self.ready = os.eventfd(1)
        self._say(
            record.Hello(
                schema=record.SCHEMA, version="script", boot_id=None, pid=1, uid=0,
                monotonic_ns=0, realtime_ns=0,
            )
        )  # fmt: skip

    def fileno(self) -> int:
        return self.ready

    def send(self, line: bytes) -> None:
        job = msgspec.json.decode(line, type=record.Job)
        answers = self._trial(job) if isinstance(job, record.Trial) else self._told(job)
        if answers is None:
            return
        for answer in answers:
            self._say(answer)
        self._say(record.Done(id=job.id, records=len(answers)))

    def _told(self, job: record.Job) -> list[record.Record]:
        match job:
            case record.ReadClocks():
                return [record.Clocks(id=job.id, monotonic_ns=1, realtime_ns=2)]
            case record.MeetHost():
                return [self._met(job.id)]
            case record.MeasureSelf():
                return [
                    record.Fact(id=job.id, name=name, value=value, unit=None, source="script")
                    for name, value in self.seen.items()
                ]
        return []

    def _met(self, number: int) -> record.Record:
        if self.address is None:
            return record.Fault(
                id=number, trial=None, worker=None, iteration=None, kind="job",
                message="no route to host", evidence=None,
            )  # fmt: skip
        return record.Fact(
            id=number, name="network_address", value=self.address, unit=None, source="script"
        )

    def _trial(self, job: record.Trial) -> list[record.Record] | None:
        said: list[record.Record] = []
        for worker in job.workers:
            values = self.behaviour(job, worker.worker)
            if values is None:
                return None
            if isinstance(values, str):
                said.append(
                    record.Fault(
                        id=job.id, trial=job.trial, worker=worker.worker, iteration=0,
                        kind="check" if values.startswith("wrong") else "exit",
                        message=values, evidence=None,
                    )
                )  # fmt: skip
                continue
            said += [
                record.Sample(
                    id=job.id, trial=job.trial, worker=worker.worker, iteration=0,
                    phase="measured", metric=metric, source=source, value=value,
                )
                for (metric, source), value in values.items()
            ]  # fmt: skip
        return said

    def _say(self, answer: record.Record) -> None:
        self.lines.append(msgspec.json.encode(answer))

    def receive(self, timeout_s: float | None) -> bytes | None:
        return self.lines.popleft() if self.lines else None

    def last_words(self) -> str:
        return "the script ended"

    def close(self) -> None:
        if not self.closed:
            os.close(self.ready)
        self.closed = True


@dataclass
class Stage:
    """Stands in for ``tare.platforms`` and the observer; remembers what was asked of it."""

    behaviour: Behaviour
    #: Stacks that cannot be started.
    broken: tuple[str, ...] = ()
    #: Facts of the agent in an instance.
    seen: Callable[[Place], dict[str, int]] = lambda place: {}
    #: Stacks that are machines of their own.
    machines: tuple[str, ...] = ()
    started: list[tuple[str, Place]] = field(default_factory=list)
    channels: list[ScriptedChannel] = field(default_factory=list)

    def start(self, stack: str, place: Place) -> Instance:
        if stack in self.broken:
            raise PlatformError(f"{stack} is broken")
        self.started.append((stack, place))
        self.channels.append(ScriptedChannel(self.behaviour))
        self.channels[-1].seen = self.seen(place)
        return Instance(
            channel=self.channels[-1], shared=place.shared, host_pid=None, users=True,
            facts=(("emulated", True, None, "script"),) if stack in self.machines else (),
            _end=list, shares_memory=stack not in self.machines,
            own_machine=stack in self.machines,
        )  # fmt: skip


class BlindObserver:
    """An observer that sees nothing."""

    facts: tuple[()] = ()
    stamps = False
    refusal = "it is blind"

    def __init__(self, nonce: int, *, teardown: bool) -> None:
        self.closed = False

    def watch(self, trial: int, groups: list[record.WatchedGroup]) -> None:
        if self.closed:
            raise AgentError("the observer was closed")

    def collect(self, trial: int) -> list[record.Record]:
        return []

    def close(self) -> None:
        self.closed = True


def prepare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Blind sessions, keep their files in a folder; return an empty folder for results."""
    monkeypatch.setattr("tare.experiment.session.session.Observer", BlindObserver)
    monkeypatch.setattr("tare.experiment.session.session.client.digest", lambda: "0" * 64)
    monkeypatch.setattr("tare.platforms.session_folder.MEMORY", tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def conduct(
    monkeypatch: pytest.MonkeyPatch,
    stage: Stage,
    collector: Collector,
    progress: session.Progress,
    decide: Decide,
    done: Past | None = None,
    **said: Any,
) -> None:
    """Conduct a session of the collector's plan, whose platforms are started on the stage."""
    monkeypatch.setattr("tare.experiment.session.pool.platforms.start", stage.start)
    session.conduct(
        session.Request(
            folder=collector.folder,
            plan=collector.plan,
            machine=MACHINE,
            facts=[],
            decide=decide,
            progress=progress,
            collector=collector,
            past=past(collector.lines()) if done is None else done,
            **said,
        )
    )
