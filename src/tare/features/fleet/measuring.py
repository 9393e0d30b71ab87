"""One experiment on all hosts of a fleet: each goes its own way, whatever the others do."""

from __future__ import annotations

import os
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from distributed import Future

from tare.errors import ExperimentError, StoreError, Typed
from tare.experiment import journal, plan, plan_file
from tare.experiment.plan import Plan
from tare.experiment.session import folder as folders
from tare.experiment.session.recorded_session import journal_path
from tare.experiment.session.resume_state import Past
from tare.experiment.specification import FleetSpec
from tare.features.fleet import folder as own_folders
from tare.features.fleet import laboratory
from tare.features.fleet.engine import Engine, Host, Joined
from tare.features.fleet.folder import HOSTS
from tare.features.fleet.laboratory import Asked, Hello, Planned, Refusal, Reply, Told

#: Hosts of a run that is interrupted have so long to end what they do.
_END_S = 20.0
#: Hosts that wait for their turn are asked so often to keep their session.
_KEEP_S = laboratory.ABANDONED_S / 3


class Measuring:
    """Measures until every host has ended; what each has found is kept block by block.

    Parameters
    ----------
    engine : Engine
        Reached.
    asked : Asked
        The experiment.
    folder : Path
        Held; each host has its own in it.
    spec : FleetSpec
        How many measure at once.
    """

    def __init__(self, engine: Engine, asked: Asked, folder: Path, spec: FleetSpec) -> None:
        self._engine = engine
        self._asked = asked
        self._folder = folder
        self._spec = spec
        #: Hosts that could measure now, and what they would be asked.
        self._turns: deque[tuple[Host, Any, tuple[Any, ...]]] = deque()
        #: Hosts that could begin, once the first has found how often a kernel runs in one trial.
        self._planned: deque[tuple[Host, Plan, Past]] = deque()
        self._first: Host | None = None
        self._repetitions: dict[str, int] = {}
        #: Time from the request for the fleet until a session could begin, in ns; None: not
        #: measured.
        self._start_ns: int | None = None
        #: Futures that keep the sessions of waiting hosts alive.
        self._kept: list[Future[Any]] = []

    def conduct(self) -> None:
        """Measure.

        Raises
        ------
        PlatformError
            If the scheduler is gone.
        StoreError
            If what was found cannot be written.
        """
        try:
            for host in [*self._engine.hosts.values()]:
                if host.ended is None:
                    self._engine.submit(host, laboratory.plan, self._asked)
            while self._engine.is_busy or self._planned or self._turns:
                heard = self._engine.next()
                if isinstance(heard, Joined):
                    if (late := self._engine.joined(heard.address)) is not None:
                        self._engine.submit(late, laboratory.hello)
                elif heard is not None:
                    self._answered(*heard)
                self._begin()
                self._give_turns()
        except BaseException:
            self._interrupt()
            raise

    def _answered(self, host: Host, found: Reply | None) -> None:
        """Continue with a host by its reply."""
        if isinstance(found, Hello):
            self._engine.greeted(host, found)
            if host.ended is None:
                self._engine.submit(host, laboratory.plan, self._asked)
        elif isinstance(found, Refusal):
            self._engine.refuse(host, found)
        elif isinstance(found, Planned):
            self._folder_of(host, found.plan)
        elif isinstance(found, Told):
            self._take(host, found)
            if host.ended is None:
                self._turns.append((host, laboratory.block, (self._spec.blocks,)))
        else:
            self._fail(host, "what it sent is none of tare's")

    def _fail(self, host: Host, why: str) -> None:
        """Give a host up that does not send what it is to."""
        host.ended, host.why = "failed", Refusal(why, None)
        self._engine.progress.note(f"{host.name}: {why}")

    def _folder_of(self, host: Host, made: Plan) -> None:
        """Begin a host's folder, or go on with it; it may have all that is asked."""
        host.folder = self._folder / HOSTS / host.name
        past = Past()
        try:
            own_folders.make(host.folder)
            if folders.has_begun(host.folder):
                past, found, is_complete = folders.go_on(made, self._asked.text, host.folder)
                made = found.plan
                if is_complete:
                    host.ended = "complete"
                    return
            else:
                folders.begin(made, self._asked.text, host.folder)
            host.journal = journal_path(host.folder)
        except (ExperimentError, StoreError) as error:
            self._engine.refuse(host, Refusal(error.message, error.hint))
            return
        self._repetitions = self._repetitions or made.repetitions
        self._planned.append((host, made, past))
        self._engine.progress.planned(host.name, _blocks_left(made, past))

    def _begin(self) -> None:
        """Begin sessions: of one host first, which finds how often a kernel runs in one trial."""
        while self._planned:
            first, unknown = self._first, not self._repetitions
            if unknown and first is not None and not first.begun and first.ended is None:
                return
            host, made, past = self._planned.popleft()
            if not unknown and not made.repetitions:
                made = plan.freeze(made, self._repetitions)
                plan_file.write(made, host.folder)
            elif _finds_repetitions(made) and (first is None or not first.begun):
                self._first = host
            self._turns.append((host, laboratory.begin, (made, past)))

    def _give_turns(self) -> None:
        """Ask as many hosts as may measure at once, in the order in which they became free."""
        most = self._spec.at_once
        while self._turns and (most is None or len(self._engine.under_way) < most):
            host, work, given = self._turns.popleft()
            if host.ended is None:
                self._engine.submit(host, work, *given)
        late = time.monotonic() - _KEEP_S
        waiting = [host for host, *_ in self._turns if host.begun and host.asked_s < late]
        if waiting:
            self._kept = [self._engine.keep(host) for host in waiting]

    def _take(self, host: Host, told: Told) -> None:
        """Keep what a host has found."""
        if not journal.is_journal(told.lines):
            self._fail(host, "what it sent is no journal")
            return
        if told.plan is not None and told.plan.repetitions:
            plan_file.write(told.plan, host.folder)
            self._repetitions = self._repetitions or told.plan.repetitions
        try:
            with host.journal.open("ab") as file:
                file.write(told.lines)
                file.flush()
                os.fdatasync(file.fileno())
        except OSError as error:
            raise StoreError(
                f"cannot write the journal {host.journal}: {error.strerror}; what was fetched "
                "before is kept",
                Typed("--resume   (after freeing some room)"),
            ) from error
        took_ns = told.ended_ns - told.began_ns
        if not host.begun:
            if self._start_ns is None:
                self._start_ns = int(1e9 * (time.monotonic() - self._engine.asked_s)) - took_ns
            # Whoever wants another session starts the fleet again.
            host.session_ns = took_ns + max(0, self._start_ns)
        else:
            host.measured_ns += took_ns
            _divide(host, told, took_ns)
        host.begun = True
        host.blocks += told.blocks
        host.ended, host.why = told.ended, told.refusal
        self._engine.progress.told(host.name, told)

    def _interrupt(self) -> None:
        """Have every host end what it does, as far as it can still be reached."""
        ends = time.monotonic() + _END_S
        engine = self._engine
        with suppress(Exception):
            some = [host for host in engine.hosts.values() if host.begun and host.ended is None]
            if some:
                engine.progress.note(f"ending what is under way, in at most {_END_S:.0f} s")
            for host in some:
                # It waits until the block is over that is under way.
                engine.submit(host, laboratory.end)
            # Who has not begun has nothing that could be lost.
            while engine.awaits(some) and time.monotonic() < ends:
                heard = engine.next()
                if heard is None or isinstance(heard, Joined):
                    continue
                host, told = heard
                if isinstance(told, Told):
                    self._take(host, told)


def _divide(host: Host, told: Told, took_ns: int) -> None:
    """Count what blocks took; that of the last one with the end of the session, which probes."""
    if told.ended is None:
        host.plain_blocks += told.blocks
        host.plain_ns += took_ns
        host.own_cpu_ns += told.own_cpu_ns
    elif host.plain_blocks and host.session_ns is not None:
        blocks_ns = told.blocks * host.plain_ns // host.plain_blocks
        host.session_ns += max(0, took_ns - blocks_ns)


def _finds_repetitions(made: Plan) -> bool:
    """Tell whether a session begins by finding how often a kernel runs in one trial."""
    return any(workload.kernel for workload in made.experiment.workloads)


def _blocks_left(made: Plan, past: Past) -> int | None:
    """Return how many blocks a host has still to measure; None: that depends on what it finds."""
    wanted = [(cell.cell, made.experiment.trials(cell.workload)) for cell in made.cells]
    return max((n - past.good.get(cell, 0) for cell, n in wanted if n is not None), default=None)
