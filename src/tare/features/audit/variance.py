"""What explains the variance of factorial data? All series of a metric as one design."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tare.experiment.findings.variance import Explained, explain
from tare.features.audit.naming import by_kind
from tare.features.audit.series import SeriesAudit, thinned
from tare.results.columns import Columns, objects

#: Trials of the whole design; above, each series is thinned evenly.
MOST = 200_000


def explain_each(
    series: Sequence[SeriesAudit], factors: Sequence[str], seed: int
) -> tuple[Explained, ...]:
    """Decompose the variance of each metric over the columns that were named.

    Where a value is only known to exceed a limit, the variance is not known.
    """
    some = [s for s in series if all(f in s.key for f in factors) and s.n]
    found = (
        explain(_rows(of_kind, factors), factors, name, seed)
        for name, of_kind in by_kind(some).items()
        if not any(s.trials.killed for s in of_kind)
    )
    return tuple(one for one in found if one is not None)


def _rows(some: Sequence[SeriesAudit], factors: Sequence[str]) -> Columns:
    most = max(2, MOST // len(some))
    parts = [thinned(s.trials.values, most) for s in some]
    sizes = [len(part) for part in parts]
    levels = {f: np.repeat(objects(s.key[f] for s in some), sizes) for f in factors}
    return Columns({"value": np.concatenate(parts), **levels})
