"""The hosts of a fleet: who is there, what each is asked, and what became of it."""

from __future__ import annotations

import fnmatch
import math
import queue
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from distributed import Client, Future, Scheduler
from distributed.scheduler import KilledWorker

from tare.agent import client as agent
from tare.errors import PlatformError, Typed, advice
from tare.features.fleet import laboratory
from tare.features.fleet.folder import Ended
from tare.features.fleet.laboratory import (
    Hello,
    Laboratory,
    Refusal,
    Reply,
    Told,
    name_of,
    resource,
)
from tare.version import __version__

#: Interval between checks that the scheduler is still there, in seconds.
_LOOK_S = 1.0
#: Most characters of a host's message that are shown.
_LONGEST = 400
#: Most host names that an error about an unknown host lists.
_MOST_NAMED = 8
#: Until a host that says nothing is given up: its worker may be busy with something else.
_GREETING_S = 60.0
#: Until it is looked whether whoever has what is fetched is gone.
_FETCH_S = 5.0
#: Most finished tasks whose results are fetched in one exchange.
_TOGETHER = 32


class Progress(Protocol):
    """Who wants to know how far the hosts are."""

    def count(self, what: str, done: int, of: int, lasts_s: float = 0.0) -> None:
        """Report the progress of a step outside the blocks; ``lasts_s``: its expected duration."""

    def planned(self, host: str, blocks: int | None) -> None:
        """Say how many blocks a host has still to measure, where that is known."""

    def told(self, host: str, told: Told) -> None:
        """Say that a host has done a block."""

    def note(self, said: str) -> None:
        """Say what became of a host."""


#: Placeholder for a host that has not introduced itself yet.
_NOBODY = Hello("", "", "", "", 0)


@dataclass
class Host:
    """A worker, and what it has done."""

    name: str
    address: str
    hello: Hello = _NOBODY
    #: When it came, since the fleet was reached.
    joined_s: float = 0.0
    folder: Path = Path()
    #: Whether its session has.
    begun: bool = False
    ended: Ended | None = None
    why: Refusal | None = None
    blocks: int = 0
    measured_ns: int = 0
    #: Time that the session took to begin, and later also to end, in ns; None: not known yet.
    session_ns: int | None = None
    #: Blocks that ended no session, how long they took, and the worker's CPU time meanwhile.
    plain_blocks: int = 0
    plain_ns: int = 0
    own_cpu_ns: int = 0
    #: The journal of this session.
    journal: Path = Path()
    #: When it was last asked for something, on the monotonic clock.
    asked_s: float = field(default_factory=time.monotonic)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + ", …" * (len(names) > _MOST_NAMED)


class Joined(NamedTuple):
    """A worker has come."""

    address: str


class Gone(NamedTuple):
    """A worker is gone."""

    address: str


class _Claim(NamedTuple):
    """Whose experiment a scheduler serves, and what it allowed before."""

    client: str
    failures: int


def _claim(client: str, dask_scheduler: Scheduler) -> float | None:
    """Have tasks that their host loses fail at once; None: somebody else has that now.

    Returns seconds after which a worker is given up that sends no sign of life.
    """
    held: _Claim | None = getattr(dask_scheduler, "tare", None)
    if held is not None and held.client in dask_scheduler.clients:
        return None
    # One that was killed has put nothing back.
    before = int(dask_scheduler.allowed_failures) if held is None else held.failures
    dask_scheduler.tare = _Claim(client, before)  # type: ignore[attr-defined]
    dask_scheduler.allowed_failures = 0
    return float(dask_scheduler.worker_ttl or math.inf)


def _release(client: str, dask_scheduler: Scheduler) -> None:
    held: _Claim | None = getattr(dask_scheduler, "tare", None)
    if held is not None and held.client == client:
        dask_scheduler.allowed_failures = held.failures
        del dask_scheduler.tare  # type: ignore[attr-defined]


@contextmanager
def _claimed(client: Client) -> Iterator[float]:
    """Have the scheduler for one experiment; put back what that takes.

    Yields
    ------
    float
        Seconds after which it gives a worker up that sends no sign of life.
    """
    # Dask's own client has no types.
    run: Callable[..., Any] = client.run_on_scheduler
    try:
        ttl_s = run(_claim, client.id)
    except Exception as error:
        raise PlatformError(
            "the scheduler cannot do what it is asked, as with another tare or none: "
            f"{_said(error)}",
            "the same tare on all hosts, and where the scheduler runs",
        ) from error
    if ttl_s is None:
        raise PlatformError(
            "another experiment is under way on this fleet, so nothing was measured",
            "wait until it has ended, then the same command",
        )
    try:
        yield float(ttl_s)
    finally:
        if client.status == "running":
            run(_release, client.id)


