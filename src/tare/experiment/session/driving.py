"""A trial of an application that serves: when its services are ready, a load generator drives them.

The trial's instance executes ``tare-agent supervise``, which starts the services. It reports to a
process on another host of the network, from where the services are ended as well. The load
generator is the child of an agent on that host, so that its CPU time is measured like any other.
"""

from __future__ import annotations

import contextlib
import selectors
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tare import platforms, workloads
from tare.agent import client, record
from tare.agent.client import Answer, SilenceError
from tare.applications.refusal import Refusal
from tare.decoding import DecodeError
from tare.errors import AgentError, TareError
from tare.experiment.session import control, phrases, single_execution
from tare.experiment.session.control import Control
from tare.experiment.session.failing import Why
from tare.experiment.session.resident import Cpus
from tare.render.words import text
from tare.results.message import Duration, message
from tare.workloads import serving
from tare.workloads.application import SCRATCH, Application

if TYPE_CHECKING:
    from pathlib import Path

    from tare.experiment.session.hosts import Hosts
    from tare.networks.emulator import Emulator

#: The host on which load generators are.
HOST = 2
#: How long an agent may take to start, and a small command of ours.
START_S, SMALL_S = 60.0, 30.0
#: How often it is looked whether a load generator has had its time.
LOOK_S = 1.0


class Drivers:
    """The instances in which load generators run: resident, one for each image and set of CPUs.

    Parameters
    ----------
    name : str
        Of the session.
    emulator : Emulator
        Of the network.
    shared : Path
        What instances are shown.
    user : User or None
        As whom load generators run; None: as who runs this.
    """

    def __init__(
        self, name: str, emulator: Emulator, shared: Path, user: record.User | None
    ) -> None:
        self._name = name
        self.emulator = emulator
        self._shared = shared
        self.user = user
        self._running: dict[
            tuple[platforms.Root | None, tuple[int, ...] | None], DriverInstance
        ] = {}
        self._started = 0

    def get(self, root: platforms.Root | None, cpus: Cpus) -> DriverInstance:
        """Return the instance with such files on such CPUs; None: on all."""
        if (root, cpus) not in self._running:
            place = platforms.Place(
                name=f"{self._name}-driver-{self._started}",
                shared=str(self._shared),
                cpus=cpus,
                network=self.emulator.hosts[HOST - 1].namespace,
                root=root,
                user=self.user,
            )
            self._started += 1
            instance = platforms.start("bare", place)
            try:
                agent = client.Agent(instance.channel, timeout_s=START_S)
            except BaseException:
                instance.close()
                raise
            own = 0 if cpus is None else len(cpus)
            self._running[root, cpus] = DriverInstance(instance, agent, self.user, own)
        return self._running[root, cpus]

    def discard(self, resident: DriverInstance) -> None:
        """End an instance whose agent may still do what nobody waits for."""
        self._running = {key: one for key, one in self._running.items() if one is not resident}
        resident.instance.close()

    def close(self) -> None:
        """End all of them."""
        for resident in list(self._running.values()):
            self.discard(resident)


@dataclass(frozen=True)
class DriverInstance:
    """An instance with its agent."""

    instance: platforms.Instance
    agent: client.Agent
    user: record.User | None
    #: CPUs that no service has; 0: both share all CPUs.
    own_cpus: int = 0

    def job(self, command: record.Command, limit_s: float, trial: int) -> record.Trial:
        """Return a trial whose only execution is a command."""
        user = self.user if self.instance.users else None
        number = self.agent.next_id()
        return single_execution.job(number, command, user, trial=trial, limit_s=limit_s)

    def ask(self, argv: tuple[str, ...], limit_bytes: int = 0) -> list[record.Record]:
        """Run a small command of ours to its end."""
        command = record.Command(
            argv=argv, environment=workloads.ENVIRONMENT, directory=None, input=None,
            capture=record.Capture(limit_bytes=limit_bytes),
        )  # fmt: skip
        limit_s = SMALL_S + LOOK_S
        try:
            return self.agent.ask(self.job(command, SMALL_S, 0), limit_s)
        except SilenceError as error:
            why = control.unanswered("driver", limit_s)
            raise AgentError(why.reason) from error


