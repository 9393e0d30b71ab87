"""The help of every command fits a terminal, and commands in hints exist."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import tare
from tare.cli.help import GROUPS, explanation, head, is_example, names_of, paragraphs, summary
from tare.wiring import command_line

ROOT = typer.main.get_command(command_line())
SOURCE = Path(tare.__file__).parent


def commands(command: Any, context: Any) -> Iterator[tuple[str, Any, Any]]:
    """Return every command with its name as typed, and its context."""
    yield " ".join(context.command_path.split()[1:]), command, context
    for name, below in getattr(command, "commands", {}).items():
        typed = "" if name == command.standard else name
        yield from commands(below, below.context_class(below, info_name=typed, parent=context))


EVERY = list(commands(ROOT, ROOT.context_class(ROOT, info_name="tare")))
GROUP = {name: command for name, command, _ in EVERY if hasattr(command, "commands")}
LEAF = {name: command for name, command, _ in EVERY if not hasattr(command, "commands")}
#: Helps that can be seen: a group with a standard command shows the help of that one.
SHOWN = {name: context for name, _, context in EVERY}


def options_of(command: Any) -> set[str]:
    return {n for p in command.params for n in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}


def resolve(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that words begin with, and the words after it."""
    command, rest = ROOT, list(words)
    while hasattr(command, "commands"):
        if rest and rest[0] in command.commands:
            command = command.commands[rest.pop(0)]
        elif command.standard is not None:
            command = command.commands[command.standard]
        else:
            break
    return command, rest


@pytest.mark.parametrize("name", SHOWN)
def test_it_fits_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = SHOWN[name].command.get_help(SHOWN[name])
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"<(bool|int|float|path|text|range|directory|file)\b", text)
    assert "`-`" not in text


@pytest.mark.parametrize("name", SHOWN)
def test_a_summary_is_one_plain_line(name: str) -> None:
    text = summary(SHOWN[name].command)
    assert len(text) <= 70
    assert text[0].isupper()
    first = text.split()[0].rstrip(",")
    assert not first.endswith("s"), f"{first} is no imperative"
    assert not re.search(r"\b(tell|tells|told|beside|what .* is what)\b", text)


@pytest.mark.parametrize("name", LEAF)
def test_every_option_has_a_group_and_two_lines_at_most(name: str) -> None:
    command, context = LEAF[name], SHOWN[name]
    text = command.get_help(context)
    known = {option for names in GROUPS.values() for option in names}
    for option in command.params:
        if option.param_type_name != "option":
            continue
        assert option.help, option.name
        if option.hidden:
            assert names_of(option)[-1] in text
            continue
        assert option.name in known, f"{option.name} is in no group of the help"
        assert option.is_flag or option.metavar, f"{option.name} has no metavar"
        assert re.search(rf"^  {re.escape(head(option))}(  |$)", text, re.MULTILINE)
        lines = text.split(f"  {head(option)}")[1].splitlines()[1:]
        more = next((n for n, line in enumerate(lines) if not line.startswith(" " * 8)), len(lines))
        assert more <= 1, f"{head(option)}: {explanation(option)}"


@pytest.mark.parametrize("name", LEAF)
def test_an_example_can_be_pasted(name: str) -> None:
    command = LEAF[name]
    examples = [line for p in paragraphs(command.help) if is_example(p) for line in p.splitlines()]
    assert examples
    for example in examples:
        tare, *words = shlex.split(example)
        found, rest = resolve(words)
        assert tare == "tare"
        assert found is command
        own = rest[: rest.index("--")] if "--" in rest else rest
        typed = {word.partition("=")[0] for word in own if word.startswith("-") and word != "-"}
        assert typed <= options_of(command)
        command.make_context(name, rest, resilient_parsing=False)


def test_groups_have_no_option_that_no_command_has() -> None:
    shown = {p.name for command in LEAF.values() for p in command.params if not p.hidden}
    assert {name for names in GROUPS.values() for name in names} <= shown


def test_commands_are_as_thin_as_they_should_be() -> None:
    most = {"compare": 24, "run": 22, "calibrate": 16, "net measure": 14}
    for name, count in most.items():
        options = [p for p in LEAF[name].params if p.param_type_name == "option" and not p.hidden]
        assert len(options) <= count


def test_an_option_of_one_name_has_one_short_name() -> None:
    shorts: dict[str, set[str]] = {}
    for command in LEAF.values():
        for option in command.params:
            for short in (o for o in option.opts if len(o) == 2):
                shorts.setdefault(short, set()).update(o for o in option.opts if len(o) > 2)
    assert all(len(longs) == 1 for longs in shorts.values()), shorts


def texts(*words: str) -> Iterator[tuple[str, str]]:
    """Return every string of the source, with where it stands; what is filled in is ….

    Only those of files that have all of these words somewhere.
    """
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text()
        if not all(word in source for word in words):
            continue
        tree, file = ast.parse(source), path.relative_to(SOURCE)
        inner = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
        for node in ast.walk(tree):
            place = f"{file}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.JoinedStr):
                parts = [str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values]
                yield place, "".join(parts)
            elif isinstance(getattr(node, "value", None), str) and id(node) not in inner:
                yield place, node.value


def lines_of_documents() -> Iterator[tuple[str, str]]:
    """Return every line of what is written for people, with where it stands."""
    root = Path(__file__).parents[2]
    for path in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield f"{path.name}:{number}", line


def check(text: str) -> None:
    """Find that every command in a text exists, with its options."""
    for found in re.finditer(r"(?<![\w.-])tare ((?:[a-z]+ )*[^`;|\n]*)", text):
        # After two dashes or three blanks follows something else.
        words = re.sub(r"\"[^\"]*\"|'[^']*'", "…", re.split(r" -- |   ", found[1])[0]).split()
        command, rest = resolve(words)
        if command is ROOT:
            # A sentence that has tare in it.
            assert not any(word.startswith("--") for word in words[:3]), found[0]
            continue
        typed = {re.sub(r"[=,.:)…\]'\"].*", "", w.strip("(['\"")) for w in rest if "--" in w[:4]}
        # A sentence may go on, with an option of something else.
        assert typed - {"--"} <= options_of(command), f"{found[0]!r} has {typed}"


SAID = [
    one
    for one in (*texts("tare ", "--"), *lines_of_documents())
    if re.search(r"\btare [a-z]+ .*--", one[1])
]


@pytest.mark.parametrize(("place", "text"), SAID, ids=[place for place, _ in SAID])
def test_a_command_in_a_hint_exists(place: str, text: str) -> None:
    check(text)
