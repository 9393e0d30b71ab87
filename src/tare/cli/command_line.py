"""What is typed, as the tables that an experiment file would have."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare import files
from tare.cli import again
from tare.errors import ExperimentError, InterruptError, StoreError, TrialError, Typed, UsageError
from tare.host import lease
from tare.options.measuring import SessionOptions

if TYPE_CHECKING:
    from tare.experiment.findings.failures import Failure
    from tare.experiment.pipeline import Prepared
    from tare.experiment.specification import Experiment

#: What it takes to read the trials and to say what they mean.
CONCLUDING_S = 0.7
#: What helps where results that nobody keeps find no room.
_ROOM = Typed("--out results   (keeps them on a disk; or make room in /dev/shm)")
#: What a shell would obey outside quotes, and what it obeys inside double ones as well.
_OPERATORS, _EXPANSIONS = "|&;<>", "$`"


@contextlib.contextmanager
def typed() -> Iterator[None]:
    """Call what cannot be understood a mistake of the command line, not of an experiment file.

    Raises
    ------
    UsageError
        In place of another ExperimentError.
    """
    try:
        yield
    except UsageError:
        raise
    except ExperimentError as error:
        raise UsageError(error.message, error.hint) from error


def workload(
    name: str,
    words: list[str],
    platform: str,
    *,
    input: str | None,
    placeholders: bool = False,
    hosts: bool = False,
    keys: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the table of a command, whose braces are literal unless placeholders are meant.

    With ``hosts``, those of a network's hosts alone are. ``keys`` are further keys.

    Raises
    ------
    UsageError
        If something in it is no text, as a name in another encoding than UTF-8.
    """
    from tare import platforms
    from tare.workloads.placeholders import literal, literal_but_hosts

    for text in (*words, str(Path.cwd()), input or ""):
        if not text.isascii() and text.encode(errors="replace").decode() != text:
            raise UsageError(
                f"{text!r} is not UTF-8, and results are kept as text",
                "name a link to it: ln -s FILE /tmp/name",
            )
    kept = literal_but_hosts if hosts else literal
    return {
        "name": name,
        "command": words if placeholders else [kept(word) for word in words],
        # Elsewhere neither the directory nor what the environment names need exist.
        **({} if platforms.own_files(platform) else {"inherit": ["*"]}),
        **({"directory": literal(str(Path.cwd()))} if not platforms.own_files(platform) else {}),
        **({"input": literal(str(_file(input)))} if input else {}),
        **{k: literal(v) if isinstance(v, str) else v for k, v in keys.items()},
    }


def _file(input: str) -> Path:
    if not files.is_file(input):
        raise ExperimentError(f"there is no file {input} to read as standard input")
    return Path(input).resolve()


#: Age of this process, in seconds, at which the budget began.
_budget_begins_s = [0.0]


def begin_budget() -> None:
    """Start the time budget now, so that earlier work such as a build does not count."""
    from tare.experiment import machine_facts

    _budget_begins_s[0] = machine_facts.own_age_s()


def spent_s() -> float:
    """Return what of a budget is not for measuring: the answer is to be there when it is over."""
    from tare.experiment import machine_facts

    return machine_facts.own_age_s() - _budget_begins_s[0] + CONCLUDING_S


def places(
    platforms: Sequence[str], given: SessionOptions, *, networked: bool = False
) -> dict[str, dict[str, Any]]:
    """Return the tables of where the commands run, and in which network.

    ``networked``: they are an application that has a network without being asked.

    Raises
    ------
    ExperimentError
        If there are servers, or hosts, and no network.
    """
    from tare.experiment.specification import WHOLE_SIZE
    from tare.workloads.placeholders import literal_but_hosts

    if given.serve and given.network is None:
        raise ExperimentError("--serve serves on hosts of a network", Typed("--network none"))
    if given.hosts is not None and given.network is None and not networked:
        raise ExperimentError("--hosts says how many a network has", Typed("--network none"))
    commands = [[literal_but_hosts(word) for word in split(line)] for line in given.serve]
    of_network = {**given.keys("network"), **({"serve": commands} if commands else {})}
    return {
        "factors": {
            "platform": list(platforms),
            "workers": [given.workers],
            "pinning": [given.pinning],
            **({} if given.size == WHOLE_SIZE else {"size": [given.size]}),
            **({} if given.network is None else {"network": [given.network]}),
        },
        **({"platforms": {"docker": {"image": given.image}}} if given.image else {}),
        **({"network": of_network} if of_network else {}),
    }


def metric_name(asked: str, known: Container[str]) -> str:
    """Return the name of a metric that may have been asked for without its unit."""
    return next((name for unit in ("_ns", "_bytes") if (name := asked + unit) in known), asked)


def split(command: str) -> list[str]:
    """Divide a command into words, as a shell would, where it asks for nothing else of a shell.

    Raises
    ------
    ExperimentError
        Where there is none, a quote is open, or a shell would have to obey something in it.
    """
    if os.sep in command and files.is_file(command):
        return [command]
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ExperimentError(
            f"cannot divide {command!r} into words: {error}", "close the quote, or write \\' for it"
        ) from error
    if not words:
        raise ExperimentError("a command is empty", "write what is to be measured")
    asked = shell_syntax(command)
    if asked is not None:
        raise ExperimentError(
            f"{command!r} needs a shell, for {asked}",
            Typed("--shell sh   (runs each as a line of it)"),
        )
    if re.match(r"[A-Za-z_]\w*=", words[0]):
        raise ExperimentError(
            f"{words[0]!r} is a variable, and only a shell would set it",
            Typed("--shell sh   (or write env before the variable)"),
        )
    return words


