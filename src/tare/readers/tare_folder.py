"""The folder of an experiment of tare's own: every cell a series of the values of its trials.

Of a fleet, every cell of every host, which no block has in common with another host's.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tare.errors import InputError, StoreError, Typed
from tare.experiment import failed_trials, plan, plan_file, store
from tare.experiment.metrics import DRIVER
from tare.experiment.results import Results
from tare.readers import phrases, units
from tare.readers.format import Format
from tare.readers.gathering import MOST_SERIES
from tare.readers.readings import counted, each_once, few_requests, readings
from tare.readers.series import ColumnOptions, FailedRuns, Imported, Series, Specification
from tare.readers.text_file import label
from tare.registry import Description
from tare.results.columns import Columns as Table
from tare.results.message import Message, Said, message

_TARE_TEXTS = {
    "cpu": "CPU model",
    "kernel": "kernel",
    "cpus": "CPUs",
    "memory_bytes": "memory",
}

#: Facts that say where an experiment was measured.
_FACTS = ("cpu", "kernel", "cpus", "memory_bytes")
#: Sessions count from here in the number of a block, since each begins its blocks anew.
_SESSION = 1 << 32
#: Hosts count from here; of so many sessions, numbers of blocks are apart.
_HOST = 1 << 48
#: What tells series of a fleet apart, as a factor does.
_BY_HOST = "host"


def recognises(head: bytes, file: Path) -> bool:
    """Whether it is a folder with a plan in it, or a fleet's."""
    return file.is_dir() and ((file / plan_file.FILE).is_file() or plan_file.is_fleet(file))


def read(file: Path, columns: ColumnOptions) -> Imported:
    """Read the values of all good trials.

    The columns' ``value`` names another metric than the experiment's; ``group`` and ``compare``
    name factors that are to be told, although they have one level only.
    """
    if plan_file.is_fleet(file):
        return _read_fleet(file, columns)
    found, (bad, total) = _read_one(file, columns)
    if not bad:
        return found
    return dataclasses.replace(found, failed=FailedRuns(bad, total, "trial"))


def _read_fleet(file: Path, columns: ColumnOptions) -> Imported:
    """Read one host after the other; a host that has nothing to read is a note."""
    if _BY_HOST in columns.compare:
        # As many comparisons as there are pairs of hosts.
        raise InputError(
            "hosts of a fleet are compared all at once",
            Typed(f"tare fleet report {shlex.quote(str(file))}"),
        )
    own = dataclasses.replace(
        columns, group=tuple(name for name in columns.group if name != _BY_HOST)
    )
    read: dict[str, Imported] = {}
    series: list[Series] = []
    silent: list[str] = []
    damaged: dict[str, str] = {}
    trials: dict[str, tuple[int, int]] = {}
    for place, path in enumerate(plan_file.hosts(file)):
        try:
            found, trials[label(path.name)] = _read_one(path, own)
        except NothingError:
            silent.append(label(path.name))
            continue
        except DamagedError as error:
            damaged[label(path.name)] = error.message
            continue
        read[label(path.name)] = found
        series += (_of_host(one, path.name, place) for one in found.series)
    for name, why in plan_file.lost(file).items():
        damaged.setdefault(label(name), why)
    silent = [name for name in silent if name not in damaged]
    if not read:
        raise InputError(
            f"no host in {file} has values to audit",
            Typed(f"tare fleet report {shlex.quote(str(file))}   (what became of each)"),
        )
    if len(series) > MOST_SERIES:
        raise InputError(
            f"the fleet in {file} has more than {MOST_SERIES:,} series",
            f"audit one host: tare audit {file / plan_file.HOSTS}/HOST",
        )
    notes = _of_hosts({name: one.notes for name, one in read.items()})
    if (bad := failed_trials.said(trials)) is not None:
        notes.append(bad)
    if damaged:
        name, why = next(iter(damaged.items()))
        notes.insert(
            0,
            message(
                "{% if hosts | length == 1 %}{first} is left out{% else %}{hosts | listing} are "
                "left out; {first}{% endif %}: {why}",
                hosts=[*damaged],
                first=name,
                why=why,
            ),
        )
    if silent:
        notes.append(
            message(
                "{hosts | listing} {% if hosts | length == 1 %}has{% else %}have{% endif %} no "
                "values",
                hosts=silent,
            )
        )
    first = next(iter(read.values()))
    repetitions = _repetitions(series)
    return Imported(
        file=file,
        series=tuple(series),
        specification=dataclasses.replace(first.specification, repetitions=repetitions),
        notes=tuple(notes),
        is_complete=not damaged,
    )


def _of_hosts(notes: Mapping[str, Sequence[Said]]) -> list[Said]:
    """Say each note once, with the hosts that it is about unless it is about all."""
    return [
        note
        if len(about) == len(notes)
        else message("{hosts | listing}: {note}", hosts=about, note=note)
        for note in each_once(itertools.chain(*notes.values()))
        if (about := [name for name, own in notes.items() if note in own])
    ]


