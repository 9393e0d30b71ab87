"""The observer: an agent outside all platforms that has the kernel stamp what happens in them."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Sequence
from pathlib import Path

from tare.agent import client, record
from tare.errors import AgentError, Typed
from tare.experiment.journal import MachineFact

#: The observer answers at once; more than this means that it hangs.
ANSWER_S = 30.0
#: Where the kernel has perf events.
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
#: Observers of one session: what kills more of them is no accident.
MOST_STARTS = 5


class NoObserverError(AgentError):
    """Observers end again and again: no trial of this session can be measured any more."""


class Observer:
    """Stamps exec and exit of every launched process, and reads the host's counters.

    One that ended is replaced when the next trial begins.

    Parameters
    ----------
    nonce : int
        Of the session; in the marker by which processes are found.
    context_switches : bool
        Also record context switches, so that a process's end includes its teardown.
    stretches : bool
        Also count uninterrupted stretches on and off a CPU by length.
    """

    def __init__(self, nonce: int, *, context_switches: bool, stretches: bool = False) -> None:
        watched = ["--teardown"] if context_switches else []
        self._argv = [str(client.binary()), "observe", *watched]
        self._nonce = nonce
        self._stretches = stretches
        self._starts = 0
        #: Whether there is none, or its last answer was none.
        self._lost = True
        self._agent: client.Agent | None = None
        #: What drives services asks from a thread of its own.
        self._asking = threading.Lock()
        self.facts: list[MachineFact] = []
        self._living(None)

    def _living(self, job: record.Watch | None) -> None:
        """See to it that there is one, which has done a job; raises NoObserverError."""
        while True:
            try:
                if self._lost:
                    self._start()
                if job is not None:
                    self._ask(job)
            except AgentError as error:
                self._lost = True
                if self._starts >= MOST_STARTS:
                    raise NoObserverError(
                        f"{self._starts} observers of this session have ended: {error.message}",
                        error.hint or Typed("--resume"),
                    ) from error
            else:
                return

    def _start(self) -> None:
        self.close()
        self._starts += 1
        self._agent = client.Agent(client.ProcessChannel(self._argv))
        self._lost = False
        own = self._ask(record.MeasureSelf(id=client.Agent.next_id()))
        self.facts = [
            MachineFact(name=f.name, value=f.value, unit=f.unit, source=f.source)
            for f in own
            if isinstance(f, record.Fact)
        ]

    @property
    def refusal(self) -> str | None:
        """Why the kernel does not let it stamp; None where it does."""
        told = next((fact.value for fact in self.facts if fact.name == "observer_perf"), None)
        return None if told is None else str(told)

    @property
    def remedy(self) -> str | None:
        """The command after which the kernel lets it stamp; None: it does, or none is known."""
        if self.stamps or os.geteuid() == 0 or not _PARANOID.exists():
            return None
        return shlex.join(["sudo", "setcap", "cap_perfmon+ep", str(client.binary())])

    @property
    def stamps(self) -> bool:
        """Whether the kernel lets it stamp; otherwise agents watch their own children."""
        return self.refusal is None

    def watch(self, trial: int, groups: Sequence[record.WatchedGroup]) -> None:
        """Read counters before a trial.

        Raises
        ------
        NoObserverError
            If observers end again and again.
        """
        self._living(
            record.Watch(
                id=client.Agent.next_id(),
                trial=trial,
                nonce=self._nonce,
                stretches=self._stretches,
                groups=tuple(groups),
            )
        )

    def load(self, under_load: bool) -> None:
        """Note that the load on the trial's services begins, or that it has ended.

        Raises
        ------
        AgentError
            If it has ended meanwhile.
        """
        self._ask(record.Load(id=client.Agent.next_id(), under_load=under_load))

    def collect(self, trial: int) -> list[record.Record]:
        """Return what was stamped and counted since ``watch``.

        Raises
        ------
        AgentError
            If it has ended meanwhile: nothing is known of the trial.
        """
        return self._ask(record.Collect(id=client.Agent.next_id(), trial=trial))

    def _ask(self, job: record.Job) -> list[record.Record]:
        assert self._agent is not None
        try:
            with self._asking:
                return self._agent.ask(job, ANSWER_S)
        except AgentError as error:
            self._lost = True
            raise AgentError(f"the observer is lost: {error.message}") from error

    def close(self) -> None:
        """End it."""
        if self._agent is not None:
            self._agent.close()
