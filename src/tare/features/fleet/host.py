"""One host's results, summed up by session: each cell, and the ratio of two within blocks.

Of a host only its sums are kept, so that memory holds the values of one host at a time.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tare.experiment import store
from tare.experiment.findings import chr_ranges
from tare.experiment.findings.cells import Basis, Cell, Cells, basis_of, compared
from tare.experiment.findings.chr_ranges import ChrLine
from tare.experiment.findings.overview import compared_factor
from tare.experiment.findings.platform_cells import cost_basis, host_cpus
from tare.experiment.results import Results
from tare.experiment.specification import Experiment
from tare.results.message import Message
from tare.statistics.comparison import Comparison, compare
from tare.statistics.hosts import IntArray
from tare.statistics.intervals import Interval
from tare.statistics.statistic import FloatArray

#: A cell's levels in the order of the factors.
CellLevels = tuple[tuple[str, str], ...]


class What(NamedTuple):
    """A quantity: a cell's value, or that relative to the reference's."""

    levels: CellLevels
    reference: str | None = None


class Summed(NamedTuple):
    """Logarithms of a quantity on one host: arrays of shape (sessions,).

    ``square`` and ``fourth`` are sums of powers of the differences from ``mean``.
    """

    n: IntArray
    mean: FloatArray
    square: FloatArray
    fourth: FloatArray


class Above(NamedTuple):
    """A quantity on one host of which trials were killed at a time limit: its mean is not known.

    Attributes
    ----------
    n, killed : int
        Trials, or common blocks, and how many of these have a killed trial.
    limit_ns : float
        The smallest limit that they exceed.
    median : Interval or None
        Of a cell.
    ratio : Comparison or None
        Relative to the reference.
    """

    n: int
    killed: int
    limit_ns: float
    median: Interval | None = None
    ratio: Comparison | None = None


@dataclass(frozen=True, eq=False)
class Host:
    """What one host has measured.

    Attributes
    ----------
    sessions : int
        Those that have good trials.
    ended : bool
        Whether its journal says how the last session ended.
    trials, failures : int
        Trials with a value, if only one above a time limit, and others.
    basis : Basis or Message
        What is judged on this host alone, or why nothing is.
    sources : tuple of str
        Those that all good trials have, best first.
    levels : tuple of CellLevels
        Of the cells that have good trials, references first.
    failed : mapping
        Cells of the plan that have no good trial, and how many others they have.
    quantities : tuple of What
        What could be summed up.
    sums : mapping
        Of each source, the quantities of which every trial has a logarithm.
    above : mapping
        Of each source, the quantities with trials that were killed at a time limit.
    experiment : Experiment
        As this host has it.
    boot_id : str
        Of its last session; empty: not recorded.
    session_digests : frozenset of str
        One of each session, by its nonce and the values of its good trials: what a copy of the
        folder shares, whatever it is called.
    cpus : float or None
        CPUs of the host.
    chr_basis : Basis or Message
        What overheads over CHR are judged by.
    chr_lines : tuple of ChrLine
        The overheads of each platform over CHR.
    """

    experiment: Experiment

    sessions: int
    ended: bool
    trials: int
    failures: int
    factor: str | None
    basis: Basis | Message
    sources: tuple[str, ...] = ()
    levels: tuple[CellLevels, ...] = ()
    failed: Mapping[CellLevels, int] = dataclasses.field(default_factory=dict)
    quantities: tuple[What, ...] = ()
    sums: Mapping[str, Mapping[What, Summed]] = dataclasses.field(default_factory=dict)
    above: Mapping[str, Mapping[What, Above]] = dataclasses.field(default_factory=dict)
    boot_id: str = ""
    session_digests: frozenset[str] = frozenset()
    cpus: float | None = None
    chr_basis: Basis | Message | None = None
    chr_lines: tuple[ChrLine, ...] = ()


def read(folder: Path) -> Host:
    """Read the results of a host, and sum them up.

    Raises
    ------
    StoreError
        If the folder holds no experiment, or its journal cannot be read.
    """
    return of(store.load(folder))


def of(results: Results) -> Host:
    """Sum up the results of one host."""
    basis = basis_of(results)
    chr_basis = cost_basis(results)
    host = Host(
        experiment=results.experiment,
        boot_id=str(results.sessions["boot_id"][-1]) if results.sessions else "",
        cpus=host_cpus(results),
        chr_basis=chr_basis,
        chr_lines=tuple(chr_ranges.lines(results, chr_basis)),
        sessions=len(results.counted.distinct("session")),
        ended=all(ended is not None for ended in results.sessions["ended"][-1:]),
        trials=len(results.counted),
        failures=len(results.trial_table) - len(results.counted),
        factor=compared_factor(results),
        basis=basis,
    )
    if isinstance(basis, Message):
        return host
    sources = tuple(results.sources(basis.metric))
    cells = {one: Cells(results, dataclasses.replace(basis, source=one)).all for one in sources}
    first = cells[sources[0]]
    pairs = _pairs(first, host.factor, results.emulated)
    sums = {source: dict(_sums(some, pairs)) for source, some in cells.items()}
    return dataclasses.replace(
        host,
        sources=sources,
        levels=tuple(_levels(one) for one in first),
        failed=dict(_failed(results)),
        quantities=tuple(pairs),
        sums=sums,
        above={source: dict(_above(some, pairs)) for source, some in cells.items()},
        session_digests=frozenset(_digests(results, first)),
    )


def _digests(results: Results, cells: list[Cell]) -> Iterator[str]:
    """Yield a digest of each session that has good trials."""
    nonces = zip(results.sessions["session"], results.sessions["nonce"], strict=True)
    for session, nonce in nonces:
        own = [cell.trial_values[cell.sessions == session] for cell in cells]
        if any(map(len, own)):
            digest = hashlib.sha256(repr(nonce).encode())
            for cell, values in zip(cells, own, strict=True):
                digest.update(repr(_levels(cell)).encode())
                digest.update(np.ascontiguousarray(values, dtype=float).tobytes())
            yield digest.hexdigest()


def _levels(cell: Cell) -> CellLevels:
    return (*cell.levels.items(),)


def _failed(results: Results) -> Iterator[tuple[CellLevels, int]]:
    good = set(results.counted["cell"].tolist())
    for one in results.planned:
        if one.cell not in good:
            levels = one.levels()
            own = tuple((factor, levels[factor]) for factor in results.factors)
            yield own, len(results.trial_table.where(cell=one.cell))


def _pairs(
    cells: list[Cell], factor: str | None, emulated: frozenset[str]
) -> dict[What, tuple[int | None, int]]:
    """Return the quantities that a host may have: places of its cells, the reference's first."""
    found: dict[What, tuple[int | None, int]] = {
        What(_levels(cell)): (None, place) for place, cell in enumerate(cells)
    }
    levels = [cell.levels for cell in cells]
    if factor is not None and all(factor in own for own in levels):
        for first, second in compared(levels, factor, emulated):
            found[What(_levels(cells[second]), levels[first][factor])] = (first, second)
    return found


