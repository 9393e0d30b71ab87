"""The error of times taken from outside: those minus the program's own.

A sandbox or a harness has times of its own: isolate's report, or what a command prints. They are
judged by the same statistics, and so is whether their error grows with the number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tare.experiment.findings import phrases
from tare.experiment.findings.comparison_summary import spread_kind
from tare.experiment.findings.evidence import comparison_cells, comparison_columns, level_columns
from tare.experiment.findings.finding import FindingUnit, answered, uncompared
from tare.experiment.findings.level_names import where
from tare.experiment.metrics import ISOLATE, PRINTED, ranked
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.vocabulary import metric_name
from tare.results.columns import Columns
from tare.results.finding import Column, Estimate, Finding, Table, columns_of, interval_columns
from tare.results.message import Amount, Chosen, Message, Ratio, message
from tare.statistics.intervals import Interval
from tare.statistics.moments import coverage_like, mean_and_sd
from tare.statistics.spread import SpreadComparison, compare_spreads
from tare.statistics.statistic import FloatArray

_DESCRIPTION = Description(
    name="harness_error",
    title="Harness minus self for CPU and wall time: mean, SD, relative SD",
    question="What is the error of times taken from outside?",
    source="STABILITY",
)
_METRICS = ("cpu_ns", "wall_ns")
#: Number of a session and of a block in it.
Block = tuple[int, int]


def find(results: Results) -> Finding | None:
    """Subtract a program's own time from what each outside source measured."""
    errors = {m: _errors(results, m) for m in _METRICS}
    sources = {s for metric in _METRICS for s in results.sample_table.sources(metric)}
    if not any(errors.values()) and "self" not in sources:
        why = message(
            "nothing to compare isolate's times with: only kernels time themselves, and a "
            "command whose printed time the experiment is about"
        )
        return uncompared(_DESCRIPTION, why) if ISOLATE in sources else None
    rows = {m: _rows(e, results) for m, e in errors.items() if e}
    growth = _growth(errors, results)
    if not any(rows.values()):
        return uncompared(
            _DESCRIPTION,
            message("nothing to compare: only the programs themselves recorded their times"),
        )
    varied = results.varied or ["workload"]
    answer, summary = _answer(rows, growth, results, varied)
    return answered(
        _DESCRIPTION,
        answer=answer,
        verdict="none",
        summary=summary or None,
        basis="cpu_ns and wall_ns, each source minus the program's own time",
        estimates=tuple(_estimate(m, r, results) for m, some in rows.items() for r in some),
        tables=(
            *(_table(m, r, varied) for m, r in rows.items() if r),
            *((_growth_table(growth, varied),) if growth else ()),
        ),
    )


def _errors(results: Results, metric: str) -> dict[str, Columns]:
    """Return one row per iteration and worker for each outside source: its error and true time.

    The true time is the program's own, or tare's best source where the program has none and a
    harness printed its time.
    """
    samples = results.sample_table
    printed = [m for m in _printed(results) if ("cpu" in m) == (metric == "cpu_ns")]
    sources = samples.sources(metric)
    if "self" not in sources and not printed:
        return {}
    reference = ranked(metric, sources)[:1]
    known = samples.of(metric, *reference) if reference else samples.of(metric, "self")
    true = dict(zip(_keys(known), known["value"].tolist(), strict=True))
    outside = {source: samples.of(metric, source) for source in sources if source not in reference}
    found = {}
    for source, taken in (outside | {m: samples.of(m, PRINTED) for m in printed}).items():
        own = np.array([true.get(key, np.nan) for key in _keys(taken)], dtype=float)
        rows = taken.with_columns(own=own, error=taken["value"] - own).rows(~np.isnan(own))
        if joined := rows.joined(results.good, "trial"):
            found[source] = joined
    return found


def _printed(results: Results) -> list[str]:
    """Return the times that commands print and that the experiment is about."""
    stopping = results.experiment.stopping
    asked = dict.fromkeys((results.experiment.metric, *stopping.also))
    return [
        metric
        for metric in asked
        if metric and metric.endswith("_ns") and PRINTED in results.sample_table.sources(metric)
    ]


def _keys(rows: Columns) -> list[tuple[int, float, float]]:
    return [*zip(*(rows[name].tolist() for name in ("trial", "worker", "iteration")), strict=True)]


