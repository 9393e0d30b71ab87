"""The help of every command fits a terminal, and commands in hints exist."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import tare
from tare.options import help as helps
from tare.options.command import Command, Group, leaves
from tare.options.help import is_example, paragraphs, summary
from tare.options.option import GROUPS, named
from tare.options.parsing import parse
from tare.wiring import ROOT

SOURCE = Path(tare.__file__).parent


def groups(group: Group, path: str = "tare") -> Iterator[tuple[str, Group]]:
    """Return a group, and those below it, with what is typed."""
    yield path, group
    for name, entry in group.commands.items():
        if isinstance(one := entry.load(), Group):
            yield from groups(one, f"{path} {name}")


GROUP = dict(groups(ROOT))
LEAF = dict(leaves(ROOT))
#: Everything that has a help: a group with a standard command shows the help of that one.
SHOWN: dict[str, Command | Group] = {**LEAF, **GROUP}


def text_of(name: str) -> str:
    one = SHOWN[name]
    return helps.of_group(name, one) if isinstance(one, Group) else helps.of_command(name, one)


def options_of(command: Command | Group) -> set[str]:
    return {*named(command.options), "--help", "-h"}


def resolve(words: list[str]) -> tuple[Command | Group, list[str]]:
    """Return the command that words begin with, and the words after it."""
    found: Command | Group = ROOT
    rest = list(words)
    while isinstance(found, Group):
        if rest and rest[0] in found.commands:
            found = found.commands[rest.pop(0)].load()
        elif found.standard is not None:
            found = found.commands[found.standard].load()
        else:
            break
    return found, rest


@pytest.mark.parametrize("name", SHOWN)
def test_it_fits_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = text_of(name)
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"<(bool|int|float|path|text|range|directory|file)\b", text)
    assert "`-`" not in text


@pytest.mark.parametrize("name", SHOWN)
def test_a_summary_is_one_plain_line(name: str) -> None:
    text = summary(SHOWN[name].help)
    assert len(text) <= 70
    assert text[0].isupper()
    first = text.split()[0].rstrip(",")
    assert not first.endswith("s"), f"{first} is no imperative"
    assert not re.search(r"\b(tell|tells|told|beside|what .* is what)\b", text)


@pytest.mark.parametrize("name", LEAF)
def test_every_option_has_a_group_and_two_lines_at_most(name: str) -> None:
    text = helps.of_command(name, LEAF[name])
    for option in LEAF[name].options.records.values():
        if option.is_argument:
            continue
        assert option.help, option.name
        if option.rare:
            assert option.names[-1] in text
            continue
        assert option.group in GROUPS, f"{option.name} is in no group of the help"
        assert re.search(rf"^  {re.escape(option.head)}(  |$)", text, re.MULTILINE)
        lines = text.split(f"  {option.head}")[1].splitlines()[1:]
        more = next((n for n, line in enumerate(lines) if not line.startswith(" " * 8)), len(lines))
        assert more <= 1, f"{option.head}: {option.explanation}"


@pytest.mark.parametrize("name", LEAF)
def test_a_default_is_a_value_of_its_kind(name: str) -> None:
    for option in LEAF[name].options.records.values():
        if not (option.is_flag or option.default is None):
            kind = option.kind
            assert kind.typed(option.shown or str(option.default)) == option.default, option.name


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
        parse(name, command.options, rest)


def test_commands_are_as_thin_as_they_should_be() -> None:
    most = {"compare": 24, "run": 22, "calibrate": 16, "net measure": 14}
    for name, count in most.items():
        options = LEAF[f"tare {name}"].options.records.values()
        assert len([one for one in options if not (one.rare or one.is_argument)]) <= count


def test_an_option_of_one_name_has_one_short_name() -> None:
    shorts: dict[str, set[str]] = {}
    for command in LEAF.values():
        for option in command.options.records.values():
            if option.short:
                shorts.setdefault(option.short, set()).add(option.long)
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
