"""Weigh platforms beside each other: starts first, then rounds in all of them, interleaved."""

from __future__ import annotations

import datetime
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import msgspec

from tare.agent import client
from tare.errors import ExperimentError
from tare.experiment import remnants
from tare.experiment.catalogue import catalogue
from tare.experiment.fingerprints.machine.document import Problem
from tare.experiment.session import scratch_space
from tare.experiment.session.probing import Given, Round, Turn
from tare.features.machine.fingerprint import file_cache, phrases, trial_probe
from tare.features.machine.fingerprint.choice import Choice, choose
from tare.features.machine.fingerprint.measure import BUDGET_S, Progress
from tare.features.machine.fingerprint.measured_platform import MeasuredPlatform
from tare.features.machine.fingerprint.request import FILE_BYTES, Asked, places
from tare.features.machine.fingerprint.rounds import Rounds
from tare.features.machine.fingerprint.weighing import weighed
from tare.features.machine.fingerprint.weights import Weights
from tare.host import lease
from tare.platforms import Place, session_folder
from tare.render.words import text
from tare.results.message import message
from tare.version import __version__

#: Starts after the cold one, of which the resident one is the last.
WARM_STARTS = 6
#: Share of the time that starts of instances may take after the first start of each platform.
_STARTING = 0.4
#: The primitives that every program rests on; all others can be named.
PRIMITIVES = (
    "loop", "memory.latency", "memory.bandwidth", "fault", "syscall", "clock", "switch", "process",
    "thread", "file.cache", "network.round_trip", "network.connect",
)  # fmt: skip


def take(
    stacks: Sequence[str], asked: Asked, progress: Progress | None = None
) -> tuple[Weights, bool]:
    """Weigh platforms.

    Parameters
    ----------
    stacks : sequence of str
        The first is what the others are beside.
    asked : Asked
        What is measured in each; its budget is that of all together.
    progress : Progress, optional
        Who is told how far it is.

    Returns
    -------
    Weights
        With whatever was measured; what could not be is told platform by platform.
    bool
        Whether somebody interrupted it.

    Raises
    ------
    ExperimentError
        If nothing is called as asked, or a stack is named twice.
    PlatformError
        If the first platform cannot be started: the others would have nothing beside them.
    """
    twice = next((one for one in stacks if list(stacks).count(one) > 1), None)
    if twice is not None:
        raise ExperimentError(f"--platform {twice} is there twice", "name each platform once")
    session = _Session(stacks, asked, progress or Progress())
    session.measure()
    return session.weights(), session.interrupted


