"""Conducts one experiment on all hosts of a fleet: a task at a time on each, whatever others do."""

from __future__ import annotations

import os
import queue
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
from distributed import Client, Future, Scheduler
from distributed.scheduler import KilledWorker

import tare
from tare.agent import client as agent
from tare.errors import ExperimentError, PlatformError, StoreError
from tare.experiment import plan_file
from tare.experiment.plan import Plan
from tare.experiment.session import folder as folders
from tare.experiment.session.resume_state import Past
from tare.experiment.session.session import journal_path
from tare.features.fleet import laboratory
from tare.features.fleet.folder import HOSTS, Ended
from tare.features.fleet.laboratory import Asked, Hello, Laboratory, Refusal, Told

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: So often it is looked whether the scheduler is still there.
_LOOK_S = 1.0
#: Hosts of a run that is interrupted have so long to end what they do.
_END_S = 20.0


class Progress(Protocol):
    """Who wants to know how far the hosts are."""

    def told(self, host: str, told: Told) -> None:
        """Say that a host has done a block."""

    def note(self, said: str) -> None:
        """Say what became of a host."""


#: Of a host that has not said yet who it is.
_NOBODY = Hello("", "", "", "", 0)


@dataclass
class Host:
    """A worker, and what it has done."""

    name: str
    address: str
    hello: Hello = _NOBODY
    folder: Path = Path()
    #: Whether its session has.
    begun: bool = False
    ended: Ended | None = None
    why: Refusal | None = None
    blocks: int = 0
    measured_ns: int = 0
    own_cpu_ns: int = 0
    #: The journal of this session.
    journal: Path = Path()


@contextmanager
def _claimed(client: Client) -> Iterator[None]:
    """Have a task that its host loses fail at once, and nowhere be done again; put it back."""
    # Dask's own client has no types.
    run: Callable[..., int] = client.run_on_scheduler
    before = run(_allow, 0)
    try:
        yield
    finally:
        if client.status == "running":
            run(_allow, before)


def _allow(failures: int, dask_scheduler: Scheduler) -> int:
    before = int(dask_scheduler.allowed_failures)
    dask_scheduler.allowed_failures = failures
    return before


async def _claim(name: str, dask_worker: Any) -> None:
    """Give a worker what only its own tasks ask for."""
    await dask_worker.set_resources(**{name: 1})


def resource(name: str) -> str:
    """Return what a host's tasks ask for, and no other host has."""
    return f"tare-{name}"


def find(client: Client) -> dict[str, str]:
    """Return the address of each host by its name.

    Raises
    ------
    PlatformError
        If there is none, or two have one name.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    names = Counter(name_of(str(own["name"])) for own in workers.values())
    twice = [name for name, n in names.items() if n > 1]
    if twice:
        raise PlatformError(
            f"two workers are called {twice[0]!r}: which host is which cannot be told",
            "dask worker … --name HOST   (each another one)",
        )
    if not workers:
        raise PlatformError(
            "the scheduler has no workers, so there is no host", "dask worker ADDRESS --name HOST"
        )
    return {name_of(str(own["name"])): address for address, own in workers.items()}


def name_of(given: str) -> str:
    """Return a worker's name as that of a folder: by default it is an address."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", given).strip("-.")[:64]
    return name if _NAME.fullmatch(name) else "host"


