"""The instances in which load generators run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tare import platforms, workloads
from tare.agent import record
from tare.agent.client import Agent
from tare.errors import AgentError
from tare.experiment.session import control
from tare.experiment.session.auxiliary import AuxiliaryCommand
from tare.experiment.session.resident import Cpus

if TYPE_CHECKING:
    from pathlib import Path

    from tare.networks.emulator import Emulator

#: The host on which load generators are.
HOST = 2
#: Time limit of a small command of tare's own, in seconds.
SMALL_S = 30.0
#: How often it is looked whether a load generator has had its time.
LOOK_S = 1.0


class Drivers:
    """The instances in which load generators run: resident, one for each image and set of CPUs.

    Parameters
    ----------
    name : str
        Of the session.
    emulator : Emulator
        Of the network.
    shared : Path
        What instances are shown.
    user : User or None
        As whom load generators run; None: as who runs this.
    """

    def __init__(
        self, name: str, emulator: Emulator, shared: Path, user: record.User | None
    ) -> None:
        self._name = name
        self.emulator = emulator
        self._shared = shared
        self.user = user
        self._running: dict[
            tuple[platforms.Root | None, tuple[int, ...] | None], DriverInstance
        ] = {}
        self._started = 0

    def get(self, root: platforms.Root | None, cpus: Cpus) -> DriverInstance:
        """Return the instance with such files on such CPUs; None: on all."""
        if (root, cpus) not in self._running:
            place = platforms.Place(
                name=f"{self._name}-driver-{self._started}",
                shared=str(self._shared),
                cpus=cpus,
                network=self.emulator.hosts[HOST - 1].namespace,
                root=root,
                user=self.user,
            )
            self._started += 1
            own = 0 if cpus is None else len(cpus)
            instance = platforms.start("bare", place)
            self._running[root, cpus] = DriverInstance(instance, self.user, own)
        return self._running[root, cpus]

    def discard(self, resident: DriverInstance) -> None:
        """End an instance whose agent may still be executing an abandoned command."""
        self._running = {key: one for key, one in self._running.items() if one is not resident}
        resident.instance.close()

    def close(self) -> None:
        """End all of them."""
        for resident in list(self._running.values()):
            self.discard(resident)


@dataclass(frozen=True)
class DriverInstance:
    """An instance with its agent."""

    instance: platforms.Instance
    user: record.User | None
    #: CPUs that no service has; 0: both share all CPUs.
    own_cpus: int = 0

    @property
    def agent(self) -> Agent:
        """The agent in it."""
        return self.instance.agent

    def start(self, command: record.Command, limit_s: float, trial: int) -> AuxiliaryCommand:
        """Start a command of a trial, which is ended after some time."""
        user = self.user if self.instance.users else None
        return AuxiliaryCommand(self.agent, command, user, trial=trial, limit_s=limit_s)

    def ask(self, argv: tuple[str, ...], limit_bytes: int = 0) -> list[record.Record]:
        """Run a small command of ours to its end."""
        command = record.Command(
            argv=argv, environment=workloads.ENVIRONMENT, directory=None, input=None,
            capture=record.Capture(limit_bytes=limit_bytes),
        )  # fmt: skip
        limit_s = SMALL_S + LOOK_S
        started = self.start(command, SMALL_S, 0)
        if not started.has_ended(limit_s):
            raise AgentError(control.unanswered("driver", limit_s).reason)
        return started.records
