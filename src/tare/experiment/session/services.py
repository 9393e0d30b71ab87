"""Trials of applications that serve: what drives the services, and what their load came to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tare import workloads
from tare.agent import record
from tare.applications.refusal import Refusal
from tare.errors import TrialError
from tare.experiment import placement
from tare.experiment.session import phrases
from tare.experiment.session.driving import Driving
from tare.experiment.session.failing import Why
from tare.experiment.session.parts import RunningTrial, TrialPart
from tare.experiment.session.resident import Resident
from tare.experiment.session.window import timeout_s
from tare.results.message import Duration, message
from tare.workloads import serving

#: In names of files: whose output it is.
DRIVER = "driver"


class Services(TrialPart):
    """Has the services of a trial driven, and judges what their load came to."""

    #: The load of the current trial.
    _driving: Driving

    @contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Drive the services; raises TrialError where the load cannot be."""
        resources = self.resources
        application = trial.cell.workload.application
        assert application is not None
        assert resources.hosts is not None
        try:
            asked = serving.asked(application, trial.levels)
        except ValueError as error:
            raise TrialError(str(error)) from error
        cpus = placement.driver_cpus(resources.experiment, trial.cell, resources.machine)
        root = resources.roots.of(trial.cell)
        if root is not None:
            # The load generator's files stay in memory.
            root = msgspec.structs.replace(root, disk_parent=None)
        resident = resources.hosts.drivers.get(root, cpus)
        self._driving = Driving(
            resources.hosts, application, resident, trial.number, asked, resources.observer.load
        )
        with self._driving:
            yield

    def workload(
        self, trial: RunningTrial, workload: record.Workload, resident: Resident
    ) -> record.Workload:
        """Return the command that starts the services."""
        assert isinstance(workload, record.Command)
        return self._driving.supervised(workload, {**trial.levels, **trial.hosts(resident)})

    def check(self) -> None:
        """Raise TrialError where services have not ended in time."""
        self._driving.look()

    def is_kept(self, got: record.Sample | record.Fault) -> bool:
        """Leave out how the starter of the services ended: their report has more of it."""
        return isinstance(got, record.Sample) or got.kind not in ("exit", "signal")

    def judge(self, trial: RunningTrial, failure: Why | None) -> Why | None:
        """Keep what a load came to; return why its trial is not valid, or None."""
        driving = self._driving
        driving.wait()
        trial.keep(driving.warnings)
        self._keep_output(driving, trial)
        failure = self._ended(driving, trial, failure)
        if failure is None:
            # Imported here: failed trials have no requests, and the import takes time.
            from tare.experiment.session.requests import Judging

            data = self.resources.roots.data(trial.cell)
            judging = Judging(driving, trial.levels, self.resources.reading, data)
            trial.keep(judging.samples())
            judging.keep(self.resources.folder)
            refused = judging.refusal()
            trial.refused_by_chance = refused is not None
            failure = None if refused is None else Why.of(refused)
        # It has what services and their driver wrote.
        return failure and failure.in_one_line

    def _keep_output(self, driving: Driving, trial: RunningTrial) -> None:
        """Keep what the driver wrote, where output is wanted; that of services is the trial's."""
        outputs, workload = self.resources.outputs, trial.cell.workload
        if outputs is None or not workload.keeps_output:
            return
        written = (got for got in driving.records if isinstance(got, record.Output))
        outputs.keep(written, workload.output, trial.levels, DRIVER)

    def _ended(self, driving: Driving, trial: RunningTrial, failure: Why | None) -> Why | None:
        """Return why a load or its services did not come to their end, or None."""
        kind = None if trial.fault is None else trial.fault.kind
        limit_s = timeout_s(trial.cell)
        if kind == "timeout" and limit_s is not None:
            return Why.of(
                Refusal(
                    "serving.timeout",
                    message(
                        "the services and their load did not end within {limit}",
                        limit=Duration(limit_s),
                    ),
                )
            )
        if trial.out_of_memory or kind == "out_of_memory":
            why = Why.of(Refusal("serving.memory", message(phrases.MEMORY)))
            return why if driving.failure is None else why.followed_by(driving.failure)
        # What ended a service says more than that all services were ended.
        if driving.failure or not failure:
            return driving.failure
        return Why(failure.reason.replace(workloads.AGENT, "what starts the services"))
