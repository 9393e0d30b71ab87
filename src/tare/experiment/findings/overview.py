"""Every cell in one table: its median, its ratio to the reference, its spread."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import msgspec

from tare.experiment.findings.cells import (
    Basis,
    Cell,
    Cells,
    basis_of,
    cells_of,
    verdict_words,
)
from tare.experiment.findings.comparison_summary import corrected
from tare.experiment.findings.evidence import (
    level_columns,
    ratio_cells,
    relative_spread,
    verdict_cells,
)
from tare.experiment.findings.judgement import differences, gate_columns
from tare.experiment.findings.known import FEWEST_FOR_QUANTILES, median_cells
from tare.experiment.findings.ladder import ladders
from tare.experiment.findings.level_names import key_of
from tare.experiment.findings.network_cells import Networks, networks_of
from tare.experiment.findings.overhead import compare_locations
from tare.experiment.findings.platform_cells import cost_basis
from tare.experiment.results import Results
from tare.experiment.sweep.analysis import calibrations
from tare.render.vocabulary import metric_name
from tare.results import phrases
from tare.results.finding import Column, Table, interval_columns
from tare.results.message import Chosen, Message, message
from tare.statistics.comparison import Comparison
from tare.units import chosen, contradicts

#: What cells are compared by, the first of these that varies.
_FACTORS = ("platform", "network", "pinning", "load", "workers")

#: Levels of a cell, as a key.
Key = tuple[tuple[str, str], ...]


@lru_cache(maxsize=4)
def overview(results: Results, *, each_n: bool = False) -> Table | None:
    """Lay out all cells, a row each; None where no cell has values that can be compared.

    Nor is there one of a sweep: its steps are laid out by the calibration, with their rates.

    Where workers vary besides another factor, rows are those of the fewest workers, and a column
    has the ratio of the most workers to them. ``each_n``: trials have a column in any case, not
    only where cells have unequal numbers.
    """
    if calibrations(results):
        return None
    factor = compared_factor(results)
    basis = cost_basis(results) if factor == "platform" else basis_of(results)
    if isinstance(basis, Message):
        return None
    cells, levels = cells_of(results, basis), cells_of(results.of_levels, basis)
    reference, compared = _compared(cells, factor)
    crowded = _crowded(cells, factor)
    failed = _failed(results)
    rows = [
        _row(cell, basis, compared, crowded, failed, results)
        for cell in levels.all
        if not crowded or key_of(cell.levels) in crowded
    ]
    rows += [
        {**planned.levels(), "n": 0, "failed": failed.get(planned.cell)}
        for planned in results.planned
        if planned.cell not in {cell.cell for cell in levels.all}
        and (not crowded or str(planned.levels().get("workers")) == _fewest(cells))
    ]
    names = _network_names(results)
    at_gate = _cells_at_gate(results)
    for row in rows:
        row.update(at_gate.get(_levels_of(row, results), {}))
        if names:
            row["network"] = names[row["network"]]
    shown = [f for f in results.varied if not (crowded and f == "workers")] or ["workload"]
    others = [one for one in map(partial(_further, results), _described(results)) if one]
    for _, cells_of_metric in others:
        rows = [row | cells_of_metric.get(_levels_of(row, results), {}) for row in rows]
    least = min((c.n for c in levels.all), default=0)
    note = message(
        "Medians with 95 % intervals, from {source}{% if pairs %}; medians are of all "
        "trials, ratios of pairs{% endif %}; at least {n | counted('trial')} per cell. "
        "p10–p90: range of single workers' values over the median",
        source=str(basis),
        n=least,
        pairs=any(
            contradicts(c.median_ratio, c.ratio, c.low, c.high)
            for c in compared.values()
            if c.ratio and 0 < c.median_ratio < math.inf
        ),
    )
    reasons = corrected(compared.values())
    return Table(
        id="overview",
        title=message(
            phrases.OVERVIEW_TITLE,
            metric=basis.metric,
            margin=Chosen(results.experiment.margin) if compared else None,
            fixed=_fixed(results, shown, _fewest(cells) if crowded else None),
        ),
        columns=(
            *_columns(
                shown,
                basis,
                names.get(reference, reference),
                _most(cells) if crowded else None,
                counted=each_n or len({row["n"] for row in rows}) > 1,
                killed=any(cell.killed for cell in levels.all),
                gate=gate_columns(results.experiment.stopping),
            ),
            *(column for more, _ in others for column in more),
        ),
        rows=tuple(rows),
        note=(note, *reasons) if reasons else note,
    )


def _described(results: Results) -> tuple[str, ...]:
    stopping = results.experiment.stopping
    return stopping.also if stopping.compare is not None else ()


def of_metric(results: Results, metric: str) -> Results:
    """Return the results as those of an experiment that judges another metric."""
    stopping = msgspec.structs.replace(
        results.experiment.stopping, also=(), gate=None, gate_on="median"
    )
    asked = msgspec.structs.replace(results.experiment, metric=metric, stopping=stopping)
    return replace(results, experiment=asked)


#: Columns, and their cells by the levels of the row.
_Further = tuple[tuple[Column, ...], Mapping[tuple[Any, ...], dict[str, Any]]]


def _further(results: Results, metric: str) -> _Further | None:
    """Lay out median and change of a metric that is not judged; None: it has no values."""
    table = overview(of_metric(results, metric))
    if table is None:
        return None
    key, name = f"median_{metric}", metric_name(metric)
    unit = next(one.unit for one in table.columns if one.key == "median")
    columns = interval_columns(key, name, unit or "1", f"{key}_")
    if any(one.key == "ratio" for one in table.columns):
        columns += interval_columns(
            f"ratio_{metric}", f"{name} change", "ratio", f"ratio_{metric}_"
        )
    named = {f"median{end}": f"{key}{end}" for end in ("", "_low", "_high", "_above")}
    named |= {end: f"ratio_{metric}_{end}" for end in ("low", "high")}
    named["ratio"] = f"ratio_{metric}"
    return columns, {
        _levels_of(row, results): {named[k]: v for k, v in row.items() if k in named}
        for row in table.rows
    }


def _cells_at_gate(results: Results) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return, by levels, what rows have of a gate."""
    gate = results.experiment.stopping.gate
    found = () if gate is None else differences(results)
    compared = () if isinstance(found, Message) else found
    return {_levels_of(d.levels, results): d.gate_cells(gate) for d in compared}


