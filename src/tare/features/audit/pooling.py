"""Series of several files that are executions of one benchmark: one series, a trial per file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from tare.errors import InputError
from tare.features.audit import phrases
from tare.features.audit.pairing import FEWEST
from tare.readers import Imported, Series
from tare.readers.single_runs import identity, is_single, join
from tare.results.message import Message, message


@dataclass(frozen=True, eq=False)
class Read:
    """A series, and where it was read.

    Attributes
    ----------
    files : tuple of Path
        One, unless the series was pooled.
    series : Series
    executions : Message or None
        Why its values are not executions of their own, where the format explains it.
    """

    files: tuple[Path, ...]
    series: Series
    executions: Message | None = None


def pool(
    imported: Sequence[Imported], *, apart: bool, sets: bool = False, named: bool = False
) -> list[Read]:
    """Pool the series that several files have in common, where each file is one execution.

    Parameters
    ----------
    imported : sequence of Imported
    apart : bool
        Whether files are compared or separated, so that nothing is pooled.
    sets : bool
        Whether the files of a folder are a set, so that even two of them are pooled.
    named : bool
        Whether an option names folders, so that files of several runs each are pooled too. Runs
        of one file share its conditions, so each file is one trial.

    Returns
    -------
    list of Read
        In the order of the files. Files that do not call themselves one execution, but come from
        one process each, remain separate if they are fewer than ``FEWEST`` and no set: two of them
        are more likely to be compared, and together they are too few trials for an interval.
    """
    _refuse_copies(imported)
    alike: dict[Hashable, list[tuple[Imported, Series]]] = {}
    for one in imported:
        for series in one.series:
            key = _identity_in_folder(one, series) if named else _identity(one, series)
            alone: Hashable = id(series)
            alike.setdefault(alone if apart or key is None else key, []).append((one, series))
    fewest = 2 if sets else FEWEST
    found: list[Read] = []
    # A folder with one file has one execution, where others have one per file.
    of_files = named and any(len(group) > 1 for group in alike.values())
    for group in alike.values():
        if of_files and len(group) == 1 and group[0][1].task is None:
            one, series = group[0]
            whole = replace(series, trial=np.zeros(len(series.values), dtype=np.int64), block=None)
            found.append(Read((one.file,), whole, one.executions))
            continue
        if len(group) > 1 and (is_single(group[0][1]) or len(group) >= fewest):
            found.append(_pooled(group))
        else:
            found += [Read((one.file,), series, one.executions) for one, series in group]
    return found


def _refuse_copies(imported: Sequence[Imported]) -> None:
    """Refuse files with the same values: copies of one execution are not several.

    Raises
    ------
    InputError
        Names two such files.
    """
    seen: dict[bytes, Path] = {}
    for one, series in ((file, series) for file in imported for series in file.series):
        # Few values of a coarse clock may agree by chance.
        if len({*series.values[:FEWEST].tolist()}) < FEWEST:
            continue
        first = seen.setdefault(series.values.tobytes(), one.file)
        if first != one.file:
            raise InputError(
                f"{one.file} has the same values as {first}: it is a copy",
                "leave copies out; each execution has a file of its own",
            )


def are_sets(imported: Sequence[Imported]) -> bool:
    """Whether each of several folders has several files of one execution.

    Such folders are sets to be compared, as of two versions of a program; files that are alone in
    their folders are executions of one.
    """
    folders = Counter(
        one.file.parent
        for one in imported
        if any(_identity(one, series) is not None for series in one.series)
    )
    return len(folders) > 1 and min(folders.values()) > 1


def _identity_in_folder(one: Imported, series: Series) -> Hashable | None:
    """Return what files of one folder have in common that a user calls executions of one program.

    Hosts may differ. Tables do not name their program, so the names of files tell programs apart,
    but for the number of the run.
    """
    if series.task is not None:
        return _identity(one, series)
    return one.format, stem(one), identity(series)


def stem(one: Imported) -> str:
    """Return a table's file name with each number as ``*``; tables of one program share it."""
    return re.sub(r"\d+", "*", one.file.name) if one.format == "table" else ""


def _identity(one: Imported, series: Series) -> Hashable | None:
    """Return what executions of one benchmark have in common; None if it is not one execution."""
    if is_single(series):
        return identity(series)
    if one.executions is not None and series.trial is None:
        return one.format, one.subject, identity(series)
    return None


def _pooled(group: Sequence[tuple[Imported, Series]]) -> Read:
    """Join series of one execution each; what is wrong in one names its file."""
    named = [
        replace(
            series,
            defects=tuple(
                replace(d, message=message(phrases.TRUST_FILE, file=one.file.name, said=d.message))
                for d in series.defects
            ),
        )
        for one, series in group
    ]
    found = join(named)
    if not is_single(group[0][1]):
        found = replace(found, pooled=len(group))
    tasks = [series.task for series in named if series.task is not None]
    if tasks:
        found = replace(found, task=reduce(add, tasks))
    return Read(tuple(one.file for one, _ in group), found)
