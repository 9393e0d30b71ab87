"""Whether what an application printed makes a valid trial, and what its check says of it."""

from __future__ import annotations

from functools import partial

from tare import workloads
from tare.agent import record
from tare.applications.refusal import Refusal
from tare.experiment.session.aside import aside
from tare.experiment.session.failing import Why
from tare.experiment.session.parts import RunningTrial, TrialPart
from tare.experiment.session.printed import Printed
from tare.experiment.session.resident import Resident
from tare.results.message import message
from tare.workloads import placeholders


class PrintedValues(TrialPart):
    """The values that the application of a trial prints, and the check of what it did."""

    #: By the executions of the current trial.
    _printed: Printed

    def prepare(self, trial: RunningTrial) -> None:
        """Begin without anything that was printed."""
        self._printed = Printed(workloads.CAPTURE_LIMIT_BYTES, self.resources.reading)

    def take(self, got: record.Sample | record.Output, resident: Resident) -> None:
        """Take what an execution printed."""
        self._printed.add(got)

    def judge(self, trial: RunningTrial, failure: Why | None) -> Why | None:
        """Keep the values that were printed; return why the trial is not valid, or None."""
        application = trial.cell.workload.application
        assert application is not None
        # A sandbox that starts programs itself prints in the place of the application.
        if failure is not None or trial.residents[0].instance.starter is not None:
            return failure
        fill = partial(placeholders.fill, levels=trial.levels)
        wrong = self._printed.judged(application, fill, self.resources.roots.data(trial.cell))
        if wrong is not None:
            return Why.of(wrong)
        trial.keep(self._printed.samples(application, trial.number))
        command = application.check.command
        if command is None:
            return None
        filled = tuple(map(fill, command))
        failures = (_failed(filled, trial.job, resident) for resident in trial.residents)
        return next((why for why in failures if why is not None), None)


def _failed(argv: tuple[str, ...], job: record.Trial, resident: Resident) -> Why | None:
    """Run an application's check where a trial took place; return how it failed, or None."""
    for got in aside(argv, job, resident):
        if isinstance(got, record.Fault) and got.kind != "warning":
            last = (got.evidence or "").strip().splitlines()[-1:]
            why = "; ".join([got.message, *last])
            return Why.of(
                Refusal(
                    "application.check.command",
                    message(
                        "the check {command} failed{% if why %}: {why}{% endif %}",
                        command=" ".join(argv),
                        why=why,
                    ),
                )
            )
    return None
