"""Why a platform takes longer than bare: where the time goes, trial beside trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tare.findings import emulation
from tare.findings.cells import Pair, cells_of
from tare.findings.evidence import level_columns
from tare.findings.finding import Column, Finding, FindingUnit, Table, uncompared
from tare.findings.phrasing import at_levels, change, listing, metric_name, percent, quantity
from tare.findings.platform_cells import cost_basis, is_time
from tare.metrics import ranked
from tare.registry import Description
from tare.results import Results
from tare.statistics.signed_rank import hodges_lehmann, signed_rank_interval

_DESCRIPTION = Description(
    name="platform_why",
    title="Time that a platform takes more than bare, by what it was spent in",
    question="Why does a platform cost what it costs?",
    source="PINNING",
)
#: What may account for extra time: metric, what it is called, as part of a sentence.
_PARTS = (
    ("throttled_ns", "throttled", "held back by the quota"),
    ("cpu_ns", "CPU time", "CPU time"),
    ("wait_ns", "run-queue wait", "waiting for a CPU"),
    ("off_cpu_preempted_ns", "preempted", "off the CPU while ready"),
    ("off_cpu_blocked_ns", "blocked", "off the CPU, blocked"),
)
#: What goes with it, but is no time of its own.
_BESIDE = (
    ("system_ns", "in the kernel"),
    ("voluntary_switches", "voluntary switches"),
    ("involuntary_switches", "involuntary switches"),
    ("migrations", "migrations"),
    ("minor_faults", "minor faults"),
    ("major_faults", "major faults"),
)
#: Further metrics whose names begin so, as they were recorded.
_PREFIXES = ("switches_", "disk_")
#: A part below this share of the extra time is not named.
_NOTABLE = 0.1
_MOST_SENTENCES = 4


@dataclass(frozen=True)
class Part:
    """What one metric differs by, in the median of paired differences."""

    value: float
    low: float | None
    high: float | None

    @property
    def sure(self) -> bool:
        """Whether it is surely more than on the reference."""
        return self.low is not None and self.low > 0


@dataclass(frozen=True)
class Extra:
    """A platform beside its reference: the extra time, and what differs besides."""

    pair: Pair
    time: Part
    parts: dict[str, Part]

    @property
    def named(self) -> list[tuple[float, str, Part]]:
        """Parts that account for some of it: share, name and part, the largest first."""
        found = [
            (part.value / self.time.value, spoken, part)
            for metric, _, spoken in _PARTS
            if (part := self.parts.get(metric)) is not None and part.sure
        ]
        return sorted((x for x in found if x[0] >= _NOTABLE), key=lambda x: -x[0])


def find(results: Results) -> Finding | None:
    """Divide the extra time of every platform that takes longer than bare."""
    if results.trial_table["platform"].nunique() < 2:
        return None
    basis = cost_basis(results)
    if isinstance(basis, str):
        return uncompared(_DESCRIPTION, basis)
    if not is_time(basis):
        return None
    some = extras(results)
    apart = emulation.note(results)
    if not some:
        return uncompared(_DESCRIPTION, apart or "No platform has cells that bare has too.")
    recorded = {metric for one in some for metric in one.parts}
    sentences = tell(some, results)
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=" ".join([f"By {metric_name(basis.metric)}.", *sentences]),
        verdict="told",
        summary=None,
        basis=str(basis),
        tables=(_table(some, results, str(basis)),),
        caveats=tuple(filter(None, [_absent(recorded), _OVERLAP, apart])),
    )


_OVERLAP = (
    "The parts overlap: time held back by a quota is time off the CPU as well. Several threads "
    "have more of each than the wall has time."
)


def extras(results: Results) -> list[Extra]:
    """Put every real platform beside bare, on the same cells and common blocks."""
    basis = cost_basis(results)
    if isinstance(basis, str) or not is_time(basis):
        return []
    values = _by_trial(results)
    cells = cells_of(results, basis)
    # Of a cell and block there may be others, which failed and were repeated.
    good = results.trial_table[results.trial_table["status"] == "ok"]
    trials = good.set_index(["cell", "session", "block"])["trial"]
    numbers = {tuple(sorted(c.levels.items())): c for c in cells.all}
    made = []
    for pair in cells.pairs("platform"):
        first, second = (
            numbers[tuple(sorted({**pair.levels, "platform": p}.items()))]
            for p in (pair.reference, pair.level)
        )
        common = first.table.index.intersection(second.table.index)
        both = [[int(trials[(cell.cell, *key)]) for key in common] for cell in (first, second)]
        time = part(pair.trial_values[1] - pair.trial_values[0])
        made.append(Extra(pair, time, _parts(values, both)))
    return made


def _by_trial(results: Results) -> pd.DataFrame:
    """One row a trial, a column a metric and source: mean over workers and iterations."""
    s = results.sample_table
    wanted = {m for m, *_ in (*_PARTS, *_BESIDE)}
    names = s["metric"].astype(str)
    s = s[(s["phase"] == "measured") & (names.isin(wanted) | names.str.startswith(_PREFIXES))]
    table: pd.DataFrame = s.groupby(["trial", "metric", "source"])["value"].mean().unstack([1, 2])
    return table


def _parts(values: pd.DataFrame, both: list[list[int]]) -> dict[str, Part]:
    found: dict[str, Part] = {}
    names: list[tuple[str, str]] = [(str(c[0]), str(c[1])) for c in list(values.columns)]
    metrics = sorted({m for m, _ in names})
    columns = [(m, s) for m in metrics for s in ranked(m, {s for n, s in names if n == m})]
    for metric, source in columns:
        if metric in found:
            continue
        first, second = (
            values[(metric, source)].reindex(trials).to_numpy(dtype=float) for trials in both
        )
        if np.isfinite(first).all() and np.isfinite(second).all():
            found[metric] = part(second - first)
    return found


def part(differences: np.ndarray) -> Part:
    """Median of differences with its interval."""
    bounds = signed_rank_interval(differences)
    low, high = (None, None) if bounds is None else bounds
    return Part(hodges_lehmann(differences), low, high)


def tell(some: Sequence[Extra], results: Results) -> list[str]:
    """Say of the platforms that surely take longer what accounts for it, the costliest first."""
    sure = [one for one in some if one.time.sure]
    if not sure:
        return ["No platform surely takes longer than its reference."]
    sure.sort(key=lambda one: -one.time.value / float(np.median(one.pair.trial_values[0])))
    told = [sentence(one, results) for one in sure[:_MOST_SENTENCES]]
    if len(sure) > _MOST_SENTENCES:
        told.append(f"The table has {len(sure) - _MOST_SENTENCES} more.")
    return told


def sentence(one: Extra, results: Results) -> str:
    """Say what accounts for how much of the time that a platform takes more."""
    pair = one.pair
    where = at_levels(pair.levels, results.varied)
    ratio = 1 + one.time.value / float(np.median(pair.trial_values[0]))
    extra = quantity(one.time.value, "ns")
    at = f" ({where})" if where else ""
    start = f"Of the {extra} that {pair.level} takes more{at}, {change(ratio)},"
    if not one.named:
        return f"{start} none is accounted for by anything that was recorded."
    parts = listing(
        f"{quantity(p.value, 'ns')} ({percent(share)}) {_verb(spoken)}"
        for share, spoken, p in one.named[:2]
    )
    return f"{start} {parts}."


def _verb(spoken: str) -> str:
    return f"are {spoken}" if spoken == "CPU time" else f"pass {spoken}"


def _absent(recorded: set[str]) -> str | None:
    missing = [name for metric, name, _ in _PARTS if metric not in recorded]
    if not missing:
        return None
    return f"Not recorded on both sides here, so nothing is said of it: {listing(missing)}."


def _table(some: Sequence[Extra], results: Results, basis: str) -> Table:
    varied = [f for f in results.varied if f != "platform"]
    times = [(m, name) for m, name, _ in _PARTS] + [_BESIDE[0]]
    others = list(_BESIDE[1:])
    known = {metric for one in some for metric in one.parts}
    named = {m for m, *_ in (*_PARTS, *_BESIDE)}
    others += [(m, m.replace("_", " ")) for m in sorted(known - named)]
    units = {"ns": "ns", "bytes": "bytes"}
    columns = [
        *level_columns(["platform", *varied]),
        Column(key="n", title="common blocks"),
        Column(key="extra", title="extra time", unit="ns"),
        Column(key="low", title="from", unit="ns"),
        Column(key="high", title="to", unit="ns"),
    ]
    for metric, title in [*times, *others]:
        unit = units.get(metric.rsplit("_", 1)[-1], "1")
        columns.append(Column(key=metric, title=f"more {title}", unit=unit))
    rows: list[dict[str, Any]] = []
    for one in some:
        pair = one.pair
        levels = {**pair.levels, "platform": pair.level}
        rows.append(
            {
                **{f: levels[f] for f in ("platform", *varied)},
                "n": pair.n,
                "extra": one.time.value,
                "low": one.time.low,
                "high": one.time.high,
                **{m: one.parts[m].value if m in one.parts else None for m, _ in (*times, *others)},
            }
        )
    return Table(
        title=f"What a trial has more than on {some[0].pair.reference}, {basis}",
        columns=tuple(columns),
        rows=tuple(rows),
        note="Medians of paired differences, mean over a trial's workers and iterations. The time "
        "in the kernel has the accounting of control groups in it. Empty: not recorded on both.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=33, find=find)
