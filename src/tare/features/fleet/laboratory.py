"""What takes place on a host: one session, of which each block is one of Dask's tasks.

Between blocks everything that was started stays, held by a plugin of the worker. What a block has
found goes back with its task; the journal of the host is written where the experiment was asked.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import Worker, WorkerPlugin, get_worker

import tare
from tare.agent import client
from tare.errors import TareError
from tare.experiment import file as experiment_file
from tare.experiment import journal, machine_facts, pipeline, plan_file, remnants, session
from tare.experiment.catalogue import catalogue
from tare.experiment.plan import Plan
from tare.experiment.session import folder as folders
from tare.experiment.session.resume_state import Past
from tare.experiment.session.trial import Outcome
from tare.experiment.specification import Cell
from tare.features.fleet.folder import Ended
from tare.host import lease
from tare.platforms import session_folder

#: By which a worker finds it.
NAME = "tare-laboratory"
#: Held by whoever measures on a machine, whatever hosts that machine plays.
LOCK = "measuring.lock"
#: A session of which no block is asked for has been abandoned: the next is asked for at once.
ABANDONED_S = 60.0


@dataclass(frozen=True)
class Hello:
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


@dataclass(frozen=True)
class Refusal:
    """Why a host cannot do what it is asked."""

    why: str
    hint: str | None


@dataclass(frozen=True)
class Told:
    """What a task has found."""

    #: Whole lines of the host's journal, since those of the task before.
    lines: bytes
    #: Why the session ended; None: it goes on.
    ended: Ended | None = None
    refusal: Refusal | None = None
    #: Where the session has just begun: its plan, with what was frozen.
    plan: Plan | None = None
    #: How many blocks were measured.
    blocks: int = 0
    #: From when to when something was measured, on the machine's monotonic clock.
    began_ns: int = 0
    ended_ns: int = 0
    #: CPU time of the worker's own process meanwhile, which the experiment has not asked for.
    own_cpu_ns: int = 0


def hello() -> Hello:
    """Say who this is."""
    return Hello(
        tare.__version__,
        client.digest(),
        machine_facts.boot_id() or "",
        platform.release(),
        len(os.sched_getaffinity(0)),
    )


def plan(asked: Asked) -> Plan | Refusal:
    """Look whether this host has what the experiment needs; return what it would measure."""
    return _own().plan(asked)


def begin(made: Plan, past: Past) -> Told:
    """Start a session; it measures nothing but what a plan is frozen by."""
    return _own().begin(made, past)


def block() -> Told:
    """Measure one block."""
    return _own().step()


def end() -> Told:
    """End the session before its end, as whoever asked for it has been interrupted."""
    return _own().end()


def _own() -> Laboratory:
    found = get_worker().plugins[NAME]
    assert isinstance(found, Laboratory)
    return found


class Laboratory(WorkerPlugin):
    """A session that is under way in a worker."""

    name = NAME

    def __init__(self) -> None:
        self._prepared: pipeline.Prepared | None = None
        self._asked: Asked | None = None
        self._open: contextlib.ExitStack | None = None
        self._session: Generator[None, None, str] | None = None
        self._folder = Path()
        self._read = 0

    def setup(self, worker: Worker) -> None:
        """Begin where this is: what was sent here has no locks."""
        #: Held by whoever uses the session.
        self._busy = threading.RLock()
        self._patience: threading.Timer | None = None

    def teardown(self, worker: Worker) -> None:
        """Leave nothing behind where the worker ends."""
        self.end()

    def plan(self, asked: Asked) -> Plan | Refusal:
        """Look whether this host has what the experiment needs."""
        from tare.experiment import plan as plans

        self.end()
        try:
            experiment = experiment_file.parse(asked.text, asked.name, catalogue())
            prepared = pipeline.check(experiment, text=asked.text, skip_missing=asked.skip_missing)
        except TareError as error:
            return Refusal(error.message, error.hint)
        self._asked, self._prepared = asked, prepared
        return plans.make(prepared.experiment, prepared.cells)

    def begin(self, made: Plan, past: Past) -> Told:
        """Start the session that was planned."""
        assert self._asked is not None
        self._open = opened = contextlib.ExitStack()
        self._folder = folder = opened.enter_context(_folder())
        opened.enter_context(folders.held(folder))
        folders.begin(made, self._asked.text, folder)
        self._number(past.sessions)
        self._session = self._blocks(made, past)
        self._read = 0
        return replace(self.step(0), plan=plan_file.read(folder))

    def _blocks(self, made: Plan, past: Past) -> Generator[None, None, str]:
        """Return the session, of which nothing has taken place yet."""
        assert self._prepared is not None
        assert self._asked is not None
        request = pipeline.request(
            self._prepared, made, past, self._folder, _Silent(), as_root=self._asked.as_root
        )
        return session.blocks(request)

    def _number(self, before: int) -> None:
        """Have the journal carry on from the sessions that the host's folder has."""
        if before:
            (self._folder / "journal").mkdir()
            (self._folder / f"journal/{before}.ndjson").touch()

    def step(self, blocks: int = 1) -> Told:
        """Go on to the end of a block; before the first one there is none to count."""
        if self._session is None:
            return Told(b"", "failed", Refusal("its session has ended", None))
        ended: Ended | None = None
        refusal = None
        self._wait(None)
        with self._busy, self._alone():
            own, began = time.process_time_ns(), time.monotonic_ns()
            try:
                next(self._session)
            except StopIteration as finished:
                ended = "budget" if finished.value == "budget" else "finished"
            except TareError as error:
                ended, refusal = "failed", Refusal(error.message, error.hint)
            stamp, cpu = time.monotonic_ns(), time.process_time_ns() - own
        told = Told(
            self._lines(), ended, refusal, blocks=blocks,
            began_ns=began, ended_ns=stamp, own_cpu_ns=cpu,
        )  # fmt: skip
        if ended is not None:
            self._close()
        else:
            self._wait(ABANDONED_S)
        return told

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Measure while no other host of this machine does."""
        with (lease.writable() / LOCK).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

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


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder for a session's own copy of its journal; `tare cleanup` knows it."""
    name, parent = lease.new_name(), Path(tempfile.gettempdir())
    with remnants.lease(name, [parent]), session_folder.made(name, parent) as shared:
        folder = shared.parent / "laboratory"
        folder.mkdir(mode=0o700)
        yield folder


class _Silent:
    """Nobody watches here: what is noted stands in the journal as well."""

    def stage(self, what: str) -> None:
        pass

    def note(self, message: str) -> None:
        pass

    def begins(self, *, serves: bool, application: bool) -> None:
        pass

    def planned(self, trials: int | None, seconds: float | None) -> None:
        pass

    def running(self, estimate: str) -> None:
        pass

    def ended(self, cell: Cell, outcome: Outcome, done: int, seconds_left: float | None) -> None:
        pass
