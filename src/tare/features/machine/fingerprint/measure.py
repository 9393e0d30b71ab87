"""Take a fingerprint: one session of rounds on one platform, kept whatever ends it."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from contextlib import ExitStack

from tare import platforms
from tare.agent import record
from tare.experiment import remnants
from tare.experiment.catalogue import catalogue
from tare.experiment.fingerprints.machine.document import Fingerprint, Problem
from tare.experiment.session import scratch_space
from tare.experiment.session.probing import Given, Round, Turn
from tare.features.machine.fingerprint import file_cache
from tare.features.machine.fingerprint.choice import choose
from tare.features.machine.fingerprint.figures import assemble
from tare.features.machine.fingerprint.file_cache import Cache
from tare.features.machine.fingerprint.measured_platform import MeasuredPlatform
from tare.features.machine.fingerprint.request import Asked, places
from tare.features.machine.fingerprint.rounds import Rounds
from tare.host import lease
from tare.platforms import session_folder

#: Seconds of rounds, by effort: with tare's own start and end the whole takes 5 s, 60 s and
#: 10 min at most.
BUDGET_S = {"brief": 5.0, "quick": 54.0, "whole": 570.0}


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
        self._choose(self._places.lacking)
        self._measured: MeasuredPlatform | None = None
        self._facts: dict[str, bool | int | float | str] = {}
        self.interrupted = False

    def _choose(self, lacking: Mapping[str, str], cache: Cache | None = None) -> None:
        """Choose and schedule probes for what there is."""
        known = catalogue().probes
        if cache is not None:
            known = {**known, file_cache.PROBE: cache.timed(known[file_cache.PROBE])}
        self._choice = choose(known, self._asked.words, self._asked.effort, lacking)
        self._schedule = Rounds(
            self._choice.probes,
            self._asked.effort,
            BUDGET_S[self._asked.effort] if self._asked.budget_s is None else self._asked.budget_s,
            self._asked.seed,
            self._asked.precision,
            self._asked.soon,
        )

    def _file_cache(self, stack: ExitStack, name: str) -> record.FileCache | None:
        """Make the memory that files may fill; where there can be none, go on without."""
        directory = self._places.directory
        if directory is None or file_cache.PROBE not in {one.name for one in self._choice.probes}:
            return None
        asked = self._asked
        try:
            cache = stack.enter_context(
                file_cache.made(f"{name}-cache", asked.file_cache, directory, asked.file_bytes)
            )
        except file_cache.LackingError as why:
            self._choose(self._places.lacking | {file_cache.NEED: str(why)})
            return None
        self._facts |= cache.facts
        self._choose(self._places.lacking, cache)
        return cache.job

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
            cache = self._file_cache(stack, name)
            given = Given(
                effort=self._asked.effort,
                directory=self._places.inside if files is None else str(files),
                remote=None if others is None else str(others),
                peer=self._asked.peer,
                memory_bytes=scratch_space.memory_bytes(self._asked.memory_bytes),
                file_bytes=self._places.file_bytes,
                file_cache=cache,
                seed=self._asked.seed,
            )
            self._facts |= {
                "seed": given.seed,
                "memory_limit_bytes": given.memory_bytes,
                "file_limit_bytes": given.file_bytes,
            }
            try:
                self._perform(given, platforms.Place(name=name, shared=str(shared)))
            except KeyboardInterrupt:
                self.interrupted = True

    def _perform(self, given: Given, place: platforms.Place) -> None:
        """Perform rounds; an agent that ends, as one that had no memory left, is started again."""
        self._progress.stage(f"starting {self._asked.platform}")
        one = self._measured = MeasuredPlatform(
            self._asked.platform, self._choice, place, given=given
        )
        try:
            one.enter()
            if one.why is not None:
                raise one.why
            self._schedule.perform(self._turn, self._progress.ended, time.monotonic())
        finally:
            one.stop()

    def _turn(self, turn: Turn) -> Round:
        assert self._measured is not None
        self._progress.begins(turn.probe)
        return self._measured.perform(turn)

    def fingerprint(self) -> Fingerprint:
        """Put together what is known so far."""
        rounds = [] if self._measured is None else self._measured.rounds
        facts = {} if self._measured is None else self._measured.facts
        problems = list(self._schedule.problems)
        if self._places.not_remote and any(done.probe == "file.remote" for done in rounds):
            problems.append(Problem(probe="file.remote", why=self._places.not_remote))
        return assemble(
            self._choice,
            rounds,
            effort=self._asked.effort,
            platform=self._asked.platform,
            started=self._started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self._began, 3),
            folder=self._places.directory,
            facts={**self._facts, **facts},
            problems=problems,
            user_predictions=self._asked.predictions,
        )