def _rows(errors: dict[str, Columns], results: Results) -> list[dict[str, Any]]:
    """One row a cell and source, the largest relative SD first, as STABILITY's tables are."""
    rows = []
    cells = [(cell, source, some) for source, own in errors.items()
             for cell, some in own.groups("cell")]  # fmt: skip
    for _, source, some in sorted(cells, key=lambda one: one[:2]):
        error = some["error"]
        own = float(some["own"].mean())
        sd = float(np.std(error, ddof=1)) if len(error) > 1 else None
        by_trial = some.reduced("trial", "error", np.mean)
        means = np.array([*by_trial.values()])
        interval, _ = mean_and_sd(means, seed=results.experiment.seed)
        covered = coverage_like(means, seed=results.experiment.seed)
        rows.append(
            {
                **{f: str(some[f][0]) for f in results.factors},
                "source": source,
                "n": len(by_trial),
                "iterations": len(error),
                "mean": float(np.mean(error)),
                "low": interval.low,
                "high": interval.high,
                "sd": sd,
                "relative_sd": None if sd is None or own == 0 else sd / own,
                "interval": interval,
                "covered": None if covered is None else covered[0],
                "trials": tuple(by_trial),
            }
        )
    return sorted(rows, key=lambda r: -(r["relative_sd"] or 0.0))


