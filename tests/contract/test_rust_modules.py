"""No modules of a Rust crate use each other; only their tests may."""

from __future__ import annotations

import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

AGENT = Path(__file__).parents[2] / "agent"
Module = tuple[str, ...]

_TEXT = re.compile(
    r"//[^\n]*|b?'(?:[^'\\]|\\[^u]|\\u\{\w+\})'|r(#+)\".*?\"\1|\"(?:\\.|[^\"\\])*\"", re.DOTALL
)
_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*mod \w+ \{.*?^\}", re.DOTALL | re.MULTILINE)
_INNER = re.compile(r"^(?:pub )?mod \w+ \{.*?^\}", re.DOTALL | re.MULTILINE)
_SUPER = re.compile(r"(?<![\w:])super::")
_USE = re.compile(r"\buse ([^;]+);")
_PATH = re.compile(r"(?<![\w:])\w+(?:::\w+)+")


def modules(crate: Path) -> dict[Module, str]:
    """Return the source of each module of a crate by its path; that of the root is empty."""
    found = {}
    for file in crate.rglob("*.rs"):
        parts = file.relative_to(crate).with_suffix("").parts
        found[() if parts in (("lib",), ("main",)) else parts] = file.read_text()
    return found


def paths_of(tree: str) -> Iterator[str]:
    """Yield the paths of a `use` declaration: `a::{b, c::d}` is `a::b` and `a::c::d`."""
    before, brace, rest = tree.partition("{")
    if not brace:
        yield tree.partition(" as ")[0].strip()
        return
    depth = begin = 0
    branches = f"{rest[: rest.rindex('}')]},"
    for at, character in enumerate(branches):
        depth += (character == "{") - (character == "}")
        if character == "," and not depth:
            if branch := branches[begin:at].strip():
                yield from paths_of(before.strip() + branch)
            begin = at + 1


def module_of(path: str, name: Module, known: set[Module]) -> Module | None:
    """Return the module of the same crate that a path in a module leads to."""
    first, *rest = path.split("::")
    starts: dict[str, Module] = {"crate": (), "self": name, "super": name[:-1]}
    start = starts.get(first, (*name, first))
    if first not in starts and start not in known:
        return None
    for part in rest:
        if part == "super":
            start = start[:-1]
        elif (*start, part) in known:
            start = (*start, part)
        else:
            break
    return start


def graph(sources: dict[Module, str]) -> dict[Module, set[Module]]:
    """Return the modules that each module of a crate uses, tests left out."""
    found = {}
    for name, source in sources.items():
        code = _TESTS.sub("", _TEXT.sub("", source))
        # A module within the file counts as the file's, which is what `super` means in it.
        code = _INNER.sub(lambda inner: _SUPER.sub("self::", inner[0]), code)
        paths = [path for tree in _USE.findall(code) for path in paths_of(tree)]
        paths += _PATH.findall(_USE.sub("", code))
        used = {module_of(path, name, set(sources)) for path in paths}
        found[name] = {module for module in used if module is not None and module != name}
    return found


def test_no_modules_of_a_crate_use_each_other() -> None:
    crates = [path for path in AGENT.rglob("src") if (path.parent / "Cargo.toml").is_file()]
    assert len(crates) > 10
    for crate in crates:
        graphlib.TopologicalSorter(graph(modules(crate))).prepare()


@pytest.mark.parametrize(
    "back",
    [
        "use crate::one;",
        "use crate::{one::A, two};",
        "use super::one::A;",
        "use super::{inner::{B, C}, one as other};",
        "fn f() { crate::one::f() }",
        "mod inner {\n    use super::super::one::A;\n}",
    ],
)
def test_a_circle_is_found(back: str) -> None:
    sources: dict[Module, str] = {(): "mod one;", ("one",): "use crate::two::f;", ("two",): back}
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(graph(sources)).prepare()


@pytest.mark.parametrize(
    "source",
    [
        "use std::one; use one::A;",
        '// crate::one\nfn f() -> &str { "crate::one" }',
        "mod inner {\n    use super::A;\n}",
        "#[cfg(test)]\nmod tests {\n    use crate::one::A;\n}",
    ],
)
def test_other_crates_texts_and_tests_are_left_out(source: str) -> None:
    sources: dict[Module, str] = {(): "mod one;", ("one",): "use crate::two::f;", ("two",): source}
    graphlib.TopologicalSorter(graph(sources)).prepare()


def test_a_crate_s_root_is_a_module_too() -> None:
    sources: dict[Module, str] = {(): "mod one; use one::f;", ("one",): "use crate::Kind;"}
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(graph(sources)).prepare()
