"""Trials of applications that serve: what drives the services, and what their load came to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare import workloads
from tare.agent import record
from tare.applications import output
from tare.applications.refusal import Refusal
from tare.errors import TrialError
from tare.experiment import placement
from tare.experiment.placement import Machine
from tare.experiment.session import phrases
from tare.experiment.session.driving import Driving
from tare.experiment.session.failing import Why
from tare.experiment.session.output import Outputs
from tare.experiment.session.roots import Roots
from tare.experiment.session.trial_values import Values
from tare.experiment.specification import Cell, Experiment
from tare.results.message import Duration, message
from tare.workloads import serving

if TYPE_CHECKING:
    from tare.experiment.session.hosts import Hosts

#: In names of files: whose output it is.
DRIVER = "driver"


def timeout_s(cell: Cell) -> float | None:
    """Return how long an execution of a cell's workload may take; None: as long as it likes."""
    application = cell.workload.application
    if application is None or application.driver is None:
        return cell.workload.timeout_s
    return cell.workload.timeout_s or serving.longest_s(application)


@dataclass(frozen=True)
class Services:
    """Has the services of trials driven, and judges what that came to."""

    experiment: Experiment
    machine: Machine
    folder: Path
    hosts: Hosts | None
    roots: Roots
    reading: output.Reading
    outputs: Outputs | None
    #: Called when a load begins (True), and when it has ended.
    on_load_change: Callable[[bool], object]

    def driving(
        self, trial: int, cell: Cell, levels: Mapping[str, str]
    ) -> AbstractContextManager[Driving | None]:
        """Return what drives the services of a cell's application; None: it has none.

        Parameters
        ----------
        trial : int
        cell : Cell
        levels : mapping
            What placeholders stand for, but for hosts.

        Raises
        ------
        TrialError
            If there is no such load.
        """
        application = cell.workload.application
        if application is None or application.driver is None:
            return nullcontext()
        assert self.hosts is not None
        try:
            asked = serving.asked(application, levels)
        except ValueError as error:
            raise TrialError(str(error)) from error
        cpus = placement.driver_cpus(self.experiment, cell, self.machine)
        root = self.roots.of(cell)
        if root is not None:
            # The load generator's files stay in memory.
            root = msgspec.structs.replace(root, disk_parent=None)
        resident = self.hosts.drivers.get(root, cpus)
        return Driving(self.hosts, application, resident, trial, asked, self.on_load_change)

    def judged(
        self,
        driving: Driving,
        cell: Cell,
        levels: Mapping[str, str],
        values: Values,
        failure: Why | None,
        keep: Callable[[Iterable[record.Record]], object],
    ) -> Why | None:
        """Keep what a load came to; return why its trial is not valid, or None.

        Parameters
        ----------
        driving : Driving
            The load, after the instance of the services has answered.
        cell : Cell
        levels : mapping
            What placeholders stand for, but for hosts.
        values : Values
            What the trial came to so far.
        failure : Why or None
            Why the instance's own part failed.
        keep : callable
            Takes records of the trial.
        """
        driving.wait()
        keep(driving.warnings)
        self._keep_output(driving, cell)
        failure = self._ended(driving, cell, values, failure)
        if failure is None:
            # Imported here: few trials have requests, and the import takes time at each start.
            from tare.experiment.session.requests import Judging

            judging = Judging(driving, levels, self.reading, self.roots.data(cell))
            keep(judging.samples())
            judging.keep(self.folder)
            refused = judging.refusal()
            values.by_chance = refused is not None
            failure = None if refused is None else Why.of(refused)
        # What services and their driver wrote is in it.
        return failure and failure.in_one_line

    def _keep_output(self, driving: Driving, cell: Cell) -> None:
        """Keep what the driver wrote, where output is wanted; that of services is the trial's."""
        if self.outputs is None or not cell.workload.capture:
            return
        self.outputs.keep(driving.output, workloads.CAPTURE_LIMIT_BYTES, DRIVER)

    def _ended(
        self, driving: Driving, cell: Cell, values: Values, failure: Why | None
    ) -> Why | None:
        """Return why a load or its services did not come to their end, or None."""
        kind = None if values.fault is None else values.fault.kind
        limit_s = timeout_s(cell)
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
        if values.out_of_memory or kind == "out_of_memory":
            why = Why.of(Refusal("serving.memory", message(phrases.MEMORY)))
            return why if driving.failure is None else why.followed_by(driving.failure)
        # What ended a service says more than that all services were ended.
        if driving.failure or not failure:
            return driving.failure
        return Why(failure.reason.replace(workloads.AGENT, "what starts the services"))
