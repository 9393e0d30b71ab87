"""What starts services in an instance, as it is heard on a host of the network.

The instance executes ``tare-agent supervise``. It reports to a process on a host of the network,
from where the services are ended as well.
"""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from tare import workloads
from tare.agent import record
from tare.agent.client import SilenceError
from tare.applications.refusal import Refusal
from tare.decoding import Decoder
from tare.errors import AgentError
from tare.experiment.session import phrases
from tare.experiment.session.answers import no_check
from tare.experiment.session.auxiliary import agent_on_host
from tare.experiment.session.failing import Why
from tare.host import processes
from tare.results.message import Duration, Message, message
from tare.workloads import serving
from tare.workloads.application import Service

if TYPE_CHECKING:
    from tare.networks.emulator import Emulator

_WHO_TEXTS = {
    "supervise": "what starts the services",
    "attend": "what passes on the reports of the services",
    "serve": "the agent of the services' instance",
    "driver": "the load generator's agent",
}

#: How long what passes reports on may take to start.
START_S = 60.0
#: How long a report may be on its way, and a line to whoever passes it on.
END_S = 5.0
#: Beyond the times that services have to become ready, and to end: on a small share of a CPU all
#: else takes its time as well.
SLACK_S = 20.0
#: How often it is looked whether a line was taken, and whether a report has come.
TICK_S = 0.02
LOOK_S = 0.2
#: In the environment of ``supervise``, and of nothing that it starts.
KEY, SPECIFICATION = "TARE_CONTROL_KEY", "TARE_SUPERVISION"
#: Of lines that a report shows.
LAST_LINES = 3

#: What starts services, what passes its reports and orders on, the agents of their instance and of
#: the load generator's.
_Who = Literal["supervise", "attend", "serve", "driver"]
_Reached = TypeVar("_Reached", record.ServicesReset, record.ServicesReady)

_reports = Decoder[record.ServicesReport](record.ServicesReport)


