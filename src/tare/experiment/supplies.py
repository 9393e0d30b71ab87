"""What the pipeline is handed: features supply it, and the pipeline imports none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tare.applications.output import Reading
    from tare.experiment.findings.charts.chart import ChartUnit
    from tare.experiment.findings.finding import FindingUnit
    from tare.experiment.session import Progress
    from tare.experiment.session.request import Probing, Weigh
    from tare.results.report import Report


class OnFleet(Protocol):
    """Runs an experiment on all hosts of a fleet, and returns its report."""

    def __call__(
        self,
        file: Path,
        address: str,
        folder: Path,
        *,
        skip_missing: bool,
        as_root: bool,
        resume: bool,
    ) -> Report:
        """Take what ``tare experiment run`` takes, and the address of the scheduler."""


@dataclass(frozen=True)
class Supplies:
    """What features supply; each is loaded when it is asked for.

    Attributes
    ----------
    findings : callable
        Every question by name.
    charts : callable
        Every chart by name.
    probing : callable
        Takes who is told of repeated probes, and how long they take, to what probes the machine
        before and after trials.
    reading : callable
        Reads a number of what a program printed in a format of another tool.
    on_fleet : callable
        Runs an experiment on many hosts.
    """

    findings: Callable[[], Mapping[str, FindingUnit]]
    charts: Callable[[], Mapping[str, ChartUnit]]
    probing: Callable[[Progress, Probing], Weigh]
    reading: Reading
    on_fleet: OnFleet
