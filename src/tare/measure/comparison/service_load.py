"""What ``tare run`` says of the load of services: a table, or two lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tare.results.message import Message, message

if TYPE_CHECKING:
    from tare.experiment.plan import Plan
    from tare.experiment.results import Results


class Measured(Protocol):
    """A trial, as far as it is needed here."""

    def get(self, metric: str, source: str) -> float | None:
        """Return the value of a metric from a source."""


def table(results: Results, width: int) -> list[str]:
    """Return the lines of a table of all cells, below that of medians; none of other workloads."""
    from tare.experiment.findings import service_load
    from tare.experiment.findings.service_cells import driven
    from tare.render import screen

    cells = driven(results)
    return ["", *screen.table(service_load.table(cells, results), width)] if cells else []


def lines(
    plan: Plan, trials: Sequence[Measured], facts: Mapping[str, Any]
) -> Iterator[tuple[str, Message]]:
    """Say of a single cell what load was asked and reached, and what it took: label and words.

    Nothing of what does not serve, or has no good trial.

    Parameters
    ----------
    plan : Plan
        Of one cell.
    trials : sequence of Trial
        Good ones.
    facts : mapping
        Of the machine.
    """
    cell = plan.cells[0]
    if not cell.workload.serves or not trials:
        return
    # Loaded only where it is needed, since it takes time.
    import numpy as np

    from tare.experiment.findings import service_load
    from tare.experiment.findings.service_cells import METRICS, Driven, load_asked
    from tare.experiment.metrics import DRIVER

    values = {
        name: np.array(found, dtype=float)
        for name, metric in METRICS.items()
        if None not in (found := [trial.get(metric, DRIVER) for trial in trials])
    }
    levels = {"workload": cell.workload.name, **cell.levels()}
    asked = load_asked(plan.experiment, levels, facts.get)
    one = Driven(cell.cell, levels, asked, tuple(range(len(trials))), values)
    yield "Load", service_load.reached(one)
    if (said := service_load.backlog([one])) is not None:
        yield "Backlog", said
    yield (
        "Tail",
        message(
            "service_load.tail",
            times=service_load.times(one),
            few=service_load.few([one]),
        ),
    )
    yield "Driver", service_load.generator(one)
