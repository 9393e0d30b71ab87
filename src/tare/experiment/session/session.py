"""Conduct one session: blocks of trials until enough is known, or the budget ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tare.errors import TareError, TrialError
from tare.experiment import journal, plan, plan_file
from tare.experiment.placement import placement
from tare.experiment.session import iteration_length
from tare.experiment.session.budget import Budget
from tare.experiment.session.files import needed
from tare.experiment.session.hooks import Hooks
from tare.experiment.session.observer import Observer
from tare.experiment.session.output import Outputs
from tare.experiment.session.parts import SessionResources
from tare.experiment.session.pool import InstanceLine, Pool
from tare.experiment.session.recorded_session import RecordedSession, recorded
from tare.experiment.session.request import Request
from tare.experiment.session.roots import Roots
from tare.experiment.session.session_state import Tally
from tare.experiment.session.trial import Conductor
from tare.experiment.specification import Cell, Experiment
from tare.experiment.time_limits import COUNTED
from tare.platforms import session_folder
from tare.render.words import text
from tare.results import phrases
from tare.results.message import Duration, Message, message

if TYPE_CHECKING:
    from tare.experiment.session.hosts import Hosts
    from tare.statistics.stopping import Decision


def conduct(request: Request) -> str:
    """Conduct one session to its end, and return why it ended; raises as :func:`blocks` does."""
    going = blocks(request)
    while True:
        try:
            next(going)
        except StopIteration as ended:
            return str(ended.value)


def blocks(request: Request) -> Generator[None, None, str]:
    """Conduct one session a block at a time: each is begun when the next one is asked for.

    Whoever closes it before its end interrupts it.

    Parameters
    ----------
    request : Request
        What to do and how far it is.

    Returns
    -------
    str
        Why it ended: ``finished``, ``budget``.

    Raises
    ------
    TrialError
        If every trial failed, or one came to a wrong result.
    StoreError
        If the journal cannot be written; what was synced is kept.
    KeyboardInterrupt
        After everything was closed and removed.
    """
    known = (*request.facts, *request.notes)
    progress, collector = request.progress, request.collector
    with recorded(request.folder, progress, *known, collector=collector) as session:
        began = time.monotonic()
        weigh(request, session, "before")
        # Those after the trials take as long again.
        request.spent_s += 2 * (time.monotonic() - began)
        with ExitStack() as used:
            ended = yield from _Session(request, session, used).conduct()
        weigh(request, session, "after")
        session.reason = ended
    return session.reason


#: A block is begun where so many times what it took in the mean is left.
BLOCK_RESERVE = 1.1
#: Blocks after which it is known at the latest whether enough trials fit the budget.
_PLANNING = 2


class _Session:
    def __init__(self, request: Request, session: RecordedSession, stack: ExitStack) -> None:
        name, nonce, writer = session.name, session.nonce, session.writer
        self.request = request
        self.experiment = request.plan.experiment
        self.session = session
        self.writer = writer
        self.number = request.past.trials
        #: How long it took to start the instances of the trial that is under way.
        self.started_s = 0.0
        self.block = request.past.blocks
        roots = Roots(
            request.plan.cells, request.folder, request.progress.stage, stack, request.user
        )
        writer.write(*roots.facts)
        request.progress.stage("starting the observer")
        shared = stack.enter_context(session_folder.made(name))
        outputs = None
        kept = [c.workload.output for c in request.plan.cells if c.workload.keeps_output]
        if kept:
            # Before anything is measured that could put something else in its place.
            outputs = Outputs(request.folder, kept, session.note)
            stack.callback(outputs.close)
        observer = Observer(
            nonce,
            context_switches=request.context_switches,
            stretches=request.stretches and len({cell.platform for cell in request.plan.cells}) > 1,
        )
        stack.callback(observer.close)
        writer.write(*observer.facts)
        session.awaits_bare = any(cell.platform == "bare" for cell in request.plan.cells)
        if observer.refusal is not None:
            session.limit(
                message(
                    "the kernel does not permit observing the CPUs; each agent observes its own "
                    "process, or times it from outside: {why}",
                    why=observer.refusal,
                ),
                message("CPUs cannot be observed"),
                observer.remedy,
            )
        self.hosts = hosts = network(request, name, shared, session.note)
        if hosts is not None:
            stack.callback(hosts.close)
        pool = Pool(
            name,
            str(shared),
            self.experiment,
            request.machine.memory_bytes,
            needed(request.plan.cells, os.environ, self.experiment.network.hosts if hosts else 0),
            self._instances,
            hosts,
            request.user,
        )
        stack.callback(pool.close)
        environment = dict(os.environ)
        self.hooks = Hooks(request.plan.cells, request.user, environment)
        resources = SessionResources(
            name=name,
            nonce=nonce,
            experiment=self.experiment,
            machine=request.machine,
            folder=request.folder,
            shared=shared,
            pool=pool,
            observer=observer,
            roots=roots,
            reading=request.reading,
            environment=environment,
            write=writer.write,
            stage=request.progress.stage,
            note=session.note,
            user=request.user,
            outputs=outputs,
            hosts=hosts,
        )
        self.conductor = Conductor(resources, request.plan.metric, request.collector.means)
        stack.callback(self.conductor.close)
        self.tally = Tally(request.plan.cells, request.past, request.plan.metric)

    def _instances(self, lines: Sequence[InstanceLine]) -> None:
        """Keep what instances report, and how long the slowest of them took to start."""
        self.session.keep(lines)
        starts = [fact.start_ns / 1e9 for fact in lines if isinstance(fact, journal.InstanceStart)]
        self.started_s = max([self.started_s, *starts])

    def conduct(self) -> Generator[None, None, str]:
        self._find_repetitions()
        if any(cell.workload.setup for cell in self.request.plan.cells):
            self.request.progress.stage("setting up")
        with self.hooks.around_all(self.experiment.seed):
            return (yield from self._conduct())

    def _conduct(self) -> Generator[None, None, str]:
        cells = self.request.plan.cells
        groups = [cells] if self.experiment.order == "blocks" else [[c] for c in cells]
        self.request.progress.begins(
            serves=any(cell.workload.serves for cell in cells),
            application=any(cell.workload.application is not None for cell in cells),
        )
        self.budget = Budget(self.experiment.stopping.budget_s, self.request.spent_s)
        ended = "finished"
        for index, group in enumerate(groups):
            # In sequential order the n-th trials of all cells stand for a block.
            self.block = self.request.past.blocks
            # Sequential order shares what is left of the budget over the cells that are left.
            share = self.budget.share(len(groups) - index)
            if not (yield from self._group([c.cell for c in group], share)):
                ended = "budget"
        if not self.tally.good:
            raise TrialError(
                text(message(phrases.FAILURES_ALL, trials=self.tally.done, levels=[], on="of"))
                + (f": {self.tally.last_failure}" if self.tally.last_failure else ""),
                f"what was seen is in {self.request.folder / 'journal'}",
            )
        return ended

    def _find_repetitions(self) -> None:
        request = self.request
        frozen = iteration_length.find(request.plan, self._rehearse, request.progress.stage)
        if frozen != request.plan.repetitions:
            request.plan = plan.freeze(request.plan, frozen)
            plan_file.write(request.plan, request.folder)
        self.writer.sync()

    def _rehearse(self, cell: Cell, count: int) -> dict[str, float]:
        outcome = self.conductor.execute(
            self._next_number(), 0, 0, cell, (None,), plan.input_seed(self.experiment, 0),
            count, iterations=1, rehearsal=True,
        )  # fmt: skip
        if outcome.status != "ok":
            raise TrialError(f"{cell.workload.name} fails on bare: {outcome.reason}")
        return outcome.values

    def _group(self, cells: list[int], budget: Budget) -> Generator[None, None, bool]:
        """Run blocks over some cells; return whether they ended before the budget did."""
        fixed = self.experiment.stopping.trials
        blocks, planned = 0, False
        while cells := self.tally.wanting(cells, fixed):
            waited = time.monotonic()
            yield
            began = time.monotonic()
            for one in {budget, self.budget}:
                # Until it was this session's turn.
                one.extend(began - waited)
            if not self._block(cells, budget):
                self._stop(cells, "budget", self._decisions(cells))
                return False
            self.block += 1
            blocks += 1
            if blocks <= _PLANNING and fixed is None and not planned:
                # The first block also starts the instances: that few fit is for the next to say.
                sure = blocks == _PLANNING or self.experiment.fresh == "trial"
                fixed, planned = self._affordable(cells, budget, time.monotonic() - began, sure)
                if fixed is not None:
                    continue
            failed = self.tally.hopeless(cells, is_over=budget.over)
            self._stop(failed, "failed", {})
            decisions = {} if self.experiment.stopping.trials else self._decisions(cells)
            # Without a value on a common source nothing is known, so nothing is reached.
            if decisions and all(d.stop for c, d in decisions.items() if c not in failed):
                self._stop([c for c in cells if c not in failed], None, decisions)
            elif fixed is not None:
                done = [c for c in cells if not self.tally.missing(c, fixed) and c not in failed]
                self._stop(
                    done,
                    "fixed" if self.experiment.stopping.trials else "budget",
                    self._decisions(done),
                )
        return True

    def _affordable(
        self, cells: list[int], budget: Budget, block_s: float, sure: bool
    ) -> tuple[int | None, bool]:
        """Return the n that fits the budget where it is below what peeking needs, else None.

        And whether that is decided: what is not sure may still turn out to be more.
        """
        n = plan.fixed_trials(budget.left_s, block_s) + max(self.tally.trials[c] for c in cells)
        few = n < self.request.first_look
        if few and not sure:
            return None, False
        self.request.progress.planned(n * len(cells) if few else None, budget.left_s)
        return (n if few else None), True

    def _block(self, cells: list[int], budget: Budget) -> bool:
        """Bring every cell to a good trial, in the block's order; False: the budget ended within.

        A trial that failed is repeated at the end of its block, with the same input, so that a
        block is whole for all cells that are not given up.
        """
        order = plan.block_order(self.experiment, cells, self.request.past.sessions, self.block)
        wanted = list(order)
        for position, number in enumerate(wanted):
            if position >= len(order) and number in self.tally.hopeless(cells, is_over=budget.over):
                continue
            if self._is_over(cells, wanted[position:], budget):
                return False
            cell = self.request.plan.cells[number]
            rested_s = self._rest(cell, budget)
            if rested_s is None:
                return False
            self.started_s = 0.0
            outcome = self.conductor.execute(
                self._next_number(),
                self.block,
                position,
                cell,
                placement(self.experiment, cell, self.request.machine),
                plan.input_seed(self.experiment, self.block),
                self.request.plan.repetitions.get(cell.workload.name),
            )
            self.writer.sync()
            self.tally.add(number, self.block, outcome, rested_s, self.started_s)
            self.request.progress.ended(
                cell,
                outcome,
                self.tally.done,
                self.tally.seconds_left(self.experiment, self.budget),
            )
            if outcome.wrong:
                where = self.tally.where(number)
                raise TrialError(f"trial {self.number} ({where}): wrong result: {outcome.reason}")
            if outcome.status not in COUNTED:
                wanted.append(number)
        return True

    def _is_over(self, cells: list[int], left: list[int], budget: Budget) -> bool:
        """Tell whether what comes next would end after the budget, which one trial alone may.

        After the first block it is whole blocks that are begun: half of one compares nothing.
        Cells that a command compares get a trial each, however long it takes.
        """
        whole = all(self.tally.trials[c] for c in cells)
        if not whole and (self.experiment.stopping.compare is not None or not self.tally.done):
            return False
        if whole and (not self.tally.done or 0 < len(left) < len(cells)):
            return budget.over
        following = dict.fromkeys(left if whole else left[:1], 1)
        next_s = sum(self.tally.trials_s(following, self.experiment).values())
        reserve = BLOCK_RESERVE if len(cells) > 1 else 1.0
        return budget.over or reserve * next_s > budget.left_s

    def _rest(self, cell: Cell, budget: Budget) -> float | None:
        """Rest before a trial of a cell; return for how long, or None: beyond the budget."""
        pause_s = self.experiment.rest_s if self.number > self.request.past.trials else 0.0
        hosts = self.hosts if self.experiment.joins(cell.workload) else None
        wait_s = 0.0 if hosts is None else hosts.wait_s(cell)
        if wait_s and pause_s + wait_s > budget.left_s and self.tally.good:
            return None
        time.sleep(pause_s)
        return pause_s + (0.0 if hosts is None else hosts.rest(cell))

    def _next_number(self) -> int:
        self.number += 1
        return self.number

    def _decisions(self, cells: list[int]) -> Mapping[int, Decision]:
        # Without a value of every metric nothing is known; a comparison is decided by the first.
        stopping = self.experiment.stopping
        others = stopping.also if stopping.compare is None else ()
        values = [self.tally.values(cells, m) for m in (None, *others)]
        return self.request.decide(*values) if all(values) else {}

    def _stop(
        self,
        cells: list[int],
        reason: journal.StopReason | None,
        decisions: Mapping[int, Decision],
    ) -> None:
        for cell in cells:
            self.writer.write(stop(cell, self.tally, self.experiment, reason, decisions.get(cell)))
            self.tally.stopped.add(cell)


def stop(
    cell: int,
    tally: Tally,
    experiment: Experiment,
    reason: journal.StopReason | None,
    decision: Decision | None,
) -> journal.Stop:
    """Return why a cell stopped and what it reached; ``reason`` outranks the decision's."""
    more, stopping = decision.more_trials if decision else None, experiment.stopping
    return journal.Stop(
        cell=cell,
        trials=tally.trials[cell],
        reason=reason or (decision and decision.reason) or "target",
        target=stopping.precision if stopping.compare is None else None,
        reached=decision.reached if decision else None,
        more_trials=more,
        more_seconds=None if more is None else tally.trials_s({cell: more}, experiment)[cell],
        why=decision.why if decision else None,
        refusal=text(decision.refusal) if decision and decision.refusal else None,
    )


