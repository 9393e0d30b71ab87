"""What ``tare run`` says of the load of services: a table, or two lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tare.results.message import Message, message

if TYPE_CHECKING:
    from tare.experiment.results import Results


def table(results: Results, width: int) -> list[str]:
    """Return the lines of a table of all cells, below that of medians; none of other workloads."""
    from tare.experiment.findings import service_load
    from tare.experiment.findings.service_cells import driven
    from tare.render import screen

    cells = driven(results)
    return ["", *screen.table(service_load.table(cells, results), width)] if cells else []


def lines(results: Results) -> Iterator[tuple[str, Message]]:
    """Say of a single cell what load was asked and reached, and what it took: label and words.

    Nothing of what does not serve, or has no good trial.
    """
    if not any(workload.serves for workload in results.experiment.workloads):
        return
    # Loaded only where it is needed, since it takes time.
    from tare.experiment.findings import service_load
    from tare.experiment.findings.service_cells import driven

    one = next(iter(driven(results)), None)
    if one is None:
        return
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
