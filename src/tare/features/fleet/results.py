"""What a fleet has measured, summed up by session: each cell, and each relative to another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np

from tare import files
from tare.errors import StoreError
from tare.experiment import plan_file
from tare.experiment.findings.cells import Basis
from tare.experiment.metrics import ranked
from tare.experiment.specification import Experiment
from tare.features.fleet import host as hosts_results
from tare.features.fleet.folder import HOSTS, HostRecord, Record, read
from tare.features.fleet.host import Above, CellLevels, Host, Summed, What
from tare.results.message import Message, message
from tare.statistics.comparison import adjust
from tare.statistics.holm import holm
from tare.statistics.hosts import (
    FEWEST_HOSTS,
    FEWEST_ODD,
    Components,
    Everywhere,
    OddHosts,
    Sessions,
    components,
    everywhere,
    odd_hosts,
)
from tare.statistics.statistic import FloatArray

#: Progress callback: name of what is counted, number done, total.
Watch = Callable[[str, int, int], None]


def _nobody(what: str, done: int, of: int) -> None:
    pass


@dataclass(frozen=True, eq=False)
class Series:
    """One quantity on all hosts that have it, as logarithms.

    Attributes
    ----------
    what : What
    hosts : tuple of int
        Places in :attr:`Fleet.hosts`.
    sessions : Sessions
        Of all trials; ``host`` as a place in ``hosts``.
    """

    what: What
    hosts: tuple[int, ...]
    sessions: Sessions

    @property
    def trials(self) -> int:
        """Trials behind it."""
        return int(self.sessions.n.sum())

    @property
    def level(self) -> FloatArray:
        """Each host's own mean."""
        return self.components.level

    @cached_property
    def components(self) -> Components:
        """What it varies by."""
        return components(self.sessions)

    @cached_property
    def everywhere(self) -> Everywhere:
        """The mean host and the next; of at least three hosts."""
        return everywhere(self.components.level, self.components.error, self.sessions.beneath)

    def without(self, places: Collection[int]) -> Everywhere | None:
        """Return the same without some of the hosts; None: too few are left."""
        kept = [place for place in range(len(self.hosts)) if place not in places]
        if len(kept) < FEWEST_HOSTS:
            return None
        parts = self.components
        return everywhere(parts.level[kept], parts.error[kept], self.sessions.beneath)