def network(
    request: Request, name: str, folder: Path, note: Callable[[Message], None]
) -> Hosts | None:
    """Make the network in which a session's trials take place; None: the machine's own.

    Parameters
    ----------
    request : Request
        Whether there is to be one, and who wants to know how far it is.
    name : str
        Of the session.
    folder : Path
        What instances are shown.
    note : callable
        Takes what is to be reported with the answers.
    """
    experiment = request.plan.experiment
    if not experiment.networked:
        return None
    # Whoever needs no network does not load what makes one.
    from tare.experiment.session.hosts import Hosts

    request.progress.stage("making the network")
    hosts = Hosts(name, experiment, folder, request.user, request.progress.stage, note)
    if request.past.trials and experiment.network.budget == "carry":
        note(
            message(
                "budgets are carried from trial to trial, but this session continues an earlier "
                "one: in it, every level began with its initial budget again"
            )
        )
    return hosts


def weigh(request: Request, session: RecordedSession, moment: journal.Moment) -> None:
    """Keep what probes find of the machine; that they fail loses no trial.

    No observer may watch meanwhile: it makes context switches dearer [1.8 → 2.8 µs].
    """
    if request.weigh is None:
        return
    running = message(
        "probing the machine {moment} the trials, {time}",
        moment=moment,
        time=Duration(request.probing.seconds),
    )
    request.progress.stage(text(running))
    try:
        session.writer.write(*request.weigh(moment))
    except TareError as error:
        session.note(
            message(
                "the machine could not be probed {moment} the trials: {why}",
                moment=moment,
                why=error.message,
            )
        )
    session.writer.sync()
