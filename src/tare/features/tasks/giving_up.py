"""When a cell of a task set is given up: its platform loses runs, or its program cannot start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from tare.errors import AgentError, PlatformError
from tare.experiment.session.session_state import TRIES
from tare.features.tasks.lanes import Ended
from tare.features.tasks.specification import Plan
from tare.results.message import Message, message

#: Exit codes by which shells and the dynamic linker report a program that cannot be started, and
#: the number of first runs with one of them after which a cell is given up.
CANNOT_START, FIRST_RUNS = (126.0, 127.0), 10


class GivingUp:
    """Counts what speaks against going on with each cell of a plan; ``note`` takes the reason."""

    def __init__(self, plan: Plan, note: Callable[[Message], None]) -> None:
        self._plan = plan
        self._note = note
        #: Runs in a row that a cell's platform has lost, and the last reason.
        self._lost: dict[int, int] = defaultdict(int)
        self.last_loss: AgentError | PlatformError | None = None
        #: First runs of each cell whose program could not be started; None: another run ended.
        self._unstarted: dict[int, int | None] = defaultdict(int)

    def __contains__(self, cell: int) -> bool:
        return self._lost[cell] >= TRIES or (self._unstarted[cell] or 0) >= FIRST_RUNS

    def answered(self, cell: int) -> None:
        """Count a run whose agent has answered."""
        self._lost[cell] = 0

    def lost(self, cell: int, error: AgentError | PlatformError) -> Ended:
        """Count a run that its platform has lost, and return how it ended."""
        self._lost[cell] += 1
        self.last_loss = error
        if self._lost[cell] == TRIES:
            at = self._plan.cells[cell]
            self._note(
                message(
                    "{workload} on {platform} is given up after runs that its platform lost: "
                    "{why}", workload=at.workload.name, platform=at.platform, why=error.message,
                )
            )  # fmt: skip
        return Ended("lost", error.message, {})

    def ended(self, cell: int, ended: Ended) -> None:
        """Count a run among the first of its cell, where its program could not be started."""
        code = next(iter(ended.values.get("exit_code", {}).values()), None)
        count = self._unstarted[cell]
        if ended.result == "lost" or count is None:
            return
        if code not in CANNOT_START:
            self._unstarted[cell] = None
            return
        self._unstarted[cell] = count + 1
        if count + 1 == FIRST_RUNS:
            at = self._plan.cells[cell]
            self._note(
                message(
                    "{workload} on {platform} is given up: its first {n | counted('run')} "
                    "ended with exit code {code}, by which a shell reports a program that it "
                    "cannot start", workload=at.workload.name, platform=at.platform,
                    n=FIRST_RUNS, code=int(code),
                )
            )  # fmt: skip
