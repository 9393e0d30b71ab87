"""What explains the variance of factorial data? All series of a metric as one design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.features.audit.series import SeriesAudit, thinned
from tare.statistics.factorial import Decomposition, decompose
from tare.statistics.statistic import FloatArray

#: Trials of the whole design; above, each series is thinned evenly.
MOST = 200_000


@dataclass(frozen=True)
class VarianceAudit:
    """Shares of the variance of one metric.

    Attributes
    ----------
    metric : str
    factors : tuple of str
        Columns that were asked for.
    decomposition : Decomposition
    """

    metric: str
    factors: tuple[str, ...]
    decomposition: Decomposition


def explain(
    series: Sequence[SeriesAudit], factors: Sequence[str], seed: int
) -> tuple[VarianceAudit, ...]:
    """Decompose the variance of each metric over the columns that were named.

    Only where at least two columns were named and have levels: one column alone is what the
    comparisons tell already.
    """
    by_metric: dict[tuple[str, str | None], list[SeriesAudit]] = {}
    for s in series:
        if all(f in s.key for f in factors) and s.n:
            by_metric.setdefault((s.series.metric, s.series.unit), []).append(s)
    told = []
    for (metric, _), some in by_metric.items():
        varied = [f for f in factors if len({s.key[f] for s in some}) > 1]
        if len(varied) < 2:
            continue
        values, levels = _rows(some, varied)
        found = decompose(values, levels, seed=seed)
        if found is not None and found.effects:
            told.append(VarianceAudit(metric, tuple(varied), found))
    return tuple(told)


def _rows(
    some: Sequence[SeriesAudit], factors: Sequence[str]
) -> tuple[FloatArray, dict[str, list[str]]]:
    most = max(2, MOST // len(some))
    parts = [thinned(s.trials.values, most) for s in some]
    sizes = [len(p) for p in parts]
    levels = {f: np.repeat([s.key[f] for s in some], sizes).tolist() for f in factors}
    return np.concatenate(parts), levels