def _line(said: str) -> str:
    """Return what comes from a host as a line of its own, and no more."""
    return " ".join(said[:_LONGEST].split())


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def find(client: Client) -> dict[str, str]:
    """Return the address of each host by its name.

    Raises
    ------
    PlatformError
        If there is none, or two have one name.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"]
    given = [str(own["name"]) for own in workers.values()]
    names = Counter(map(name_of, given))
    if twice := [name for name in given if names[name_of(name)] > 1]:
        some = " and ".join(repr(name[:_LONGEST]) for name in twice[:2])
        raise PlatformError(
            f"workers {some} would both be the host {name_of(twice[0])!r}",
            "give each another one with dask worker --name, of A–Z, a–z, 0–9, ., _ and -",
        )
    if not workers:
        raise PlatformError(
            "the scheduler has no workers, so there is no host", "name each with dask worker --name"
        )
    return {name_of(str(own["name"])): address for address, own in workers.items()}


class Engine:
    """All hosts of one scheduler that are wanted.

    Parameters
    ----------
    client : Client
        Connected.
    progress : Progress
    wanted : sequence of str
        Names of hosts, or patterns; none: all.
    refused : mapping of str to Refusal
        Hosts that were to be there and are not among the scheduler's.
    drop : callable or None
        Ends what plays a host that is lost, where that is in the way of others.
    restart : str
        Begins the hint where the scheduler has ended; empty if tare starts it itself.
    """

    def __init__(
        self,
        client: Client,
        progress: Progress,
        wanted: Sequence[str] = (),
        refused: Mapping[str, Refusal] | None = None,
        drop: Callable[[str], None] | None = None,
        restart: str = "",
    ) -> None:
        self._client = client
        self._restart = restart
        self._wanted = wanted
        self._refused = refused or {}
        self._drop = drop
        self._began_s = time.monotonic()
        #: When somebody asked for a fleet.
        self.asked_s = self._began_s
        self.progress = progress
        self.hosts: dict[str, Host] = {}
        #: Host of each task that is running.
        self.under_way: dict[Future[Any], Host] = {}
        #: Tasks that are over, and workers that came or went.
        self._heard: queue.SimpleQueue[Future[Any] | Joined | Gone] = queue.SimpleQueue()
        #: Replies of tasks and newly joined workers that were not handled yet.
        self._found: deque[tuple[Host, Reply | None] | Joined] = deque()
        #: Tasks that were fetched, until hosts have been asked for more: Dask would say first that
        #: it needs them no more, and what it sends next waits 10 ms.
        self._fetched: list[Future[Any]] = []

    @contextmanager
    def reached(self, plugin: Laboratory | None = None) -> Iterator[None]:
        """Greet all hosts, and have their tasks to themselves meanwhile.

        Parameters
        ----------
        plugin : Laboratory or None
            What takes place on each; None: what does so on real ones.

        Raises
        ------
        PlatformError
            If there is no host, or another experiment is under way.
        """
        # Dask's own client has no types.
        client: Any = self._client
        plugin = plugin or Laboratory()
        with _claimed(self._client) as plugin.ttl_s:
            client.subscribe_topic("all", self._event)
            unlike: Exception | None = None
            # Also for those that come later.
            try:
                client.register_plugin(plugin, name=laboratory.NAME)
            except Exception as error:
                unlike = error
            try:
                self._find()
                if unlike is not None:
                    self._refuse_unable(unlike)
                for host, said in self.each(laboratory.hello, most_s=_GREETING_S):
                    if isinstance(said, Hello):
                        self.greeted(host, said)
                    else:
                        self.refuse(host, Refusal("what it says of itself is none of tare's", None))
                self._name_shared()
                yield
            finally:
                with suppress(Exception):
                    client.unsubscribe_topic("all")
                    client.unregister_worker_plugin(laboratory.NAME)

    def _find(self) -> None:
        """Look who is there; one that is wanted by its name and is not there is refused."""
        there = find(self._client)
        for name, address in there.items():
            if self._is_wanted(name):
                self.hosts[name] = Host(name, address)
        for name, refusal in self._refused.items():
            if self._is_wanted(name):
                self.hosts[name] = Host(name, "")
                self.refuse(self.hosts[name], refusal)
        for name in dict.fromkeys(self._wanted):
            if not any(fnmatch.fnmatchcase(one, name) for one in (*there, *self._refused)):
                self.hosts[name] = absent = Host(name, "")
                why = f"no host is called so; there are: {_some([*there])}"
                self.refuse(absent, Refusal(why, None))

    def _name_shared(self) -> None:
        """Say which hosts wait for each other, where they were not made on one machine."""
        hosts = [host for host in self.hosts.values() if host.ended is None and host.hello.machine]
        for machine in dict.fromkeys(host.hello.machine for host in hosts):
            names = sorted(host.name for host in hosts if host.hello.machine == machine)
            if len(names) > 1 and self._drop is None:
                self.progress.note(f"one machine, so one measures at a time: {_some(names)}")

    def _refuse_unable(self, error: Exception) -> None:
        """Leave hosts out that have not become laboratories; Dask says one error for all."""
        client: Any = self._client
        able = client.run(laboratory.is_able, on_error="return")
        # Others may still be set up: what is asked of a host before it has its resource is lost.
        client.run(
            laboratory.claim,
            workers=[address for address, is_able in able.items() if is_able is True],
            on_error="return",
        )
        for host in self.hosts.values():
            if host.ended is None and able.get(host.address) is not True:
                self._refuse_unlike(host, error)

    def _refuse_unlike(self, host: Host, error: Exception) -> None:
        why = f"it cannot do what it is asked, as with another tare or none: {_said(error)}"
        self.refuse(host, Refusal(why, f"the same tare on {host.name} as here"))

    def _is_wanted(self, name: str) -> bool:
        return not self._wanted or any(fnmatch.fnmatchcase(name, one) for one in self._wanted)

    def _event(self, event: tuple[float, Any]) -> None:
        _, said = event
        if isinstance(said, dict) and said.get("action") == "remove-worker":
            self._heard.put(Gone(str(said["worker"])))
        elif isinstance(said, dict) and said.get("action") == "add-worker":
            self._heard.put(Joined(str(said["worker"])))

    def greeted(self, host: Host, said: Hello) -> None:
        """Take who a host is; another tare than this one is refused."""
        host.hello = said
        if (said.version, said.agent) != (__version__, agent.digest()):
            why = f"it has tare {said.version} with another agent than this one"
            self.refuse(host, Refusal(why, f"the same tare on {host.name} as here"))

    def joined(self, address: str) -> Host | None:
        """Return the host that a worker plays that has just come; None: it is none, or no news."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        own = workers.get(address)
        name = "" if own is None else name_of(str(own["name"]))
        if not name or name in self.hosts or not self._is_wanted(name):
            return None
        # What is asked of a host before it has its resource would never be given to it.
        client: Any = self._client
        host = Host(name, address, joined_s=time.monotonic() - self._began_s)
        try:
            client.run(laboratory.claim, workers=[address])
        except (AttributeError, ImportError) as error:
            self.hosts[name] = host
            self._refuse_unlike(host, error)
            return None
        except Exception:
            return None
        self.hosts[name] = host
        return host

    def submit(self, host: Host, work: Any, *given: Any) -> None:
        """Ask a host for something; what it brings is heard of by :meth:`next`."""
        task = self._task(host, work, *given)
        self.under_way[task] = host
        tell: Callable[..., None] = task.add_done_callback
        tell(self._heard.put)

    def keep(self, host: Host) -> Future[Any]:
        """Have a host that waits for its turn keep its session; forgotten with what it returns."""
        return self._task(host, laboratory.stay)

    def _task(self, host: Host, work: Any, *given: Any) -> Future[Any]:
        host.asked_s = time.monotonic()
        try:
            return self._client.submit(
                work, *given, resources={resource(host.name): 1}, pure=False, retries=0
            )
        except Exception:
            # Dask refuses with errors of several kinds where the scheduler is gone.
            self._look()
            raise

    def each(
        self,
        work: Any,
        *given: Any,
        most_s: float = math.inf,
        watch: Callable[[int], None] | None = None,
    ) -> list[tuple[Host, Reply | None]]:
        """Have all hosts that are left do something; one that fails, or is late, is left out."""
        for host in self.hosts.values():
            if host.ended is None:
                self.submit(host, work, *given)
        return self.rest(most_s, watch)

    def rest(
        self, most_s: float = math.inf, watch: Callable[[int], None] | None = None
    ) -> list[tuple[Host, Reply | None]]:
        """Wait until nothing is under way; return what it brought, in the order of the hosts.

        ``watch`` is told about once a second how many have brought something.
        """
        found: list[tuple[Host, Reply | None]] = []
        ends = time.monotonic() + most_s
        while self.is_busy:
            if watch is not None:
                watch(len(found))
            if time.monotonic() > ends:
                for host in [*self.under_way.values()]:
                    self._lose(host, f"it does not answer within {most_s:g} s")
                break
            heard = self.next()
            if heard is not None and not isinstance(heard, Joined):
                found.append(heard)
        order = {name: place for place, name in enumerate(self.hosts)}
        return sorted(found, key=lambda one: order[one[0].name])

    @property
    def is_busy(self) -> bool:
        """Whether there is something to wait for, or to take."""
        return bool(self.under_way or self._found)

    def awaits(self, some: Sequence[Host]) -> bool:
        """Tell whether there is something to take, or one of some hosts is asked something."""
        return bool(self._found) or any(host in some for host in self.under_way.values())

    def next(self) -> tuple[Host, Reply | None] | Joined | None:
        """Wait for the next task that is over; None: it brought nothing, or none was heard of.

        A reply of None is none of this tare's.

        Raises
        ------
        PlatformError
            If the scheduler is gone.
        """
        if not self._found:
            self._listen()
        return self._found.popleft() if self._found else None

    def _listen(self) -> None:
        """Wait for what is heard, and fetch what tasks have brought."""
        self._fetched.clear()
        try:
            heard = [self._heard.get(timeout=_LOOK_S)]
        except queue.Empty:
            self._look()
            return
        with suppress(queue.Empty):
            while len(heard) < _TOGETHER:
                heard.append(self._heard.get_nowait())
        over = []
        for one in heard:
            if isinstance(one, Joined):
                self._found.append(one)
            elif isinstance(one, Gone):
                self._miss(one.address)
            elif (asked := self.under_way.pop(one, None)) is not None:
                over.append((asked, one))
        self._found += [(host, laboratory.read(sent)) for host, sent in self._fetch(over)]

    def _miss(self, address: str) -> None:
        """Give a host up that is gone: what it is asked, or would be, would wait for ever."""
        for host in self.hosts.values():
            if host.address == address and host.ended is None:
                self._lose(host, "its worker is gone")

    def _fetch(self, over: Sequence[tuple[Host, Future[Any]]]) -> Iterator[tuple[Host, Any]]:
        """Yield what tasks have brought: in one exchange for all, where none has failed."""
        hosts, tasks = [host for host, _ in over], [task for _, task in over]
        self._fetched += tasks
        # Dask's own client has no types.
        client: Any = self._client
        if all(task.status == "finished" for task in tasks):
            with suppress(Exception):
                found = client.sync(client._gather, tasks, callback_timeout=_FETCH_S)
                yield from zip(hosts, found, strict=True)
                return
        for host, task in over:
            yield from self._fetch_one(host, task)

    def _fetch_one(self, host: Host, task: Future[Any]) -> Iterator[tuple[Host, Any]]:
        """Yield what a task has brought, if that can still be had."""
        result: Callable[..., Any] = task.result
        while host.ended is None:
            try:
                yield host, result(timeout=_FETCH_S)
                return
            except KilledWorker:
                self._lose(host, "its worker is gone")
            except CancelledError:
                self._look()
                self._lose(host, "what it was asked was cancelled")
            except Exception as error:
                if isinstance(error, TimeoutError) and task.status != "error":
                    # A host that died with what it had found is waited for by Dask, for ever.
                    self._look()
                    self._miss_all()
                else:
                    self._lose(host, _said(error))

    def _miss_all(self) -> None:
        """Give all hosts up that are gone by now; the rest of what was heard is for later."""
        others = []
        with suppress(queue.Empty):
            while True:
                heard = self._heard.get_nowait()
                if isinstance(heard, Gone):
                    self._miss(heard.address)
                else:
                    others.append(heard)
        for heard in others:
            self._heard.put(heard)

    def _look(self) -> None:
        if self._client.status != "running":
            raise PlatformError(
                "the scheduler is gone; all blocks that had been fetched are kept",
                f"{self._restart}go on with --resume" if self._restart else Typed("--resume"),
            )

    def refuse(self, host: Host, why: Refusal) -> None:
        """Leave a host out that cannot do what it is asked."""
        # It comes from there, and may be of any length; what can be typed is of here.
        hint = why.hint
        if hint is not None and not isinstance(hint, Typed):
            hint = _line(hint)
        why = Refusal(_line(why.why), hint)
        host.ended, host.why = "refused", why
        self.progress.note(f"{host.name}: {why.why}" + (f"   {advice(hint)}" if hint else ""))

    def _lose(self, host: Host, why: str) -> None:
        for task in [task for task, one in self.under_way.items() if one is host]:
            del self.under_way[task]
        if host.ended is None:
            why = _line(why)
            host.ended, host.why = "lost", Refusal(why, None)
            self.progress.note(f"{host.name}: {why}; what was fetched from it is kept")
            if self._drop is not None:
                self._drop(host.name)
