"""Auxiliary processes: what runs on hosts of an emulated network next to the trials.

Servers, load generators and services are commands of an agent on their host. The agent starts such
a command, waits for it, reports how it ended with its last output, and ends it with all that it
started when nobody listens to the agent any more.
"""

from __future__ import annotations

import base64
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from tare.agent import client, record
from tare.agent.client import Answer, ProcessChannel, SilenceError
from tare.decoding import DecodeError
from tare.errors import AgentError
from tare.experiment.session import single_execution
from tare.host import processes
from tare.networks.listening import waiting

if TYPE_CHECKING:
    from tare.networks.emulator import Emulator

#: Characters of the last output that are shown.
LAST_CHARACTERS = 1000


def agent_on_host(emulator: Emulator, host: int, *words: str) -> ProcessChannel:
    """Start tare's agent on a host of a network; it ends when the channel is closed."""
    return ProcessChannel([*emulator.enter(host), str(client.binary()), *words])


class AuxiliaryCommand:
    """A command that an agent runs once, outside of the trials of the experiment.

    Parameters
    ----------
    agent : Agent
    command : Command
    user : User or None
        As whom it runs; None: as the agent.
    trial : int
        To which it belongs.
    limit_s : float, optional
        After which the agent ends it.
    """

    def __init__(
        self,
        agent: client.Agent,
        command: record.Command,
        user: record.User | None,
        *,
        trial: int = 0,
        limit_s: float | None = None,
    ) -> None:
        job = single_execution.job(agent.next_id(), command, user, trial=trial, limit_s=limit_s)
        agent.submit(job)
        self._answer = Answer(agent, job.id)
        #: What the agent has reported until now.
        self.records: list[record.Record] = []

    def has_ended(self, silence_s: float = 0.0) -> bool:
        """Take what the agent reports; return whether the command has ended.

        Parameters
        ----------
        silence_s : float
            How long to wait for each report.

        Raises
        ------
        AgentError
            If the agent is gone, or sends records that do not answer the job.
        """
        with suppress(SilenceError):
            while (got := self._answer.next(silence_s)) is not None:
                self.records.append(got)
            return True
        return False

    @property
    def output(self) -> Iterator[record.Output]:
        """What the command wrote, as far as that is captured."""
        return (got for got in self.records if isinstance(got, record.Output))

    @property
    def fault(self) -> record.Fault | None:
        """The first fault that is not just a warning."""
        faults = (got for got in self.records if isinstance(got, record.Fault))
        return next((got for got in faults if got.kind != "warning"), None)

    @property
    def ending(self) -> str:
        """How it ended with its last output; empty: without a fault, or not yet."""
        faults = [got for got in self.records if isinstance(got, record.Fault)]
        written = "".join(
            base64.b64decode(got.data).decode(errors="replace") for got in self.output
        )
        last = written[-LAST_CHARACTERS:].strip()
        return "; ".join(
            ": ".join(part for part in (got.message, got.evidence or last) if part)
            for got in faults
        )


class HostServer:
    """A server on a host, run by a separate agent.

    Parameters
    ----------
    emulator : Emulator
        Of the network.
    host : int
    name : str
        Of the agent; names everything that it makes on the machine.
    command : Command
    user : User or None
        As whom it runs; None: as this process.
    """

    def __init__(
        self,
        emulator: Emulator,
        host: int,
        name: str,
        command: record.Command,
        user: record.User | None,
    ) -> None:
        self.host = host
        self.argv = command.argv
        #: How it ended; None: it runs.
        self._ending: str | None = None
        self._channel = agent_on_host(emulator, host, "serve", "--name", name)
        try:
            self._command = AuxiliaryCommand(client.Agent(self._channel), command, user)
        except AgentError as error:
            self._channel.close()
            raise AgentError(f"the agent of host {host} did not start: {error.message}") from error
        except BaseException:
            self._channel.close()
            raise

    def ending(self) -> str | None:
        """Return how it ended with its last output; None: it runs."""
        if self._ending is None:
            self._ending = self._reported()
        return self._ending

    def sockets(self) -> set[str]:
        """Return the sockets of its host that listen for connections."""
        return waiting(self._channel.process.pid)

    def terminate(self) -> None:
        """Ask the server to end, as its agent would not."""
        for pid in processes.launched(self._channel.process.pid, 1):
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, at most so long."""
        with suppress(AgentError, DecodeError):
            self._command.has_ended(seconds)

    def close(self) -> None:
        """End its agent, which takes the server along with all that it started."""
        self._channel.close()

    def _reported(self) -> str | None:
        try:
            if not self._command.has_ended():
                return None
        except (AgentError, DecodeError) as error:
            ending = self._command.ending
            if self._channel.process.poll() is None:
                return ending or None
            return "; ".join(part for part in (ending, str(error)) if part)
        return self._command.ending or "by itself, without a fault"
