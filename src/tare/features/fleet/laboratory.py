"""What takes place on a host: one session, of which each block is one of Dask's tasks.

Between blocks everything that was started stays, held by a plugin of the worker. What a block has
found goes back with its task; the journal of the host is written where the experiment was asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import ipaddress
import math
import os
import platform
import re
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from distributed import Worker, WorkerPlugin, get_worker
from distributed.utils import thread_state  # type: ignore[attr-defined]

from tare.agent import client
from tare.decoding import DecodeError, Decoder
from tare.errors import TareError, in_words
from tare.experiment import file as experiment_file
from tare.experiment import journal, machine_facts, pipeline, plan_file, remnants, session
from tare.experiment.catalogue import catalogue
from tare.experiment.journal import MachineFact, MachineFigure
from tare.experiment.plan import Plan
from tare.experiment.session import folder as folders
from tare.experiment.session.request import LONG_PROBING, Silent
from tare.experiment.session.resume_state import Past
from tare.experiment.store.collector import Collector
from tare.experiment.supplies import Supplies
from tare.features.fleet.folder import Ended
from tare.host import lease, python
from tare.platforms import session_folder
from tare.version import __version__

#: Name under which the Dask worker finds its laboratory.
NAME = "tare-laboratory"
_IPV4 = 4
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: Lock file of a machine: one measurement at a time, whatever hosts the machine stands for.
LOCK = "measuring.lock"
#: Seconds to wait for a session to end when an experiment ends.
_END_S = 20.0
#: Periodic callbacks of a Dask worker that would disturb trials, and are paused meanwhile.
_PAUSED = frozenset({
    "profile", "profile-cycle", "tick", "ticks", "monitor", "find-missing", "shift_counters",
    "heartbeat",
})  # fmt: skip
#: Heartbeats within the scheduler's timeout of silent workers.
_BEATS = 3
#: Longest interval between heartbeats, in seconds.
_MOST_BEAT_S = 30.0
#: Nanoseconds of a monotonic clock, bounded at 31 years of uptime.
Nanoseconds = Annotated[int, msgspec.Meta(ge=0, le=10**18)]
#: A session of which no block is asked for has been abandoned: the next is asked for at once.
ABANDONED_S = 180.0


class Hello(msgspec.Struct, frozen=True, tag=True):
    """Who a host is."""

    version: str
    agent: str
    machine: str
    system: str
    cpus: int


@dataclass(frozen=True)
class Asked:
    """An experiment that all hosts are asked."""

    #: The file, and what complaints call it.
    text: str
    name: str
    skip_missing: bool = False
    as_root: bool = False
    #: Probes of the machine before and after a session; None: there are none.
    supplies: Supplies | None = None


class Refusal(msgspec.Struct, frozen=True, tag=True):
    """Why a host cannot do what it is asked."""

    why: str
    hint: str | None


class Looked(msgspec.Struct, frozen=True, tag=True):
    """What a host is, and what it can do."""

    facts: tuple[MachineFact, ...]
    figures: tuple[MachineFigure, ...]


class Told(msgspec.Struct, frozen=True, tag=True):
    """What a task has found."""

    #: Whole lines of the host's journal, since those of the task before.
    lines: bytes
    #: Why the session ended; None: it goes on.
    ended: Ended | None = None
    refusal: Refusal | None = None
    #: Plan with the frozen repetitions, in the first reply of a session; later None.
    plan: Plan | None = None
    #: Number of measured blocks.
    blocks: Annotated[int, msgspec.Meta(ge=0)] = 0
    #: Start and end of measuring, by the host's CLOCK_MONOTONIC, in ns.
    began_ns: Nanoseconds = 0
    ended_ns: Nanoseconds = 0
    #: CPU time of the worker's other threads meanwhile, which a session without it has not.
    own_cpu_ns: Nanoseconds = 0

    def __post_init__(self) -> None:
        if self.ended_ns < self.began_ns:
            raise ValueError("it ended before it began")


class Planned(msgspec.Struct, frozen=True, tag=True):
    """What a host would measure."""

    plan: Plan


class Listening(msgspec.Struct, frozen=True, tag=True):
    """Where a host waits for measurements of the network to it."""

    address: str


class Probed(msgspec.Struct, frozen=True, tag=True):
    """The network to another host, as ``tare net fingerprint --json`` writes it."""

    document: bytes


#: All that a host sends.
Reply = Hello | Refusal | Looked | Told | Planned | Listening | Probed
_replies = Decoder[Reply](Reply, packed=True)


def read(sent: object) -> Reply | None:
    """Return what a host has sent; None: no reply of this tare.

    A host may send anything: replies are bytes, parsed here, and no objects that Dask unpickled.
    """
    if not isinstance(sent, bytes):
        return None
    try:
        reply = _replies.decode(sent)
    except DecodeError:
        return None
    return None if isinstance(reply, Planned) and not reply.plan.cells else reply


def hello() -> bytes:
    """Return the host's :class:`Hello`."""
    return _sent(
        Hello(
            __version__,
            client.digest(),
            machine_facts.boot_id() or "",
            platform.release(),
            len(os.sched_getaffinity(0)),
        )
    )


