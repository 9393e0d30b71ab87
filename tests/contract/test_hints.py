"""Hints of errors in the source: what is marked as typed parses, and nothing else looks like it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typed

import tare

SOURCE = Path(tare.__file__).parent
GOLDENS = Path(__file__).parents[1] / "golden" / "expected"
#: Arguments of errors that are hints: after the message, or by name.
ERRORS = re.compile(r"\w*Error|Refusal")
#: Names of variables that hold hints.
NAMES = re.compile(r"(^|_)(hint|fix|mend)s?$", re.IGNORECASE)
#: What stands for a value in a hint, by a part of the expression; of others, a word.
VALUES = {
    "percent": "3", "needed": "6", "enough": "9", "port": "7411", "pid": "7",
    "budget": "9", "first": "1", "last": "2", "MOST_HOSTS": "4", "beyond": "3", "host": "3",
    "session": "2", "other": "1", "option": "--step", "least": "1", "number": "3",
    "size": "64", "_OPTIONS": "--cpus", "option.long": "--gate",
    "sign": " ", "closest": "tare describe", "swapped": "--cpus 2 a b",
}  # fmt: skip


def _strings(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Return the strings that an expression may be: of conditions and of `or`, each."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            yield node
        case ast.IfExp():
            yield from _strings(node.body)
            yield from _strings(node.orelse)
        case ast.BoolOp():
            for one in node.values:
                yield from _strings(one)


def _filled(node: ast.Constant | ast.JoinedStr) -> str:
    """Return a string with a word in place of each expression in it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    found = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            found += str(part.value)
        else:
            expression = ast.unparse(part)
            found += "precision" if found == "--" else _value(expression)
    return found


def _value(expression: str) -> str:
    return next((value for part, value in VALUES.items() if part in expression), "word")


def _hints(node: ast.AST) -> Iterator[ast.AST]:
    """Return the expressions of hints in a call or an assignment."""
    match node:
        case ast.Call():
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if ERRORS.fullmatch(name):
                yield from node.args[1:2]
            yield from (one.value for one in node.keywords if one.arg in ("hint", "fix"))
        case ast.Assign(targets=[ast.Name(id=name)]) if NAMES.search(name):
            yield node.value


NODES = [
    (file.relative_to(SOURCE), node)
    for file in sorted(SOURCE.rglob("*.py"))
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
]
MARKED = [
    pytest.param(_filled(string), id=f"{file}:{string.lineno}")
    for file, node in NODES
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Typed"
    for string in _strings(node.args[0])
]
WORDS = [
    pytest.param(_filled(string), id=f"{file}:{string.lineno}")
    for file, node in NODES
    for hint in _hints(node)
    for string in _strings(hint)
]


@pytest.mark.parametrize("hint", MARKED)
def test_what_is_typed_parses(hint: str) -> None:
    typed.check_hint(typed.Typed(hint))


@pytest.mark.parametrize("hint", WORDS)
def test_what_can_be_typed_is_marked(hint: str) -> None:
    typed.check_hint(hint)


@pytest.mark.parametrize(
    "file", [pytest.param(f, id=f.parent.name) for f in GOLDENS.glob("*/screen")]
)
def test_hints_of_goldens_can_be_typed(file: Path) -> None:
    typed.check(file.read_text(encoding="utf-8"))