@dataclass
class Driving:
    """One trial's load; a context manager around what the trial's instance does.

    Parameters
    ----------
    hosts : Hosts
        The network.
    application : Application
        One that serves.
    resident : DriverInstance
        Where the load generator is to run.
    trial : int
    asked : AskedLoad
        The load.
    on_load_change : callable
        Called when the load begins (True), and when it has ended.
    """

    hosts: Hosts
    application: Application
    resident: DriverInstance
    trial: int
    asked: serving.AskedLoad
    on_load_change: Callable[[bool], object]
    #: What the load generator's agent said of it.
    records: list[record.Record] = field(default_factory=list)
    #: It ended by itself, and its file is to be read.
    whole: bool = False
    _command: record.Command | None = None

    def __enter__(self) -> Self:
        application = self.application
        self._control = Control(self.hosts.emulator, HOST, application.services, application.reset)
        self._thread = threading.Thread(target=self._drive, daemon=True)
        try:
            self._thread.start()
        except BaseException:
            self._control.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Whatever it waits for has ended with the trial, or is not wanted any more.
        self._control.kill()
        self._thread.join()
        self._control.close()
        if not self.whole or isinstance(error, AgentError):
            self.hosts.drivers.discard(self.resident)

    def supervised(self, base: record.Command, values: Mapping[str, str]) -> record.Command:
        """Return what the instance executes, and note what the load generator does then.

        Parameters
        ----------
        base : Command
            With the environment that all of an application's commands have.
        values : mapping
            What placeholders stand for in the instance, its own address among them.
        """
        self._command = serving.driver(
            self.application, values, base.environment, workloads.CAPTURE_LIMIT_BYTES
        )
        return self._control.command(base, values)

    @property
    def failure(self) -> Why | None:
        """Why the load made no trial; None: it did, as far as is known."""
        return self._control.failure

    @property
    def ready_ns(self) -> tuple[int, ...]:
        """When each service was ready, from the start of the first."""
        return self._control.ready_ns

    @property
    def killed(self) -> tuple[str, ...]:
        """Names of services that did not end in their time."""
        return self._control.killed

    def look(self) -> None:
        """Look whether services have ended in time, as :meth:`Control.look` does."""
        self._control.look()

    def wait(self) -> None:
        """Wait for what is still reported, after the instance has answered."""
        due = time.monotonic() + control.END_S
        self._thread.join(control.END_S)
        # It ends with the connection, but after its last word.
        self._control.wait(due - time.monotonic())
        self._thread.join()

    @property
    def output(self) -> Iterator[record.Output]:
        """What the load generator wrote."""
        return (got for got in self.records if isinstance(got, record.Output))

    @property
    def warnings(self) -> Iterator[record.Fault]:
        """What a valid trial is to be kept with."""
        for service in self.application.services:
            if service.name in self.killed:
                said = message(
                    phrases.KILLED, service=service.name, hosts=None,
                    limit=Duration(service.stop_s),
                )  # fmt: skip
                yield record.Fault(id=0, trial=self.trial, kind="warning", message=text(said))

    def _drive(self) -> None:
        """Have services driven as soon as they are ready, then ended."""
        fail = self._control.fail
        try:
            if self._control.ready():
                self.on_load_change(True)
                try:
                    self._load()
                finally:
                    self.on_load_change(False)
        except (TareError, DecodeError) as error:
            fail(Why.of_error(error) if isinstance(error, TareError) else Why(str(error)))
        with contextlib.suppress(AgentError, DecodeError):
            self._control.end()

    def _load(self) -> None:
        """Run the load generator to its end, or until its services have ended."""
        assert self.application.driver is not None
        assert self._command is not None
        limit_s = self.application.driver.within_s
        agent = self.resident.agent
        # What the trial before has left is not taken for what this one leaves.
        self.resident.ask(("sh", "-c", f"rm -rf {SCRATCH}/* {SCRATCH}/.[!.]*"))
        job = self.resident.job(self._command, limit_s, self.trial)
        agent.submit(job)
        answer = Answer(agent, job.id)
        deadline = time.monotonic() + limit_s + SMALL_S
        with selectors.DefaultSelector() as selector:
            selector.register(agent.channel, selectors.EVENT_READ)
            selector.register(self._control, selectors.EVENT_READ)
            while True:
                with contextlib.suppress(SilenceError):
                    self.records += iter(lambda: answer.next(0.0), None)
                    break
                for key, _ in selector.select(LOOK_S):
                    if key.fileobj is self._control:
                        # They have ended while they were driven.
                        self._control.ended_early()
                        return
                if time.monotonic() > deadline:
                    raise Why.of(
                        Refusal(
                            "serving.silent",
                            message(
                                "the load generator did not end within {limit}",
                                limit=Duration(limit_s),
                            ),
                        )
                    ).error
        self.whole = True
        for got in self.records:
            if isinstance(got, record.Fault) and got.kind != "warning":
                last = control.last(got.evidence or "")
                self._control.fail(
                    Why.of(
                        Refusal(
                            f"serving.driver {got.message}",
                            message(
                                "the load generator failed: {what}{% for line in log %}; "
                                "{line}{% endfor %}",
                                what=got.message,
                                log=last,
                            ),
                        )
                    )
                )
                return
