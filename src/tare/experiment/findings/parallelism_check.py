"""Whether workers ran concurrently, were treated alike, and ran to the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tare.experiment.findings import phrases
from tare.experiment.findings.cells import Cell, Cells, basis_of, cells_of
from tare.experiment.findings.comparison_summary import share
from tare.experiment.findings.evidence import level_columns
from tare.experiment.findings.finding import FindingUnit, answered, uncompared
from tare.experiment.findings.level_names import where
from tare.experiment.metrics import ranked
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.columns import Columns
from tare.results.finding import Answer, Column, Finding, Table, columns_of, interval_columns
from tare.results.message import Amount, Chosen, Levels, Message, Ratio, message
from tare.results.verdict import HIGHER, LOWER
from tare.statistics.comparison import Comparison, compare
from tare.statistics.grouping import friedman_p
from tare.statistics.holm import holm
from tare.statistics.intervals import trials_needed
from tare.statistics.shift import has_ratio
from tare.statistics.signed_rank import signed_rank_p
from tare.statistics.statistic import FloatArray

_DESCRIPTION = Description(
    name="parallelism_check",
    title="Parallel ratio, differences between workers, drift at the end of a trial",
    question="Did the workers run concurrently, and to the end?",
    source="STABILITY",
)
_ALPHA = 0.05
#: Below this share of the measured time with all workers busy, a trial is not concurrent.
_ENOUGH = 0.9
#: Iterations that a drift at the end can be seen in.
_FEWEST_ITERATIONS = 3


def find(results: Results) -> Finding | None:
    """Check the cells with more than one worker by their stamps and values."""
    if not any(int(workers) > 1 for workers in results.levels("workers")):
        return None
    basis = basis_of(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    cells = cells_of(results, basis)
    many = [c for c in cells.all if int(c.levels["workers"]) > 1]
    source = _stamped(results)
    if source is None or not many:
        return uncompared(
            _DESCRIPTION,
            message("nothing to compare: no source has the start and end of every worker"),
        )
    stamps = _stamps(results, source)
    ps = holm([_worker_p(c) for c in many])
    ends = {c.cell: _end_drift(c, cells) for c in many}
    rows = [
        _row(c, stamps.where(cell=c.cell), p, ends[c.cell], cells)
        for c, p in zip(many, ps, strict=True)
    ]
    return answered(
        _DESCRIPTION,
        closed=True,
        answer=_answer(rows, cells, results),
        verdict=_verdict(rows),
        basis=f"start_ns and end_ns ({source}), {basis}",
        tables=(_table(rows, cells),),
    )


def _stamped(results: Results) -> str | None:
    """Return the best source that all good trials have of starts and ends; None: there is none."""
    common = [s for s in results.sources("start_ns") if s in results.sources("end_ns")]
    return next(iter(ranked("start_ns", common)), None)


def _stamps(results: Results, source: str) -> Columns:
    """One row a trial and worker: first and last start, first and last end, of measured ones."""
    starts, ends = (results.sample_table.of(name, source) for name in ("start_ns", "end_ns"))
    good = results.good.only("trial", "cell")
    last = {key: rows["value"] for key, rows in ends.groups("trial", "worker")}
    rows = [
        (*key, own["value"].min(), own["value"].max(), last[key].min(), last[key].max())
        for key, own in starts.groups("trial", "worker")
        if key in last and not np.isnan(key[1])
    ]
    names = ("trial", "worker", "first_start", "last_start", "first_end", "last_end")
    return Columns.of_rows(names, rows).joined(good, "trial")


def parallel_ratios(stamps: Columns, *, loaded: bool) -> tuple[FloatArray, FloatArray]:
    """Compute each trial's parallel ratio and overlap.

    Parameters
    ----------
    stamps : Columns
        ``trial, worker, first_start, last_start, last_end`` of measured iterations.
    loaded : bool
        Whether a worker that had finished went on unmeasured until the last one had.

    Returns
    -------
    ratio : array, shape (trials,)
        STABILITY's (first start of a last iteration − last start of a first iteration) / (last −
        first start); NaN with one iteration, where first and last are one.
    overlap : array, shape (trials,)
        Share of the time from the first start to the last end in which every worker was busy.
    """
    ratios, overlaps = [], []
    for _, own in stamps.groups("trial"):
        low, high = own["first_start"].min(), own["first_start"].max()
        together, total = own["last_start"].min() - high, own["last_start"].max() - low
        single = (own["first_start"] == own["last_start"]).all()
        ratios.append(np.nan if single or total <= 0 else together / total)
        end = own["last_end"].max()
        overlaps.append(max(0.0, ((end if loaded else own["last_end"].min()) - high) / (end - low)))
    return np.array(ratios, dtype=float), np.array(overlaps, dtype=float)


def _worker_p(cell: Cell) -> float:
    """P of all workers having the same location, paired by trial."""
    values = cell.workers
    if len(values) < trials_needed() or np.ptp(values - values[:, :1]) == 0:
        return 1.0
    if values.shape[1] == 2:
        return signed_rank_p(values[:, 1] - values[:, 0])
    return friedman_p(values)


def _end_drift(cell: Cell, cells: Cells) -> Comparison | None:
    """Compare each trial's last measured iteration with those before; first ones left out."""
    s = cells.results.sample_table.of(cells.basis.metric, cells.basis.source)
    middle: dict[int, list[float]] = {}
    end: dict[int, list[float]] = {}
    for (trial, _), own in s.where(trial=set(cell.trials)).groups("trial", "worker"):
        first, final = own["iteration"].min(), own["iteration"].max()
        if not final - first + 1 >= _FEWEST_ITERATIONS:
            return None
        inside = (own["iteration"] > first) & (own["iteration"] < final)
        middle.setdefault(trial, []).extend(own["value"][inside])
        end.setdefault(trial, []).extend(own["value"][own["iteration"] == final])
    if not middle:
        return None
    before, last = (np.array([np.mean(some) for some in by.values()]) for by in (middle, end))
    if not has_ratio(before, last):
        return None
    return compare(before, last, cells.results.experiment.margin)


