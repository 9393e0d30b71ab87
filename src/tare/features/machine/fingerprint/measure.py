"""Take a fingerprint: one session of rounds on one platform, kept whatever ends it."""

from __future__ import annotations

import datetime
import time
from contextlib import ExitStack

import tare
from tare import platforms
from tare.agent import client, record
from tare.errors import AgentError
from tare.experiment import machine_facts as machine
from tare.experiment import remnants
from tare.experiment.catalogue import catalogue
from tare.experiment.fingerprints.machine.document import Fingerprint, Problem
from tare.experiment.session import probing, scratch_space
from tare.experiment.session.probing import Given, Round
from tare.features.machine.fingerprint.choice import choose
from tare.features.machine.fingerprint.figures import gather, predicted
from tare.features.machine.fingerprint.request import Asked, places
from tare.features.machine.fingerprint.rounds import Rounds
from tare.host import hardware, lease
from tare.platforms import session_folder
from tare.render.words import text
from tare.results.message import message

#: Seconds of rounds, by effort: with tare's own start and end the whole takes 5 s, 60 s and
#: 10 min at most.
BUDGET_S = {"brief": 5.0, "quick": 54.0, "whole": 570.0}
#: An agent that ends so often is not started again.
_STARTS = 3


class Progress:
    """Who wants to know how far it is: by itself, nobody."""

    def stage(self, what: str) -> None:
        """Tell what goes on before the first round."""

    def begins(self, probe: str) -> None:
        """Tell that a round begins."""

    def ended(self, round: Round, seconds_left: float) -> None:
        """Tell that a round is over."""


def take(asked: Asked, progress: Progress | None = None) -> tuple[Fingerprint, bool]:
    """Take a fingerprint.

    Parameters
    ----------
    asked : Asked
    progress : Progress, optional
        Who is told how far it is.

    Returns
    -------
    Fingerprint
        With whatever was measured; what could not be is in its problems.
    bool
        Whether somebody interrupted it.

    Raises
    ------
    ExperimentError
        If nothing is called as asked, or there is no such directory.
    PlatformError
        If the platform cannot be started.
    AgentError
        If the agent does not work at all.
    """
    session = _Session(asked, progress or Progress())
    session.measure()
    return session.fingerprint(), session.interrupted


class _Session:
    def __init__(self, asked: Asked, progress: Progress) -> None:
        self._began = time.monotonic()
        self._started = datetime.datetime.now(datetime.UTC)
        self._asked = asked
        self._progress = progress
        self._places = places(asked)
        self._choice = choose(catalogue().probes, asked.words, asked.effort, self._places.lacking)
        self._schedule = Rounds(
            self._choice.probes,
            asked.effort,
            BUDGET_S[asked.effort] if asked.budget_s is None else asked.budget_s,
            asked.seed,
            asked.precision,
            asked.soon,
        )
        self._rounds: list[Round] = []
        self._facts: dict[str, bool | int | float | str] = {}
        #: The round that is being performed.
        self._begun = ""
        self.interrupted = False

    def measure(self) -> None:
        """Perform rounds until it is enough, the time is over, or somebody interrupts."""
        if not self._choice.probes:
            return
        name = lease.new_name()
        directory, remote = self._places.directory, self._places.remote
        with ExitStack() as stack:
            elsewhere = [folder for folder in (directory, remote) if folder is not None]
            stack.enter_context(remnants.lease(name, elsewhere))
            shared = stack.enter_context(session_folder.made(name))
            files = stack.enter_context(scratch_space.made(directory, f"{name}-files"))
            others = stack.enter_context(scratch_space.made(remote, f"{name}-remote"))
            given = Given(
                effort=self._asked.effort,
                directory=self._places.inside if files is None else str(files),
                remote=None if others is None else str(others),
                peer=self._asked.peer,
                memory_bytes=scratch_space.memory_bytes(self._asked.memory_bytes),
                file_bytes=self._places.file_bytes,
                seed=self._asked.seed,
            )
            self._facts |= {
                "seed": given.seed,
                "memory_limit_bytes": given.memory_bytes,
                "file_limit_bytes": given.file_bytes,
            }
            try:
                self._perform(given, platforms.Place(name=f"{name}-0", shared=str(shared)))
            except KeyboardInterrupt:
                self.interrupted = True

    def _perform(self, given: Given, place: platforms.Place) -> None:
        """Perform rounds; an agent that ends, as one that had no memory left, is started again."""
        self._progress.stage(f"starting {self._asked.platform}")
        began: float | None = None
        for start in range(1, _STARTS + 1):
            instance = platforms.start(self._asked.platform, place)
            try:
                self._facts |= {name: value for name, value, *_ in instance.facts}
                there = client.Agent(instance.channel)
                began = began or time.monotonic()
                self._rounds_of(there, given, began)
                return
            except AgentError as error:
                if start == _STARTS and not self._rounds:
                    raise
                self._lost(error)
            finally:
                instance.close()

    def _rounds_of(self, there: client.Agent, given: Given, began: float) -> None:
        for done in probing.rounds(there, self._schedule, given, self._begins, began):
            self._rounds.append(done)
            self._begun = ""
            self._progress.ended(done, self._schedule.seconds_left(time.monotonic() - began))

    def _begins(self, probe: str) -> None:
        self._begun = probe
        self._progress.begins(probe)

    def _lost(self, error: AgentError) -> None:
        """Take note of a round that the agent has not survived."""
        if not self._begun:
            return
        why = text(message("fingerprint.problem.ended", why=error.message))
        fault = record.Fault(id=0, kind="job", message=why)
        lost = Round(probe=self._begun, number=0, seconds=0.0, readings=(), faults=(fault,))
        self._schedule.ended(lost)
        self._rounds.append(lost)
        self._begun = ""

    def fingerprint(self) -> Fingerprint:
        """Put together what is known so far."""
        found = gather(self._choice, self._rounds)
        if self._places.not_remote and any(n.startswith("file.remote.") for n in found.metrics):
            found.problems.append(Problem(probe="file.remote", why=self._places.not_remote))
        here = hardware.read(self._places.directory)
        return Fingerprint(
            tare=tare.__version__,
            agent=client.digest(),
            started=self._started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self._began, 3),
            effort=self._asked.effort,
            platform=self._asked.platform,
            metrics=predicted(found.metrics, here),
            curves=found.curves,
            facts=machine_facts() | hardware.facts(here) | self._facts,
            problems=(*found.problems, *self._schedule.problems),
        )


def machine_facts() -> dict[str, bool | int | float | str]:
    """Return what the kernel says of the machine; without sysfs that is less."""
    try:
        topology = machine.topology()
    except AgentError:
        topology = {}
    return {fact.name: fact.value for fact in machine.facts(topology)}
