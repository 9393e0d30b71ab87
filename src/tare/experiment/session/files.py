"""Files of this machine that commands are known to need, where a platform has none of them."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tare import files, platforms, workloads
from tare.agent import record
from tare.errors import Typed
from tare.experiment.specification import Cell
from tare.workloads import placeholders

#: Bytes of a program in which the kernel looks for its format.
_HEAD = 256
#: Where formats are registered besides binaries and scripts.
_OTHER_FORMATS = Path("/proc/sys/fs/binfmt_misc/register")


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
    jobs = _jobs(cells, surroundings, hosts)
    return tuple(dict.fromkeys(file for job in jobs for file in named(job)))


class Missing(NamedTuple):
    """What a command needs and cannot have, with a hint."""

    name: str
    why: str
    fix: str = "check its name: a relative path begins in this directory"


def missing(
    cells: Iterable[Cell], surroundings: Mapping[str, str], hosts: int = 0
) -> tuple[Missing, ...]:
    """Return programs, inputs and working directories that commands cannot have, each once.

    The parameters are those of :func:`needed`. Of workloads that run something on this machine
    first nothing is known: that may make them.
    """
    cells = [c for c in cells if c.workload.setup is None and c.workload.prepare is None]
    found: dict[Missing, None] = {}
    for job in _jobs(cells, surroundings, hosts):
        # Of what this user may not look at, nothing is known.
        with contextlib.suppress(OSError):
            found |= dict.fromkeys(_missing(job))
    return tuple(found)


def _missing(job: record.Command) -> Iterator[Missing]:
    folder = _folder(job)
    if not folder.is_dir():
        yield Missing(str(folder), "no directory" if folder.exists() else "not found")
        return
    program = job.argv[0]
    at = folder / program if "/" in program else _program(job)
    if at is None or not at.exists():
        yield Missing(program, "not found")
    elif at.is_dir():
        yield Missing(program, "a directory")
    elif not os.access(at, os.X_OK):
        yield Missing(program, "not executable", Typed(f"chmod +x {shlex.quote(program)}"))
    elif (refused := _refused(at, program, folder)) is not None:
        yield Missing(program, *refused)
    if job.input is not None and not (folder / job.input).exists():
        yield Missing(job.input, "not found")


def _refused(file: Path, program: str, folder: Path) -> tuple[str, Typed] | None:
    """Return why the kernel does not start an executable file, and what to type; None: it may."""
    try:
        with files.open_plain(file, links=True) as opened:
            head = opened.read(_HEAD) or b""
    except OSError:
        # It may be executable, and not readable.
        return None
    quoted = shlex.quote(program if "/" in program else str(file))
    if head.startswith(b"#!"):
        return _refused_script(os.fsdecode(head[2:].partition(b"\n")[0]), quoted, folder)
    if not head:
        return "empty", Typed(f"ls -l {quoted}")
    # What else the kernel starts is registered there.
    if head.startswith(b"\x7fELF") or _OTHER_FORMATS.exists():
        return None
    return (
        "neither a binary nor a script that begins with #!",
        Typed(f"sed -i '1i #!/bin/sh' {quoted}   (if it is a script for sh)"),
    )


def _refused_script(line: str, quoted: str, folder: Path) -> tuple[str, Typed] | None:
    """Return the same of a script by its first line without the ``#!``."""
    words = re.split("[ \t]+", line.strip(" \t"))
    interpreter = words[0]
    by_env = Path(interpreter).name == "env"
    sought = words[-1] if by_env else interpreter
    # The kernel and env look for a name that ends with it.
    if sought.endswith("\r") and not (folder / sought).exists():
        return (
            "its first line ends with a carriage return, as in files of Windows: the interpreter "
            f"{sought!r} is not found",
            Typed(f"sed -i 's/\\r$//' {quoted}"),
        )
    if not interpreter or (folder / interpreter).exists():
        return None
    other = shutil.which(Path(interpreter).name)
    fix = Typed(f"head -1 {quoted}   (name an interpreter that is here)")
    # Other characters mean something to the shell or to sed.
    if other is not None and re.fullmatch(r"[\w/.+-]+", f"{interpreter}{other}", re.ASCII):
        fix = Typed(f"sed -i {shlex.quote(f'1s|{interpreter}|{other}|')} {quoted}")
    return f"its first line names {interpreter} as its interpreter, which is not here", fix