def _row(
    cell: Cell, stamps: Columns, p: float, end: Comparison | None, cells: Cells
) -> dict[str, Any]:
    loaded = cells.results.experiment.tail == "loaded"
    ratio, overlap = parallel_ratios(stamps, loaded=loaded)
    medians = np.median(cell.workers, axis=0)
    return {
        **{f: cell.levels[f] for f in cells.factors},
        "n": cell.n,
        "ratio": _median(ratio),
        "ratio_low": _least(ratio),
        "overlap": _median(overlap),
        "overlap_low": _least(overlap),
        "workers_differ": float(medians.max() / medians.min() - 1) if medians.min() > 0 else None,
        "p": p,
        "end": None if end is None else end.ratio,
        "end_low": None if end is None else end.low,
        "end_high": None if end is None else end.high,
        "end_differs": end is not None and end.verdict in (HIGHER, LOWER),
    }


def _median(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None


def _least(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.min()) if len(known) else None


def _verdict(rows: list[dict[str, Any]]) -> Answer:
    together = all((r["overlap"] or 0) >= _ENOUGH for r in rows)
    steady = not any(r["end_differs"] for r in rows)
    return "yes" if together and steady else "no"


def _answer(rows: list[dict[str, Any]], cells: Cells, results: Results) -> Iterator[Message]:
    least = min(rows, key=lambda r: r["overlap"] or 0)
    together = (least["overlap"] or 0) >= _ENOUGH
    end = _end(rows, cells)
    drifts = together and any(r["end_differs"] for r in rows)
    if drifts:
        # What the check fails for stands first.
        yield end
    overlap, at = Amount(least["overlap"] or 0, "share"), _where(least, cells)
    if together:
        yield message(
            "all workers were busy for {share} of the measured time in the median trial, the least "
            "for {where}",
            share=overlap,
            where=at,
        )
    else:
        yield message(
            "workers ran at different times: all were busy for only {share} of the measured "
            "time ({needed} are needed) for {where}",
            share=overlap,
            needed=Chosen(_ENOUGH),
            where=at,
        )
    ratios = [r["ratio"] for r in rows if r["ratio"] is not None]
    if ratios:
        yield message(
            "STABILITY's parallel ratio is at least {ratio}", ratio=Amount(min(ratios), "share")
        )
    if results.experiment.tail == "loaded":
        yield message(
            "after its last measured iteration, each worker keeps the CPU loaded until all "
            "have finished"
        )
    differ = [r for r in rows if r["p"] < _ALPHA and r["workers_differ"] is not None]
    if differ:
        most = max(differ, key=lambda r: r["workers_differ"])
        yield message(
            "workers differ in {share}. For {where}, the slowest takes {most} more than the "
            "fastest{% if several %}, the largest difference{% endif %}",
            share=share(len(differ), len(rows)),
            where=_where(most, cells),
            most=Amount(most["workers_differ"], "share"),
            several=len(differ) > 1,
        )
    else:
        yield message("no difference between workers is shown")
    if not drifts:
        yield end
    yield message(phrases.TRIALS, n=min(r["n"] for r in rows))


def _where(row: dict[str, Any], cells: Cells) -> Levels:
    return where({f: row[f] for f in cells.factors}, cells.varied)


def _end(rows: list[dict[str, Any]], cells: Cells) -> Message:
    known = [r for r in rows if r["end"] is not None]
    if not known:
        return message(
            "drift at the end of a trial cannot be checked: that needs at least {least} "
            "iterations per trial",
            least=_FEWEST_ITERATIONS,
        )
    drifting = [r for r in known if r["end_differs"]]
    if not drifting:
        return message("the last iterations are not shown to differ from those before")
    most = max(drifting, key=lambda r: abs(r["end"] - 1))
    return message(
        "the last iterations differ from those before in {share}: {ratio} for {where}"
        "{% if several %}, the largest difference{% endif %}",
        share=share(len(drifting), len(known)),
        ratio=Ratio(most["end"], most["end_low"], most["end_high"]),
        where=_where(most, cells),
        several=len(drifting) > 1,
    )


def _table(rows: list[dict[str, Any]], cells: Cells) -> Table:
    columns = (
        *level_columns(list(dict.fromkeys([*cells.varied, "workers"]))),
        Column(key="n", title="trials"),
        *columns_of("1", ratio="parallel ratio, median", ratio_low="least"),
        *columns_of("1", overlap="all workers busy, median", overlap_low="least"),
        *columns_of("1", workers_differ="slowest / fastest worker − 1", p="p of workers"),
        *interval_columns("end", "last iteration / those before", "1", "end_"),
    )
    ordered = sorted(
        rows, key=lambda r: r["ratio"] if r["ratio"] is not None else r["overlap"] or 0
    )
    return Table(
        title=message("Concurrent workers, the least parallel first"),
        columns=columns,
        rows=tuple({c.key: r[c.key] for c in columns} for r in ordered),
        note=message(
            "Parallel ratio by STABILITY's formula from the starts of each worker's first and "
            "last measured iteration. p of workers: Friedman or Wilcoxon by trial, after Holm."
        ),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=90, find=find)