def _levels_of(row: Mapping[str, Any], results: Results) -> tuple[Any, ...]:
    return tuple(row.get(factor) for factor in results.factors)


def compared_factor(results: Results) -> str | None:
    """Choose the factor whose levels are compared; None: nothing varies."""
    asked = results.experiment.stopping.compare
    if asked is not None:
        return asked
    varied = [f for f in results.varied if f != "workload"]
    return next((f for f in _FACTORS if f in varied), next(iter(varied), None))


def _columns(
    shown: list[str],
    basis: Basis,
    reference: str | None,
    most: str | None,
    *,
    counted: bool,
    killed: bool,
    gate: tuple[Column, ...],
) -> tuple[Column, ...]:
    ratio = (
        *interval_columns("ratio", f"vs. {reference} (paired)", "ratio"),
        *gate,
        Column(key="verdict", title="verdict"),
    )
    crowded = (*interval_columns("crowded", f"with {most} workers", "ratio", "crowded_"),)
    return (
        *level_columns(shown),
        *interval_columns("median", "median", basis.unit, "median_"),
        *(ratio if reference is not None else ()),
        Column(key="spread", title="p10–p90", unit="share"),
        *(crowded if most is not None else ()),
        *([Column(key="n", title="n")] if counted else []),
        *([Column(key="killed", title="over limit")] if killed else []),
        Column(key="failed", title="failed"),
    )


