"""Conducts one session of a task set: lanes take runs until none is left."""

from __future__ import annotations

import os
import random
import secrets
import select
import selectors
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from tare import platforms, workloads
from tare.agent import record
from tare.agent.client import Answer
from tare.errors import AgentError, PlatformError, TrialError
from tare.experiment import journal
from tare.experiment.placement import Machine, cpu_sets
from tare.experiment.session import needed
from tare.experiment.session.answers import LOOK_S, Asked
from tare.experiment.session.files import placed, seen_inside
from tare.experiment.session.pool import Pool, Told, keys_of
from tare.experiment.session.resident import Key, Resident
from tare.experiment.session.session import Recorded, recorded
from tare.experiment.session.trial import limits_of
from tare.experiment.session.window import GRACE_S
from tare.experiment.specification import WHOLE_SIZE, Cell
from tare.experiment.task_sets.outcomes import Result
from tare.features.tasks import checker, checks, hiding
from tare.features.tasks.journal import Run
from tare.features.tasks.lanes import Ended, RefusedError, Running, Unusable, Work, answer
from tare.features.tasks.specification import (
    EXPECTED,
    MOST_OUTPUT_BYTES,
    OUTPUT,
    TASK,
    Plan,
    Task,
)
from tare.platforms import session_folder
from tare.render.words import sentence
from tare.render.words import text as words
from tare.results.message import Message, message
from tare.workloads.specification import Enforced

#: Interval between fdatasync calls, in seconds: a run that is lost is repeated.
SYNC_S = 1.0
#: An instance in whose memory a program leaves more is ended.
LEFT_BYTES = 1 << 20
#: Memory of an instance's own processes besides the program, in bytes.
OWN_BYTES = 16 << 20
#: A cell is given up after so many runs in a row that its platform has lost.
TRIES = 3
#: Exit codes by which shells and the dynamic linker report a program that cannot be started, and
#: the number of first runs with one of them after which a cell is given up.
CANNOT_START, FIRST_RUNS = (126.0, 127.0), 10


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
    with recorded(request.folder, *request.facts, *request.notes) as session:
        with ExitStack() as used:
            used.enter_context(hiding.private(request.folder, request.plan.tasks))
            counts = _Session(request, session, used).conduct()
        session.reason = "finished"
    return counts


@dataclass
class _Lane:
    number: int
    cpus: tuple[int, ...]
    #: The program or the checker that is at work in it.
    at_work: Running | None = None