class _Session:
    def __init__(self, stacks: Sequence[str], asked: Asked, progress: Progress) -> None:
        self._began = time.monotonic()
        self._started = datetime.datetime.now(datetime.UTC)
        self._asked = asked
        self._progress = progress
        self._budget_s = asked.budget_s or BUDGET_S[asked.effort] * len(stacks)
        self._name = lease.new_name()
        words = asked.words or (() if asked.effort == "whole" else PRIMITIVES)
        self._asked = replace(asked, words=words)
        #: The directory that all of them see lies on a disk, so that all read the same files.
        folder, self._file_bytes, _ = scratch_space.disk(
            asked.directory, asked.file_bytes or FILE_BYTES
        )
        self._folder = folder or session_folder.MEMORY
        self._measured = [self._platform(number, stack) for number, stack in enumerate(stacks)]
        self.interrupted = False

    def _platform(self, number: int, stack: str) -> MeasuredPlatform:
        words, effort = self._asked.words, self._asked.effort
        choice = choose(catalogue().probes, words, effort, self._lacking(stack))
        return MeasuredPlatform(
            stack=stack,
            choice=Choice(
                (trial_probe.PROBE, *choice.probes),
                choice.problems,
                (trial_probe.NAME, *words) if words else (),
            ),
            place=Place(
                name=f"{self._name}-{number}",
                shared=str(self._folder / self._name / "shared"),
                folder=str(session_folder.MEMORY / self._name),
                writable=True,
            ),
            folder=self._folder,
        )

    def _lacking(self, stack: str) -> dict[str, str]:
        lacking = places(replace(self._asked, platform=stack, directory=None)).lacking
        # Its control group is made for one agent on the bare machine.
        alone = message(phrases.LACKING_BARE_ALONE, probe=file_cache.PROBE)
        lacking[file_cache.NEED] = text(alone)
        return {need: why for need, why in lacking.items() if need != "directory"}

    def measure(self) -> None:
        """Measure until it is enough, the time is over, or somebody interrupts."""
        with ExitStack() as stack:
            stack.enter_context(remnants.lease(self._name, [self._folder]))
            stack.enter_context(session_folder.made(self._name, self._folder, writable=True))
            if self._folder != session_folder.MEMORY:
                # Users of sandboxes must get to what layers make, wherever the disk's folder is.
                stack.enter_context(session_folder.made(self._name))
            for one in self._measured:
                stack.callback(one.stop)
            try:
                self._try_out()
                self._enter()
                self._perform()
            except KeyboardInterrupt:
                self.interrupted = True
            for one in self._measured:
                one.weigh()
                one.stop()

    def _try_out(self) -> None:
        """Start each platform some times: the first time all in turn, then in random order."""
        for again in range(WARM_STARTS):
            order = [one for one in self._measured if one.lives and self._may_start(one)]
            if again:
                random.Random(f"{self._asked.seed}/starts/{again}").shuffle(order)
            for one in order:
                self._progress.stage(f"starting {one.stack}, {again + 1} of {WARM_STARTS + 1}")
                one.try_out()
            first = self._measured[0]
            if first.why is not None:
                raise first.why

    def _may_start(self, one: MeasuredPlatform) -> bool:
        """Tell whether there is time for a start more, and for the rounds after it."""
        if not one.starts:
            return True
        slowest_s = (max(one.starts) + max(one.stops)) / 1e9
        elapsed_s = time.monotonic() - self._began
        return elapsed_s + slowest_s <= _STARTING * self._budget_s

    def _enter(self) -> None:
        """Start the instances that stay."""
        for one in self._measured:
            if one.lives:
                self._progress.stage(f"starting {one.stack}, the last time")
                one.enter()
                one.weigh()
                one.given = Given(
                    effort=self._asked.effort,
                    directory=one.inside,
                    memory_bytes=scratch_space.memory_bytes(self._asked.memory_bytes),
                    file_bytes=self._file_bytes,
                    seed=self._asked.seed,
                )

    def _perform(self) -> None:
        """Perform rounds, those of all platforms in one random order, so that drift hits all."""
        asked = self._asked
        pairs = [
            msgspec.structs.replace(probe, name=f"{number} {probe.name}")
            for number, one in enumerate(self._measured)
            if one.lives
            for probe in one.choice.probes
        ]
        began = self._began
        schedule = Rounds(
            pairs, asked.effort, self._budget_s, asked.seed, asked.precision, asked.soon
        )
        try:
            schedule.perform(self._turn, self._progress.ended, began)
        finally:
            self._untold(schedule.problems)

    def _turn(self, turn: Turn) -> Round:
        number, _, probe = turn.probe.partition(" ")
        one = self._measured[int(number)]
        self._progress.begins(f"{probe} in {one.stack}")
        done = one.perform(Turn(probe, turn.number, turn.timeout_s))
        return replace(done, probe=turn.probe)

    def _untold(self, problems: Sequence[Problem]) -> None:
        """Give each platform what its rounds had no time for."""
        for problem in problems:
            number, _, probe = problem.probe.partition(" ")
            one = self._measured[int(number)]
            told = Problem(probe=probe, why=problem.why)
            one.choice = Choice(one.choice.probes, (*one.choice.problems, told), one.choice.words)

    def weights(self) -> Weights:
        """Put together what is known so far."""
        started = self._started.isoformat(timespec="seconds")
        seconds = round(time.monotonic() - self._began, 3)
        return Weights(
            tare=__version__,
            agent=client.digest(),
            started=started,
            seconds=seconds,
            effort=self._asked.effort,
            platforms=weighed(self._measured, self._asked, started, seconds),
        )
