"""Why the unstable cells are unstable: what explains their spread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tare.experiment.findings import waiting
from tare.experiment.findings.cells import Basis, Cell, Cells, basis_of, cells_of
from tare.experiment.findings.disturbance import THROTTLED, without_throttling
from tare.experiment.findings.evidence import level_columns, relative_spread
from tare.experiment.findings.finding import FindingUnit, answered, uncompared
from tare.experiment.findings.ladder import ladders
from tare.experiment.findings.level_names import key_of, where
from tare.experiment.findings.stability import compare_platforms
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.words import text
from tare.results import phrases
from tare.results.finding import Column, Finding, Table, columns_of
from tare.results.message import Amount, Chosen, Message, message
from tare.results.verdict import HIGHER
from tare.statistics.statistic import FloatArray
from tare.statistics.variance import FEWEST, Explained, Share, explained

_DESCRIPTION = Description(
    name="causes",
    title="Share of the spread that recorded covariates explain",
    question="Why are the unstable cells unstable?",
    source="measurement rules of tare",
)

#: Cells that the answer names.
_NAMED = 3
#: Steal is counted in ticks of 10 ms: nothing is derived from it below this.
_SHORTEST_FOR_STEAL_NS = 100e6
#: Metric, source (None: the best there is) and what it is called.
_COVARIATES = (
    ("wait_ns", None, waiting.WAIT),
    ("involuntary_switches", None, "involuntary switches"),
    ("voluntary_switches", None, "voluntary switches"),
    ("migrations", None, "migrations between CPUs"),
    ("minor_faults", None, "minor page faults"),
    ("major_faults", None, "major page faults"),
    ("steal_ns", None, "steal"),
    ("throttled_ns", None, "throttling"),
    ("cpu_pressure_ns", "group", "CPU pressure of the group"),
    ("cpu_pressure_ns", "system", "CPU pressure of the system"),
    ("start_skew_ns", None, "skew of the workers' starts"),
)
#: What a trial's first thread waits for says nothing of services, which it only starts.
_OF_SERVICES = (("off_cpu_preempted_ns", "perf_cpu", waiting.WAIT), *_COVARIATES[1:])
#: What leaves the wait out: metrics of time to those of CPU time.
_WITHOUT_WAIT = {"wall_ns": "cpu_ns", "kernel_wall_ns": "kernel_cpu_ns"}
_ORDER = "time since the start of the experiment"


def find(results: Results) -> Finding | None:
    """Explain the cells that are less stable than bare, disturbed by others, or simply wide."""
    basis = basis_of(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    rows = _explained(cells)
    if not rows:
        return _none(cells, basis)
    known = [(c, e) for c, _, e in rows if e is not None]
    return answered(
        _DESCRIPTION,
        answer=_answer(known, len(rows), cells),
        verdict="none" if known else "inconclusive",
        settle=None if known else message(phrases.SETTLE_TRIALS, trials=FEWEST),
        summary=_summary(known, results, cells),
        basis=str(basis),
        tables=(_table(rows, cells),),
        caveats=_caveats(results, cells),
    )


def cpu_metric(results: Results) -> str | None:
    """Return the metric of CPU time, where what unstable cells wait for is all that it leaves out.

    None where the wait is not the clearest cause, where it is part of the question (a load, more
    workers than CPUs), and where CPU time was not recorded of all trials.
    """
    basis = basis_of(results)
    if isinstance(basis, Message):
        return None
    known = [(c, e) for c, _, e in _explained(cells_of(results, basis)) if e is not None]
    return _cure(_best(known), results, basis)


def _cure(best: tuple[Share, Cell] | None, results: Results, basis: Basis) -> str | None:
    metric = _WITHOUT_WAIT.get(basis.metric)
    if best is None or metric is None:
        return None
    share, cell = best
    crowded = int(cell.levels.get("workers", 1)) > int(results.fact("cpus", 1))
    found = basis_of(results, metric)
    if crowded or cell.levels.get("load", "none") != "none" or isinstance(found, Message):
        return None
    cpu = next(c for c in cells_of(results, found).all if c.cell == cell.cell)
    return metric if waiting.is_cured(share, cell.trial_values, cpu.trial_values) else None


def _none(cells: Cells, basis: Basis) -> Finding:
    """Say that no cell is known to be unstable; with too few trials, none can be."""
    few = min((c.n for c in cells.all), default=0)
    answer = message(
        "no cell is unstable: none is less stable than another, and no p10–p90 range exceeds "
        "{limit} of its median",
        limit=Chosen(waiting.WIDE),
    )
    if few < FEWEST:
        answer = message(
            "inconclusive: a spread needs at least {least} trials per cell, {trials} were "
            "measured. No cell is shown to be less stable than another",
            trials=few,
            least=FEWEST,
        )
    return answered(
        _DESCRIPTION,
        answer=answer,
        verdict="inconclusive" if few < FEWEST else "none",
        settle=message(phrases.SETTLE_TRIALS, trials=FEWEST) if few < FEWEST else None,
        basis=str(basis),
    )


@lru_cache(maxsize=4)
def _explained(cells: Cells) -> list[tuple[Cell, Message, Explained | None]]:
    """Explain every unstable cell, each with why it is called so."""
    some = _unstable(cells)
    recorded = _covariates(cells.results) if some else {}
    return [(c, why, _explain(c, recorded, cells)) for c, why in some]


def _unstable(cells: Cells) -> list[tuple[Cell, Message]]:
    """Cells to explain, each with why it is called unstable."""
    growth = cells.results.experiment.parallel_growth
    shown: dict[tuple[tuple[str, str], ...], Message] = {}
    for pair, c in compare_platforms(cells, growth)[0]:
        if c.verdict == HIGHER:
            why = message("less stable than {reference}", reference=pair.reference)
            shown[key_of(pair.compared_levels)] = why
    for ladder in ladders(cells):
        for step in ladder.steps:
            if step.growth.low is not None and step.growth.low > 1 + growth:
                shown.setdefault(
                    key_of(step.pair.compared_levels),
                    message("disturbed by {workers | counted('worker')}", workers=step.workers),
                )
    wide = message("range above {limit} of the median", limit=Chosen(waiting.WIDE))
    found = [(c, shown.get(key_of(c.levels)) or (wide if _is_wide(c) else None)) for c in cells.all]
    return [(c, why) for c, why in found if why is not None]


def _is_wide(cell: Cell) -> bool:
    return cell.n >= FEWEST and relative_spread(cell) > waiting.WIDE


def _covariates(results: Results) -> dict[str, tuple[str, str]]:
    """Return the metric and source of each covariate that was recorded, by its name."""
    samples = results.sample_table
    serves = any(workload.serves for workload in results.experiment.workloads)
    found = {}
    for metric, source, name in _OF_SERVICES if serves else _COVARIATES:
        some = [one for one in samples.sources(metric) if source in (None, one)]
        if some:
            found[name] = (metric, max(some, key=lambda one: len(samples.of(metric, one))))
    return found


def _explain(cell: Cell, recorded: Mapping[str, tuple[str, str]], cells: Cells) -> Explained | None:
    values = cell.trial_values
    covariates: dict[str, FloatArray] = {}
    for name, (metric, source) in recorded.items():
        own = cells.results.values_of(metric, source, cell.row_trials)
        if name == waiting.WAIT:
            own = without_throttling(own, cells.results.values_of(*THROTTLED, cell.row_trials))
        if not np.isnan(own).any() and not (name == "steal" and _too_short(values, cells)):
            covariates[name] = own
    covariates[_ORDER] = cell.row_trials.astype(float)
    return explained(values, covariates, seed=cells.results.experiment.seed)


def _too_short(values: FloatArray, cells: Cells) -> bool:
    return cells.basis.unit != "ns" or float(np.median(values)) < _SHORTEST_FOR_STEAL_NS


def _answer(known: list[tuple[Cell, Explained]], total: int, cells: Cells) -> Iterator[Message]:
    """Give the cells that are explained best, and those that nothing explains."""
    if not known:
        yield message(
            "{cells | counted('cell')} {% if cells == 1 %}is{% else %}are{% endif %} "
            "unstable. Causes: inconclusive with fewer than {least} trials per cell",
            cells=total,
            least=FEWEST,
        )
        return
    some = [(cell, e) for cell, e in known if e.p < waiting.ALPHA and _shown(e)]
    some.sort(key=lambda one: -one[1].share)
    for cell, e in some[:_NAMED]:
        yield message(
            "covariates explain {share} of the variance of {where} (n = {n}), largest: "
            "{covariates | listing}",
            where=where(cell.levels, cells.varied),
            share=Amount(e.share, "share"),
            covariates=[
                message("{name} ({share} alone)", name=s.name, share=Amount(s.share, "share"))
                for s in _shown(e)[:2]
            ],
            n=e.n,
        )
    if some[_NAMED:]:
        yield message("{others} more in the table", others=len(some[_NAMED:]))
    nothing = [cell for cell, e in known if e.p >= waiting.ALPHA or not _shown(e)]
    if nothing:
        yield message(
            "no recorded covariate explains the spread of {% if others %}"
            "{cells | join(', ')} and {others} more{% else %}{cells | listing}{% endif %}",
            cells=[where(cell.levels, cells.varied) for cell in nothing[:_NAMED]],
            others=len(nothing[_NAMED:]),
        )


def _shown(e: Explained) -> list[Share]:
    return [s for s in e.shares if s.p < waiting.ALPHA]


def _best(known: list[tuple[Cell, Explained]]) -> tuple[Share, Cell] | None:
    """Return the one covariate that explains most, where that is half of some cell's variance."""
    best = [(e.shares[0], cell) for cell, e in known if waiting.is_clear(e)]
    return max(best, key=lambda one: one[0].share, default=None)


