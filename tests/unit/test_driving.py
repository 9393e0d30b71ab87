"""Services and what drives them: whoever is silent is named, and nobody waits for it for long."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from served import application

from tare.agent import client, record
from tare.errors import AgentError, TrialError
from tare.experiment.session import auxiliary, control
from tare.experiment.session.drivers import DriverInstance
from tare.experiment.session.driving import Driving
from tare.host import processes
from tare.workloads import serving
from tare.workloads.application import Application, Ready, Service

SERVES = "echo it is up; exec sleep 60"
#: It ignores what asks it to end.
STAYS = "trap '' TERM; echo it is up; while :; do sleep 0.1; done"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "SLACK_S", 2.0)
    monkeypatch.setattr(control, "END_S", 0.5)


def of(*scripts: str) -> Application:
    services = tuple(
        Service(
            name=f"s{number}", command=("sh", "-c", script), stop_s=0.3,
            ready=Ready(log="it is up", within_s=2.0),
        )
        for number, script in enumerate(scripts)
    )  # fmt: skip
    return msgspec.structs.replace(application(), services=services)


class Trial:
    """What a trial's instance executes, next to what drives it."""

    def __init__(self, driving: Driving, supervise: subprocess.Popen[bytes]) -> None:
        self.driving = driving
        self.supervise = supervise

    def ended(self) -> bytes:
        """Wait for the instance as a session does; return what it wrote."""
        while self.supervise.poll() is None:
            self.driving.look()
            time.sleep(0.02)
        self.driving.wait()
        assert self.supervise.stdout is not None
        return self.supervise.stdout.read()


@contextlib.contextmanager
def trial(found: Application, capture_bytes: int = 0, load: Any = None) -> Iterator[Trial]:
    """Have services driven on this host; ``load`` is executed once they are ready."""
    emulator = SimpleNamespace(
        hosts=[SimpleNamespace(address="127.0.0.1")] * 2, enter=lambda host: []
    )
    hosts: Any = SimpleNamespace(emulator=emulator, drivers=SimpleNamespace(discard=lambda _: None))
    asked = serving.asked(found, {"rate": "10"})
    resident: Any = SimpleNamespace()
    driving = Driving(hosts, found, resident, 1, asked, lambda begins: None)
    driving._load = lambda: load(run) if load else None  # type: ignore[method-assign]
    base = record.Command(
        argv=("supervise",), environment={"PATH": os.environ["PATH"]}, directory=None, input=None,
        capture=record.Capture(limit_bytes=capture_bytes),
    )  # fmt: skip
    with driving:
        given = driving.supervised(base, {"rate": "10"})
        with subprocess.Popen(
            [client.binary(), "supervise"], env=given.environment, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as supervise:  # fmt: skip
            run = Trial(driving, supervise)
            try:
                yield run
            finally:
                supervise.kill()


def test_services_that_end_in_time_leave_nothing_to_say() -> None:
    with trial(of(SERVES, SERVES)) as run:
        assert run.ended() == b""
        assert run.driving.failure is None
        assert [*run.driving.warnings] == []
        assert len(run.driving.ready_ns) == 2


def test_attend_may_end_some_time_after_its_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "agent"
    slow.write_text(f'#!/bin/sh\n{client.binary()} "$@"\nexec >&-\nsleep 0.3\n')
    slow.chmod(0o755)
    monkeypatch.setattr(auxiliary, "client", SimpleNamespace(binary=lambda: slow))
    with trial(of(SERVES)) as run:
        run.ended()
        assert run.driving.failure is None


def test_a_service_ends_by_its_signal_though_a_script_ignores_it() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with trial(of("echo it is up; exec sleep 60")) as run:
            run.ended()
            assert not [*run.driving.warnings]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_why_a_service_ended_comes_before_what_its_load_said() -> None:
    def fail(run: Trial) -> None:
        # Until it was reported, and who reported it is gone.
        run.driving._control._channel.process.wait(5)
        raise TrialError("cannot connect")

    with trial(of("echo it is up; sleep 0.3; echo no disk; exit 3"), load=fail) as run:
        run.ended()
        assert run.driving.failure is not None
        assert re.match(r"service s0 .*no disk.*; cannot connect$", run.driving.failure.reason)


def test_a_service_that_is_killed_is_named_and_the_trial_stays_valid() -> None:
    with trial(of(SERVES, STAYS)) as run:
        run.ended()
        assert run.driving.failure is None
        (warning,) = run.driving.warnings
        assert (warning.kind, warning.trial) == ("warning", 1)
        assert warning.message.startswith("service s1 did not end within 300 ms")


def test_what_services_write_is_copied_with_their_names_up_to_a_limit() -> None:
    noisy = f"yes | head -c 5000; echo over >&2; {SERVES}"
    with trial(of(SERVES, noisy), capture_bytes=2000) as run:
        written = run.ended()
    lines = written.splitlines()
    assert b"s0| it is up" in lines
    assert lines.count(b"s1| y") == 1000 // len("s1| y\n")
    assert len(written) <= 2000


def test_a_stopped_supervise_is_named_once_its_services_had_their_time() -> None:
    began = time.monotonic()
    with trial(of(SERVES), load=lambda run: run.supervise.send_signal(signal.SIGSTOP)) as run:
        with pytest.raises(TrialError, match="what starts the services did not answer"):
            run.ended()
        assert time.monotonic() - began < 6


def test_a_stopped_supervise_that_reports_nothing_is_named() -> None:
    with trial(of("sleep 0.5; " + SERVES)) as run:
        run.supervise.send_signal(signal.SIGSTOP)
        with pytest.raises(TrialError, match="did not report within") as raised:
            run.ended()
        assert "what starts the services did not answer" in raised.value.message


def test_a_stopped_attend_is_named_and_the_services_end_in_order() -> None:
    def stop(run: Trial) -> None:
        attend = run.driving._control._channel.process
        attend.send_signal(signal.SIGSTOP)
        while not processes.is_stopped(attend.pid):
            time.sleep(0.01)

    with trial(of(SERVES), load=stop) as run:
        run.ended()
        assert run.driving.failure is not None
        assert (
            run.driving.failure.reason
            == "what passes on the reports of the services did not answer within 500 ms"
        )
        assert run.supervise.returncode == 0


def test_a_silent_agent_of_the_load_generator_is_named_and_not_used_again() -> None:
    def receive(_: float) -> record.Record:
        raise client.SilenceError(31.0)

    agent: Any = SimpleNamespace(submit=lambda job: None, receive=receive, next_id=lambda: 1)
    running: Any = SimpleNamespace(agent=agent, users=True)
    instance = DriverInstance(running, None)
    with pytest.raises(AgentError, match="the load generator's agent did not answer"):
        instance.ask(("cat", "/tmp/rows.csv"))
    discarded: list[object] = []

    def read(run: Trial) -> None:
        run.driving.whole = True
        run.driving.hosts.drivers.discard = discarded.append  # type: ignore[method-assign]

    with contextlib.suppress(AgentError), trial(of(SERVES), load=read) as run:
        run.ended()
        raise AgentError("the load generator's agent did not answer")
    assert len(discarded) == 1


def test_the_load_names_the_parameter_that_it_depends_on() -> None:
    assert serving.asked(of(SERVES), {"rate": "7"}).setting == "rate"
    closed = serving.asked(application("closed"), {"users": "7"})
    assert (closed.users, closed.rate, closed.setting) == (7.0, None, "users")
    fixed = serving.asked(application(rate="50"), {})
    assert (fixed.rate, fixed.setting) == (50.0, None)