def _row(
    cell: Cell,
    basis: Basis,
    compared: Mapping[Key, Comparison],
    crowded: Mapping[Key, Comparison],
    failed: Mapping[int, str],
    results: Results,
) -> dict[str, Any]:
    median, key = cell.median, key_of(cell.levels)
    several = cell.n >= FEWEST_FOR_QUANTILES
    spread = relative_spread(cell) if several and median.estimate else None
    row: dict[str, Any] = {
        **cell.levels,
        "n": cell.n,
        **({"killed": cell.killed} if cell.killed else {}),
        **median_cells(median),
        "spread": spread if spread is not None and math.isfinite(spread) else None,
        "failed": failed.get(cell.cell),
    }
    if (c := compared.get(key)) is not None:
        margin = chosen(results.experiment.margin)
        row |= ratio_cells(c)
        # What "equivalent" is within is said once, in the title.
        row |= verdict_cells(c.verdict, verdict_words(basis), margin if c.verdict.differs else "")
    if (c := crowded.get(key)) is not None:
        row |= {"crowded": c.ratio, "crowded_low": c.low, "crowded_high": c.high}
    return row


def _compared(cells: Cells, factor: str | None) -> tuple[str | None, dict[Key, Comparison]]:
    """Return the reference level, and the comparison of each cell that has one."""
    results = cells.results
    if factor is None:
        return None, {}
    if results.experiment.stopping.compare is not None:
        found = differences(results)
        if isinstance(found, Message):
            return None, {}
        return found[0].first, {key_of(d.levels): d.comparison for d in found}
    networks = networks_of(results) if factor == "network" else None
    reference = networks.reference.text if isinstance(networks, Networks) else None
    compared = compare_locations(cells, factor, results.experiment.margin, reference)
    if not compared:
        return None, {}
    return compared[0][0].reference, {
        key_of(pair.compared_levels): c for pair, c in compared if isinstance(c, Comparison)
    }


def _crowded(cells: Cells, factor: str | None) -> dict[Key, Comparison]:
    """Return the shift of each cell of the fewest workers at the most; empty: not a column."""
    if factor in (None, "workers") or "workers" not in cells.varied:
        return {}
    if any(cell.killed for cell in cells.all):
        return {}  # its steps need the value of every trial
    return {
        key_of({**ladder.levels, "workers": _fewest(cells)}): ladder.steps[-1].shift
        for ladder in ladders(cells)
        if ladder.steps
    }


def _fewest(cells: Cells) -> str:
    return str(min(int(c.levels["workers"]) for c in cells.all))


def _most(cells: Cells) -> str:
    return str(max(int(c.levels["workers"]) for c in cells.all))


def _fixed(results: Results, shown: list[str], workers: str | None) -> list[Message]:
    """Say which levels all rows have in common."""
    trials = results.trial_table
    fixed = {}
    for factor in ("workload", "platform"):
        if factor not in shown and factor in trials and len(trials.distinct(factor)) == 1:
            fixed[factor] = str(trials[factor][0])
    named: list[Message] = [message("{level}", level=level) for level in fixed.values()]
    if workers is not None:
        named.append(message("{workers | counted('worker')}", workers=int(workers)))
    return named


def _network_names(results: Results) -> dict[Any, str]:
    """Name the networks by what they differ in."""
    networks = networks_of(results) if "network" in results.varied else None
    if not isinstance(networks, Networks):
        return {}
    return {rung.level.text: rung.level.name for _, rung in networks.rungs}


def _failed(results: Results) -> dict[int, str]:
    """Say of each cell that has failed trials how many failed."""
    trials = results.trial_table
    return {
        cell: f"{failed} of {len(some)}"
        for cell, some in trials.groups("cell")
        if (failed := int((some["status"] == "failed").sum()))
    }
