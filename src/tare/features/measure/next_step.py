"""Commands that are typed next, as runs and comparisons suggest them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare import units
from tare.cli.again import FILES, again
from tare.results.message import Message, message
from tare.results.report import NextStep

if TYPE_CHECKING:
    from tare.experiment.specification import Experiment


def with_longer_limit(
    command: str,
    experiment: Experiment,
    without: Sequence[str] = (),
    brings: Message | None = None,
) -> NextStep | None:
    """Return the command with twice the time limit; None: there is no limit."""
    limits = [one.timeout_s for one in experiment.workloads if one.timeout_s is not None]
    if not limits:
        return None
    return NextStep(again(command, {"--timeout": units.duration(2 * max(limits))}, without), brings)


def by_cpu_time(command: str, without: Sequence[str] = FILES) -> NextStep:
    """Return the command by CPU time, which leaves out waiting for a CPU."""
    return NextStep(
        again(command, {"--metric": "cpu"}, without),
        message("CPU time leaves out waiting for a CPU, the main cause of the spread"),
    )
