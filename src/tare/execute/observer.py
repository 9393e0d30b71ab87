"""The observer: an agent outside all platforms that has the kernel stamp what happens in them."""

from __future__ import annotations

from collections.abc import Sequence

from tare import agent, record
from tare.journal import MachineFact

#: The observer answers at once; more than this means that it hangs.
ANSWER_S = 30.0


class Observer:
    """Stamps exec and exit of every launched process, and reads the host's counters.

    Parameters
    ----------
    nonce : int
        Of the session; in the marker by which processes are found.
    teardown : bool
        Also watch context switches, so that a process's end includes its teardown.
    """

    def __init__(self, nonce: int, *, teardown: bool) -> None:
        argv = [str(agent.binary()), "observe", *(["--teardown"] if teardown else [])]
        self._agent = agent.Agent(agent.ProcessChannel(argv))
        self._nonce = nonce
        own = self._agent.ask(record.MeasureSelf(id=self._agent.next_id()), ANSWER_S)
        self.facts = [
            MachineFact(name=f.name, value=f.value, unit=f.unit, source=f.source)
            for f in own
            if isinstance(f, record.Fact)
        ]

    @property
    def refusal(self) -> str | None:
        """Why the kernel does not let it stamp, and what would; None where it does."""
        told = next((fact.value for fact in self.facts if fact.name == "observer_perf"), None)
        return None if told is None else str(told).replace("AGENT", str(agent.binary()))

    @property
    def stamps(self) -> bool:
        """Whether the kernel lets it stamp; otherwise agents watch their own children."""
        return self.refusal is None

    def watch(self, trial: int, groups: Sequence[record.WatchedGroup]) -> None:
        """Read counters before a trial."""
        job = record.Watch(
            id=self._agent.next_id(), trial=trial, nonce=self._nonce, groups=tuple(groups)
        )
        self._agent.ask(job, ANSWER_S)

    def collect(self, trial: int) -> list[record.Record]:
        """Return what was stamped and counted since ``watch``."""
        job = record.Collect(id=self._agent.next_id(), trial=trial)
        return self._agent.ask(job, ANSWER_S)

    def close(self) -> None:
        """End it."""
        self._agent.close()
