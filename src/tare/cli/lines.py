"""What is typed to be measured: commands, parameters that they are repeated for, lines around them.

Options have hyperfine's names and forms, as far as they mean the same here.
"""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer

from tare import files
from tare.cli.command_line import split
from tare.cli.commands import Command
from tare.cli.options import rare
from tare.errors import ExperimentError
from tare.workloads.placeholders import literal

#: Between the values of one option, which nobody can type.
_SEPARATOR = "\x1f"
#: Options of several values to how many they have, and to the one that typer knows.
_SEVERAL = {
    "-P": (3, "--parameter-scan"),
    "--parameter-scan": (3, "--parameter-scan"),
    "-L": (2, "--parameter-list"),
    "--parameter-list": (2, "--parameter-list"),
}
#: Options without a value to what they stand for.
_BARE = {
    "-i": "--ignore-failure=all",
    "--ignore-failure": "--ignore-failure=all",
    "-N": "--shell=none",
}
#: What hyperfine calls otherwise, to what to type here.
HYPERFINE = {
    **dict.fromkeys(("--runs", "-r"), "-n N"),
    **dict.fromkeys(("--min-runs", "--max-runs", "-m", "-M"), "leave it out, or --budget"),
    **dict.fromkeys(("--export-csv", "--export-asciidoc"), "--export-json FILE"),
    **dict.fromkeys(("--output", "--show-output"), "--capture --out DIR"),
    **dict.fromkeys(("--style", "--sort", "--time-unit", "-u"), "leave it out"),
    "--command-name": "--name NAME",
    "--export-markdown": "--markdown FILE",
    "--reference": "name it first: the first command is the reference",
    "-c": "--cleanup LINE",
    "-s": "--setup LINE",
}
#: More than this is a slip of the finger.
MOST_LINES = 1000
#: Of a command that stands for itself as a name.
_LONGEST_NAME = 48
#: Of a level of a factor.
_LONGEST_LEVEL = 100

Name = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Name of a command, once for each, in their order."),
]


Shell = Annotated[
    str | None,
    rare(
        "--shell", "-S", metavar="SHELL",
        help="Run each argument as a line of this shell, such as sh or 'bash -e'; none: each is a "
        "command without one (-N).",
    ),
]  # fmt: skip
_SETUP = "Shell line to run before the first trial; once, or once for each command."
_PREPARE = "Shell line to run before every trial, outside its time."
Setup = Annotated[list[str] | None, rare("--setup", metavar="LINE", help=_SETUP)]
Prepare = Annotated[list[str] | None, rare("--prepare", metavar="LINE", help=_PREPARE)]
Conclude = Annotated[
    list[str] | None,
    rare("--conclude", metavar="LINE", help="Shell line to run after every trial."),
]
Cleanup = Annotated[
    list[str] | None,
    rare("--cleanup", metavar="LINE", help="Shell line to run after the last trial."),
]
IgnoreFailure = Annotated[
    str | None,
    rare(
        "--ignore-failure", "-i", metavar="[=CODES]",
        help="Exit codes that are no failure, such as =1,2; alone: all are good.",
    ),
]  # fmt: skip
Directory = Annotated[
    list[str] | None,
    rare("--directory", metavar="DIR", help="Where it runs; once, or once for each command."),
]
Input = Annotated[
    str | None, rare(metavar="FILE|-", help="Standard input of each; -: that of tare itself.")
]
_SCAN = "Repeat for every {NAME} between two numbers."
Scan = Annotated[
    list[str] | None, rare("--parameter-scan", "-P", metavar="NAME FROM TO", help=_SCAN)
]
_STEP = "Step of --parameter-scan. [default: 1]"
Step = Annotated[str | None, rare("--parameter-step-size", "-D", metavar="N", help=_STEP)]
_LIST = "Repeat for every {NAME} of a list; repeatable."
Listed = Annotated[
    list[str] | None, rare("--parameter-list", "-L", metavar="NAME A,B,…", help=_LIST)
]
_EXPORT = "Write what hyperfine would; -: standard output."
ExportJson = Annotated[str | None, rare("--export-json", metavar="FILE|-", help=_EXPORT)]


class LineCommand(Command):
    """A command with options of several values, and with some whose value may be left out."""

    @property
    def values(self) -> dict[str, int]:
        """How many words follow each option as its values."""
        several = {option: count for option, (count, _) in _SEVERAL.items()}
        return {**super().values, **several, **dict.fromkeys(_BARE, 0)}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join what belongs together, up to what is the measured command's own."""
        return super().parse_args(ctx, list(_joined(args)))


