"""A platform that is measured: its instance, which is started again where its agent ends."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tare import platforms
from tare.errors import AgentError, TareError
from tare.experiment.session.probing import Given, Round, Turn, perform_round
from tare.features.machine.fingerprint import trial_probe
from tare.features.machine.fingerprint.choice import Choice
from tare.features.machine.fingerprint.rounds import lost
from tare.host import processes

#: Number of restarts after which an agent that ends is not started again.
_RESTARTS = 3


@dataclass
class MeasuredPlatform:
    """A platform that is being measured.

    Attributes
    ----------
    stack : str
        Layers, outside-in.
    choice : Choice
        Its probes, and what was left out.
    place : Place
        What its instances are given; each has its number after the name.
    folder : Path or None
        Directory whose disk it uses.
    """

    stack: str
    choice: Choice
    place: platforms.Place
    folder: Path | None = None
    given: Given = field(default_factory=Given)
    #: Nanoseconds, in order of time; the first is cold.
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    facts: dict[str, bool | int | float | str] = field(default_factory=dict)
    #: When it was first seen running and last, by the monotonic clock, and what it held then.
    weights: list[tuple[int, processes.Weight]] = field(default_factory=list)
    #: Why it is not, or no longer, measured.
    why: TareError | None = None
    _instance: platforms.Instance | None = None
    _name: str = ""
    _started: int = 0
    #: Starts after the agent ended.
    _restarts: int = 0

    @property
    def lives(self) -> bool:
        """Whether it can be measured."""
        return self.why is None

    def try_out(self) -> None:
        """Start an instance and end it, timed; a platform that cannot be started is given up."""
        self.enter()
        self.stop()

    def enter(self) -> None:
        """Start the instance that stays; a platform that cannot be started is given up."""
        self._name = f"{self.place.name}-{self._started}"
        self._started += 1
        place = msgspec.structs.replace(self.place, name=self._name)
        try:
            self._instance = instance = platforms.start(self.stack, place)
        except TareError as error:
            self.why = error
            return
        self.starts.append(instance.start_ns)
        self.facts |= {name: value for name, value, *_ in instance.facts}

    def stop(self) -> None:
        """End the instance, timed."""
        if self._instance is not None:
            began = time.monotonic_ns()
            self._instance.close()
            self.stops.append(time.monotonic_ns() - began)
            self._instance = None

    def weigh(self) -> None:
        """Record what its instance holds on the host: CPU time and memory."""
        if self._instance is not None:
            found = processes.weight(self._name)
            if found is not None:
                self.weights.append((time.monotonic_ns(), found))

    @property
    def inside(self) -> str:
        """The shared directory, as seen from inside."""
        return self._instance.shared if self._instance is not None else self.place.shared

    def perform(self, turn: Turn) -> Round:
        """Perform a round; an agent that ends is started again, at most ``_RESTARTS`` times."""
        try:
            if self._instance is None:
                raise AgentError("it is not running")
            if turn.probe == trial_probe.NAME:
                done = trial_probe.perform(self._instance.agent, turn)
            else:
                done = perform_round(self._instance.agent, turn, self.given)
        except AgentError as error:
            done = self._lost(turn, error)
        self.rounds.append(done)
        return done

    def _lost(self, turn: Turn, error: AgentError) -> Round:
        """Return a round that the agent did not survive, and start another agent."""
        was_running = self._instance is not None
        self.stop()
        if was_running and self._restarts < _RESTARTS:
            self._restarts += 1
            self.enter()
        return lost(turn, error)
