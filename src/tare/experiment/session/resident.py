"""A platform instance with the agent in it, and what it was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tare import platforms
from tare.agent.client import Agent

if TYPE_CHECKING:
    from tare.experiment.session.joining import Joining

Cpus = tuple[int, ...] | None


class Key(NamedTuple):
    """What an instance was given."""

    platform: str
    size: str
    pinning: str
    #: CPU time a second of time, whether by a size or by a quota of its own.
    cores: float | None
    period_s: float
    workers: tuple[int, ...]
    cpus: tuple[Cpus, ...]
    #: What is seen in it in the place of this machine's files.
    root: platforms.Root | None = None
    #: Whether it is in the session's network.
    joins: bool = True
    #: The host on which services are in it, that several hosts have; None: it is a trial's own.
    serves_on: int | None = None
    #: Whose services: the application, and the values that they name.
    serves: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resident:
    """A platform instance with the agent in it and the workers that it is to run."""

    key: Key
    place: platforms.Place
    instance: platforms.Instance
    #: What it has of an emulated network; None: it is in none.
    joining: Joining | None = None

    @property
    def agent(self) -> Agent:
        """The agent in it."""
        return self.instance.agent

    @property
    def workers(self) -> tuple[int, ...]:
        """Numbers of the workers, over all instances of the trial."""
        return self.key.workers

    @property
    def cpus(self) -> tuple[Cpus, ...]:
        """CPUs of each worker, as they are numbered inside."""
        if not self.instance.own_machine:
            return self.key.cpus
        # A machine's processors count from 0, each on one of the CPUs that it was given.
        inside = {cpu: number for number, cpu in enumerate(self.place.cpus or ())}
        return tuple(
            None if some is None else tuple(inside[cpu] for cpu in some) for some in self.key.cpus
        )
