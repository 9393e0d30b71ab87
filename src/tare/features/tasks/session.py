"""Conducts one session of a task set: lanes take runs until none is left."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tare.agent import record
from tare.errors import AgentError, PlatformError, TrialError
from tare.experiment import journal
from tare.experiment.placement import Machine, cpu_sets
from tare.experiment.session.answers import Listener, answers, received
from tare.experiment.session.recorded_session import RecordedSession, recorded
from tare.experiment.task_sets.outcomes import Result
from tare.features.tasks import hiding
from tare.features.tasks.giving_up import GivingUp
from tare.features.tasks.instances import Instances
from tare.features.tasks.journal import Run
from tare.features.tasks.lanes import Ended, Lane, RefusedError, Running, Unusable, Work, answer
from tare.features.tasks.specification import Plan
from tare.render.words import text as words
from tare.results.message import message

#: Interval between fdatasync calls, in seconds: a run that is lost is repeated.
SYNC_S = 1.0


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
    known = (*request.facts, *request.notes)
    with recorded(request.folder, request.progress, *known) as session:
        with ExitStack() as used:
            used.enter_context(hiding.private(request.folder, request.plan.tasks))
            counts = _Schedule(request, session, used).conduct()
        session.reason = "finished"
    return counts


class _Schedule:
    """Which run is next in which lane, and what becomes of each."""

    def __init__(self, request: Request, session: RecordedSession, stack: ExitStack) -> None:
        self.request = request
        self.session = session
        self.plan = plan = request.plan
        cpus = cpu_sets(request.machine, plan.set.cpus, plan.set.parallel)
        self.lanes = [Lane(number, some) for number, some in enumerate(cpus)]
        self.instances = Instances(
            plan, request.folder, request.machine, request.user, self.lanes, session, stack
        )
        self.listener = stack.enter_context(Listener())
        self.run = request.past.runs
        self.counts: Counter[Result] = Counter()
        self.given_up = GivingUp(plan, session.note)
        #: Runs whose agent ended while they were under way.
        self.again: set[Work] = set()

    def conduct(self) -> Counter[Result]:
        """Keep all lanes at work until no run is left."""
        missing = works(self.plan, self.request.past.done)
        of = len(self.plan.cells) * len(self.plan.tasks) * self.plan.set.trials
        self.done, self.of = len(self.request.past.done), of
        self.began = synced = time.monotonic()
        self.request.progress.stage("starting the platforms")
        self._try_checker()
        while self._fill(missing):
            for pending in self.listener.wait():
                [lane] = [one for one in self.lanes if one.waits_for(pending)]
                self._go_on(lane)
            if (now := time.monotonic()) - synced > SYNC_S:
                self.session.writer.sync()
                synced = now
        last_loss = self.given_up.last_loss
        if not self.counts.total() - self.counts["lost"] and last_loss is not None:
            raise TrialError(f"every run was lost: {last_loss}", last_loss.hint)
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
            checking = self.instances.check(self.lanes[0], Work(0, 0, 1), self.run + 1, output)
            for _, got in answers([checking.pending]):
                checking.take(got)
        except (AgentError, PlatformError) as error:
            raise TrialError(f"the checker cannot be tried: {error.message}") from error
        checking.remove_output()
        ended = checking.verdict()
        if ended.result == "unchecked":
            why = words(ended.why or "")
            raise TrialError(
                f"the checker fails on the expected output of {task.name}: {why}",
                "it must end with 0 for correct, 1 or 2 for wrong",
            )
        if ended.result == "wrong":
            self.session.note(
                message(
                    "the checker does not call the expected output of {task} correct{% if why %}"
                    ": {why}{% endif %}. If that file is what a program should write, it fails "
                    "all programs",
                    task=task.name,
                    why=ended.why,
                )
            )

    def _fill(self, missing: Iterator[Work]) -> bool:
        """Begin runs in all lanes that are free; return whether any run is under way."""
        for lane in self.lanes:
            while lane.at_work is None:
                work = next((w for w in missing if w.cell not in self.given_up), None)
                if work is None:
                    break
                self._start(lane, work)
        return bool(self.listener.pending)

    def _start(self, lane: Lane, work: Work) -> None:
        self.run += 1
        began_ns = time.monotonic_ns()
        try:
            self._put(lane, self.instances.start(lane, work, self.run, began_ns))
        except (AgentError, PlatformError) as error:
            ended = self.given_up.lost(work.cell, error)
            self._keep(lane, work, self.run, began_ns, ended)

    def _put(self, lane: Lane, running: Running) -> None:
        """Put a program or a checker to work in a lane."""
        lane.at_work = running
        self.listener.add(running.pending)

    def _go_on(self, lane: Lane) -> None:
        """Take what the agent of a lane has sent; judge its run where that is all."""
        running = lane.at_work
        assert running is not None
        try:
            for got in received(running.pending):
                running.take(got)
            if not running.pending.answer.whole:
                return
            ended = running.ended() if running.judges is None else None
        except AgentError as error:
            self.listener.remove(running.pending)
            self.instances.lose(running.resident)
            self._fail(lane, running, error)
            return
        self.listener.remove(running.pending)
        if running.judges is not None:
            self._finish(lane, running.judges, running.verdict())
            return
        self.given_up.answered(running.work.cell)
        task = self.plan.tasks[running.work.task]
        if ended is None and self.plan.set.checker is None:
            ended = running.judged(task, self.plan.set)
        ended = ended or running.cut() or running.unanswered(task)
        if ended is not None:
            self._finish(lane, running, ended)
            return
        try:
            output = bytes(running.output)
            checking = self.instances.check(lane, running.work, running.run, output)
            checking.judges = running
            self._put(lane, checking)
        except (AgentError, PlatformError) as error:
            self._finish(lane, running, Ended("unchecked", error.message, running.values))

    def _fail(self, lane: Lane, running: Running, error: AgentError) -> None:
        """Conclude what an agent did not: a check, a run that it refused, or one that it lost."""
        if running.judges is not None:
            values = running.judges.values
            self._finish(lane, running.judges, Ended("unchecked", error.message, values))
        elif isinstance(error, RefusedError):
            self._finish(lane, running, self.given_up.lost(running.work.cell, error))
        else:
            self._do_again(lane, running, error)

    def _do_again(self, lane: Lane, running: Running, error: AgentError) -> None:
        """Do a run again whose agent ended under it; if it does so twice, the program ends it."""
        lane.at_work = None
        if running.work not in self.again:
            self.again.add(running.work)
            self._start(lane, running.work)
            return
        why = message("what ran it was ended under it, twice: {why}", why=error.message)
        ended = Ended("killed", why, running.values)
        self._keep(lane, running.work, running.run, running.began_ns, ended)

    def _finish(self, lane: Lane, running: Running, ended: Ended) -> None:
        if lane.at_work is not None:
            lane.at_work.remove_output()
        lane.at_work = None
        if ended.result != "lost":
            self.instances.finish(running.resident)
        self._keep(lane, running.work, running.run, running.began_ns, ended)

    def _keep(self, lane: Lane, work: Work, run: int, began_ns: int, ended: Ended) -> None:
        self.session.writer.write(
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
        self.given_up.ended(work.cell, ended)
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
