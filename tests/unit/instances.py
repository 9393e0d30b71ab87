"""Instances of platforms on this machine: started, given a command, and gone afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from tare import platforms
from tare.agent import client, record
from tare.errors import PlatformError
from tare.experiment import remnants
from tare.host import lease, processes


@dataclass
class Started:
    """An instance with its agent, and where its files are on the host."""

    name: str
    folder: Path
    instance: platforms.Instance
    speaking: client.Agent

    @property
    def pid(self) -> int:
        """A process of it that the host sees: the agent, or what the sandbox is made of."""
        if self.instance.host_pid is not None:
            return self.instance.host_pid
        nest = next(one.pid for one in processes.named() if one.name == self.name)
        return int(Path(f"/proc/{nest}/task/{nest}/children").read_text().split()[0])


@contextlib.contextmanager
def started(stack: str, **given: object) -> Iterator[Started]:
    """Start one instance; nothing of it may be left at its end."""
    name = lease.new_name()
    folder = Path("/dev/shm") / name
    with remnants.lease(name):
        folder.mkdir()
        folder.chmod(0o777)
        place = platforms.Place(name=f"{name}-0", shared=str(folder))
        try:
            try:
                instance = platforms.start(stack, msgspec.structs.replace(place, **given))
            except PlatformError as error:
                if error.hint is None:
                    raise
                pytest.skip(error.message)
            try:
                yield Started(place.name, folder, instance, instance.agent)
            finally:
                instance.close()
            left = list(folder.iterdir())
            assert left == [], left
        finally:
            with contextlib.suppress(OSError):
                folder.rmdir()
    # What was still ending a moment ago, its groups among it, is gone with the session.
    assert left_of(name) == []


def left_of(session: str) -> list[str]:
    return [one.what for one in remnants.found() if lease.session_of(one.name) == session]


def command(speaking: client.Agent, *argv: str) -> list[record.Record]:
    return speaking.ask(
        record.Trial(
            id=speaking.next_id(),
            trial=1,
            nonce=1,
            workload=record.Command(
                argv=argv,
                environment={"PATH": "/usr/bin:/bin"},
                capture=record.Capture(limit_bytes=10_000),
            ),
            workers=(record.Worker(worker=0, cpus=None),),
            iterations=1,
            warmup=0,
            process="fresh",
            tail="stop",
            rendezvous=None,
            timeout_ns=20_000_000_000,
            linger_ns=0,
            observe=False,
            user=None,
        ),
        60,
    )


def faults(records: list[record.Record]) -> list[record.Fault]:
    return [one for one in records if isinstance(one, record.Fault)]