def _of_host(one: Series, host: str, place: int) -> Series:
    assert one.block is not None
    return dataclasses.replace(
        one, key={_BY_HOST: label(host), **one.key}, block=one.block + place * _HOST
    )


class NothingError(InputError):
    """A host has no good trial, or none with the metric."""


class DamagedError(InputError):
    """The results of a host cannot be read."""


def _read_one(file: Path, columns: ColumnOptions) -> tuple[Imported, tuple[int, int]]:
    """Read one experiment, and how many of its trials failed, of how many."""
    try:
        results = store.load(file)
    except StoreError as error:
        raise DamagedError(error.message, error.hint) from error
    metric = columns.value or plan.metric(results.experiment)
    values, requests = results.values(metric), results.values("requests", DRIVER)
    if not values:
        raise _no_values(file, results, metric)
    told = _told(file, results, columns)
    begun_s = results.begun_s()
    known = results.counted if results.killed(metric) else results.good
    totals, good = (Counter(trials["cell"].tolist()) for trials in (results.trial_table, known))
    series = tuple(
        _series(
            metric,
            {factor: str(rows[factor][0]) for factor in told},
            rows,
            requests.where(cell=cell)["value"],
            begun_s,
            (totals[cell] - good[cell], totals[cell]),
        )
        for cell, rows in values.groups("cell")
    )
    statuses = results.trial_table["status"]
    found = Imported(
        file=file,
        series=series,
        specification=Specification(
            repetitions=_repetitions(series),
            statistic=message("the value of every trial, a mean over its iterations and workers"),
            spread=message(phrases.STATISTIC_EACH, what="trial"),
            environment=_environment(results),
        ),
        notes=(*results.notes, _source(results, metric)),
    )
    return found, (len(statuses) - len(known), len(statuses))


def _repetitions(series: Sequence[Series]) -> Message:
    count = counted((len(one.values) for one in series), "trial")
    return message(phrases.REPETITIONS_PER, count=count, unit="cell")


def _told(file: Path, results: Results, columns: ColumnOptions) -> list[str]:
    """Choose the factors that tell series apart, and those that were asked for."""
    named = (*columns.group, *columns.compare)
    for name in named:
        if name not in results.factors:
            near = difflib.get_close_matches(name, results.factors, 1, 0.5)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise InputError(
                f"the experiment in {file} has no factor {name!r}",
                f"{meant}It has: {', '.join(results.factors)}",
            )
    told = [f for f in results.factors if f in results.varied or f in named]
    return told or results.factors[:1]


def _series(
    metric: str,
    key: dict[str, str],
    rows: Table,
    requests: np.ndarray,
    begun_s: Mapping[int, float],
    failures: tuple[int, int],
) -> Series:
    name, unit = units.of_column(metric)
    in_seconds = unit is not None and unit.base == "s"
    trials = rows["trial"]
    found = readings(
        rows["value"].tolist(),
        lambda index: f"trial {trials[index]}",
        scale=unit.factor if unit is not None and in_seconds else 1.0,
        negative=units.may_be_negative(name, unit),
        above=rows["above"],
    )
    kept = rows.rows(found.kept)
    begun = [begun_s.get(trial) for trial in kept["trial"].tolist()]
    return Series(
        key={label(factor): label(level) for factor, level in key.items()},
        values=found.values,
        metric=label(name),
        unit=None if unit is None else "s" if in_seconds else unit.name,
        lower_is_better=units.lower_is_better(name, unit),
        trial=trials[found.kept],
        block=kept["session"] * _SESSION + kept["block"],
        position=trials[found.kept].astype(float),
        at_s=None if None in begun else np.array(begun, dtype=float),
        sessions=len(np.unique(kept["session"])),
        above=found.above,
        defects=(*found.defects, *few_requests(metric, requests)),
        failed=FailedRuns(*failures, "trial") if failures[0] else None,
        noun="trial",
    )


def _no_values(file: Path, results: Results, metric: str) -> NothingError:
    measured = results.sample_table.metrics
    if not results.good:
        return NothingError(
            f"no trial of the experiment in {file} ended well",
            Typed(f"tare experiment report {shlex.quote(str(file))}   (says why)"),
        )
    return NothingError(
        f"the experiment in {file} has no {metric} that all its good trials have from one source",
        f"name another metric with --value: {', '.join(measured)}",
    )


def _environment(results: Results) -> Message | None:
    names = set(results.facts["name"])
    facts = [message(_TARE_TEXTS[name]) for name in _FACTS if name in names]
    return (
        message("{facts | join(', ')} and other facts, {n} in all", facts=facts, n=len(names))
        if facts
        else None
    )


def _source(results: Results, metric: str) -> Message:
    return message(
        "the values are {metric} from the source {source}",
        metric=metric,
        source=results.sources(metric)[0],
    )


UNIT = Format(
    description=Description(
        name="tare-folder",
        title="tare: the folder that --out named, with an experiment's journal, or a fleet's hosts",
        question="What is the value of each trial of an experiment?",
    ),
    recognises=recognises,
    read=read,
    options=frozenset({"value"}),
)
