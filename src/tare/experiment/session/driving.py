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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tare import workloads
from tare.agent import record
from tare.applications.refusal import Refusal
from tare.decoding import DecodeError
from tare.errors import AgentError, TareError
from tare.experiment.session import control, phrases
from tare.experiment.session.auxiliary import AuxiliaryCommand
from tare.experiment.session.control import Control
from tare.experiment.session.drivers import HOST, LOOK_S, SMALL_S, DriverInstance
from tare.experiment.session.failing import Why
from tare.render.words import text
from tare.results.message import Duration, message
from tare.workloads import serving
from tare.workloads.application import SCRATCH, Application

if TYPE_CHECKING:
    from tare.experiment.session.hosts import Hosts


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
    #: It ended by itself, and its file is to be read.
    whole: bool = False
    _command: record.Command | None = None
    _generator: AuxiliaryCommand | None = None

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
    def records(self) -> Sequence[record.Record]:
        """What the load generator's agent has reported of it."""
        return () if self._generator is None else self._generator.records

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
        self._generator = generator = self.resident.start(self._command, limit_s, self.trial)
        deadline = time.monotonic() + limit_s + SMALL_S
        with selectors.DefaultSelector() as selector:
            selector.register(agent.channel, selectors.EVENT_READ)
            selector.register(self._control, selectors.EVENT_READ)
            while True:
                if generator.has_ended():
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
        if (fault := generator.fault) is not None:
            self._control.fail(
                Why.of(
                    Refusal(
                        f"serving.driver {fault.message}",
                        message(
                            "the load generator failed: {what}{% for line in log %}; "
                            "{line}{% endfor %}",
                            what=fault.message,
                            log=control.last(fault.evidence or ""),
                        ),
                    )
                )
            )