class _Session:
    def __init__(self, request: Request, session: Recorded, stack: ExitStack) -> None:
        self.request = request
        self.plan = plan = request.plan
        self.nonce = session.nonce
        self.writer = session.writer
        shared = stack.enter_context(session_folder.made(session.name))
        #: Folder of outputs while a checker reads them; instances cannot see it.
        self.outputs = shared.parent
        self.shared = str(shared)
        #: Identity of each program and of the checker, which a program may replace while the set
        #: runs.
        self.programs = {path: _identity(path) for path in plan.programs}
        #: Copies of inputs, by the inputs, where sandboxes are shown these.
        self.copies = (
            hiding.copy(plan.tasks, shared) if hiding.copied(plan.cells, plan.tasks) else {}
        )
        self.pool = Pool(
            session.name, self.shared, plan.experiment, request.machine.memory_bytes,
            _files(plan, copied=bool(self.copies)), self._tell, None, request.user,
            hiding.write_list(plan.tasks, shared, request.folder, request.user),
            _sandbox_bytes(plan),
        )  # fmt: skip
        stack.callback(self.pool.close)
        cpus = cpu_sets(request.machine, plan.set.cpus, plan.set.parallel)
        self.lanes = [_Lane(number, some) for number, some in enumerate(cpus)]
        self.selector = stack.enter_context(selectors.DefaultSelector())
        #: Variables of who calls tare that each workload gets: a thousand times from few is fast.
        self.surroundings = {
            cell.workload.name: workloads.inherited(cell.workload.inherit, os.environ)
            for cell in plan.cells
        }
        #: Bytes of files in the memory of each instance before its first run, by its name.
        self.files_bytes: dict[str, int] = {}
        self.run = request.past.runs
        self.counts: Counter[Result] = Counter()
        #: Runs in a row that a cell's platform has lost, and the last reason.
        self.lost: dict[int, int] = defaultdict(int)
        self.last_loss: AgentError | PlatformError | None = None
        #: First runs of each cell whose program could not be started; None: another run ended.
        self.unstarted: dict[int, int | None] = defaultdict(int)
        #: Runs whose agent ended while they were under way.
        self.again: set[Work] = set()

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
        self._try_checker()
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

    def _try_checker(self) -> None:
        """Run the checker on a correct output first: a broken checker would reject every run."""
        task = self.plan.tasks[0]
        if self.plan.set.checker is None or task.expected is None:
            return
        output = answer(task)
        if isinstance(output, Unusable):
            if output.is_large:
                return
            raise TrialError(f"the checker cannot be tried on {task.name}: {words(output.why)}")
        try:
            asked, kept = self._check(self.lanes[0], output, task, self.run + 1)
            checking = Running(Work(0, 0, 1), asked, self.run + 1, 0, kept=kept)
            while not checking.hear():
                select.select([checking.resident.agent.channel], [], [], LOOK_S)
                checking.look()
        except (AgentError, PlatformError) as error:
            raise TrialError(f"the checker cannot be tried: {error.message}") from error
        kept.unlink(missing_ok=True)
        ended = checking.verdict()
        if ended.result == "unchecked":
            why = words(ended.why or "")
            raise TrialError(
                f"the checker fails on the expected output of {task.name}: {why}",
                "it must end with 0 for correct, 1 or 2 for wrong",
            )
        if ended.result == "wrong":
            self._note(
                message(
                    "the checker does not call the expected output of {task} correct{% if why %}"
                    ": {why}{% endif %}. If that file is what a program should write, it fails "
                    "all programs",
                    task=task.name,
                    why=ended.why,
                )
            )

    def _next(self, lane: _Lane, missing: Iterator[Work]) -> bool:
        """Begin the next run in a lane; False: there is none."""
        work = next((w for w in missing if not self._is_given_up(w.cell)), None)
        if work is None:
            return False
        self._start(lane, work)
        return True

    def _is_given_up(self, cell: int) -> bool:
        return self.lost[cell] >= TRIES or (self.unstarted[cell] or 0) >= FIRST_RUNS

    def _start(self, lane: _Lane, work: Work) -> None:
        self.run += 1
        began_ns = time.monotonic_ns()
        try:
            lane.at_work = self._begin(lane, work, began_ns)
            self._listen(lane)
        except (AgentError, PlatformError) as error:
            self._keep(lane, work, self.run, began_ns, self._loss(work, error))

    def _begin(self, lane: _Lane, work: Work, began_ns: int) -> Running:
        cell, task = self.plan.cells[work.cell], self.plan.tasks[work.task]
        [key] = keys_of(self.plan.experiment, cell, (lane.cpus,))
        self._check_programs()
        resident = self._resident(key)
        if resident.place.name not in self.files_bytes:
            self.files_bytes[resident.place.name] = _files_bytes(resident)
        command = self._command(cell, task.input, resident.instance.shared)
        limit = 0
        if self.plan.set.checker is not None:
            enforced = cell.workload.enforce
            given = None if enforced is None else enforced.output_bytes
            limit = min(MOST_OUTPUT_BYTES, given or MOST_OUTPUT_BYTES)
        elif task.expected is not None:
            path = Path(task.expected)
            # One that is gone meanwhile checks nothing: that is said when it is wanted.
            limit = checks.capture_bytes(path.stat().st_size if path.exists() else 0)
        command = msgspec.structs.replace(command, capture=record.Capture(limit_bytes=limit))
        limit_s, number = cell.workload.timeout_s, resident.agent.next_id()
        assert limit_s is not None
        job = self._job(number, self.run, command, limit_s, cell.workload.enforce)
        asked = self._submit(resident, job, limit_s)
        return Running(work, asked, self.run, limit, began_ns=began_ns)

    def _resident(self, key: Key) -> Resident:
        """Return an instance that nobody else uses; others at work stay."""
        busy = [one.at_work.resident.key for one in self.lanes if one.at_work is not None]
        return self.pool.get_all(key.platform, [key], busy)[0]

    def _submit(self, resident: Resident, job: record.Trial, timeout_s: float) -> Asked:
        """Have an instance's agent do a job."""
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
        return Asked(resident, Answer(resident.agent, job.id), GRACE_S + timeout_s)

    def _command(self, cell: Cell, task: str, inside: str) -> record.Command:
        if hiding.shows_inputs(cell.platform):
            task = self.copies.get(task, task)
        job = workloads.job(
            cell.workload, {**cell.levels(), TASK: task}, repetitions=None,
            seed=self.plan.experiment.seed, surroundings=self.surroundings[cell.workload.name],
        )  # fmt: skip
        assert isinstance(job, record.Command)
        job = placed(job, cell.platform, self.plan.experiment.platforms)
        return seen_inside(job, self.shared, inside)

    def _job(
        self,
        number: int,
        run: int,
        command: record.Command,
        timeout_s: float,
        enforce: Enforced | None = None,
    ) -> record.Trial:
        return record.Trial(
            id=number,
            trial=run,
            nonce=self.nonce,
            workload=command,
            workers=(),
            iterations=1,
            warmup=0,
            process="fresh",
            tail="stop",
            timeout_ns=round(timeout_s * 1e9),
            limits=limits_of(enforce),
            linger_ns=round(self.plan.experiment.linger_s * 1e9),
            observe=False,
        )

    def _wait(self) -> None:
        """Wait until something has come, and take it."""
        if not self.selector.get_map():
            return
        ready = [key.data for key, _ in self.selector.select(LOOK_S)]
        # Who says nothing is looked at now and then.
        for lane in ready or self.lanes:
            if lane.at_work is not None:
                self._go_on(lane, lane.at_work)

    def _go_on(self, lane: _Lane, running: Running) -> None:
        """Take what an agent has said; judge its run where that is all."""
        try:
            if not running.hear():
                running.look()
                return
            ended = running.ended() if running.judges is None else None
        except AgentError as error:
            self._release(lane)
            self.pool.discard([running.resident], lost=True)
            if running.judges is not None:
                values = running.judges.values
                self._finish(lane, running.judges, Ended("unchecked", error.message, values))
            elif isinstance(error, RefusedError):
                self._finish(lane, running, self._loss(running.work, error))
            else:
                self._do_again(lane, running, error)
            return
        self._release(lane)
        if running.judges is not None:
            self._finish(lane, running.judges, running.verdict())
            return
        self.lost[running.work.cell] = 0
        task = self.plan.tasks[running.work.task]
        if ended is None and self.plan.set.checker is None:
            ended = running.judged(task, self.plan.set)
        ended = ended or running.cut() or running.unanswered(task)
        if ended is not None:
            self._finish(lane, running, ended)
            return
        try:
            asked, kept = self._check(lane, bytes(running.output), task, running.run)
            lane.at_work = Running(running.work, asked, running.run, 0, judges=running, kept=kept)
            self._listen(lane)
        except (AgentError, PlatformError) as error:
            self._finish(lane, running, Ended("unchecked", error.message, running.values))

    def _do_again(self, lane: _Lane, running: Running, error: AgentError) -> None:
        """Do a run again whose agent ended under it; if it does so twice, the program ends it."""
        lane.at_work = None
        if running.work not in self.again:
            self.again.add(running.work)
            self._start(lane, running.work)
            return
        why = message("what ran it was ended under it, twice: {why}", why=error.message)
        ended = Ended("killed", why, running.values)
        self._keep(lane, running.work, running.run, running.began_ns, ended)

    def _check(self, lane: _Lane, output: bytes, task: Task, run: int) -> tuple[Asked, Path]:
        """Have the checker judge an output, on this machine and CPUs of a lane."""
        asked = self.plan.set
        assert asked.checker is not None
        # What is measured meanwhile does not find it: nobody else can list the folder.
        kept = self.outputs / secrets.token_hex(16)
        kept.write_bytes(output)
        kept.chmod(0o644)
        given = {TASK: task.input, OUTPUT: str(kept)}
        if task.expected is not None:
            given[EXPECTED] = task.expected
        key = Key(
            "bare", WHOLE_SIZE, "none", None, self.plan.experiment.quota_period_s, (0,),
            (lane.cpus,),
        )  # fmt: skip
        self._check_programs()
        resident = self._resident(key)
        command = checker.command(asked.checker, given)
        job = self._job(resident.agent.next_id(), run, command, asked.checker_timeout_s)
        return self._submit(resident, job, asked.checker_timeout_s), kept

    def _listen(self, lane: _Lane) -> None:
        assert lane.at_work is not None
        channel = lane.at_work.resident.agent.channel
        self.selector.register(channel, selectors.EVENT_READ, lane)

    def _release(self, lane: _Lane) -> None:
        """Listen no longer to what is at work in a lane."""
        assert lane.at_work is not None
        self.selector.unregister(lane.at_work.resident.agent.channel)

    def _finish(self, lane: _Lane, running: Running, ended: Ended) -> None:
        if lane.at_work is not None and lane.at_work.kept is not None:
            lane.at_work.kept.unlink(missing_ok=True)
        lane.at_work = None
        if ended.result != "lost" and (
            self.plan.experiment.fresh == "trial" or self._has_grown(running.resident)
        ):
            self.pool.discard([running.resident])
        self._keep(lane, running.work, running.run, running.began_ns, ended)

    def _check_programs(self) -> None:
        """End the set where a program or the checker was changed since it began."""
        for path, before in self.programs.items():
            if _identity(path) != before:
                raise TrialError(
                    f"{path} was changed while the set ran; what had ended before is kept",
                    "keep programs and checker where the measured programs cannot write",
                )

    def _has_grown(self, resident: Resident) -> bool:
        """Tell whether programs have left files in the memory of their instance.

        They would count as memory of the programs after them.
        """
        return _files_bytes(resident) - self.files_bytes[resident.place.name] > LEFT_BYTES

    def _loss(self, work: Work, error: AgentError | PlatformError) -> Ended:
        self.lost[work.cell] += 1
        self.last_loss = error
        if self.lost[work.cell] == TRIES:
            cell = self.plan.cells[work.cell]
            self._note(
                message(
                    "{workload} on {platform} is given up after runs that its platform lost: "
                    "{why}", workload=cell.workload.name, platform=cell.platform,
                    why=error.message,
                )
            )  # fmt: skip
        return Ended("lost", error.message, {})

    def _count_unstarted(self, cell: int, ended: Ended) -> None:
        """Count the first runs of a cell that say that the program cannot be started."""
        code = next(iter(ended.values.get("exit_code", {}).values()), None)
        count = self.unstarted[cell]
        if ended.result == "lost" or count is None:
            return
        if code not in CANNOT_START:
            self.unstarted[cell] = None
            return
        self.unstarted[cell] = count + 1
        if count + 1 == FIRST_RUNS:
            at = self.plan.cells[cell]
            self._note(
                message(
                    "{workload} on {platform} is given up: its first {n | counted('run')} "
                    "ended with exit code {code}, by which a shell reports a program that it "
                    "cannot start", workload=at.workload.name, platform=at.platform,
                    n=FIRST_RUNS, code=int(code),
                )
            )  # fmt: skip

    def _keep(self, lane: _Lane, work: Work, run: int, began_ns: int, ended: Ended) -> None:
        self.writer.write(
            Run(
                run=run,
                **work._asdict(),
                lane=lane.number,
                began_ns=began_ns,
                ended_ns=time.monotonic_ns(),
                result=ended.result,
                why=None if ended.why is None else words(ended.why),
                values=ended.values,
            )
        )
        self.counts[ended.result] += 1
        self._count_unstarted(work.cell, ended)
        if ended.result != "lost":
            self.done += 1
        took_s = time.monotonic() - self.began
        each_s = took_s / self.counts.total()
        self.request.progress.ran(
            self.done, self.of, self.counts, each_s * max(0, self.of - self.done)
        )


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


