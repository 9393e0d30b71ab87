"""A platform instance whose agent says what a script tells it to: no process, no clock."""

from __future__ import annotations

import base64
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import msgspec
import pytest
from emulated import ScriptedEmulator

import tare
from tare.agent import client, record
from tare.applications.image import Built, Lock
from tare.errors import AgentError, PlatformError
from tare.experiment import session
from tare.experiment.placement import Machine
from tare.experiment.session import control
from tare.experiment.session.request import Decide
from tare.experiment.session.resume_state import Past, past
from tare.experiment.store.collector import Collector
from tare.platforms import Instance, Place, network_end

MACHINE = Machine(
    spread=(0, 1), compact=(0, 1), steps=(1, 2), cores=2, packages=1, memory_bytes=1 << 30
)
#: The value of each (metric, source).
Values = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Execution:
    """What an execution measures and writes."""

    values: Values
    out: str = ""
    err: str = ""

    def records(self, job: record.Trial, worker: int) -> list[record.Record]:
        """Return what an agent sends of it."""
        samples: list[record.Record] = [
            record.Sample(
                id=job.id, trial=job.trial, worker=worker, iteration=0,
                phase="measured", metric=metric, source=source, value=value,
            )
            for (metric, source), value in self.values.items()
        ]  # fmt: skip
        written: tuple[tuple[Literal["out", "err"], str], ...] = (
            ("out", self.out), ("err", self.err),
        )  # fmt: skip
        return samples + [
            record.Output(
                id=job.id, trial=job.trial, worker=worker, iteration=0, stream=stream,
                data=base64.b64encode(text.encode()).decode(),
            )
            for stream, text in written
            if text
        ]  # fmt: skip


#: From a trial's job and the worker to what it measures; None is an agent that does not answer; a
#: string is a fault, in which a wrong result is one of its own kind.
Behaviour = Callable[[record.Trial, int], Values | Execution | str | None]


