"""The instances in which a trial takes place, which all trials have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tare.errors import TrialError
from tare.experiment.session.parts import RunningTrial, TrialPart


class Instances(TrialPart):
    """Gives a trial its instances, which stay for later trials unless each trial has fresh ones."""

    @contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Start the instances that do not exist yet, and end them where no later trial has them."""
        pool = self.resources.pool
        residents = pool.get(trial.cell, trial.cpus, self.resources.roots.of(trial.cell))
        if len(residents) > 1 and not all(r.instance.shares_memory for r in residents):
            raise TrialError(
                f"workers in several instances of {trial.cell.platform} have no memory to meet in",
                'instances = "shared"',
            )
        trial.residents = residents
        try:
            yield
        except BaseException:
            if self.resources.experiment.fresh == "trial":
                # The next trial would find what this one left in them.
                pool.discard([one for one in residents if pool.has(one)], lost=True)
            raise
        if self.resources.experiment.fresh == "trial":
            for figure in pool.discard(residents):
                self.resources.write(figure.sample(trial.number))
