"""Why the unstable cells are unstable: what their spread goes with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tare.findings.cells import Basis, Cell, Cells, basis_of, cells_of
from tare.findings.evidence import level_columns, relative_spread
from tare.findings.finding import FindingUnit, uncompared
from tare.findings.ladder import ladders
from tare.findings.phrasing import at_levels
from tare.findings.stability import compare_platforms
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Column, Finding, Table
from tare.results.message import Message
from tare.results.verdict import HIGHER
from tare.statistics.statistic import FloatArray
from tare.statistics.variance import FEWEST, Explained, explained
from tare.units import counted, percent

_DESCRIPTION = Description(
    name="causes",
    title="Share of the spread that goes with what was recorded beside the times",
    question="Why are the unstable cells unstable?",
    source="measurement rules of tare",
)
#: A cell is also called unstable where its p10–p90 range exceeds this share of its median.
_WIDE = 0.05
_ALPHA = 0.05
#: Steal is counted in ticks of 10 ms: nothing is derived from it below this.
_SHORTEST_FOR_STEAL_NS = 100e6
#: Metric, source (None: the best there is) and what it is called.
_COVARIATES = (
    ("wait_ns", None, "run-queue wait"),
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
_ORDER = "time since the start of the experiment"


def find(results: Results) -> Finding | None:
    """Explain the cells that are less stable than bare, disturbed by others, or simply wide."""
    basis = basis_of(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    some = _unstable(cells)
    if not some:
        return _none(cells, basis)
    table = _covariates(results)
    told = [(c, why, _explain(c, table, cells)) for c, why in some]
    known = [(c, e) for c, _, e in told if e is not None]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=_answer(known, len(told), cells),
        verdict="none" if known else "inconclusive",
        summary=_summary(known, cells),
        basis=str(basis),
        tables=(_table(told, cells),),
        caveats=_caveats(results, cells),
        charts=("causes",),
    )


def _none(cells: Cells, basis: Basis) -> Finding:
    """Tell that no cell is known to be unstable; with too few trials nobody knows."""
    few = min((c.n for c in cells.all), default=0)
    answer = "No cell is unstable: none was shown to be less stable than another, and no " + (
        f"p10–p90 range exceeds {percent(_WIDE)} of its median."
    )
    if few < FEWEST:
        answer = (
            f"Which cells are unstable cannot be told from n = {few} trials a cell: a spread "
            f"needs at least {FEWEST}. None was shown to be less stable than another."
        )
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=answer,
        verdict="inconclusive" if few < FEWEST else "none",
        basis=str(basis),
    )


def _unstable(cells: Cells) -> list[tuple[Cell, str]]:
    """Cells to explain, each with why it is called unstable."""
    growth = cells.results.experiment.parallel_growth
    shown: dict[tuple[tuple[str, str], ...], str] = {}
    for pair, c in compare_platforms(cells, growth)[0]:
        if c.verdict == HIGHER:
            levels = {**pair.levels, pair.factor: pair.level}
            shown[_key(levels)] = f"less stable than {pair.reference}"
    for ladder in ladders(cells):
        for step in ladder.steps:
            if step.growth.low is not None and step.growth.low > 1 + growth:
                levels = {**step.pair.levels, "workers": step.pair.level}
                shown.setdefault(_key(levels), f"disturbed by {step.workers} workers")
    wide = f"range beyond {percent(_WIDE)} of the median"
    told = [(c, shown.get(_key(c.levels)) or (wide if _is_wide(c) else None)) for c in cells.all]
    return [(c, why) for c, why in told if why is not None]


def _key(levels: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(levels.items()))


def _is_wide(cell: Cell) -> bool:
    return cell.n >= FEWEST and relative_spread(cell) > _WIDE


def _covariates(results: Results) -> pd.DataFrame:
    """One row a trial, one column a covariate: mean over workers and measured iterations."""
    s = results.sample_table
    s = s[s["phase"] == "measured"]
    columns = {}
    for metric, source, name in _COVARIATES:
        rows = s[s["metric"] == metric]
        if source is not None:
            rows = rows[rows["source"] == source]
        elif rows["source"].nunique() > 1:
            rows = rows[rows["source"] == rows["source"].value_counts().idxmax()]
        if not rows.empty:
            columns[name] = rows.groupby("trial")["value"].mean()
    return pd.DataFrame(columns)


def _explain(cell: Cell, table: pd.DataFrame, cells: Cells) -> Explained | None:
    values = cell.trial_values
    trials = cells.results.trial_table
    here = trials[trials["trial"].isin(cell.trials)].set_index(["session", "block"])
    order = here["trial"].reindex(cell.table.index).to_numpy()
    rows = table.reindex(order)
    covariates: dict[str, FloatArray] = {
        name: rows[name].to_numpy(dtype=float)
        for name in rows.columns
        if rows[name].notna().all() and not (name == "steal" and _too_short(values, cells))
    }
    covariates[_ORDER] = order.astype(float)
    return explained(values, covariates, seed=cells.results.experiment.seed)


def _too_short(values: FloatArray, cells: Cells) -> bool:
    return cells.basis.unit != "ns" or float(np.median(values)) < _SHORTEST_FOR_STEAL_NS


def _answer(known: list[tuple[Cell, Explained]], total: int, cells: Cells) -> str:
    if not known:
        return (
            f"{counted(total, 'cell')} {'is' if total == 1 else 'are'} unstable, but with fewer "
            f"than {FEWEST} trials nothing can be said of why."
        )
    told = []
    nothing = []
    for cell, e in known:
        where = f"{at_levels(cell.levels, cells.varied)}"
        shown = [s for s in e.shares if s.p < _ALPHA]
        if e.p >= _ALPHA or not shown:
            nothing.append(where)
            continue
        told.append((e.share, f"{where}: {percent(e.share)} {_goes_with(e)}, n = {e.n}"))
    told.sort(reverse=True)
    text = "; ".join(words for _, words in told[:3])
    if text:
        text = f"Share of the variance that goes with what was recorded: {text}."
    if len(told) > 3:
        text += f" The table has {len(told) - 3} more."
    if nothing:
        where = listing(nothing[:3]) + (f" and {len(nothing) - 3} more" if nothing[3:] else "")
        text += f" The spread of {where} is not explained by anything that was recorded."
    return text.strip()


def _goes_with(e: Explained) -> str:
    shown = [s for s in e.shares if s.p < _ALPHA][:2]
    return "with " + listing(f"{s.name} ({percent(s.share)} by itself)" for s in shown)


def _summary(known: list[tuple[Cell, Explained]], cells: Cells) -> str | None:
    """Name the one thing that explains most, where half of some cell's variance goes with it."""
    best = [
        (s.share, s.name, cell)
        for cell, e in known
        for s in e.shares[:1]
        if e.p < _ALPHA and s.p < _ALPHA and s.share >= 0.5
    ]
    if not best:
        return None
    share, name, cell = max(best, key=lambda x: x[0])
    where = at_levels(cell.levels, cells.varied)
    what = f"{percent(share)} of the variance of {where}"
    return f"{what} goes with {name}, which need not be its cause."


