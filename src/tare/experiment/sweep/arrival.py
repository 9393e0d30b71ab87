"""How much of the CPU time that was due did not arrive, for reasons outside of the quota."""

from __future__ import annotations

import numpy as np

from tare.experiment.sweep.ceiling import Usable
from tare.experiment.sweep.trials import Sweep

#: More of it, as a share of what was due, and a sweep is about the other work as much as about the
#: machine.
MOST_LOST = 0.05


def is_disturbed(lost: float | None) -> bool:
    """Tell whether a sweep from which others took this share is about them, too."""
    return lost is not None and lost > MOST_LOST


def lost_share(sweep: Sweep, usable: Usable) -> float | None:
    """Return what share of the CPU time due others had, mean over steps.

    Due is the CPU time that was asked for and could be used. What is missing of it counts up to the
    time for which workers were ready without being throttled, or the hypervisor gave CPUs away: a
    worker that waited for something else, or whose quota was short, lost nothing to others.

    Parameters
    ----------
    sweep : Sweep
    usable : Usable
        What could be busy at each step.

    Returns
    -------
    float or None
        From 0 to 1; None where the time that arrived, or the time waited, is not known.
    """
    table = sweep.table
    if not table or np.isnan(table["delivered"]).any() or np.isnan(table["waited_cpus"]).any():
        return None
    due = table["cpus"] if usable.most is None else np.minimum(table["cpus"], usable.most)
    # Each worker's first thread tells how long it waited; the others are taken to be like it.
    threads = 1 if usable.threads is None else usable.threads / int(sweep.levels.get("workers", 1))
    waited = threads * table["waited_cpus"] - np.nan_to_num(table["throttled_cpus"])
    most = np.maximum(waited, 0) + np.nan_to_num(table["steal_cpus"])
    lost = np.minimum(np.maximum(due - table["delivered"], 0), most)
    shares = table.with_columns(lost=lost / due).reduced("cpus", "lost", np.mean)
    return float(np.mean([*shares.values()]))
