"""The output of a trial's command, kept next to the journal where a workload asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tare.agent import record
from tare.experiment.session.output import KeptFiles
from tare.experiment.session.parts import RunningTrial, TrialPart
from tare.experiment.session.resident import Key, Resident


class KeptOutput(TrialPart):
    """Keeps what the command of a trial writes, next to the journal."""

    #: What keeps the output of each instance of the current trial.
    _keeps: dict[Key, KeptFiles]

    @contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Open what keeps the output of each instance, and close it after the execution."""
        outputs = self.resources.outputs
        assert outputs is not None
        with ExitStack() as stack:
            self._keeps = {
                resident.key: stack.enter_context(
                    outputs.trial(trial.cell.workload.output, trial.levels)
                )
                for resident in trial.residents
            }
            yield

    def take(self, got: record.Sample | record.Output, resident: Resident) -> None:
        """Keep a piece of an output."""
        if isinstance(got, record.Output):
            self._keeps[resident.key].add(got)