@dataclass(frozen=True, eq=False)
class Fleet:
    """All hosts of one experiment.

    Attributes
    ----------
    record : Record
        What became of each host.
    hosts : tuple of str
        Those that have good trials.
    measured : tuple of Host
        What each of these has measured.
    experiment : Experiment
        As the first of these has it.
    basis : Basis or Message
        What is judged, on the source that all hosts have; or why that cannot be.
    """

    record: Record
    hosts: tuple[str, ...]
    measured: tuple[Host, ...]
    experiment: Experiment
    basis: Basis | Message
    #: Reason why the results of a host cannot be read, by host name.
    damaged: Mapping[str, str]
    #: Number of failed trials of each host without a good trial, by host name.
    silent: Mapping[str, int]

    @property
    def factor(self) -> str | None:
        """Whose levels are compared."""
        return self.measured[0].factor

    @cached_property
    def cells(self) -> tuple[Series, ...]:
        """Values of each cell."""
        return tuple(one for one in self._series if one.what.reference is None)

    @cached_property
    def ratios(self) -> tuple[Series, ...]:
        """Each cell relative to the one with the reference level, within blocks."""
        return tuple(one for one in self._series if one.what.reference is not None)

    @cached_property
    def odd(self) -> Mapping[What, OddHosts]:
        """How far hosts are from the others, of each quantity that enough have; one family."""
        some = [one for one in (*self.cells, *self.ratios) if len(one.hosts) >= FEWEST_ODD]
        split = [(one.what, one.components) for one in some]
        return {what: odd_hosts(own.level, own.error, len(some)) for what, own in split}

    @cached_property
    def levels(self) -> tuple[CellLevels, ...]:
        """Levels of all cells that a host has measured, or was to measure."""
        return tuple(dict.fromkeys(
            levels for own in self.measured for levels in (*own.levels, *own.failed)
        ))  # fmt: skip

    @cached_property
    def lacking(self) -> Mapping[CellLevels, Mapping[str, int]]:
        """Hosts that have no good trial of a cell, and how many failed there."""
        found: dict[CellLevels, dict[str, int]] = {}
        for name, own in zip(self.hosts, self.measured, strict=True):
            for levels in {*self.levels} - {*own.levels}:
                found.setdefault(levels, {})[name] = own.failed.get(levels, 0)
        return {levels: found[levels] for levels in self.levels if levels in found}

    @cached_property
    def without_ratio(self) -> Mapping[CellLevels, list[str]]:
        """Hosts that are left out of a cell, or of its ratio: a value there is not above 0."""
        there = {one.what: {*one.hosts} for one in self._series}
        for what, by_host in self.above.items():
            there.setdefault(what, set()).update(by_host)
        found: dict[CellLevels, list[str]] = {}
        for place, own in enumerate(self.measured):
            asked = own.quantities if isinstance(self.basis, Basis) else ()
            for levels in {what.levels for what in asked if place not in there.get(what, ())}:
                found.setdefault(levels, []).append(self.hosts[place])
        return found

    @cached_property
    def above(self) -> Mapping[What, Mapping[int, Above]]:
        """Quantities with trials that were killed at a time limit, by place of the host.

        These hosts have no mean of them. Verdicts on ratios are of one family (Holm).
        """
        if isinstance(self.basis, Message):
            return {}
        found: dict[What, dict[int, Above]] = {}
        for place, own in enumerate(self.measured):
            for what, one in own.above.get(self.basis.source, {}).items():
                found.setdefault(what, {})[place] = one
        ratios = [one.ratio for some in found.values() for one in some.values() if one.ratio]
        adjusted = iter(holm([one.p for one in ratios]))
        margin = self.experiment.margin
        return {
            what: {
                place: one._replace(ratio=adjust(one.ratio, next(adjusted), margin))
                if one.ratio
                else one
                for place, one in some.items()
            }
            for what, some in found.items()
        }

    @cached_property
    def _series(self) -> tuple[Series, ...]:
        if isinstance(self.basis, Message):
            return ()
        found: dict[What, dict[int, Summed]] = {}
        for place, own in enumerate(self.measured):
            for what, summed in own.sums[self.basis.source].items():
                found.setdefault(what, {})[place] = summed
        return tuple(_joined(what, by_host) for what, by_host in found.items())


def _joined(what: What, by_host: dict[int, Summed]) -> Series:
    some = list(by_host.values())
    host = np.repeat(np.arange(len(some)), [len(one.n) for one in some])
    n, mean, square, fourth = (np.concatenate(column) for column in zip(*some, strict=True))
    return Series(what, tuple(by_host), Sessions(host, n, mean, square, fourth))


def load(*folders: Path, watch: Watch = _nobody) -> Fleet:
    """Read the results of all hosts of a fleet, or of several folders; very many take minutes.

    Parameters
    ----------
    *folders : Path
        One fleet's; or several, each of a fleet or of one host.

    Raises
    ------
    StoreError
        If a folder holds none, no host has a good trial, or they have other factors.
    """
    record, paths, lost = _hosts(folders)
    records = {one.name: one for one in record.hosts}
    found: dict[str, Host] = {}
    damaged: dict[str, str] = {}
    silent: dict[str, int] = {}
    for place, (name, path) in enumerate(paths.items()):
        watch("reading hosts", place, len(paths))
        try:
            own = hosts_results.read(path)
        except StoreError as error:
            damaged[name] = error.message
            continue
        if own.trials:
            found[name] = own
        elif own.failures:
            silent[name] = own.failures
        if name not in records and len(folders) > 1:
            records[name] = _recorded(name, own)
    damaged |= {name: why for name, why in lost.items() if name not in damaged}
    finished = {name for name, one in records.items() if one.ended in ("finished", "complete")}
    cut = {name for name, own in found.items() if name in finished and not own.ended}
    for name in cut:
        damaged[name] = "its journal ends before its last session did"
        del found[name]
    where = ", ".join(map(str, folders))
    if not found and damaged:
        name, why = next(iter(damaged.items()))
        raise StoreError(f"no host in {where} can be read; {name}: {why}")
    if not found:
        raise StoreError(
            f"no host in {where} has a trial that ended well",
            f"see what happened on one with tare experiment report {folders[0] / HOSTS}/HOST",
        )
    some = tuple(found.values())
    _check_same(some, where, folders[0])
    first = some[0].experiment
    if len(folders) > 1:
        _check_joined(found)
        record = Record(name=first.name, question=first.question, hosts=tuple(records.values()))
    _check_copies(found)
    return Fleet(record, tuple(found), some, first, _basis(some), damaged, silent)


