"""All parts that a trial may have, and which of them the trials of a cell have."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

from tare.experiment.session.parts import SessionResources, TrialPart
from tare.experiment.specification import Cell, Experiment
from tare.workloads.specification import WorkloadSpec


class PartEntry(NamedTuple):
    """A part, whose module is imported when the first cell has it."""

    #: Module of this package and name of the class in it.
    path: str
    is_part_of: Callable[[Experiment, Cell], bool]


def _has_hooks(workload: WorkloadSpec) -> bool:
    return workload.prepare is not None or workload.conclude is not None


def _leaves_tasks(workload: WorkloadSpec) -> bool:
    return workload.application is not None and workload.application.tasks is not None


def _prints_values(workload: WorkloadSpec) -> bool:
    return workload.application is not None and not workload.serves


def _keeps_output(workload: WorkloadSpec) -> bool:
    return workload.keeps_output and workload.command is not None


#: The outermost first: a part is entered after the parts above it, and left before them.
PARTS = (
    PartEntry("clusters:Clusters", lambda _, cell: cell.workload.spans_hosts),
    PartEntry("hooks:TrialHooks", lambda _, cell: _has_hooks(cell.workload)),
    PartEntry("instances:Instances", lambda _, cell: True),
    PartEntry("tasks:TaskFiles", lambda _, cell: _leaves_tasks(cell.workload)),
    PartEntry("printed_check:PrintedValues", lambda _, cell: _prints_values(cell.workload)),
    PartEntry("sandbox_start:SandboxStart", lambda experiment, _: experiment.fresh == "run"),
    PartEntry("kept_output:KeptOutput", lambda _, cell: _keeps_output(cell.workload)),
    PartEntry("load:BackgroundLoad", lambda experiment, cell: cell.load in experiment.loads),
    PartEntry(
        "trial_network:TrialNetwork", lambda experiment, cell: experiment.joins(cell.workload)
    ),
    PartEntry("services:Services", lambda _, cell: cell.workload.serves),
)


class PartList:
    """The parts of a session's trials, chosen once per cell.

    Parameters
    ----------
    resources : SessionResources
        Given to each part.
    """

    def __init__(self, resources: SessionResources) -> None:
        self._resources = resources
        self._made: dict[str, TrialPart] = {}
        self._chosen: dict[int, tuple[TrialPart, ...]] = {}

    def of(self, cell: Cell) -> tuple[TrialPart, ...]:
        """Return the parts of a cell's trials, the outermost first."""
        if cell.cell not in self._chosen:
            experiment = self._resources.experiment
            paths = [entry.path for entry in PARTS if entry.is_part_of(experiment, cell)]
            self._chosen[cell.cell] = tuple(map(self._part, paths))
        return self._chosen[cell.cell]

    def close(self) -> None:
        """Close all parts."""
        with ExitStack() as stack:
            for part in self._made.values():
                stack.callback(part.close)

    def _part(self, path: str) -> TrialPart:
        if path not in self._made:
            module, name = path.split(":")
            loaded = importlib.import_module(f"{__package__}.{module}")
            self._made[path] = getattr(loaded, name)(self._resources)
        return self._made[path]