def _sandbox_bytes(plan: Plan) -> int | None:
    """Return how much memory the kernel gives a sandbox where runs are limited; None: all.

    Within, pages are counted that processes have resident: not those of a memfd or of a file in
    memory. Only root can hold a sandbox.
    """
    enforced = [cell.workload.enforce for cell in plan.cells]
    limits = [one.memory_bytes if one is not None else None for one in enforced]
    known = [limit for limit in limits if limit is not None]
    if os.geteuid() != 0 or len(known) < len(limits):
        return None
    return max(known, default=0) + OWN_BYTES


def _identity(path: str) -> tuple[int, ...] | None:
    """Return device, inode, size and change time of a file; None where there is none."""
    try:
        about = Path(path).stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino, about.st_size, about.st_ctime_ns


def _files_bytes(resident: Resident) -> int:
    """Return what files take in the memory of an instance; 0 where only root could know."""
    pid = resident.instance.host_pid
    if pid is None or os.geteuid() != 0:
        return 0
    found = 0
    for name in ("tmp", "dev/shm"):
        with suppress(OSError):
            path = Path(f"/proc/{pid}/root/{name}")
            # Otherwise it is the machine's.
            if path.stat().st_dev != Path("/", name).stat().st_dev:
                about = os.statvfs(path)
                found += (about.f_blocks - about.f_bfree) * about.f_frsize
    return found


def _within(resident: Resident) -> tuple[int, ...] | None:
    """Return the CPUs that a program is put on; None: it numbers them itself."""
    return resident.cpus[0] if resident.instance.shares_memory else None


def _files(plan: Plan, *, copied: bool) -> tuple[str, ...]:
    """Return what commands need: their programs, and the tasks' folders or, in machines, files."""
    programs = needed(plan.cells, os.environ)
    if copied:
        tasks = {task.input for task in plan.tasks}
        programs = tuple(file for file in programs if file not in tasks)
    machines = any(not platforms.shares_memory(cell.platform) for cell in plan.cells)
    inputs = [task.input if machines else str(Path(task.input).parent) for task in plan.tasks]
    if copied and not machines:
        inputs = []
    return tuple(dict.fromkeys((*programs, *inputs)))