def _table(told: list[tuple[Cell, str, Explained | None]], cells: Cells) -> Table:
    names = list(dict.fromkeys(s.name for _, _, e in told if e for s in e.shares))
    columns = (
        *level_columns(cells.varied or ["workload"]),
        Column(key="why", title="unstable, since"),
        Column(key="n", title="trials"),
        Column(key="share", title="explained together", unit="1"),
        Column(key="p", title="p of all", unit="1"),
        *(Column(key=name, title=name, unit="1") for name in names),
    )
    rows = []
    for cell, why, e in told:
        row: dict[str, Any] = {f: cell.levels[f] for f in cells.varied or ["workload"]}
        row |= {"why": why, "n": cell.n, "share": e.share if e else None, "p": e.p if e else None}
        single = {s.name: s.share for s in e.shares} if e else {}
        rows.append({**row, **{name: single.get(name) for name in names}})
    return Table(
        title=f"Share of the variance of trial values explained, {cells.basis}",
        columns=columns,
        rows=tuple(rows),
        note="Of ranks; together: adjusted for the number of covariates; each by itself: "
        "squared rank correlation. p by permutation of the trials. Empty: not recorded, or it "
        "never varied.",
    )


def _caveats(results: Results, cells: Cells) -> tuple[str, ...]:
    told = [
        "What goes together need not be cause and effect: a trial that takes longer for another "
        "reason also meets more switches and ticks."
    ]
    if any(w.command for w in results.experiment.workloads):
        told.append("Run-queue wait is that of a command's first thread only.")
    if any(_too_short(c.trial_values, cells) for c in cells.all):
        told.append("No cause is derived from steal below 100 ms: its ticks are of 10 ms.")
    return tuple(told)


UNIT = FindingUnit(description=_DESCRIPTION, order=40, find=find)
