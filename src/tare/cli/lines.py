"""What is typed to be measured: commands, parameters that they are repeated for, lines around them.

Options have hyperfine's names and forms, as far as they mean the same here.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from tare import files
from tare.cli import again
from tare.cli.command_line import split
from tare.errors import ExperimentError, Typed
from tare.options.measuring import MeasuringOptions
from tare.options.option import Parsed
from tare.workloads.placeholders import literal

#: More than this is a slip of the finger.
MOST_LINES = 1000
#: Bytes of a script's first line that are read.
_LONGEST_LINE = 256
#: Characters of a version at the end of an interpreter's name.
_VERSION = ".0123456789"
#: Of a command that stands for itself as a name.
_LONGEST_NAME = 48
#: Of a level of a factor.
_LONGEST_LEVEL = 100


@dataclass(frozen=True)
class Around:
    """What is run with the commands.

    Attributes
    ----------
    lines : mapping
        Lines for the shell, by their keys in an experiment file.
    shell : str or None
    ignore_failure : tuple of int or None
        Exit codes that do not count as failures; an empty tuple: all exit codes.
    directories : sequence of str
        Where the commands run.
    """

    lines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shell: str | None = None
    ignore_failure: tuple[int, ...] | None = None
    directories: Sequence[str] = ()

    @classmethod
    def of(cls, given: MeasuringOptions, directories: Sequence[str] = ()) -> Around:
        """Return what options say."""
        keys = ("setup", "prepare", "conclude", "cleanup")
        lines = {key: getattr(given, key) for key in keys}
        return cls(lines, given.shell, given.ignore_failure, directories)


@dataclass(frozen=True)
class Line:
    """A command with all parameters in their place.

    Attributes
    ----------
    name : str
        How tables call it.
    text : str
        As it was typed.
    words : list of str
        Program and arguments.
    parameters : mapping
        What it was repeated for.
    options : mapping
        What an experiment file would have beside ``command``.
    """

    name: str
    text: str
    words: list[str]
    parameters: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


def typed(
    arguments: Sequence[str],
    around: Around,
    names: Sequence[str],
    parameters: Sequence[tuple[str, tuple[str, ...]]],
    *,
    several: bool,
) -> list[Line]:
    """Return every command that is to be measured.

    Parameters
    ----------
    arguments : sequence of str
        Commands; or, unless ``several``, perhaps the words of one.
    around : Around
        What is run beside them.
    names : sequence of str
        What to call them; none: what they are.
    parameters : sequence of (str, tuple of str)
        Names and values; see :func:`scanned`.
    several : bool
        Whether each argument is a command whatever it looks like.

    Raises
    ------
    ExperimentError
        If there are more names or lines than commands, or a line is none.
    """
    _check_meant(arguments, around, several=several or len(names) > 1)
    texts = _texts(arguments, around, names, several=several)
    whole = texts if texts else [shlex.join(arguments)]
    for option, lines in around.lines.items():
        _check_each(option, lines, whole)
    _check_each("directory", around.directories, whole)
    for directory in around.directories:
        if not files.is_folder(directory):
            raise ExperimentError(f"--directory: there is no folder {directory}")
    values = [[(name, value) for value in some] for name, some in parameters]
    combinations = [dict(one) for one in itertools.product(*values)]
    if len(whole) * len(combinations) > MOST_LINES:
        raise ExperimentError(
            f"that makes {len(whole) * len(combinations)} commands, and {MOST_LINES} are the most",
            "a larger --parameter-step-size, or fewer values",
        )
    if len(names) not in (0, len(whole), len(whole) * len(combinations)):
        raise ExperimentError(
            f"there are {len(names)} names for {len(whole)} commands",
            "one --name for each command, in their order",
        )
    _check_used(parameters, whole, around)
    found = [
        _line(number, text, combination, around, None if texts else list(arguments))
        for number, text in enumerate(whole)
        for combination in combinations
    ]
    return _named(found, whole, names)


def _check_each(option: str, given: Sequence[str], commands: Sequence[str]) -> None:
    if len(given) not in (0, 1, len(commands)):
        raise ExperimentError(
            f"--{option} is given {len(given)} times for {len(commands)} commands",
            "once, or once for each command",
        )


def _texts(
    arguments: Sequence[str], around: Around, names: Sequence[str], *, several: bool
) -> list[str] | None:
    """Return the commands; None where the arguments are the words of a single one."""
    # A program whose own name has blanks is one.
    blanks = set(" \t") & set(arguments[0]) and not files.is_file(arguments[0])
    lines = several or around.shell is not None or blanks
    named = len(names) == len(arguments) > 1
    return list(arguments) if lines or named or len(arguments) == 1 else None


def _check_meant(arguments: Sequence[str], around: Around, *, several: bool) -> None:
    """Refuse what may be one command or two: a program, and what looks like another command."""
    if several or around.shell is not None or "--" in sys.argv or len(arguments) < 2:
        return
    program, second = arguments[:2]
    if _are_programs(arguments):
        raise ExperimentError(
            f"{second} may be a command of its own, or an argument of {program}",
            again.as_one_or_several(arguments),
        )
    if set(" \t") & set(program) or " " not in second.strip():
        return
    if shutil.which(program) and shutil.which(second.split()[0]):
        raise ExperimentError(
            f"{second!r} may be a command of its own, or what {program} is to be given",
            Typed("--shell none   (for several commands; for one, write -- before it)"),
        )


def _are_programs(arguments: Sequence[str]) -> bool:
    """Whether arguments are executable files by their paths, and the first one does not run others.

    Programs in a folder of PATH are called with others as arguments: ``/usr/bin/time ./a``. So is
    an interpreter that the first line of a script names.
    """
    if not all("/" in one and os.access(one, os.X_OK) and files.is_file(one) for one in arguments):
        return False
    program, *others = map(Path, arguments)
    if str(program.parent.absolute()) in os.get_exec_path():
        return False
    return not any(_names(script, program.name) for script in others)


def _names(script: Path, program: str) -> bool:
    """Whether the first line of a script names a program, whatever its version: ``python3``."""
    try:
        with files.open_plain(script, links=True) as file:
            first = file.readline(_LONGEST_LINE)
    except OSError:
        return False
    words = [Path(word).name for word in os.fsdecode(first[2:]).split()]
    return first.startswith(b"#!") and any(
        word.rstrip(_VERSION) == program.rstrip(_VERSION) for word in words
    )


def _line(
    number: int,
    text: str,
    parameters: Mapping[str, str],
    around: Around,
    words: list[str] | None,
) -> Line:
    filled = _fill(text, parameters)
    if words is not None:
        words = [_fill(word, parameters) for word in words]
    elif around.shell not in (None, "none"):
        words = [*split(around.shell or ""), "-c", filled]
    else:
        words = split(filled)
    beside = {
        key: _fill(line, parameters)
        for key, lines in around.lines.items()
        if lines and (line := lines[number if len(lines) > 1 else 0]).strip()
    }
    options: dict[str, Any] = {}
    if beside and around.shell not in (None, "none"):
        options["shell"] = split(around.shell or "")
    if given := around.directories:
        directory = str(Path(given[number if len(given) > 1 else 0]).absolute())
        # The lines for the shell run there as well, and otherwise where tare was called.
        beside = {
            key: f"cd {shlex.quote(directory)} || exit\n{line}" for key, line in beside.items()
        }
        # Programs take it for their folder, and the caller's is another one.
        options |= {"directory": directory, "environment": {"PWD": literal(directory)}}
    options |= beside
    if around.ignore_failure is not None:
        options["ignore_failure"] = Parsed(around.ignore_failure)
    return Line(words[0], filled, words, parameters, options)


def _fill(text: str, parameters: Mapping[str, str]) -> str:
    for name, value in parameters.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _check_used(
    parameters: Sequence[tuple[str, tuple[str, ...]]], texts: Sequence[str], around: Around
) -> None:
    written = [*texts, *itertools.chain.from_iterable(around.lines.values())]
    for name, _ in parameters:
        if not any(f"{{{name}}}" in line for line in written):
            raise ExperimentError(
                f"no command has the parameter {{{name}}}, so it would change nothing",
                f"write {{{name}}} where its value is to stand",
            )


def _named(found: list[Line], texts: Sequence[str], names: Sequence[str]) -> list[Line]:
    """Name what is measured by its command, where there are several, and by its parameters."""
    per = len(found) // len(texts)
    if len(names) == len(found):
        per = 1
    own = list(names) or names_of([line.words for line in found[::per]], texts)
    if len(set(own)) < len(own):
        raise ExperimentError("two commands have the same --name", "give each its own")
    named = []
    for number, line in enumerate(found):
        command = own[number // per]
        told = ", ".join(f"{key}={value}" for key, value in line.parameters.items())
        name = _fill(command, line.parameters) if names else command
        if told and per > 1 and name == command:
            name = told if len(texts) == 1 and not names else f"{command} ({told})"
        # A name stands in one line of a table.
        name = "".join(c if c.isprintable() else " " for c in name)
        if len(name) > _LONGEST_LEVEL:
            name = f"{name[: _LONGEST_LEVEL - 8]}… ({number + 1})"
        named.append(Line(name, line.text, line.words, line.parameters, line.options))
    return named


def names_of(words: Sequence[Sequence[str]], texts: Sequence[str]) -> list[str]:
    """Return what commands are called: by program, by what they are, by number."""
    programs = [Path(some[0]).name or some[0] for some in words]
    whole = [" ".join(text.split()) for text in texts]
    for tried in (programs, whole):
        if len(set(tried)) == len(tried) and all(len(one) <= _LONGEST_NAME for one in tried):
            return tried
    return [f"{program} ({number})" for number, program in enumerate(programs, 1)]


def scanned(
    scan: Sequence[tuple[str, str, str]], step: str | None, listed: Sequence[tuple[str, str]]
) -> list[tuple[str, tuple[str, ...]]]:
    """Return the parameters that were asked for, with all their values as texts.

    Raises
    ------
    ExperimentError
        If one has no values, the same one twice, or a scan that never ends.
    """
    found = [_scan(*one, step) for one in scan] + [_listed(*one) for one in listed]
    if step is not None and not scan:
        raise ExperimentError("--parameter-step-size is that of a --parameter-scan")
    names = [name for name, _ in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ExperimentError(f"the parameter {twice!r} is given twice", "give each its own name")
    return found


def _scan(name: str, least: str, most: str, step: str | None) -> tuple[str, tuple[str, ...]]:
    example = Typed(f"--parameter-scan {name} 1 8")
    try:
        by = Decimal(step or "1")
    except InvalidOperation:
        raise ExperimentError(
            f"--parameter-step-size {step!r} is no number", Typed("--parameter-step-size 1")
        ) from None
    try:
        first, last = Decimal(least), Decimal(most)
    except InvalidOperation:
        raise ExperimentError(
            f"--parameter-scan: {least} to {most} are no numbers", example
        ) from None
    sane = all(n.is_finite() and -20 < n.adjusted() < 20 for n in (first, last, by) if n)
    if not sane:
        raise ExperimentError(
            f"--parameter-scan {name}: {least} {most} by {step or 1} are too large, or no numbers",
            example,
        )
    if last < first:
        raise ExperimentError(
            f"--parameter-scan {name}: {first} is above {last}, and a scan begins with the least; "
            "the order of trials is random anyway",
            Typed(f"--parameter-scan {name} {last} {first}"),
        )
    if by <= 0:
        raise ExperimentError(
            f"--parameter-scan {name}: the step {by} is not above 0",
            Typed(f"--parameter-scan {name} {first} {last} --parameter-step-size {-by or 1}"),
        )
    if step is None and not (first == first.to_integral() and last == last.to_integral()):
        raise ExperimentError(
            f"--parameter-scan {name}: between fractions the step does not go without saying",
            Typed(
                f"--parameter-scan {name} {first} {last} --parameter-step-size {(last - first) / 4}"
            ),
        )
    count = int((last - first) / by) + 1
    if count > MOST_LINES:
        raise ExperimentError(
            f"--parameter-scan {name}: {count} values, and {MOST_LINES} are the most",
            "a larger --parameter-step-size",
        )
    return name, tuple(f"{first + k * by:f}" for k in range(count))


def _listed(name: str, values: str) -> tuple[str, tuple[str, ...]]:
    some = tuple(value.replace("\\,", ",") for value in re.split(r"(?<!\\),", values))
    twice = next((value for value in some if some.count(value) > 1), None)
    if twice is not None:
        raise ExperimentError(f"--parameter-list {name}: {twice!r} is there twice", "remove one")
    return name, some