def look(supplies: Supplies) -> bytes:
    """Return what this machine is and can do, while no other host on it measures."""
    try:
        with _alone():
            found = tuple(supplies.probing(Silent(), LONG_PROBING)("before"))
    except TareError as error:
        return _sent(Refusal(error.message, in_words(error.hint)))
    last = max((one.take for one in found), default=0)
    figures = [one for one in found if isinstance(one, MachineFigure) and one.take == last]
    facts = tuple(machine_facts.facts(machine_facts.topology()))
    return _sent(Looked(facts, tuple(figures)))


def listen(key: bytes, seconds: float) -> bytes:
    """Be the other end of network probes for at most `seconds`; returns where."""
    return _sent(_own().listen(key, seconds))


def probe(key: bytes, where: str, search_s: float | None) -> bytes:
    """Measure the network to a host that listens, as ``tare net fingerprint`` does."""
    return _sent(_own().probe(key, where, search_s))


def plan(asked: Asked) -> bytes:
    """Check whether this host has what the experiment needs; returns what it would measure."""
    return _sent(_own().plan(asked))


def begin(made: Plan, past: Past) -> bytes:
    """Start a session; it measures nothing but what a plan is frozen by."""
    return _sent(_own().begin(made, past))


def block(count: int) -> bytes:
    """Measure `count` blocks, or fewer where the session ends before."""
    return _sent(_own().step(count))


def stay() -> None:
    """Keep the session, though its next block is not yet asked for."""
    _own().stay()


def end() -> bytes:
    """End the session before its end: the run that it belongs to was interrupted."""
    return _sent(_own().end())


def _sent(reply: Reply) -> bytes:
    return msgspec.msgpack.encode(reply)


def resource(name: str) -> str:
    """Return what a host's tasks ask for, and no other host has."""
    return f"tare-{name}"


