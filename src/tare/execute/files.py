"""Files of this machine that commands are known to need, where a platform has none of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tare import record, workloads
from tare.experiment import Cell
from tare.workloads import placeholders


def needed(
    cells: Iterable[Cell], surroundings: Mapping[str, str], hosts: int = 0
) -> tuple[str, ...]:
    """Return programs, arguments that name files, and inputs of all cells' commands.

    Parameters
    ----------
    cells : iterable of Cell
        Of the plan.
    surroundings : mapping
        Environment variables of who calls tare.
    hosts : int
        Of the network in which they run; 0: the machine's own.

    Returns
    -------
    tuple of str
        Absolute paths, each once.
    """
    found: dict[str, None] = {}
    # Of the environment, only this decides about files; all of it for each cell takes long.
    surroundings = {name: surroundings[name] for name in ("PATH",) if name in surroundings}
    # Where they are is not known yet, and no file of the user's is called so.
    unknown = placeholders.of_hosts(("",) * hosts, "") if hosts else {}
    for cell in cells:
        if cell.workload.command is None or cell.workload.of_agent:
            continue
        job = workloads.job(
            cell, repetitions=None, seed=0, surroundings=surroundings, hosts=unknown
        )
        if isinstance(job, record.Command):
            found |= dict.fromkeys(_of(job))
    return tuple(found)


def from_here(job: record.Command) -> record.Command:
    """Return a command that starts where tare was called, if it names files of there.

    Parameters
    ----------
    job : record.Command
        For a platform that shows those files, but starts what runs in it somewhere else.
    """
    folder = _folder(job)
    if not any(Path(file).is_relative_to(folder) for file in _of(job)):
        return job
    return msgspec.structs.replace(
        job, directory=str(folder), input=None if job.input is None else str(folder / job.input)
    )


def seen_inside(job: record.Command, shared: str, inside: str) -> record.Command:
    """Return a command with the paths that an instance has for the shared directory.

    Parameters
    ----------
    job : record.Command
        May name files there, such as that of a network's hosts.
    shared, inside : str
        The directory on this machine, and where the instance sees it.
    """
    if inside == shared:
        return job
    return msgspec.structs.replace(
        job,
        argv=tuple(word.replace(shared, inside) for word in job.argv),
        environment={name: text.replace(shared, inside) for name, text in job.environment.items()},
    )


def _folder(job: record.Command) -> Path:
    return Path(job.directory or ".").absolute()


def _of(job: record.Command) -> Iterator[str]:
    folder = _folder(job)
    program, *words = job.argv
    path = job.environment.get("PATH", os.defpath)
    at = str(folder / program) if "/" in program else shutil.which(program, path=path)
    if at is not None and _is_file(Path(at)):
        yield str(Path(at).absolute())
    for word in (*words, *(() if job.input is None else (job.input,))):
        # Options hold files as well: --input=FILE.
        for part in (word, word.partition("=")[2]):
            if part and _is_file(folder / part):
                yield str(folder / part)


def _is_file(path: Path) -> bool:
    """Tell whether there is such a file, as far as this user may know."""
    try:
        return path.is_file()
    except OSError:
        return False