def _joined(args: Sequence[str]) -> Iterator[str]:
    rest = iter(args)
    for word in rest:
        if word == "--":
            yield word
            yield from rest
        elif word in _SEVERAL:
            count, option = _SEVERAL[word]
            yield f"{option}={_SEPARATOR.join(itertools.islice(rest, count))}"
        else:
            yield _BARE.get(word, word)


@dataclass(frozen=True)
class Around:
    """What is run beside the commands, as it was typed."""

    setup: Sequence[str] = ()
    prepare: Sequence[str] = ()
    conclude: Sequence[str] = ()
    cleanup: Sequence[str] = ()
    shell: str | None = None
    ignore_failure: str | None = None
    directories: Sequence[str] = ()

    @property
    def lines(self) -> dict[str, Sequence[str]]:
        """The lines for the shell, by their keys in an experiment file."""
        return {key: getattr(self, key) for key in ("setup", "prepare", "conclude", "cleanup")}


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
    _check_meant(arguments, around, several=several)
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
    if set(" \t") & set(program) or " " not in second.strip():
        return
    if shutil.which(program) and shutil.which(second.split()[0]):
        raise ExperimentError(
            f"{second!r} may be a command of its own, or what {program} is to be given",
            f"--shell none for several commands, or tare run -- {shlex.join(arguments)}",
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
        options["ignore_failure"] = _codes(around.ignore_failure)
    return Line(words[0], filled, words, parameters, options)


def _fill(text: str, parameters: Mapping[str, str]) -> str:
    for name, value in parameters.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _codes(asked: str) -> bool | list[int]:
    asked = asked.removeprefix("=")
    if asked in ("all", "all-non-zero"):
        return True
    try:
        return [int(code) for code in asked.split(",")]
    except ValueError:
        raise ExperimentError(
            f"--ignore-failure: {asked!r} is no list of exit codes", "--ignore-failure=1,2"
        ) from None


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
    scan: Sequence[str], step: str | None, listed: Sequence[str]
) -> list[tuple[str, tuple[str, ...]]]:
    """Return the parameters that were asked for, with all their values as texts.

    Raises
    ------
    ExperimentError
        If one has no values, the same one twice, or a scan that never ends.
    """
    found = [_scan(one, step) for one in scan] + [_listed(one) for one in listed]
    if step is not None and not scan:
        raise ExperimentError("--parameter-step-size is that of a --parameter-scan")
    names = [name for name, _ in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ExperimentError(f"the parameter {twice!r} is given twice", "give each its own name")
    return found


def _scan(asked: str, step: str | None) -> tuple[str, tuple[str, ...]]:
    name, *ends = asked.split(_SEPARATOR)
    example = "--parameter-scan threads 1 8"
    if len(ends) != 2:
        raise ExperimentError("--parameter-scan has a name, a first and a last number", example)
    try:
        first, last, by = (Decimal(text) for text in (*ends, step or "1"))
    except InvalidOperation:
        raise ExperimentError(
            f"--parameter-scan: {' '.join(ends)!r} by {step or 1} are no numbers", example
        ) from None
    sane = all(n.is_finite() and -20 < n.adjusted() < 20 for n in (first, last, by) if n)
    if not sane or by <= 0 or last < first:
        raise ExperimentError(
            f"--parameter-scan {name}: there is nothing from {first} to {last} by {by}", example
        )
    if step is None and not (first == first.to_integral() and last == last.to_integral()):
        raise ExperimentError(
            f"--parameter-scan {name}: between fractions the step does not go without saying",
            f"--parameter-scan {name} {first} {last} --parameter-step-size {(last - first) / 4}",
        )
    count = int((last - first) / by) + 1
    if count > MOST_LINES:
        raise ExperimentError(
            f"--parameter-scan {name}: {count} values, and {MOST_LINES} are the most",
            "a larger --parameter-step-size",
        )
    return name, tuple(f"{first + k * by:f}" for k in range(count))


def _listed(asked: str) -> tuple[str, tuple[str, ...]]:
    name, _, values = asked.partition(_SEPARATOR)
    some = tuple(value.replace("\\,", ",") for value in re.split(r"(?<!\\),", values))
    if _SEPARATOR not in asked or not name:
        raise ExperimentError(
            "--parameter-list has a name and a list", "--parameter-list size 10,20"
        )
    twice = next((value for value in some if some.count(value) > 1), None)
    if twice is not None:
        raise ExperimentError(f"--parameter-list {name}: {twice!r} is there twice", "remove one")
    return name, some
