"""A test that kills sessions or cleans up says that it needs the machine for itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = [file for folder in ("system", "slow") for file in sorted((TESTS / folder).glob("*.py"))]


def needs_the_machine(tree: ast.AST) -> bool:
    """Return whether it imports what kills sessions, or calls a cleanup, by name or as a word."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=[ast.alias(name="killing")]) | ast.ImportFrom(module="killing"):
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id="remnants"), attr="cleanup")):
                return True
            case ast.Call(args=[ast.Constant(value="cleanup"), *_]):
                return True
            case ast.List(elts=[ast.Starred(), ast.Constant(value="cleanup"), *_]):
                return True
    return False


def marks(tree: ast.Module) -> set[str]:
    """Return the marks of all tests of a file."""
    return {
        mark.attr
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        for mark in ast.walk(node.value)
        if isinstance(mark, ast.Attribute)
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_who_kills_or_cleans_up_holds_the_machine(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    if needs_the_machine(tree):
        assert "machine" in marks(tree)


@pytest.mark.parametrize(
    ("code", "needs"),
    [
        ("import killing", True),
        ("remnants.cleanup()", True),
        ("tare('cleanup')", True),
        ("run([*TARE, 'cleanup'])", True),
        ("home.cleanup()", False),
        ("tare('run', '--cleanup', 'true')", False),
    ],
)
def test_who_needs_it_is_seen(code: str, needs: bool) -> None:
    assert needs_the_machine(ast.parse(code)) == needs
