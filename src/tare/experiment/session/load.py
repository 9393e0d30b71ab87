"""What keeps the machine busy while a trial takes place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tare import loads
from tare.experiment.session.failing import Why
from tare.experiment.session.parts import RunningTrial, TrialPart


class BackgroundLoad(TrialPart):
    """Runs the load of a cell from before the execution until after it."""

    #: That of the current trial.
    _running: loads.Running

    @contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Start the load, and stop it however the trial ends."""
        resources = self.resources
        given = resources.experiment.loads[trial.cell.load]
        name = f"{resources.name}-load"
        self._running = running = loads.start(given.kind, given.parameters, name, resources.user)
        try:
            yield
        finally:
            running.stop()

    def judge(self, trial: RunningTrial, failure: Why | None) -> Why | None:
        """Raise PlatformError where the load did not run until the end."""
        self._running.check()
        return failure