class ScriptedChannel:
    """Speaks for an agent."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        #: Facts that it tells of itself.
        self.seen: dict[str, int] = {}
        #: Its address for other hosts of its network; None: it does not reach them.
        self.address: str | None = "10.77.0.1"
        #: Called when it is to reach another host.
        self.meet: Callable[[], object] = list
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
        self.meet()
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
        if (key := getattr(job.workload, "environment", {}).get(control.KEY)) is not None:
            ScriptedAttend.waiting[key].serve()
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
            made = values if isinstance(values, Execution) else Execution(values)
            said += made.records(job, worker.worker)
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
        channel = ScriptedChannel(self.behaviour)
        self.channels.append(channel)
        channel.seen = self.seen(place)
        networked = place.network is not None
        if networked:
            channel.meet = lambda: self._join(channel, stack, place)
        return Instance(
            agent=client.Agent(channel), shared=place.shared,
            host_pid=os.getpid() if networked else None,
            users=True,
            facts=(("emulated", True, None, "script"),) if stack in self.machines else (),
            _end=list, shares_memory=stack not in self.machines,
            own_machine=stack in self.machines,
        )  # fmt: skip

    def _join(self, channel: ScriptedChannel, stack: str, place: Place) -> None:
        """Give an instance the address that it has in the network, seen from either side."""
        emulator = ScriptedEmulator.made[-1]
        if place.port is not None:
            channel.address = str(place.port.address)
        elif network_end(stack) == "container":
            # Its port is the newest one, as instances join one after another.
            channel.address = f"10.77.0.{max(emulator.ports)}"
        emulator.met = str(channel.address)


class BlindObserver:
    """An observer that sees nothing."""

    facts: tuple[()] = ()
    stamps = False
    refusal = "it is blind"
    remedy = "sudo setcap cap_perfmon+ep tare-agent"

    def __init__(self, nonce: int, *, context_switches: bool, stretches: bool = False) -> None:
        self.closed = False

    def watch(self, trial: int, groups: list[record.WatchedGroup]) -> None:
        if self.closed:
            raise AgentError("the observer was closed")

    def load(self, under_load: bool) -> None:
        pass

    def collect(self, trial: int) -> list[record.Record]:
        return []

    def close(self) -> None:
        self.closed = True


class ScriptedServer:
    """A server on a host of a network: it listens at once, and stays."""

    #: On how many sockets each host listens; others do on one.
    listening: ClassVar[Mapping[int, int]] = {}
    #: Whether it has ended by itself.
    ended = False
    #: Servers that nobody has ended.
    open = 0

    def __init__(self, emulator: Any, host: int, name: str, command: Any, user: Any) -> None:
        self.host = host
        self.argv = command.argv
        ScriptedServer.open += 1

    def sockets(self) -> set[str]:
        return {str(i) for i in range(self.listening.get(self.host, 1))}

    def ending(self) -> str | None:
        return "by itself" if self.ended else None

    def close(self) -> None:
        ScriptedServer.open -= 1


class ScriptedAttend:
    """Passes reports of services on: they are ready when started, and end when told to."""

    #: By the key that who starts the services is given.
    waiting: ClassVar[dict[str, ScriptedAttend]] = {}
    #: When services are ready, from the start of the first.
    ready_ns = 2_000_000_000

    def __init__(self, words: list[str]) -> None:
        #: What there is to read, or that nothing comes any more.
        self.spoken = threading.Event()
        self.process = SimpleNamespace(
            pid=os.getpid(), kill=self.spoken.set, wait=lambda seconds: 0
        )
        #: Never readable: no service ends while it is needed.
        self.quiet: int | None = os.eventfd(0)
        self.lines: deque[bytes] = deque()

    def _report(self, report: record.ServicesReport) -> None:
        self.lines.append(msgspec.json.encode(report))

    def serve(self) -> None:
        """Start the services."""
        self._report(record.ServicesReset())
        self._report(record.ServicesReady(after_ns=(self.ready_ns,)))
        self.spoken.set()

    def fileno(self) -> int:
        assert self.quiet is not None
        return self.quiet

    def send(self, line: bytes) -> None:
        if line == b"stop":
            self._report(record.ServicesEnded(killed=()))
        else:
            self.waiting[line.decode()] = self

    def unread(self) -> bool:
        return False

    def receive(self, timeout_s: float | None) -> bytes | None:
        if timeout_s == control.START_S:
            return b"40000"
        if not self.spoken.wait(timeout_s):
            raise client.SilenceError(timeout_s or 0.0)
        return self.lines.popleft() if self.lines else None

    def close(self) -> None:
        if self.quiet is not None:
            os.close(self.quiet)
        self.quiet = None


def script_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have sessions make networks that are none, on whose hosts nothing is started."""
    monkeypatch.setattr(ScriptedEmulator, "made", [])
    monkeypatch.setattr("tare.experiment.session.hosts.Emulator", ScriptedEmulator)
    monkeypatch.setattr("tare.experiment.session.servers.HostServer", ScriptedServer)
    monkeypatch.setattr("tare.experiment.session.auxiliary.ProcessChannel", ScriptedAttend)


def script_images(
    monkeypatch: pytest.MonkeyPatch, folder: Path, prepared: Mapping[str, str]
) -> None:
    """Give every application an empty image, in which ``prepare`` leaves these files."""
    folder.mkdir()
    for name, text in prepared.items():
        (folder / name).write_text(text)
    lock = Lock(tare=tare.__version__, digest="0" * 64)
    built = Built(folder, lock.digest, lock)
    monkeypatch.setattr("tare.applications.image.built", lambda *asked: built)
    monkeypatch.setattr("tare.applications.image.prepared", lambda *asked: (folder, lock.digest))


def prepare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Blind sessions, keep their files in a folder; return an empty folder for results."""
    monkeypatch.setattr("tare.experiment.session.session.Observer", BlindObserver)
    monkeypatch.setattr("tare.agent.client.digest", lambda: "0" * 64)
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
