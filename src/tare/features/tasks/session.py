"""Conducts one session of a task set: lanes take runs until none is left."""

from __future__ import annotations

import os
import random
import secrets
import selectors
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from tare import platforms, workloads
from tare.agent import record
from tare.agent.client import Answer
from tare.errors import AgentError, CutShortError, PlatformError, TrialError
from tare.experiment import journal, remnants
from tare.experiment.placement import Machine, cpu_sets
from tare.experiment.session import needed
from tare.experiment.session.answers import LOOK_S, Asked
from tare.experiment.session.files import from_here
from tare.experiment.session.pool import Pool, Told, keys_of
from tare.experiment.session.resident import Resident
from tare.experiment.session.session import ending, journal_path, opening
from tare.experiment.session.trial import limits_of
from tare.experiment.session.window import GRACE_S
from tare.experiment.specification import Cell
from tare.features.tasks import checks
from tare.features.tasks.journal import Run
from tare.features.tasks.lanes import Checking, Ended, Running, Work
from tare.features.tasks.runs import Result
from tare.features.tasks.specification import MOST_OUTPUT_BYTES, TASK, Plan
from tare.host import lease
from tare.platforms import session_folder
from tare.render.words import sentence
from tare.results.message import Message, message

#: What was written is put on the disk so often: a run that is lost is done again.
SYNC_S = 1.0
#: A cell is given up after so many runs in a row that its platform has lost.
TRIES = 3


class Progress(Protocol):
    """Who wants to know how far it is."""

    def stage(self, what: str) -> None:
        """Say what goes on before the first run."""

    def note(self, message: str) -> None:
        """Say what is to be known of the figures."""

    def ran(self, done: int, of: int, counts: Mapping[Result, int], seconds_left: float) -> None:
        """Say that a run is over."""


@dataclass
class Past:
    """What earlier sessions did."""

    sessions: int = 0
    #: Highest number of a run.
    runs: int = 0
    #: Runs that say something about their program.
    done: set[Work] = field(default_factory=set)


@dataclass
class Request:
    """A session to conduct."""

    folder: Path
    plan: Plan
    machine: Machine
    facts: Sequence[journal.MachineFact]
    notes: Sequence[journal.Note]
    progress: Progress
    past: Past
    user: record.User | None = None


def conduct(request: Request) -> Counter[Result]:
    """Conduct one session to its end, and return how its runs ended.

    Raises
    ------
    TrialError
        If platforms have lost all runs.
    StoreError
        If the journal cannot be written; what was synced is kept.
    KeyboardInterrupt
        After everything was closed and removed.
    """
    name = lease.new_name()
    with ExitStack() as stack:
        stack.enter_context(remnants.lease(name))
        path = journal_path(request.folder)
        writer = journal.Writer(path)
        stack.callback(writer.close)
        nonce = secrets.randbits(24)
        writer.write(opening(path, name, nonce), *request.facts, *request.notes)
        writer.sync()
        reason = "failed"
        try:
            with ExitStack() as used:
                counts = _Session(request, name, nonce, writer, used).conduct()
            reason = "finished"
        except (KeyboardInterrupt, CutShortError):
            reason = "interrupted"
            raise
        finally:
            writer.write(ending(reason))
            writer.sync()
    return counts


@dataclass
class _Lane:
    number: int
    cpus: tuple[int, ...]
    #: What goes on in it; None: nothing.
    at_work: Running | Checking | None = None

    @property
    def running(self) -> Running:
        assert self.at_work is not None
        return self.at_work.running if isinstance(self.at_work, Checking) else self.at_work