def _shown(metric: str, rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each source in the answer: tare's best, then those of a harness."""
    sources = ranked(metric, {r["source"] for r in rows})
    harness = [source for source in sources if _is_of_harness(source)]
    tares = [source for source in sources if source not in harness]
    for source in (*tares[:1], *harness):
        yield [r for r in rows if r["source"] == source]


def _is_of_harness(source: str) -> bool:
    """Whether a source is a harness's own time: isolate's, or a metric that a command prints."""
    return source == ISOLATE or source.endswith("_ns")


def _growth(errors: dict[str, dict[str, Columns]], results: Results) -> list[dict[str, Any]]:
    """Compare the spread of each harness's error with most workers with that with fewest."""
    counts = sorted(results.levels("workers"), key=int) if "workers" in results.factors else []
    if len(counts) < 2:
        return []
    fixed = [factor for factor in results.factors if factor != "workers"]
    rows, pairs = [], []
    for metric, by_source in errors.items():
        for source, some in by_source.items():
            if not _is_of_harness(source):
                continue
            for levels, cell in some.groups(*fixed):
                few, many = (_by_block(cell.where(workers=n)) for n in (counts[0], counts[-1]))
                if common := sorted(few.keys() & many.keys()):
                    pairs.append((_rows_of(few, common), _rows_of(many, common)))
                    row = dict(zip(fixed, levels if len(fixed) > 1 else (levels,), strict=True))
                    rows.append({**row, "metric": metric, "source": source})
    margin = results.experiment.parallel_growth
    single, _ = compare_spreads(pairs, margin, seed=results.experiment.seed)
    return [
        {**row, "few": counts[0], "many": counts[-1], "compared": c}
        for row, c in zip(rows, single, strict=True)
    ]


def _rows_of(errors: dict[Block, FloatArray], blocks: Sequence[Block]) -> FloatArray:
    """Return the errors of some blocks, one row per block."""
    return np.array([errors[block] for block in blocks])


def _by_block(cell: Columns) -> dict[Block, FloatArray]:
    """Return the errors of each block that has all of them, by session and block."""
    found = {
        (int(rows["session"][0]), int(rows["block"][0])): rows.sorted_by("worker", "iteration")[
            "error"
        ]
        for _, rows in cell.groups("trial")
    }
    most = max(map(len, found.values()), default=0)
    return {block: errors for block, errors in found.items() if len(errors) == most}


def _answer(
    rows: dict[str, list[dict[str, Any]]],
    growth: list[dict[str, Any]],
    results: Results,
    varied: list[str],
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the whole answer; and its head: the mean error of each harness, and its growth."""
    answer: list[Message] = []
    summary: list[Message] = []
    shown = [(metric, some) for metric, own in rows.items() for some in _shown(metric, own)]
    for metric, some in shown:
        means, worst = [r["mean"] for r in some], some[0]
        mean = message(
            "{metric | metric} from {source}: mean error {low}"
            "{% if [low] | listing != [high] | listing %} to {high}{% endif %}",
            metric=metric,
            source=worst["source"],
            low=Amount(min(means), "ns"),
            high=Amount(max(means), "ns"),
        )
        answer.append(mean)
        if _is_of_harness(worst["source"]):
            summary.append(mean)
        if worst["sd"] is not None and worst["relative_sd"] is not None:
            spread = message(
                "{metric | metric} from {source}: SD of the error at most {relative} of the "
                "time ({sd} for {where})",
                metric=metric,
                source=worst["source"],
                relative=Amount(worst["relative_sd"], "share"),
                sd=Amount(worst["sd"], "ns"),
                where=where({f: worst[f] for f in results.factors}, varied),
            )
            answer.append(spread)
    for metric, source in dict.fromkeys((g["metric"], g["source"]) for g in growth):
        own = [g for g in growth if (g["metric"], g["source"]) == (metric, source)]
        worst = max(own, key=lambda g: g["compared"].ratio or 0.0)
        c: SpreadComparison = worst["compared"]
        larger = message(
            "{metric | metric} from {source}, spread of the error with {many} workers vs. "
            "{few}: less stable in {less_stable} of {total} groups{% if conclusive < total %}"
            ", inconclusive in {total - conclusive}{% endif %}{% if ratio %}; largest change "
            "of its p10–p90 range: {ratio} ({where}){% endif %}",
            metric=metric,
            source=source,
            few=worst["few"],
            many=worst["many"],
            less_stable=sum(g["compared"].verdict.direction == "higher" for g in own),
            conclusive=sum(g["compared"].verdict.conclusive for g in own),
            total=len(own),
            ratio=None if c.ratio is None else Ratio(c.ratio, c.low, c.high),
            where=where({f: worst[f] for f in results.factors if f in worst}, varied),
        )
        answer.append(larger)
        summary.append(larger)
    answer.append(message(phrases.TRIALS, n=min(r["n"] for some in rows.values() for r in some)))
    return tuple(answer), tuple(summary)


def _estimate(metric: str, row: dict[str, Any], results: Results) -> Estimate:
    interval: Interval = row["interval"]
    covers = "" if row["covered"] is None else f", covers {row['covered']:.0%} by simulation"
    return Estimate.of(
        f"mean error of {metric} from {row['source']}",
        {f: row[f] for f in results.factors},
        (row["mean"], interval.low, interval.high),
        f"{interval.method} over the trials' means{covers}",
        row["n"],
        trials=row["trials"],
        unit="ns",
    )


def _table(metric: str, rows: list[dict[str, Any]], varied: list[str]) -> Table:
    columns = (
        *level_columns(varied),
        *columns_of(source="source", n="trials", iterations="iterations"),
        *interval_columns("mean", "mean error", "ns"),
        Column(key="covered", title="interval covers", unit="1"),
        Column(key="sd", title="SD of the error", unit="ns"),
        Column(key="relative_sd", title="SD / time", unit="1"),
    )
    return Table(
        id=metric,
        title=message(
            "Error of {metric | metric}: source minus the program's own time", metric=metric
        ),
        columns=columns,
        rows=tuple({c.key: r[c.key] for c in columns} for r in rows),
        note=message(
            "Mean and SD over all iterations, as STABILITY's tables; the interval of the mean "
            "is over trials. Errors are relative to the program's own first to last stamp "
            "(self), or "
            "to tare's best source where the program has none."
        ),
    )


def _growth_table(growth: Sequence[dict[str, Any]], varied: Sequence[str]) -> Table:
    """Lay out how the spread of each harness's error changes from fewest to most workers."""
    factors = [factor for factor in varied if factor != "workers"]
    few, many = growth[0]["few"], growth[0]["many"]
    margin = growth[0]["compared"].margin
    return Table(
        title=message(
            "Spread of a harness's error with {many} workers relative to {few}", few=few, many=many
        ),
        columns=(
            *columns_of(metric="metric", source="source"),
            *comparison_columns(factors, "ratio of p10–p90 ranges"),
        ),
        rows=tuple(
            {
                **{f: g[f] for f in factors},
                "metric": metric_name(g["metric"]),
                "source": g["source"],
                **comparison_cells(g["compared"], spread_kind(margin)),
            }
            for g in growth
        ),
        note=message(phrases.TABLE_NOTE, margin=Chosen(margin, "growth")),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=80, find=find)