def _sums(
    cells: list[Cell], pairs: Mapping[What, tuple[int | None, int]]
) -> Iterator[tuple[What, Summed]]:
    """Sum up quantities; one that lacks a logarithm, as of a killed trial, has no mean."""
    for what, (first, second) in pairs.items():
        cell = cells[second]
        logs, sessions = _logs(cell.trial_values), cell.sessions
        if first is not None:
            own, other = cells[first].common(cell)
            # The ratio of two means is meant only where each worker's value is above zero.
            below = ~(_positive(cells[first])[own] & _positive(cell)[other])
            logs = logs[other] - _logs(cells[first].trial_values)[own]
            logs[below] = np.nan
            sessions = sessions[other]
        if len(logs) and not np.isnan(logs).any():
            yield what, _by_session(logs, sessions)


def _above(
    cells: list[Cell], pairs: Mapping[What, tuple[int | None, int]]
) -> Iterator[tuple[What, Above]]:
    """Return the medians and ratios of quantities with trials that were killed at a time limit."""
    for what, (first, second) in pairs.items():
        cell = cells[second]
        if first is None:
            if cell.killed:
                limit = float(np.nanmin(cell.above))
                yield what, Above(cell.n, cell.killed, limit, median=cell.median)
            continue
        own, other = cells[first].common(cell)
        values = cells[first].trial_values[own], cell.trial_values[other]
        above = cells[first].above[own], cell.above[other]
        killed = np.isinf(values[0]) | np.isinf(values[1])
        if killed.any():
            limit = float(np.nanmin(np.concatenate(above)))
            tick = (cells[first].tick, cell.tick)
            least = [np.where(np.isinf(v), a, v) for v, a in zip(values, above, strict=True)]
            ratio = (
                compare(values[0], values[1], tick=tick, limits=above)
                if min(float(one.min()) for one in least) > 0
                else None
            )
            yield what, Above(len(killed), int(killed.sum()), limit, ratio=ratio)


def _logs(values: FloatArray) -> FloatArray:
    found = np.full(len(values), np.nan)
    some = (values > 0) & np.isfinite(values)
    found[some] = np.log(values[some])
    return found


def _positive(cell: Cell) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.all((cell.workers > 0) & np.isfinite(cell.workers), axis=1)
    return found


def _by_session(logs: FloatArray, sessions: IntArray) -> Summed:
    _, session, n = np.unique(sessions, return_inverse=True, return_counts=True)
    mean = np.bincount(session, logs) / n
    apart = logs - mean[session]
    square, fourth = (np.bincount(session, apart**power).astype(float) for power in (2, 4))
    return Summed(n, mean, square, fourth)
