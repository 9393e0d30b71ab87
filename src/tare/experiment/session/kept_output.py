"""The output of a trial's command, kept next to the journal where a workload asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tare.agent import record
from tare.experiment.session.output import Keep
from tare.experiment.session.parts import RunningTrial, SessionResources, TrialPart
from tare.experiment.session.resident import Key, Resident


class KeptOutput(TrialPart):
    """Keeps what the command of a trial writes, next to the journal."""

    def __init__(self, resources: SessionResources) -> None:
        super().__init__(resources)
        self._keeps: dict[Key, Keep] = {}

    @contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Open what keeps the output of each instance, and close it after the execution."""
        workload, outputs = trial.job.workload, self.resources.outputs
        capture = workload.capture if isinstance(workload, record.Command) else None
        if capture is None or not capture.limit_bytes or outputs is None:
            yield
            return
        with ExitStack() as stack:
            self._keeps = {
                resident.key: stack.enter_context(outputs.trial(capture.limit_bytes))
                for resident in trial.residents
            }
            stack.callback(self._keeps.clear)
            yield

    def take(self, got: record.Sample | record.Output, resident: Resident) -> None:
        """Keep a piece of an output."""
        if isinstance(got, record.Output) and resident.key in self._keeps:
            self._keeps[resident.key].add(got)
