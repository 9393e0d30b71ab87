"""An application that serves, as the agent is told to execute it: its services, its driver."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from tare import units
from tare.agent import record
from tare.errors import TrialError
from tare.workloads import placeholders
from tare.workloads.application import SCRATCH, Application, Ready, Service

#: How long all commands of ``[reset]`` may take.
RESET_S = 300.0
#: Beyond what the parts of a trial may take: starting them, and sending what they did.
SLACK_S = 60.0
_NS = 10**9


def supervision(
    services: Sequence[Service],
    reset: Sequence[tuple[str, ...]],
    values: Mapping[str, str],
    control: str,
    output_bytes: int,
) -> record.Supervision:
    """Return what ``tare-agent supervise`` is started with.

    Parameters
    ----------
    services : sequence of Service
    reset : sequence of commands
        Run before them.
    values : mapping
        What placeholders stand for.
    control : str
        Address and port of whom it reports to.
    output_bytes : int
        How much of the output of all services is kept.
    """
    return record.Supervision(
        control=control,
        reset=tuple(filled(command, values) for command in reset),
        reset_ns=round(RESET_S * _NS),
        services=tuple(_service(one, values) for one in services),
        copy_bytes=output_bytes // len(services),
    )


def driver(
    application: Application, values: Mapping[str, str], environment: Mapping[str, str],
    limit_bytes: int,
) -> record.Command:  # fmt: skip
    """Return the load generator of an application, as a command."""
    assert application.driver is not None
    own = application.driver.environment
    return record.Command(
        argv=filled(application.driver.command, values),
        environment={
            **environment,
            **{name: placeholders.fill(text, values) for name, text in own.items()},
        },
        directory=SCRATCH,
        input=None,
        capture=record.Capture(limit_bytes=limit_bytes),
    )


class AskedLoad(NamedTuple):
    """The load that is asked of a driver, and what makes it valid."""

    #: ``open``: requests come however long answers take; ``closed``: as users wait for them.
    kind: Literal["open", "closed"]
    #: Requests a second, and users; None: not asked, or not known yet.
    rate: float | None
    users: float | None
    #: The largest share of failed requests; None: not known yet.
    errors: float | None
    #: The least share of the rate.
    reached: float
    #: The parameter that makes the load larger or smaller; None: it is not one alone.
    setting: str | None

    @property
    def is_open(self) -> bool:
        """Whether requests come however long answers take."""
        return self.kind == "open"

    @property
    def amount(self) -> float | None:
        """Requests a second, or users; None: not known."""
        return self.rate if self.is_open else self.users


def asked(application: Application, values: Mapping[str, str]) -> AskedLoad:
    """Return the load that is asked, as far as its placeholders have values.

    Raises
    ------
    ValueError
        Says which number is not possible.
    """
    driver = application.driver
    assert driver is not None

    def number(name: str, text: str | None, parse: Callable[[str], float], expected: str) -> Any:
        if text is None or not placeholders.names(text) <= set(values):
            return None
        given = placeholders.fill(text, values)
        try:
            return parse(given)
        except ValueError:
            raise ValueError(f"{name} = {given!r} of [driver] is no {expected}") from None

    positive = "number above 0"
    names = placeholders.names(driver.rate or driver.users or "")
    settings = [one.name for one in application.parameters if one.name in names]
    return AskedLoad(
        driver.load,
        number("rate", driver.rate, _positive, positive),
        number("users", driver.users, _positive, positive),
        number("errors", driver.errors, _share, 'share such as "1 %"'),
        driver.reached,
        settings[0] if len(settings) == 1 else None,
    )


def _positive(text: str) -> float:
    if not 0 < (found := float(text)) < 1e9:
        raise ValueError(text)
    return found


def _share(text: str) -> float:
    return units.share(text, -1e-9, 1.0)


def reset_s(commands: Sequence[tuple[str, ...]]) -> float:
    """Return how long all commands of ``[reset]`` may take."""
    return RESET_S if commands else 0.0


def ready_s(services: Sequence[Service]) -> float:
    """Return how long it may take until all services are ready, once there is a reset."""
    return sum(one.ready.within_s for one in services)


def stop_s(services: Sequence[Service]) -> float:
    """Return how long it may take until all services have ended."""
    return sum(one.stop_s for one in services)


def longest_s(application: Application) -> float:
    """Return how long a trial may take, from its reset until its services have ended."""
    assert application.driver is not None
    services = application.services
    own = reset_s(application.reset) + ready_s(services) + stop_s(services)
    return own + application.driver.within_s + SLACK_S


def filled(words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """Put values in the place of placeholders."""
    return tuple(placeholders.fill(word, values) for word in words)


def _service(service: Service, values: Mapping[str, str]) -> record.Service:
    own = service.environment
    return record.Service(
        name=service.name,
        command=filled(service.command, values),
        environment={name: placeholders.fill(text, values) for name, text in own.items()},
        ready=_ready(service.ready, values),
        ready_ns=round(service.ready.within_s * _NS),
        stop_signal=signal.Signals[f"SIG{service.stop_signal}"].value,
        stop_ns=round(service.stop_s * _NS),
    )


def _ready(ready: Ready, values: Mapping[str, str]) -> record.Ready:
    if ready.log is not None:
        return record.ReadyLog(pattern=ready.log)
    if ready.port is not None:
        # Of services that several hosts have, each has its own.
        own = values.get(placeholders.HOST) or values[f"{placeholders.HOST}1"]
        return record.ReadyPort(address=f"{own}:{ready.port}")
    if ready.http is not None:
        parts = urlsplit(placeholders.fill(ready.http, values))
        host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname
        try:
            _ = parts.port
        except ValueError as error:
            raise TrialError(f"the page that shows a service is ready: {error}") from error
        return record.ReadyHttp(
            address=f"{host}:{parts.port or 80}", path=parts.path or "/", body=ready.body
        )
    assert ready.command is not None
    return record.ReadyCommand(command=filled(ready.command, values))
