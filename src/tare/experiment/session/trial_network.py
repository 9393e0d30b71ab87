"""The session's network in a trial: shaped before it, looked at until its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tare.experiment.session.hosts import Hosts
from tare.experiment.session.parts import RunningTrial, TrialPart
from tare.experiment.session.resident import Resident


class TrialNetwork(TrialPart):
    """The session's network in a trial of it."""

    def placeholders(
        self, trial: RunningTrial, resident: Resident | None, inner: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Return what the hosts stand for in an instance, or on host 1 of the network."""
        if resident is not None and resident.joining is not None:
            return resident.joining.placeholders
        return self._hosts.placeholders

    @contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Shape the hosts during a trial; raises TrialError where a server has ended."""
        if trial.rehearsal:
            yield
            return
        with self._hosts.during(trial.number, trial.cell, trial.block, trial.began_ns, trial.keep):
            yield

    @property
    def _hosts(self) -> Hosts:
        assert self.resources.hosts is not None
        return self.resources.hosts
