"""What tare prints to be typed: command lines that parse, without placeholders."""

from __future__ import annotations

import functools
import itertools
import re
import shlex
import subprocess

from tare.errors import Typed, advice
from tare.options.command import Group, find, leaves
from tare.options.option import named
from tare.options.parsing import divided, parse
from tare.wiring import ROOT

#: Lines of a text that hold a hint, with its label.
HINT = re.compile(r"^(?:  |.* \()(try|hint): (.*)$", re.MULTILINE)
#: Lines of a text that hold a command to type after a result.
NEXT = re.compile(r"^Next:? +(.*)$", re.MULTILINE)
#: What ends a command of a line that has several.
_ENDS = re.compile(r"&&|\|\|?|;|[<>]")
#: What stands for a value that is to be chosen.
PLACEHOLDER = re.compile(
    r"…|(?<![\w/.=$-])(FILE|DIR|FOLDER|HOST|COMMAND|NAME|VALUE|ADDRESS|LINE|REVISION|TAG)(?![\w.])"
)
#: What words of a hint do not begin with.
COMMAND = re.compile(
    r"(tare|sudo|chmod|mkdir|sed|ls|rm|cp|mv|df|git|ssh|docker|podman|apt|apt-get|apt-cache|pip"
    r"|ulimit|systemctl|sysctl|modprobe) |make (setup|test)|--?\w"
)
#: What may stand before the name of a program.
_BEFORE = re.compile(r"sudo|env|\w+=.*")


def check(text: str) -> None:
    """Check each hint and each next command that a text prints."""
    for label, hint in HINT.findall(text):
        check_hint(Typed(hint) if label == "try" else hint)
    for step in NEXT.finditer(text):
        check_hint(Typed(_whole(step[1], text[step.end() :])))


def _whole(line: str, rest: str) -> str:
    """Return a line with those after it that it continues on, as a quoted word may."""
    for following in rest.split("\n")[1:]:
        try:
            shlex.split(line.partition("   (")[0])
        except ValueError:
            line = f"{line}\n{following}"
        else:
            break
    return line


def check_hint(hint: str) -> None:
    """Check a hint: a command line, options of a command, or words that are neither."""
    if isinstance(hint, Typed):
        check_command(hint.command)
    else:
        assert not COMMAND.match(hint), f"can be typed, and is not marked so: {advice(hint)}"
    assert not re.search(r"\w\.$", hint), f"a full stop: {hint}"


@functools.cache
def check_command(line: str) -> None:
    """Check that a line can be typed as it stands."""
    assert not PLACEHOLDER.search(line), f"nobody can type {line!r}"
    if line.startswith("-"):
        words = shlex.split(line)
        assert any(_are_known(words, tuple(options)) for options in _options()), line
        return
    done = subprocess.run(["sh", "-n", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line!r}: {done.stderr}"
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    for is_end, part in itertools.groupby(lexer, lambda word: _ENDS.fullmatch(word) is not None):
        if not is_end:
            _check_program([*part])


def _check_program(words: list[str]) -> None:
    while words and _BEFORE.fullmatch(words[0]):
        words = words[1:]
    if words and re.fullmatch(r"(.*/)?tare", words[0]):
        check_tare(words[1:])


def check_tare(words: list[str]) -> None:
    """Check words after ``tare`` with its own parser; raises its error."""
    path, command, used = find(ROOT, words)
    rest = words[used:]
    known = named(command.options)
    if any(piece.name in ("-h", "--help") for piece in divided(rest, known)[0]):
        return
    assert rest or not isinstance(command, Group), f"{path} is a group of commands"
    parse(path, command.options, rest)


@functools.cache
def _options() -> list[dict[str, object]]:
    return [dict(command.names) for _, command in leaves(ROOT)]


def _are_known(words: list[str], known: tuple[str, ...]) -> bool:
    return all(
        re.match(r"--[\w-]+|-\w", word)[0] in known  # type: ignore[index]
        for word in words
        if re.match(r"--?[a-z]", word)
    )
