"""What earlier sessions of an experiment did, as far as the next one must know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from tare.agent import record
from tare.experiment import journal, time_limits
from tare.experiment.plan import Plan
from tare.experiment.specification import Stopping
from tare.experiment.trial_times import Reader, TrialTimes


@dataclass
class Past:
    """Counts over all earlier sessions."""

    sessions: int = 0
    #: Highest number of a trial, and the first unused number of a block.
    trials: int = 0
    blocks: int = 0
    #: Trials with a value by cell; one that failed, or has no end, is still to be done.
    good: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    #: Block and value by source of the trials with a value by cell, None of a killed one, where a
    #: comparison goes on with them: a precision begins anew in every session.
    values: dict[int, list[tuple[int, dict[str, float] | None]]] = field(default_factory=dict)
    #: Cells of which every verdict was safe when they stopped last.
    decided: set[int] = field(default_factory=set)
    #: Cells with a good trial in the last block, and those that the last session gave up.
    last_block: set[int] = field(default_factory=set)
    given_up: set[int] = field(default_factory=set)
    #: Whether the last session ended by itself, so that its last block was whole.
    finished: bool = True
    #: How long trials took.
    times: TrialTimes = field(default_factory=TrialTimes)

    def is_complete(self, plan: Plan, before: Stopping) -> bool:
        """Whether all cells have what is asked for, so that another session measures nothing.

        ``before`` is what earlier sessions were asked for; a precision begins anew in every one.
        """
        stopping = plan.experiment.stopping
        if stopping.trials is not None:
            wanted = {cell.cell: plan.experiment.trials(cell.workload) for cell in plan.cells}
            return all(self.good.get(cell, 0) >= (n or 0) for cell, n in wanted.items())
        same = replace(before, budget_s=stopping.budget_s) == stopping
        return (
            stopping.compare is not None
            and same
            and self.decided >= {cell.cell for cell in plan.cells}
        )

    def cut_block(self, plan: Plan) -> tuple[int, int] | None:
        """Return how many cells had a trial in a block that was interrupted, and of how many.

        None: the last one was whole. It is not continued: a block lies within one session, since
        what differs between sessions must not differ within it.
        """
        if self.finished or plan.experiment.order != "blocks" or not self.last_block:
            return None
        wanted = {c.cell: plan.experiment.trials(c.workload) for c in plan.cells}
        missing = {c for c, n in wanted.items() if n is None or self.good.get(c, 0) < n}
        left = missing - self.last_block - self.given_up
        return (len(self.last_block), len(self.last_block | left)) if left else None


def past(lines: Iterable[journal.Line], made: Plan | None = None) -> Past:
    """Count what the sessions in a journal did.

    ``made``: their plan, by whose time limits a killed trial has a value; without it, it failed.
    """
    found = Past()
    faults: dict[int, list[tuple[str, int | None]]] = defaultdict(list)
    cell_of: dict[int, int] = {}
    reader = Reader()
    for line in lines:
        if (trial := reader.trial(line)) is not None:
            found.times.add(trial)
        _count_session(found, line)
        match line:
            case journal.TrialStart():
                found.trials = max(found.trials, line.trial)
                if not line.rehearsal:
                    cell_of[line.trial] = line.cell
                    if line.block >= found.blocks:
                        found.blocks, found.last_block = line.block + 1, set()
            case record.Fault() if line.trial is not None and line.kind != "warning":
                faults[line.trial].append((line.kind, line.iteration))
            case journal.TrialEnd() if line.trial in cell_of:
                cell = cell_of[line.trial]
                if line.status == "ok" or _is_killed(made, cell, faults.pop(line.trial, ())):
                    found.good[cell] += 1
                    found.last_block.add(cell)
    return found


def _is_killed(made: Plan | None, number: int, faults: Iterable[tuple[str, int | None]]) -> bool:
    """Whether a trial that did not end well has a value above a time limit."""
    if made is None or number >= len(made.cells):
        return False
    cell = made.cells[number]
    killed = time_limits.kill(made.experiment, cell.workload, cell.workers, faults)
    return killed is not None and killed.bounds(made.metric)


def _count_session(found: Past, line: journal.Line) -> None:
    """Count how sessions began and ended, and why cells stopped."""
    match line:
        case journal.Session():
            found.sessions = max(found.sessions, line.session)
            found.times.begin_session()
            found.finished, found.given_up = False, set()
        case journal.SessionEnd():
            found.finished = line.reason == "finished"
        case journal.Stop():
            stopped = found.decided.add if line.reason == "decided" else found.decided.discard
            stopped(line.cell)
            if line.reason == "failed":
                found.given_up.add(line.cell)