def name_of(given: str) -> str:
    """Return a worker's name as that of a folder: by default it is an address."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", given).strip("-.")[:64]
    return name if _NAME.fullmatch(name) else "host"


async def claim(dask_worker: Any) -> None:
    """Have a worker be given what is asked of its host."""
    # Dask's own worker has no types.
    await dask_worker.set_resources(**{resource(name_of(str(dask_worker.name))): 1})


async def is_able(dask_worker: Any) -> bool:
    """Tell whether a worker has become a laboratory."""
    return NAME in dask_worker.plugins


async def _beat(worker: Any, every_s: float) -> None:
    """Send signs of life."""
    while True:
        await asyncio.sleep(every_s)
        await worker.heartbeat()


def _own() -> Laboratory:
    found = get_worker().plugins[NAME]
    assert isinstance(found, Laboratory)
    return found


class Laboratory(WorkerPlugin):
    """A session that is under way in a worker."""

    name = NAME

    def __init__(self) -> None:
        #: After which the scheduler gives a worker up that sends no sign of life.
        self.ttl_s = math.inf
        self._prepared: pipeline.Prepared | None = None
        self._asked: Asked | None = None
        self._open: contextlib.ExitStack | None = None
        self._session: Generator[None, None, str] | None = None
        self._folder = Path()
        self._read = 0
        #: Open listener for network measurements by other hosts; None: not listening.
        self._listening: contextlib.ExitStack | None = None

    async def setup(self, worker: Worker) -> None:
        """Begin where this is: what was sent here has no locks."""
        own: Any = worker
        await claim(own)
        for name in _PAUSED & own.periodic_callbacks.keys():
            own.periodic_callbacks[name].stop()
        self._beats = asyncio.create_task(_beat(own, min(self.ttl_s / _BEATS, _MOST_BEAT_S)))
        #: Address that other hosts use to measure the network to this host.
        self._reached_at = getattr(own, "reached_at", None) or str(urlsplit(own.address).hostname)
        #: Ends a session in the thread that measures, whose network may be another one.
        self._executor = own.executors["default"]
        #: Held by whoever uses the session.
        self._busy = threading.RLock()
        self._patience: threading.Timer | None = None
        #: The worker was told to end.
        self._leaves = False

    async def teardown(self, worker: Worker) -> None:
        """Leave nothing behind where the worker ends; a block that is under way may end first."""
        self._leaves = True
        if self._listening is not None:
            self._listening.close()
        with contextlib.suppress(TimeoutError):
            loop = asyncio.get_running_loop()
            await asyncio.wait_for(loop.run_in_executor(self._executor, self.end), _END_S)
        own: Any = worker
        self._beats.cancel()
        for name in _PAUSED & own.periodic_callbacks.keys():
            own.periodic_callbacks[name].start()

    def listen(self, key: bytes, seconds: float) -> Listening | Refusal:
        """Start the other end of network probes."""
        found = socket.getaddrinfo(self._reached_at, None, type=socket.SOCK_STREAM)
        own = ipaddress.ip_address(str(found[0][4][0]))
        if own.is_loopback:
            return Refusal(
                "other hosts do not reach it: its address is that of a loopback",
                "measure the network between two machines with tare net measure",
            )
        self._listening = opened = contextlib.ExitStack()
        file = opened.enter_context(private_folder()) / "network.key"
        _secret(file, key)
        # Bound for a moment, so that nobody else has it.
        family = socket.AF_INET if own.version == _IPV4 else socket.AF_INET6
        with socket.create_server((str(own), 0), family=family) as free:
            port = free.getsockname()[1]
        where = f"{own}:{port}" if own.version == _IPV4 else f"[{own}]:{port}"
        words = python.tare("net", "serve", "--bind", where, "--key", str(file))
        process = subprocess.Popen(
            ["timeout", f"{seconds:.0f}", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        opened.callback(process.wait)
        opened.callback(process.terminate)
        assert process.stdout is not None
        opened.callback(process.stdout.close)
        if not process.stdout.readline():
            return Refusal(
                "nothing can listen at its address",
                f"see what listens there with ss, or what tare net serve --bind {where} reports",
            )
        return Listening(where)

    def probe(self, key: bytes, where: str, search_s: float | None) -> Probed | Refusal:
        """Measure the network to another host."""
        with private_folder() as folder, _alone():
            file, found = folder / "network.key", folder / "network.json"
            _secret(file, key)
            words = python.tare("net", "fingerprint", where, "--quick", "--no-store")
            words += ["--key", str(file), "--json", str(found)]
            if search_s is not None:
                words += ["--duration", f"{search_s:.0f}s"]
            ended = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                check=False,
            )  # fmt: skip
            if not found.exists():
                why = ended.stderr[-2000:].decode(errors="replace").strip().splitlines()
                return Refusal(why[0] if why else f"exit code {ended.returncode}", None)
            return Probed(found.read_bytes())

    def plan(self, asked: Asked) -> Planned | Refusal:
        """Look whether this host has what the experiment needs."""
        from tare.experiment import plan as plans

        self.end()
        try:
            remnants.cleanup()
            experiment = experiment_file.parse(asked.text, asked.name, catalogue())
            prepared = pipeline.check(experiment, text=asked.text, skip_missing=asked.skip_missing)
        except TareError as error:
            return Refusal(error.message, in_words(error.hint))
        self._asked, self._prepared = asked, prepared
        return Planned(plans.make(prepared.experiment, prepared.cells))

    def begin(self, made: Plan, past: Past) -> Told:
        """Start the session that was planned."""
        assert self._asked is not None
        self._open = opened = contextlib.ExitStack()
        self._folder = folder = opened.enter_context(private_folder())
        opened.enter_context(folders.held(folder))
        folders.begin(made, self._asked.text, folder)
        self._number(past.sessions)
        self._session = self._blocks(made, past)
        self._read = 0
        return msgspec.structs.replace(self.step(0), plan=plan_file.read(folder))

    def _blocks(self, made: Plan, past: Past) -> Generator[None, None, str]:
        """Return the session, of which nothing has taken place yet."""
        assert self._prepared is not None
        assert self._asked is not None
        request = pipeline.request(
            self._prepared, past, Collector(self._folder, made), Silent(),
            as_root=self._asked.as_root, supplies=self._asked.supplies,
        )  # fmt: skip
        return session.blocks(request)

    def _number(self, before: int) -> None:
        """Have the journal carry on from the sessions that the host's folder has."""
        if before:
            (self._folder / "journal").mkdir()
            (self._folder / f"journal/{before}.ndjson").touch()

    def stay(self) -> None:
        """Wait anew for whoever asks for the next block."""
        if self._session is not None:
            self._wait(ABANDONED_S)

    def step(self, count: int) -> Told:
        """Go on by so many blocks; by none: to where the first one begins."""
        if self._session is None:
            return Told(b"", "failed", Refusal("its session has ended", None))
        ended: Ended | None = None
        refusal, done = None, 0
        self._wait(None)
        with self._busy, self._alone():
            # Others of this machine were first, and whoever asked may be gone since.
            if self._leaves or not _is_wanted():
                return self.end()
            own, began = _others_cpu_ns(), time.monotonic_ns()
            try:
                for _ in range(max(1, count)):
                    next(self._session)
                    done += 1
            except StopIteration as finished:
                ended = "budget" if finished.value == "budget" else "finished"
                # Where the budget ended it, no more than a part of the last one was measured.
                done += ended == "finished"
            except TareError as error:
                ended, refusal = "failed", Refusal(error.message, in_words(error.hint))
            # Two clocks of the kernel, which need not agree to the last microsecond.
            stamp, cpu = time.monotonic_ns(), max(0, _others_cpu_ns() - own)
        told = Told(
            self._lines(), ended, refusal, blocks=min(done, count),
            began_ns=began, ended_ns=stamp, own_cpu_ns=cpu,
        )  # fmt: skip
        if ended is not None:
            self._close()
        else:
            self._wait(ABANDONED_S)
        return told

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        """Measure while no other host of this machine does."""
        return _alone()

    def end(self) -> Told:
        """End the session, if there is one."""
        with self._busy:
            if self._session is None:
                return Told(b"", "interrupted")
            self._wait(None)
            self._session.close()
            told = Told(self._lines(), "interrupted")
            self._close()
            return told

    def _wait(self, patience_s: float | None) -> None:
        """End the session where nobody asks for its next block: whoever began it is gone."""
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if patience_s is not None:
            self._patience = threading.Timer(patience_s, self.end)
            self._patience.daemon = True
            self._patience.start()

    def _close(self) -> None:
        self._session = None
        if self._open is not None:
            self._open.close()
            self._open = None

    def _lines(self) -> bytes:
        """Return what the journal has now that it had not before."""
        path = journal.files(self._folder)[-1]
        with path.open("rb") as file:
            file.seek(self._read)
            lines = file.read()
        self._read += len(lines)
        return lines


def _is_wanted() -> bool:
    """Tell whether somebody waits for what this thread does."""
    key = getattr(thread_state, "key", None)
    task = None if key is None else get_worker().state.tasks.get(key)
    return key is None or (task is not None and task.state != "cancelled")


def _others_cpu_ns() -> int:
    """Return the CPU time of all threads of this process but this one, which has the session."""
    return time.process_time_ns() - time.thread_time_ns()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Measure while no other host of this machine does."""
    with (lease.writable() / LOCK).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _secret(file: Path, key: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(key)


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """Make a folder that nobody else may read; `tare cleanup` knows it."""
    name, parent = lease.new_name(), Path(tempfile.gettempdir())
    with remnants.lease(name, [parent]), session_folder.made(name, parent) as shared:
        folder = shared.parent / "laboratory"
        folder.mkdir(mode=0o700)
        yield folder