class Engine:
    """All hosts of one scheduler.

    Parameters
    ----------
    client : Client
        Connected.
    progress : Progress
    refused : mapping of str to Refusal
        Hosts that were named and are not among the scheduler's.
    """

    def __init__(
        self, client: Client, progress: Progress, refused: Mapping[str, Refusal] | None = None
    ) -> None:
        self._client = client
        self._progress = progress
        self._refused = refused or {}
        self.hosts: dict[str, Host] = {}
        #: Which host a task is of.
        self._under_way: dict[Future[Any], Host] = {}
        #: Tasks that are over, and addresses of workers that are gone.
        self._heard: queue.SimpleQueue[Future[Any] | str] = queue.SimpleQueue()

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Greet all hosts, and have their tasks to themselves meanwhile."""
        for name, refusal in self._refused.items():
            self.hosts[name] = Host(name, "")
            self._refuse(self.hosts[name], refusal)
        self._subscribe(self._event)
        with _claimed(self._client):
            self._client.register_plugin(Laboratory(), name=laboratory.NAME)
            for name, address in find(self._client).items():
                self._client.run(_claim, resource(name), workers=[address])
                self.hosts[name] = Host(name, address)
            for host, said in self._each(laboratory.hello):
                host.hello = said
                if (said.version, said.agent) != (tare.__version__, agent.digest()):
                    why = f"it has tare {said.version} with another agent than this one"
                    self._refuse(host, Refusal(why, f"the same tare on {host.name} as here"))
            try:
                yield
            except BaseException:
                self._interrupt()
                raise

    def _subscribe(self, handler: Callable[[tuple[float, Any]], None]) -> None:
        subscribe: Callable[..., None] = self._client.subscribe_topic
        subscribe("all", handler)

    def _event(self, event: tuple[float, Any]) -> None:
        _, said = event
        if isinstance(said, dict) and said.get("action") == "remove-worker":
            self._heard.put(str(said["worker"]))

    def measure(self, asked: Asked, folder: Path) -> None:
        """Measure until every host has ended.

        Parameters
        ----------
        asked : Asked
        folder : Path
            Held; each host has its own in it.
        """
        begun = []
        for host, made in self._each(laboratory.plan, asked):
            host.folder = folder / HOSTS / host.name
            if isinstance(made, Refusal):
                self._refuse(host, made)
            elif (found := self._begun(host, made, asked.text)) is not None:
                begun.append((host, *found))
        # How often a kernel runs in one trial is found on one host, for all.
        frozen = next((made.repetitions for _, made, _ in begun if made.repetitions), None)
        if frozen is None and begun:
            host, made, past = begun.pop(0)
            self._submit(host, laboratory.begin, made, past)
            self._hear(lambda: host.ended is None and not host.begun)
            frozen = plan_file.read(host.folder).repetitions
        for host, made, past in begun:
            same = msgspec.structs.replace(made, repetitions=frozen)
            plan_file.write(same, host.folder)
            self._submit(host, laboratory.begin, same, past)
        self._hear(lambda: bool(self._under_way))

    def _submit(self, host: Host, work: Any, *given: Any) -> None:
        task: Future[Any] = self._client.submit(
            work, *given, resources={resource(host.name): 1}, pure=False, retries=0
        )
        self._under_way[task] = host
        tell: Callable[..., None] = task.add_done_callback
        tell(self._heard.put)

    def _each(self, work: Any, *given: Any) -> list[tuple[Host, Any]]:
        """Have all hosts that are left do something; one that fails is left out."""
        for host in self.hosts.values():
            if host.ended is None:
                self._submit(host, work, *given)
        found = []
        while self._under_way:
            if (heard := self._next()) is not None:
                found.append(heard)
        order = [*self.hosts]
        return sorted(found, key=lambda one: order.index(one[0].name))

    def _hear(self, wanted: Callable[[], bool]) -> None:
        """Take what hosts have found, and have them go on, as long as it is wanted."""
        while wanted():
            if (heard := self._next()) is None:
                continue
            host, told = heard
            self._take(host, told)
            if host.ended is None:
                self._submit(host, laboratory.block)

    def _next(self) -> tuple[Host, Any] | None:
        """Wait for the next task that is over; None: it brought nothing, or none was heard of."""
        try:
            heard = self._heard.get(timeout=_LOOK_S)
        except queue.Empty:
            if self._client.status not in ("running", "connecting"):
                raise PlatformError(
                    "the scheduler is gone; all blocks that had been told are kept",
                    "start it and its workers again, then the same command with --resume",
                ) from None
            return None
        if isinstance(heard, str):
            # What was asked of a host that is gone would wait for ever.
            for task, host in [*self._under_way.items()]:
                if host.address == heard:
                    del self._under_way[task]
                    self._lose(host, "its worker is gone")
            return None
        asked = self._under_way.pop(heard, None)
        if asked is None:
            return None
        try:
            return asked, heard.result()
        except KilledWorker:
            self._lose(asked, "its worker is gone")
        except Exception as error:
            self._lose(asked, f"{type(error).__name__}: {error}")
        return None

    def _refuse(self, host: Host, why: Refusal) -> None:
        host.ended, host.why = "refused", why
        self._progress.note(f"{host.name}: {why.why}" + (f"   try: {why.hint}" * bool(why.hint)))

    def _lose(self, host: Host, why: str) -> None:
        host.ended, host.why = "lost", Refusal(why, None)
        self._progress.note(f"{host.name}: {why}; what it had told is kept")

    def _begun(self, host: Host, made: Plan, text: str) -> tuple[Plan, Past] | None:
        """Begin a host's folder, or go on with it; None: it has all that is asked."""
        host.folder.mkdir(parents=True, exist_ok=True)
        past = Past()
        try:
            if folders.has_begun(host.folder):
                made, past, is_complete = folders.go_on(made, text, host.folder)
                if is_complete:
                    host.ended = "complete"
                    return None
            else:
                folders.begin(made, text, host.folder)
            host.journal = journal_path(host.folder)
        except (ExperimentError, StoreError) as error:
            self._refuse(host, Refusal(error.message, error.hint))
            return None
        return made, past

    def _take(self, host: Host, told: Told) -> None:
        """Keep what a host has found."""
        if told.plan is not None:
            plan_file.write(told.plan, host.folder)
        try:
            with host.journal.open("ab") as file:
                file.write(told.lines)
                file.flush()
                os.fdatasync(file.fileno())
        except OSError as error:
            raise StoreError(
                f"cannot write the journal {host.journal}: {error.strerror}; what hosts had told "
                "before is kept",
                "free some room, then run the same command again with --resume",
            ) from error
        host.begun = True
        host.blocks += told.blocks
        host.measured_ns += told.ended_ns - told.began_ns
        host.own_cpu_ns += told.own_cpu_ns
        host.ended, host.why = told.ended, told.refusal
        self._progress.told(host.name, told)

    def _interrupt(self) -> None:
        """Have every host end what it does, as far as it can still be reached."""
        ends = time.monotonic() + _END_S
        with suppress(Exception):
            for host in self.hosts.values():
                if host.begun and host.ended is None:
                    # It waits until the block is over that is under way.
                    self._submit(host, laboratory.end)
            while self._under_way and time.monotonic() < ends:
                if (heard := self._next()) is not None and isinstance(heard[1], Told):
                    self._take(*heard)
