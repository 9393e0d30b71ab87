"""What a fleet has measured: the trials of all hosts, as arrays by cell."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tare import files
from tare.errors import StoreError
from tare.experiment import pipeline
from tare.experiment.findings.cells import Basis, Cells, basis_of
from tare.experiment.findings.overview import compared_factor
from tare.experiment.metrics import ranked
from tare.experiment.results import Results
from tare.features.fleet.folder import HOSTS, Record, read
from tare.results.message import Message, message
from tare.statistics.hosts import Components, IntArray, Sessions, components
from tare.statistics.statistic import FloatArray


class What(NamedTuple):
    """A quantity: a cell's value, or that relative to the reference's."""

    levels: tuple[tuple[str, str], ...]
    reference: str | None = None


class Values(NamedTuple):
    """Of one host: arrays of shape (trials,)."""

    session: IntArray
    value: FloatArray


@dataclass(frozen=True, eq=False)
class Series:
    """One quantity on all hosts that have it, as logarithms.

    Attributes
    ----------
    what : What
    hosts : tuple of int
        Places in :attr:`Fleet.hosts`.
    host, session, value : arrays, shape (trials,)
        ``host`` as a place in ``hosts``.
    """

    what: What
    hosts: tuple[int, ...]
    host: IntArray
    session: IntArray
    value: FloatArray

    @cached_property
    def sessions(self) -> Sessions:
        """The same, summed up."""
        return Sessions.of(self.host, self.session, self.value)

    @cached_property
    def components(self) -> Components:
        """What it varies by."""
        return components(self.sessions)


@dataclass(frozen=True, eq=False)
class Fleet:
    """All hosts of one experiment.

    Attributes
    ----------
    record : Record
        What became of each host.
    hosts : tuple of str
        Those that have good trials.
    results : tuple of Results
        Of each of these.
    basis : Basis or Message
        What is judged, on the source that all hosts have; or why that cannot be.
    factor : str or None
        Whose levels are compared.
    """

    record: Record
    hosts: tuple[str, ...]
    results: tuple[Results, ...]
    basis: Basis | Message
    factor: str | None

    @cached_property
    def cells(self) -> tuple[Series, ...]:
        """Values of each cell."""
        return self._series(_own)

    @cached_property
    def ratios(self) -> tuple[Series, ...]:
        """Each cell relative to the one with the reference level, within blocks."""
        factor = self.factor
        return () if factor is None else self._series(lambda cells: _ratios(cells, factor))

    def _series(self, each: Callable[[Cells], Iterator[tuple[What, Values]]]) -> tuple[Series, ...]:
        if isinstance(self.basis, Message):
            return ()
        found: dict[What, dict[int, Values]] = {}
        for place, results in enumerate(self.results):
            for what, values in each(Cells(results, self.basis)):
                if values.value.size and np.isfinite(values.value).all():
                    found.setdefault(what, {})[place] = values
        return tuple(_joined(what, by_host) for what, by_host in found.items())


def _own(cells: Cells) -> Iterator[tuple[What, Values]]:
    for cell in cells.all:
        sessions = np.array([session for session, _ in cell.table.index], dtype=np.int64)
        with np.errstate(divide="ignore", invalid="ignore"):
            yield What((*cell.levels.items(),)), Values(sessions, np.log(cell.trial_values))


def _ratios(cells: Cells, factor: str) -> Iterator[tuple[What, Values]]:
    for pair in cells.ratios(factor):
        first, second = pair.trial_values
        levels = {**pair.levels, factor: pair.level}
        ordered = tuple((name, levels[name]) for name in cells.factors)
        what = What(ordered, pair.reference)
        yield what, Values(np.asarray(pair.sessions, np.int64), np.log(second) - np.log(first))


def _joined(what: What, by_host: Mapping[int, Values]) -> Series:
    sizes = [len(one.value) for one in by_host.values()]
    return Series(
        what,
        tuple(by_host),
        np.repeat(np.arange(len(by_host)), sizes),
        np.concatenate([one.session for one in by_host.values()]),
        np.concatenate([one.value for one in by_host.values()]),
    )


def load(folder: Path) -> Fleet:
    """Read the results of all hosts of a fleet.

    Raises
    ------
    StoreError
        If the folder holds none, or no host has a good trial.
    """
    files.check_owner(folder)
    record = read(folder)
    found: dict[str, Results] = {}
    for path in sorted((folder / HOSTS).iterdir(), key=lambda path: _natural(path.name)):
        results = pipeline.results_of(path)
        if (results.trial_table["status"] == "ok").any():
            found[path.name] = results
    if not found:
        raise StoreError(
            f"no host in {folder} has a trial that ended well",
            f"tare report {folder / HOSTS}/HOST   (what happened on one)",
        )
    some = tuple(found.values())
    return Fleet(record, tuple(found), some, _basis(some), compared_factor(some[0]))


def _basis(some: Sequence[Results]) -> Basis | Message:
    """Return what is judged: a host whose clock is another one is not compared with the others."""
    bases = [basis_of(results) for results in some]
    for one in bases:
        if isinstance(one, Message):
            return one
    first = bases[0]
    assert isinstance(first, Basis)
    common = set.intersection(*(set(results.sources(first.metric)) for results in some))
    if not common:
        return message("fleet.no_common_source", metric=first.metric)
    return dataclasses.replace(first, source=ranked(first.metric, common)[0])


def _natural(name: str) -> list[tuple[int, str]]:
    """Return what sorts ``host-10`` after ``host-9``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