class _Session:
    def __init__(
        self, request: Request, name: str, nonce: int, writer: journal.Writer, stack: ExitStack
    ) -> None:
        self.request = request
        self.plan = plan = request.plan
        self.nonce = nonce
        self.writer = writer
        shared = stack.enter_context(session_folder.made(name))
        #: Where outputs are kept while a checker reads them; instances are not shown it.
        self.outputs = shared.parent
        self.pool = Pool(
            name, str(shared), plan.experiment, request.machine.memory_bytes, _files(plan),
            self._tell, None, request.user,
        )  # fmt: skip
        stack.callback(self.pool.close)
        cpus = cpu_sets(request.machine, plan.set.cpus, plan.set.parallel)
        self.lanes = [_Lane(number, some) for number, some in enumerate(cpus)]
        stack.callback(self._close)
        self.selector = stack.enter_context(selectors.DefaultSelector())
        self.surroundings = dict(os.environ)
        self.run = request.past.runs
        self.counts: Counter[Result] = Counter()
        #: Runs in a row that a cell's platform has lost, and the last reason.
        self.lost: dict[int, int] = defaultdict(int)
        self.last_loss: AgentError | PlatformError | None = None

    def _tell(self, told: Sequence[Told]) -> None:
        self.writer.write(*told)

    def _note(self, said: Message) -> None:
        note = sentence(said)
        self.writer.write(journal.Note(message=note))
        self.request.progress.note(note)

    def conduct(self) -> Counter[Result]:
        """Keep all lanes at work until no run is left."""
        missing = works(self.plan, self.request.past.done)
        of = len(self.plan.cells) * len(self.plan.tasks) * self.plan.set.trials
        self.done, self.of = len(self.request.past.done), of
        self.began = synced = time.monotonic()
        self.request.progress.stage("starting the platforms")
        left = True
        while left or any(lane.at_work for lane in self.lanes):
            for lane in self.lanes:
                while left and lane.at_work is None:
                    left = self._next(lane, missing)
            self._wait()
            if (now := time.monotonic()) - synced > SYNC_S:
                self.writer.sync()
                synced = now
        if not self.counts.total() - self.counts["lost"] and self.last_loss is not None:
            raise TrialError(f"every run was lost: {self.last_loss}", self.last_loss.hint)
        return self.counts

    def _next(self, lane: _Lane, missing: Iterator[Work]) -> bool:
        """Begin the next run in a lane; False: there is none."""
        work = next((w for w in missing if self.lost[w.cell] < TRIES), None)
        if work is None:
            return False
        self.run += 1
        began_ns = time.monotonic_ns()
        try:
            lane.at_work = self._begin(lane, work)
            self.selector.register(lane.running.resident.agent.channel, selectors.EVENT_READ, lane)
        except (AgentError, PlatformError) as error:
            self._keep(lane, work, self.run, began_ns, self._loss(work, error))
        return True

    def _begin(self, lane: _Lane, work: Work) -> Running:
        cell, task = self.plan.cells[work.cell], self.plan.tasks[work.task]
        busy = [one.running.resident.key for one in self.lanes if one.at_work is not None]
        keys = keys_of(self.plan.experiment, cell, (lane.cpus,))
        resident = self.pool.get_all(cell.platform, keys, busy)[0]
        command = self._command(cell, task.input)
        limit = 0
        if self.plan.set.checker is not None:
            enforced = cell.workload.enforce
            given = None if enforced is None else enforced.output_bytes
            limit = min(MOST_OUTPUT_BYTES, given or MOST_OUTPUT_BYTES)
        elif task.expected is not None:
            limit = checks.capture_bytes(Path(task.expected).stat().st_size)
        job = self._job(resident.agent.next_id(), cell, command, limit)
        job = msgspec.structs.replace(
            job,
            workers=(record.Worker(worker=0, cpus=_within(resident)),),
            user=self.request.user if resident.instance.users else None,
        )
        try:
            resident.agent.submit(job)
        except AgentError:
            self.pool.discard([resident], lost=True)
            raise
        assert cell.workload.timeout_s is not None
        asked = Asked(resident, Answer(resident.agent, job.id), GRACE_S + cell.workload.timeout_s)
        return Running(work, asked, self.run, limit)

    def _command(self, cell: Cell, task: str) -> record.Command:
        job = workloads.job(
            cell.workload, {**cell.levels(), TASK: task}, repetitions=None,
            seed=self.plan.experiment.seed, surroundings=self.surroundings,
        )  # fmt: skip
        assert isinstance(job, record.Command)
        if platforms.own_files(cell.platform) and platforms.brings_files(
            cell.platform, self.plan.experiment.platforms
        ):
            return from_here(job)
        return job

    def _job(
        self, number: int, cell: Cell, command: record.Command, limit_bytes: int
    ) -> record.Trial:
        workload, e = cell.workload, self.plan.experiment
        assert workload.timeout_s is not None
        return record.Trial(
            id=number,
            trial=self.run,
            nonce=self.nonce,
            workload=msgspec.structs.replace(
                command, capture=record.Capture(limit_bytes=limit_bytes)
            ),
            workers=(),
            iterations=1,
            warmup=0,
            process="fresh",
            tail="stop",
            timeout_ns=round(workload.timeout_s * 1e9),
            limits=limits_of(workload.enforce),
            linger_ns=round(e.linger_s * 1e9),
            observe=False,
        )

    def _wait(self) -> None:
        """Wait until something has come, and take it."""
        if not self.selector.get_map():
            return
        ready = self.selector.select(LOOK_S)
        for key, _ in ready:
            self._go_on(key.data)
        for lane in self.lanes:
            if isinstance(lane.at_work, Checking):
                if lane.at_work.over:
                    self._finish(lane, lane.at_work.ended())
            elif not ready and lane.at_work is not None:
                self._go_on(lane)

    def _go_on(self, lane: _Lane) -> None:
        """Take what an agent has said; judge its run where that is all."""
        running = lane.at_work
        if not isinstance(running, Running):
            return
        try:
            if not running.hear():
                running.look()
                return
            ended = running.ended()
        except AgentError as error:
            self.pool.discard([running.resident], lost=True)
            self._finish(lane, self._loss(running.work, error))
            return
        self.lost[running.work.cell] = 0
        task = self.plan.tasks[running.work.task]
        if ended is None and self.plan.set.checker is not None:
            self._release(lane)
            lane.at_work = Checking(
                running, task, self.plan.set, self.outputs, self.request.user, lane.cpus
            )
            if lane.at_work.fileno() >= 0:
                self.selector.register(lane.at_work, selectors.EVENT_READ, lane)
            else:
                self._finish(lane, lane.at_work.ended())
            return
        self._finish(lane, ended or running.judged(task, self.plan.set))

    def _release(self, lane: _Lane) -> None:
        """Listen no longer to what is at work in a lane."""
        assert lane.at_work is not None
        for key in list(self.selector.get_map().values()):
            if key.data is lane:
                self.selector.unregister(key.fileobj)

    def _finish(self, lane: _Lane, ended: Ended) -> None:
        running = lane.running
        self._release(lane)
        lane.at_work = None
        if self.plan.experiment.fresh == "trial" and ended.result != "lost":
            self.pool.discard([running.resident])
        self._keep(lane, running.work, running.run, running.began_ns, ended)

    def _loss(self, work: Work, error: AgentError | PlatformError) -> Ended:
        self.lost[work.cell] += 1
        self.last_loss = error
        if self.lost[work.cell] == TRIES:
            cell = self.plan.cells[work.cell]
            self._note(
                message(
                    "tasks.given_up", workload=cell.workload.name, platform=cell.platform,
                    why=error.message,
                )
            )  # fmt: skip
        return Ended("lost", error.message, {})

    def _keep(self, lane: _Lane, work: Work, run: int, began_ns: int, ended: Ended) -> None:
        self.writer.write(
            Run(
                run=run,
                **work._asdict(),
                lane=lane.number,
                began_ns=began_ns,
                ended_ns=time.monotonic_ns(),
                **ended._asdict(),
            )
        )
        self.counts[ended.result] += 1
        if ended.result != "lost":
            self.done += 1
        took_s = time.monotonic() - self.began
        each_s = took_s / self.counts.total()
        self.request.progress.ran(
            self.done, self.of, self.counts, each_s * max(0, self.of - self.done)
        )

    def _close(self) -> None:
        for lane in self.lanes:
            if isinstance(lane.at_work, Checking):
                lane.at_work.close()


def works(plan: Plan, done: set[Work]) -> Iterator[Work]:
    """Yield the runs that are missing: every task once, then again; cells of a task together.

    Tasks and their cells are in random order by the seed: what drifts meanwhile is in all alike.
    """
    for trial in range(1, plan.set.trials + 1):
        tasks = list(range(len(plan.tasks)))
        order = random.Random(f"{plan.experiment.seed}/tasks/{trial}")
        order.shuffle(tasks)
        for task in tasks:
            cells = list(range(len(plan.cells)))
            order.shuffle(cells)
            for cell in cells:
                work = Work(cell, task, trial)
                if work not in done:
                    yield work


def _within(resident: Resident) -> tuple[int, ...] | None:
    """Return the CPUs that a program is put on; None: it numbers them itself."""
    return resident.cpus[0] if resident.instance.shares_memory else None


def _files(plan: Plan) -> tuple[str, ...]:
    """Return what commands need: their programs, and the tasks' folders or, in machines, files."""
    programs = needed(plan.cells, os.environ)
    machines = any(not platforms.shares_memory(cell.platform) for cell in plan.cells)
    inputs = [task.input if machines else str(Path(task.input).parent) for task in plan.tasks]
    return tuple(dict.fromkeys((*programs, *inputs)))
