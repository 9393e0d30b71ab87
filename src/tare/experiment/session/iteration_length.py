"""Find how many repetitions make one iteration of a kernel long enough to be timed here.

Done once, on bare; every platform then does the same work.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tare.experiment.plan import Plan
from tare.experiment.specification import Cell

#: STABILITY's sizes aimed at iterations of 100 to 500 ms.
SHORTEST_S, AIM_S = 0.100, 0.150
#: Each step is at most so much longer, since short iterations predict long ones badly.
STEP = 100

Try = Callable[[Cell, int], dict[str, float]]


def find(plan: Plan, attempt: Try, tell: Callable[[str], None]) -> dict[str, int]:
    """Return the repetitions of every kernel, found where the plan does not have them.

    Parameters
    ----------
    plan : Plan
        With the repetitions that are already frozen or given.
    attempt : callable
        Rehearses a cell once with so many repetitions and returns ``kernel_cpu_ns`` by source:
        what else runs does not make the work longer.
    tell : callable
        Takes what goes on, for people.

    Returns
    -------
    dict
        Repetitions by name of workload.
    """
    found = dict(plan.repetitions)
    for workload in plan.experiment.workloads:
        if workload.kernel is None or workload.name in found:
            continue
        if workload.repetitions is not None:
            found[workload.name] = workload.repetitions
            continue
        if workload.kernel == "null" or plan.experiment.window is not None:
            # Of what is done over and over in a window, one execution is the finest unit.
            found[workload.name] = 1
            continue
        tell(f"finding the repetitions of {workload.name}")
        found[workload.name] = _repetitions(Cell(cell=-1, workload=workload), attempt)
    return found


def _repetitions(cell: Cell, attempt: Try) -> int:
    repetitions = 1
    while True:
        seconds = attempt(cell, repetitions)["self"] / 1e9
        if seconds >= SHORTEST_S:
            return (
                max(1, round(repetitions * AIM_S / seconds)) if seconds > 2 * AIM_S else repetitions
            )
        factor = min(STEP, AIM_S / max(seconds, 1e-6))
        repetitions = max(repetitions + 1, math.ceil(repetitions * factor))