def _summary(known: list[tuple[Cell, Explained]], results: Results, cells: Cells) -> Message | None:
    """Name what explains most; where that is waiting for a CPU, what leaves it out."""
    best = _best(known)
    if best is None:
        return None
    share, cell = best
    return message(
        "{share} of the variance of {where} is explained by {name}, which need not be its "
        "cause{% if metric %}. CPU time leaves it out: measure again, into another folder, "
        "with metric = \"{metric}\"{% if metric == 'cpu_ns' %} (run and compare: --metric "
        "cpu){% endif %}{% endif %}",
        name=share.name,
        share=Amount(share.share, "share"),
        where=where(cell.levels, cells.varied),
        metric=_cure(best, results, cells.basis),
    )


def _table(found: list[tuple[Cell, Message, Explained | None]], cells: Cells) -> Table:
    names = list(dict.fromkeys(s.name for _, _, e in found if e for s in e.shares))
    columns = (
        *level_columns(cells.varied or ["workload"]),
        *columns_of(why="unstable because", n="trials"),
        *columns_of("1", share="explained together", p="p of all"),
        *(Column(key=name, title=name, unit="1") for name in names),
    )
    rows = []
    for cell, why, e in found:
        row: dict[str, Any] = {f: cell.levels[f] for f in cells.varied or ["workload"]}
        row |= {"why": text(why), "n": cell.n}
        row |= {"share": e.share if e else None, "p": e.p if e else None}
        single = {s.name: s.share for s in e.shares} if e else {}
        rows.append({**row, **{name: single.get(name) for name in names}})
    return Table(
        title=message(
            "Share of the variance of trial values explained, {basis}", basis=str(cells.basis)
        ),
        columns=columns,
        rows=tuple(rows),
        note=message(
            "Variance of ranks. Together: adjusted for the number of covariates. Alone: "
            "squared rank correlation. p by permutation of the trials. Empty: not recorded, "
            "or constant"
        ),
    )


def _caveats(results: Results, cells: Cells) -> tuple[Message, ...]:
    found = [
        message(
            "correlation is not causation: a trial that takes longer for another reason also has "
            "more context switches and ticks"
        )
    ]
    serve = [w.serves for w in results.experiment.workloads]
    if any(serve):
        found.append(
            message("covariates of services are of the whole trial, their start and end included")
        )
    elif any(w.command for w in results.experiment.workloads):
        found.append(message("run-queue wait is that of a command's first thread only"))
    if any(_too_short(c.trial_values, cells) for c in cells.all):
        found.append(message("steal is not used in trials below 100 ms: its resolution is 10 ms"))
    return tuple(found)


UNIT = FindingUnit(description=_DESCRIPTION, order=40, find=find)