@dataclass
class Control:
    """Some services of an application in one instance, from their reset to their end.

    Parameters
    ----------
    emulator : Emulator
        Of the network.
    host : int
        On which it is listened for reports.
    services : sequence of Service
    reset : sequence of commands
        Run before them.
    """

    emulator: Emulator
    host: int
    services: Sequence[Service]
    reset: Sequence[tuple[str, ...]] = ()
    #: Why they do not serve; None: they do, as far as is known.
    failure: Why | None = None
    #: When each was ready, from the start of the first.
    ready_ns: tuple[int, ...] = ()
    #: Names of those that did not end in their time.
    killed: tuple[str, ...] = ()
    #: When all must have ended; None: they may go on.
    _due: float | None = None
    #: Who is to answer then.
    _last: _Who = "supervise"
    _key: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)

    def __post_init__(self) -> None:
        own = str(self.emulator.hosts[self.host - 1].address)
        self._channel = agent_on_host(self.emulator, self.host, "attend", "--bind", own)
        try:
            self._channel.send(self._key.encode())
            try:
                port = self._channel.receive(START_S)
            except SilenceError as error:
                raise unanswered("attend", START_S).error from error
            if port is None:
                said = self._channel.last_words()
                raise AgentError(f"host {self.host} cannot listen: {said}")
        except BaseException:
            self.close()
            raise
        self._address = f"{own}:{port.decode()}"

    def fileno(self) -> int:
        """Return the descriptor that is readable when a report has come."""
        return self._channel.fileno()

    def command(self, base: record.Command, values: Mapping[str, str]) -> record.Command:
        """Return what the instance executes.

        Parameters
        ----------
        base : Command
            With the environment that all of an application's commands have.
        values : mapping
            What placeholders stand for in the instance.
        """
        wanted = 0 if base.capture is None else base.capture.limit_bytes
        given = serving.supervision(self.services, self.reset, values, self._address, wanted)
        return msgspec.structs.replace(
            base,
            argv=(workloads.AGENT, "supervise"),
            # Other users see what stands in a command, and environments of services hold secrets.
            environment={
                **base.environment,
                KEY: self._key,
                SPECIFICATION: msgspec.json.encode(given).decode(),
            },
        )

    def ready(self, meanwhile: Callable[[], None] = no_check) -> bool:
        """Wait until all services are ready; False: they have failed.

        Parameters
        ----------
        meanwhile : callable
            Called again and again; raises where there is nothing to wait for any more.

        Raises
        ------
        TrialError
            If nothing is reported in time.
        """
        if not self._reached(record.ServicesReset, serving.reset_s(self.reset), meanwhile):
            return False
        reached = self._reached(record.ServicesReady, serving.ready_s(self.services), meanwhile)
        if reached is None:
            return False
        self.ready_ns = reached.after_ns
        return True

    def _reached(
        self, kind: type[_Reached], limit_s: float, meanwhile: Callable[[], None]
    ) -> _Reached | None:
        """Return the report that comes next; None: it is another one."""
        limit_s += SLACK_S
        deadline = time.monotonic() + limit_s
        while True:
            try:
                report = self._report(LOOK_S)
                break
            except SilenceError as error:
                meanwhile()
                if time.monotonic() > deadline:
                    what = "ready" if kind is record.ServicesReady else "reset"
                    said = message(
                        "what starts the services did not report within {limit} that "
                        '{% if what == "ready" %}all services are ready{% else %}their '
                        "reset is done{% endif %}",
                        what=what,
                        limit=Duration(limit_s),
                    )
                    raise Why.of(Refusal(f"serving.unreported {what}", said)).error from error
        if isinstance(report, kind):
            return report
        self._take(report)
        return None

    def heard(self) -> bool:
        """Take what has been reported, if anything; return whether services still serve."""
        with contextlib.suppress(SilenceError):
            report = self._report(0.0)
            self._take(report)
            if report is None:
                self.fail(
                    Why.of(Refusal("serving.gone", message(phrases.GONE, who=_named(self._last))))
                )
        return self.failure is None

    def ended_early(self) -> None:
        """Take the report of services that have ended while they were needed."""
        self._take(self._report(END_S))

    def end(self) -> None:
        """Have services end, and take what is reported of that."""
        self._due = due = time.monotonic() + self._ending_s
        # An agent that has ended has reported the reason already.
        with contextlib.suppress(AgentError):
            self._channel.send(b"stop")
        while self._channel.unread():
            if time.monotonic() > due - self._ending_s + END_S:
                self.fail(unanswered("attend", END_S))
                # With the connection the services end.
                self.kill()
                break
            time.sleep(TICK_S)
        while (report := self._report(due - time.monotonic())) is not None:
            self._take(report)
        self._last = "serve"

    def look(self) -> None:
        """Look whether services have ended in time, once nobody needs them any more.

        Raises
        ------
        TrialError
            If they have not: says who did not answer.
        """
        if self._due is not None and time.monotonic() > self._due:
            # It may have been stopped after it took the order.
            stopped = processes.is_stopped(self._channel.process.pid)
            self.fail(unanswered("attend" if stopped else self._last, self._ending_s))
            assert self.failure is not None
            raise self.failure.in_one_line.error

    def wait(self, seconds: float) -> None:
        """Wait until nothing is passed on any more: it ends with the connection."""
        try:
            self._channel.process.wait(max(TICK_S, seconds))
        except subprocess.TimeoutExpired:
            self.fail(unanswered("attend", END_S))
            self.kill()

    def fail(self, why: Why) -> None:
        """Keep why there is no trial; the first reason comes first."""
        self.failure = why if self.failure is None else self.failure.followed_by(why)

    def kill(self) -> None:
        """End what passes reports on, and with the connection the services."""
        self._channel.process.kill()

    def close(self) -> None:
        """End it, and forget what it says."""
        self.kill()
        self._channel.close()

    @property
    def _ending_s(self) -> float:
        return serving.stop_s(self.services) + SLACK_S

    def _report(self, limit_s: float | None) -> record.ServicesReport | None:
        """Return the next report; None: there is none any more."""
        line = self._channel.receive(limit_s)
        return None if line is None else _reports.decode(line)

    def _take(self, report: record.ServicesReport | None) -> None:
        if isinstance(report, record.ServicesFailed):
            # What ended a service is why its load failed.
            why = _said(report)
            self.failure = why if self.failure is None else why.followed_by(self.failure)
        elif isinstance(report, record.ServicesEnded):
            self.killed = report.killed


def _said(report: record.ServicesFailed) -> Why:
    return Why.of(
        Refusal(
            f"serving.failed {report.service} {report.what}",
            message(
                "{% if service %}service {service} {what}{% else %}reset: {what}{% endif %}"
                '{% if log %}; its last lines: {log | join(" | ")}{% endif %}',
                service=report.service,
                what=report.what,
                log=last(report.log),
            ),
        )
    )


def unanswered(who: _Who, limit_s: float) -> Why:
    """Return that somebody did not answer within a time."""
    return Why.of(
        Refusal(
            "serving.unanswered",
            message(
                "{who} did not answer within {limit}", who=_named(who), limit=Duration(limit_s)
            ),
        )
    )


def _named(who: _Who) -> Message:
    return message(_WHO_TEXTS[who])


def last(printed: str) -> list[str]:
    """Return the last lines of what a program printed."""
    lines = (line.strip() for line in printed.splitlines())
    return [line for line in lines if line][-LAST_LINES:]