def _jobs(
    cells: Iterable[Cell], surroundings: Mapping[str, str], hosts: int
) -> Iterator[record.Command]:
    # Of the environment, only this decides about files; all of it for each cell takes long.
    surroundings = {name: surroundings[name] for name in ("PATH",) if name in surroundings}
    # Where they are is not known yet, and no file of the user's is called so.
    unknown = placeholders.of_hosts(("",) * hosts, "") if hosts else {}
    for cell in cells:
        workload = cell.workload
        if workload.command is None or workload.of_agent or workload.application is not None:
            continue
        job = workloads.job(
            cell.workload,
            cell.levels(),
            repetitions=None,
            seed=0,
            surroundings=surroundings,
            hosts=unknown,
        )
        if isinstance(job, record.Command):
            yield job


def placed(
    job: record.Command, platform: str, options: dict[str, dict[str, Any]]
) -> record.Command:
    """Return a command as a platform with such options finds the files of here that it names."""
    if platforms.own_files(platform) and platforms.brings_files(platform, options):
        return from_here(job)
    return job


def from_here(job: record.Command) -> record.Command:
    """Return a command that starts where tare was called, if it names files of there.

    Parameters
    ----------
    job : record.Command
        For a platform that shows those files, but starts what runs in it somewhere else. Its
        program is the one that this machine finds. What it
        names by a way that goes up is named from the root: of the directories on the way, some
        are not shown.
    """
    folder = _folder(job)
    program, *words = job.argv
    if "/" in program:
        program = _whole(folder, program)
    elif (at := _program(job)) is not None:
        # Where its file cannot be shown, a search inside would find another program of that name.
        program = str(at)
    job = msgspec.structs.replace(job, argv=(program, *(_whole(folder, word) for word in words)))
    if not any(Path(file).is_relative_to(folder) for file in named(job)):
        return job
    return msgspec.structs.replace(
        job, directory=str(folder), input=None if job.input is None else str(folder / job.input)
    )


def _whole(folder: Path, word: str) -> str:
    """Return a word of a command with a whole path in place of one that goes up to a file."""
    option, sign, part = word.partition("=")
    for prefix, name in (("", word), (option + sign, part)):
        if ".." in Path(name).parts and _is_file(folder / name):
            return prefix + _file(folder, name)
    return word


def _file(folder: Path, name: str) -> str:
    """Return the path of a file, as it is shown."""
    path = folder / name
    if ".." not in path.parts:
        return str(path)
    return str(Path(os.path.realpath(path.parent)) / path.name)


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
        input=None if job.input is None else job.input.replace(shared, inside),
        environment={name: text.replace(shared, inside) for name, text in job.environment.items()},
    )


def _folder(job: record.Command) -> Path:
    return Path(job.directory or ".").absolute()


def named(job: record.Command) -> Iterator[str]:
    """Yield the program of a command, and the files that it names."""
    folder = _folder(job)
    at = _program(job)
    if at is not None:
        yield _file(folder, str(at))
    for word in (*job.argv[1:], *(() if job.input is None else (job.input,))):
        # Options hold files as well: --input=FILE.
        for part in (word, word.partition("=")[2]):
            if part and _is_file(folder / part):
                yield _file(folder, part)


def _program(job: record.Command) -> Path | None:
    """Return where its program is; None: nowhere."""
    program = job.argv[0]
    path = job.environment.get("PATH", os.defpath)
    at = str(_folder(job) / program) if "/" in program else shutil.which(program, path=path)
    return Path(at) if at is not None and _is_file(Path(at)) else None


def _is_file(path: Path) -> bool:
    """Tell whether there is such a file, as far as this user may know."""
    try:
        return path.is_file()
    except OSError:
        return False
