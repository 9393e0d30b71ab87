"""Columns, rows and estimates that several findings show in the same way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from tare.experiment.findings.cells import Basis, Cell, Cells, Pair
from tare.experiment.findings.known import median_cells
from tare.experiment.findings.level_names import where
from tare.render.vocabulary import VALUES, Words
from tare.results.finding import Column, Estimate, Table, columns_of, interval_columns
from tare.results.message import Amount, Message, Said, message, open_bounds
from tare.results.verdict import Verdict
from tare.statistics.comparison import Comparison
from tare.statistics.intervals import Interval, p10_and_p90, p10_p90, range_interval, share_interval
from tare.statistics.shift import paired_shift
from tare.statistics.spread import SpreadComparison

LOCATION_METHOD = (
    "Hodges–Lehmann median of paired log-ratios on common blocks, signed-rank interval"
)
#: Standard deviations that a table of cells has, where they can be had.
_SDS = ("sd_trials", "sd_workers", "sd_within")
#: All of them, with the p10–p90 range.
_SPREADS = ("spread", "spread_low", "spread_high", "relative_spread", *_SDS[:2])
#: Differences that a sentence names.
_MOST_DIFFERENCES = 6
SPREAD_METHOD = "ratio of p10–p90 ranges on common blocks, percentile bootstrap of blocks"


def without_ratio(pairs: Sequence[Pair], cells: Cells) -> Message | None:
    """Give the differences of what has no ratio, since some values are zero; None: all have one."""
    lacking = [pair for pair in pairs if not pair.has_ratio]
    if not lacking:
        return None
    return message(
        "no ratio of {metric | metric}, because some values are 0. Differences: "
        "{differences | join('; ')}{% if others %} and {others} more{% endif %}",
        metric=cells.basis.metric,
        differences=[_difference(pair, cells) for pair in lacking[:_MOST_DIFFERENCES]],
        others=len(lacking[_MOST_DIFFERENCES:]),
    )


def _difference(pair: Pair, cells: Cells) -> Message:
    basis = cells.basis
    found = paired_shift(*pair.trial_values, tick=basis.tick, limits=pair.above)
    others = [f for f in cells.varied if f != pair.factor]
    return message(
        "{level} − {reference}{% if where and where.levels %} "
        "{% if 'workload' in where.levels %}for {% endif %}{where}{% endif %}: {difference}",
        level=pair.level,
        reference=pair.reference,
        where=where(pair.levels, others) if others else None,
        difference=Amount.of(found.middle, basis.unit, found.low, found.high),
    )


def level_columns(factors: Sequence[str]) -> tuple[Column, ...]:
    """Give each factor a column."""
    return tuple(Column(key=f, title=f) for f in factors)


def cell_table(cells: Sequence[Cell], factors: Sequence[str], basis: Basis) -> Table:
    """Lay out every cell: median and spread with intervals, and the three spreads apart."""
    rows = [_cell_row(c, factors) for c in cells]
    u = basis.unit
    columns = (
        *level_columns(factors),
        Column(key="n", title="trials"),
        *([Column(key="killed", title="over limit")] if any(c.killed for c in cells) else []),
        *interval_columns("median", "median", u, "median_"),
        *interval_columns("spread", "p10–p90 range", u, "spread_"),
        Column(key="relative_spread", title="range / median", unit="1"),
        *columns_of(u, sd_trials="SD between trials", sd_workers="SD between workers"),
        Column(key="sd_within", title="SD within a worker", unit=u),
    )
    sds = [key for key in _SDS if any(row[key] is not None for row in rows)]
    note = [
        message(
            "95 % intervals. Medians: order statistics, adjusted for interim analyses and "
            "autocorrelation. Ranges of single workers' values: bootstrap over trials"
        )
    ]
    if sds:
        note.append(
            message(
                "SDs: {% for one in of %}{one | sd}{% if not loop.last %}, {% endif %}{% endfor %}",
                of=sds,
            )
        )
    return Table(
        title=message("All cells, {basis}", basis=str(basis)),
        columns=columns,
        rows=tuple(rows),
        note=tuple(note),
    )


def _cell_row(cell: Cell, factors: Sequence[str]) -> dict[str, Any]:
    return {
        **{f: cell.levels[f] for f in factors},
        "n": cell.n,
        **({"killed": cell.killed} if cell.killed else {}),
        **median_cells(cell.median),
        # The SD of values above a limit is unknown; p10–p90 is known where both quantiles are.
        **(_spreads(cell) if not cell.killed else {**dict.fromkeys(_SPREADS), **_range(cell)}),
        "sd_within": cell.within,
    }


def _spreads(cell: Cell) -> dict[str, Any]:
    median, spread = cell.median, range_interval(cell.workers, tick=cell.tick)
    return {
        "spread": spread.estimate,
        "spread_low": spread.low,
        "spread_high": spread.high,
        "relative_spread": spread.estimate / median.estimate if median.estimate else None,
        "sd_trials": _sd(cell.trial_values),
        "sd_workers": _mean_sd(cell.workers),
    }


def _range(cell: Cell) -> dict[str, Any]:
    low, high = p10_and_p90(cell.workers.ravel())
    return {"spread": high - low if math.isfinite(high) else None}


def _sd(values: np.ndarray) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _mean_sd(values: np.ndarray) -> float | None:
    """Root mean square over trials of the SD between workers."""
    if values.shape[1] < 2 or len(values) == 0:
        return None
    return float(np.sqrt(np.mean(np.var(values, axis=1, ddof=1))))


def ratio_estimate(pair: Pair, c: Comparison | SpreadComparison, name: str) -> Estimate:
    """Turn the comparison of two cells into an estimate."""
    method = LOCATION_METHOD if isinstance(c, Comparison) else SPREAD_METHOD
    return comparison_estimate(name, c, pair.compared_levels, method, pair.trials)


def share_estimate(
    name: str, levels: Mapping[str, str], times: int, n: int, trials: Iterable[int]
) -> Estimate:
    """Estimate a share from the number of times that an event occurred in n trials."""
    low, high = share_interval(times, n)
    share = Interval(times / n, low, high, 0.95, "Clopper–Pearson", n)
    return interval_estimate(name, levels, share, "1", share.method, trials)


def interval_estimate(
    name: str,
    levels: Mapping[str, str],
    found: Interval,
    unit: str,
    method: str,
    trials: Iterable[int],
) -> Estimate:
    """Turn an estimate with its 95 % interval into one of a finding."""
    return Estimate(
        name=name,
        levels=dict(levels),
        value=found.estimate,
        unit=unit,
        low=found.low,
        high=found.high,
        confidence=0.95,
        method=method,
        n=found.n,
        trials=tuple(map(int, trials)),
    )


def comparison_estimate(
    name: str,
    c: Comparison | SpreadComparison,
    levels: Mapping[str, str],
    method: str,
    trials: Sequence[int],
) -> Estimate:
    """Turn a comparison into an estimate."""
    ratio = ratio_cells(c)
    return Estimate(
        name=name,
        levels=dict(levels),
        value=ratio["ratio"],
        unit="1",
        low=ratio["low"],
        high=ratio["high"],
        open=ratio.get("open", msgspec.UNSET),
        confidence=c.confidence,
        method=method,
        n=c.n,
        trials=tuple(trials),
    )


def comparison_columns(
    factors: Sequence[str], what: str, n: str = "common blocks"
) -> tuple[Column, ...]:
    """Give the columns of a table of comparisons; ``what`` names the ratio."""
    return (
        *level_columns(factors),
        Column(key="n", title=n),
        *interval_columns("ratio", what, "1"),
        Column(key="p", title="p (Holm)", unit="1"),
        Column(key="verdict", title="verdict"),
        Column(key="detectable", title="smallest detectable change", unit="1"),
        Column(key="more", title="more trials per cell"),
    )


def comparison_table(
    compared: Sequence[tuple[Pair, Comparison | SpreadComparison]],
    cells: Cells,
    title: Said,
    what: str,
    kind: tuple[Words, str],
    *,
    n: str = "common blocks",
    note: Said | None = None,
    id: str | None = None,
) -> Table:
    """Lay out comparisons of cells; ``what``, ``n`` and ``kind`` as of columns and rows."""
    return Table(
        id=id,
        title=title,
        columns=comparison_columns(cells.varied, what, n),
        rows=tuple(comparison_row(pair, c, cells.varied, kind) for pair, c in compared),
        note=note,
    )


def comparison_row(
    pair: Pair,
    c: Comparison | SpreadComparison,
    factors: Sequence[str],
    kind: tuple[Words, str] = (VALUES, ""),
) -> dict[str, Any]:
    """Lay out one comparison; ``kind``: what verdicts are called, and the margin."""
    levels = pair.compared_levels
    return {**{f: levels[f] for f in factors}, **comparison_cells(c, kind)}


def comparison_cells(
    c: Comparison | SpreadComparison, kind: tuple[Words, str] = (VALUES, "")
) -> dict[str, Any]:
    """Lay out what a comparison shows, without its levels; ``kind`` as of a row."""
    return {
        "n": c.n,
        **ratio_cells(c),
        "p": c.p_adjusted if c.low is not None else None,
        **verdict_cells(c.verdict, *kind),
        "detectable": c.detectable,
        "more": c.more_pairs,
    }


def ratio_cells(c: Comparison | SpreadComparison) -> dict[str, Any]:
    """Lay out a ratio with its interval; bounds that are open are None, and ``open`` says so."""
    is_open = open_bounds(c.low, c.high)
    if is_open is None:
        return {"ratio": c.ratio, "low": c.low, "high": c.high}
    ratio = None if c.ratio is None or math.isnan(c.ratio) else c.ratio
    high = None if c.high == math.inf else c.high
    return {"ratio": ratio, "low": c.low or None, "high": high, "open": is_open}


def verdict_cells(verdict: Verdict, words: Words, margin: str) -> dict[str, Any]:
    """Lay out a verdict: to be read, and as data, which no column shows."""
    return {
        "verdict": words.of(verdict, margin),
        "direction": verdict.direction,
        "within_margin": verdict.within_margin,
    }


def relative_spread(cell: Cell) -> float:
    """Divide the p10–p90 range of single workers' values by the median; infinite: not known."""
    if cell.killed:
        low, high = p10_and_p90(cell.workers.ravel())
        return (high - low) / cell.median.estimate if math.isfinite(high) else math.inf
    return float(p10_p90(cell.workers.ravel()) / np.median(cell.workers))