def _hosts(folders: Sequence[Path]) -> tuple[Record, dict[str, Path], dict[str, str]]:
    """Return what fleets have recorded of hosts; each host's folder; and why some have none."""
    if len(folders) == 1:
        files.check_owner(folders[0])
        hosts = {path.name: path for path in plan_file.hosts(folders[0])}
        return read(folders[0]), hosts, plan_file.lost(folders[0])
    names = [folder.name for folder in folders]
    if len({*names}) < len(names):
        names = [str(folder) for folder in folders]
    if len({folder.resolve() for folder in folders}) < len(names):
        raise StoreError("a folder is named twice", "name each folder once")
    records: list[HostRecord] = []
    paths: dict[str, Path] = {}
    lost: dict[str, str] = {}
    for own, folder in zip(names, folders, strict=True):
        files.check_owner(folder)
        if not plan_file.is_fleet(folder):
            paths[own] = folder
            continue
        records += (
            msgspec.structs.replace(one, name=f"{own}/{one.name}") for one in read(folder).hosts
        )
        paths |= {f"{own}/{path.name}": path for path in plan_file.hosts(folder)}
        lost |= {f"{own}/{name}": why for name, why in plan_file.lost(folder).items()}
    return Record(name="", question="", hosts=tuple(records)), paths, lost


def _recorded(name: str, own: Host) -> HostRecord:
    """Return what the results of one host say of how it ended."""
    return HostRecord(
        name=name,
        ended="finished" if own.ended else "interrupted",
        machine=own.boot_id,
        cpus=int(own.cpus or 0),
    )


def _check_copies(hosts: Mapping[str, Host]) -> None:
    """Raise StoreError where two folders hold the same trials: a copy is not another host."""
    known: dict[str, str] = {}
    for name, own in hosts.items():
        for digest in own.session_digests:
            if (other := known.setdefault(digest, name)) != name:
                raise StoreError(
                    f"{name} is a copy of {other}: both hold the same trials of one session",
                    f"leave one of them out: {name} or {other}",
                )


def _check_same(some: Sequence[Host], where: str, folder: Path) -> None:
    """Raise StoreError where hosts have other factors, so that their cells cannot be held apart."""
    factors = {tuple(factor for factor, _ in levels) for own in some for levels in own.levels}
    if len(factors) > 1 or any("workload" not in names for names in factors):
        raise StoreError(
            f"the hosts in {where} have not measured the same experiment",
            f"see what one host has measured with tare experiment report {folder / HOSTS}/HOST",
        )


def _check_joined(hosts: Mapping[str, Host]) -> None:
    """Raise StoreError if the folders are not those of several hosts with one experiment."""
    (first, reference), *others = hosts.items()
    workloads = {one.name: one for one in reference.experiment.workloads}
    for name, own in others:
        differing = [
            one.name for one in own.experiment.workloads if workloads.get(one.name, one) != one
        ]
        if differing or own.experiment.margin != reference.experiment.margin:
            what = f"the workload {differing[0]}" if differing else "the margin"
            raise StoreError(
                f"{name} and {first} have not measured the same experiment: {what} differs",
                "name hosts that ran one file",
            )


def _basis(some: Sequence[Host]) -> Basis | Message:
    """Return what is judged: a host whose clock is another one is not compared with the others."""
    for one in some:
        if isinstance(one.basis, Message):
            return one.basis
    first = some[0].basis
    assert isinstance(first, Basis)
    common = set.intersection(*(set(_sources(one, first.metric)) for one in some))
    if not common:
        return message(
            "no source of {metric} is on all hosts, so they cannot be compared", metric=first.metric
        )
    return dataclasses.replace(first, source=ranked(first.metric, common)[0])


def _sources(own: Host, metric: str) -> tuple[str, ...]:
    same = isinstance(own.basis, Basis) and own.basis.metric == metric
    return own.sources if same else ()
