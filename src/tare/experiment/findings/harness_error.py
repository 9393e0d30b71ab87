"""The error of times taken from outside: those minus the program's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.finding import FindingUnit, uncompared
from tare.experiment.findings.level_names import where
from tare.experiment.metrics import ranked
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.columns import Columns
from tare.results.finding import Column, Estimate, Finding, Table, interval_columns
from tare.results.message import Amount, Message, message
from tare.statistics.intervals import Interval
from tare.statistics.moments import coverage_like, mean_and_sd

_DESCRIPTION = Description(
    name="harness_error",
    title="Harness minus self for CPU and wall time: mean, SD, relative SD",
    question="What is the error of times taken from outside?",
    source="STABILITY",
)
_METRICS = ("cpu_ns", "wall_ns")


def find(results: Results) -> Finding | None:
    """Subtract a program's own first-to-last stamps from what each outside source measured."""
    if not any("self" in results.sample_table.sources(metric) for metric in _METRICS):
        return None
    errors = {m: _errors(results, m) for m in _METRICS}
    rows = {m: _rows(e, results) for m, e in errors.items() if e}
    if not any(rows.values()):
        return uncompared(_DESCRIPTION, message("harness_error.only_own"))
    varied = results.varied or ["workload"]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=tuple(_answer({m: _best(m, r) for m, r in rows.items()}, results, varied)),
        verdict="none",
        basis="cpu_ns and wall_ns, each source minus self",
        estimates=tuple(_estimate(m, r, results) for m, some in rows.items() for r in some),
        tables=tuple(_table(m, r, varied) for m, r in rows.items() if r),
    )


def _errors(results: Results, metric: str) -> dict[str, Columns]:
    """Return an iteration of a worker in each row, by outside source: its error and own time."""
    samples = results.sample_table
    known = samples.of(metric, "self")
    own = dict(zip(_keys(known), known["value"].tolist(), strict=True))
    found = {}
    for source in samples.sources(metric):
        rows = samples.of(metric, source)
        told = np.array([own.get(key, np.nan) for key in _keys(rows)], dtype=float)
        rows = rows.with_columns(own=told, error=rows["value"] - told).rows(~np.isnan(told))
        if source != "self" and (joined := rows.joined(results.good, "trial")):
            found[source] = joined
    return found


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


def _best(metric: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep the rows of the best source that has the metric."""
    source = ranked(metric, {r["source"] for r in rows})[0]
    return [r for r in rows if r["source"] == source]


def _answer(
    rows: dict[str, list[dict[str, Any]]], results: Results, varied: list[str]
) -> Iterator[Message]:
    for metric, some in rows.items():
        means, worst = [r["mean"] for r in some], some[0]
        yield message(
            "harness_error.mean",
            metric=metric,
            source=worst["source"],
            low=Amount(min(means), "ns"),
            high=Amount(max(means), "ns"),
        )
        if worst["sd"] is not None and worst["relative_sd"] is not None:
            yield message(
                "harness_error.spread",
                metric=metric,
                source=worst["source"],
                relative=Amount(worst["relative_sd"], "share"),
                sd=Amount(worst["sd"], "ns"),
                where=where({f: worst[f] for f in results.factors}, varied),
            )
    yield message("checks.trials", n=min(r["n"] for some in rows.values() for r in some))


def _estimate(metric: str, row: dict[str, Any], results: Results) -> Estimate:
    interval: Interval = row["interval"]
    return Estimate(
        name=f"mean error of {metric} from {row['source']}",
        levels={f: row[f] for f in results.factors},
        value=row["mean"],
        unit="ns",
        low=interval.low,
        high=interval.high,
        confidence=interval.confidence,
        method=f"{interval.method} over the trials' means"
        + ("" if row["covered"] is None else f", covers {row['covered']:.0%} by simulation"),
        n=row["n"],
        trials=row["trials"],
    )


def _table(metric: str, rows: list[dict[str, Any]], varied: list[str]) -> Table:
    columns = (
        *level_columns(varied),
        Column(key="source", title="source"),
        Column(key="n", title="trials"),
        Column(key="iterations", title="iterations"),
        *interval_columns("mean", "mean error", "ns"),
        Column(key="covered", title="interval covers", unit="1"),
        Column(key="sd", title="SD of the error", unit="ns"),
        Column(key="relative_sd", title="SD / time", unit="1"),
    )
    return Table(
        id=metric,
        title=message("harness_error.table", metric=metric),
        columns=columns,
        rows=tuple({c.key: r[c.key] for c in columns} for r in rows),
        note="Mean and SD over all iterations, as STABILITY's tables; the interval of the mean "
        "is over trials. Self is the program's own first to last stamp.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=80, find=find)