def shell_syntax(command: str) -> str | None:
    """Return the first character that only a shell would obey; None where there is none."""
    quote: str | None = None
    letters = iter(command)
    for letter in letters:
        if letter == "\\" and quote != "'":
            next(letters, None)
        elif quote is None and letter in "'\"":
            quote = letter
        elif letter == quote:
            quote = None
        elif (letter in _EXPANSIONS and quote != "'") or (letter in _OPERATORS and quote is None):
            return letter
    return None


@contextlib.contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Give a folder for results that nobody keeps: no trial waits for a disk.

    Raises
    ------
    StoreError
        If there is no room for them.
    """
    name = lease.new_name()
    try:
        with lease.hold(name):
            yield from _in_memory(Path("/dev/shm") / f"{name}-run")
    finally:
        # Nothing is left of it, however it ended.
        lease.forget(name)


def _in_memory(folder: Path) -> Iterator[Path]:
    try:
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise StoreError(f"cannot make {folder}: {error.strerror}", _ROOM) from error
        yield folder
    except StoreError as error:
        if not (isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ENOSPC):
            raise
        raise StoreError(
            f"no room is left in {folder.parent}, where trials are held that nobody keeps", _ROOM
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def how_to_see(
    found: Sequence[Failure],
    hiding: Sequence[str] = (),
    *,
    output: str = "--output FILE",
    timeout: str = "--timeout",
) -> str | None:
    """Say how to see what a command that failed wrote, or to show it what it may have looked for.

    Parameters
    ----------
    found : sequence of Failure
        How trials failed.
    hiding : sequence of str
        Where every trial failed, of those of :func:`hiding`.
    output, timeout : str
        What is typed to keep the output, and for another timeout.
    """
    from tare import platforms
    from tare.render.words import listing

    ran = [one for one in found if one.ran]
    if ran and all(one.kind == "timeout" for one in ran):
        return f"a longer {timeout}"
    if ran and not any(one.stderr for one in ran):
        if output.startswith("--") and not again.offers("--output"):
            return "run it by itself, to see what it writes"
        accept = (
            "; --ignore-failure accepts any exit code" if again.offers("--ignore-failure") else ""
        )
        return f"keep what it wrote with {output}{accept}"
    if ran and hiding:
        verb = "shows" if len(hiding) == 1 else "show"
        layer = next(filter(None, map(platforms.showing, hiding)), None)
        folders = (
            f'; folders: [platforms.{layer}] show = "/FOLDER" in an experiment file'
            if layer
            else ""
        )
        return (
            f"name in the command the files that it opens{folders}   ({listing(hiding)} {verb} it "
            "no others of this machine, and it can write to /tmp alone)"
        )
    return None


def hiding(stacks: Iterable[str], experiment: Experiment) -> list[str]:
    """Return the stacks in which a command sees no files of this machine but those it names."""
    from tare import platforms

    return [
        stack
        for stack in dict.fromkeys(stacks if experiment.runs_commands else ())
        if platforms.own_files(stack) and platforms.brings_files(stack, experiment.platforms)
    ]


def interrupted(folder: Path, goes_on: str, shows: str | None = None) -> InterruptError:
    """Return what is said where somebody interrupts a session whose folder stays.

    Parameters
    ----------
    folder : Path
        Of the session.
    goes_on : str
        What to type to measure what is missing.
    shows : str, optional
        What to type to see what there is.
    """
    from tare.experiment import journal

    begun: set[int] = set()
    for line in journal.read_all(folder):
        if isinstance(line, journal.TrialStart) and not line.rehearsal:
            begun.add(line.trial)
        elif isinstance(line, journal.TrialEnd) and line.trial in begun:
            return InterruptError(
                f"interrupted; what was measured is kept in {folder}",
                Typed(f"{goes_on}   (goes on{f'; {shows} shows what there is' if shows else ''})"),
            )
    return InterruptError(
        "interrupted before the first trial ended", Typed(f"{goes_on}   (goes on)")
    )


def explained(error: TrialError, found: Sequence[Failure], prepared: Prepared) -> TrialError:
    """Return the error of a session without a good trial, with what its commands wrote at last.

    Parameters
    ----------
    error : TrialError
        That ended it.
    found : sequence of Failure
        How its trials failed.
    prepared : Prepared
        What was executed.
    """
    from tare.experiment.findings.failures import MOST_KINDS, all_failed
    from tare.render.words import text

    if not any(one.ran for one in found):
        return TrialError(error.message)
    where = hiding((cell.platform for cell in prepared.cells), prepared.experiment)
    reasons = "\nand: ".join(text(one.block) for one in found[:MOST_KINDS])
    number = text(all_failed(sum(one.trials for one in found)))
    message = f"{number}: {reasons}"
    if prepared.text is None:
        return TrialError(message, how_to_see(found, where))
    output = 'output = "output.txt" in its [[workload]]'
    if prepared.experiment.fresh == "run":
        output = f'{output}, with fresh = "trial",'
    timeout = "timeout in its [[workload]]"
    return TrialError(message, how_to_see(found, where, output=output, timeout=timeout))
