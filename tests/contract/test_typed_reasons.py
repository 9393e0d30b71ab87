"""Programs decide by kinds and classes, never by a message: a message is for people alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare.render import words

SOURCE = Path(__file__).parents[2] / "src" / "tare"
#: Folders that make and render messages.
MAKES = ("results", "render")
#: Attributes that hold messages, or what has them.
HOLDS = frozenset({"answers", "because", "cautions", "caveats", "notes", "reasons", "remarks"})
#: Modules that still decide by a message, or name one by the id of a table.
STILL = {
    "features/compare/screen.py", "features/run/screen.py", "measure/comparison/session.py",
    "render/screen.py",
}  # fmt: skip
TEMPLATES = frozenset(words.templates())


def decisions(source: str, *, makes: bool = False) -> list[str]:
    """Return each expression that decides by a message, or makes one of another.

    ``makes``: whether the module may make messages otherwise than by ``message``.
    """
    tree = ast.parse(source)
    constants = {
        target.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if _compares(node, constants)
        or _cuts(node)
        or _collects(node)
        or (not makes and _makes(node))
    ]


def _is_id(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
        return any(isinstance(one, ast.Constant) and one.value == "id" for one in node.args)
    return isinstance(node, ast.Attribute) and node.attr == "id"


def _compares(node: ast.AST, constants: dict[str, ast.expr]) -> bool:
    """Whether it compares an id with that of a template, also by a constant of the module."""
    if not isinstance(node, ast.Compare):
        return False
    operands = [node.left, *node.comparators]
    return any(map(_is_id, operands)) and any(
        text in TEMPLATES for one in operands for text in _texts(one, constants)
    )


def _texts(node: ast.expr, constants: dict[str, ast.expr]) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and part.id in constants:
            yield from _texts(constants[part.id], {})


def _cuts(node: ast.AST) -> bool:
    """Whether it cuts an id, or puts one into another text."""
    if isinstance(node, ast.Attribute) and _is_id(node.value):
        return True
    return (
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "message"
        and any(_is_id(part) for part in ast.walk(node.args[0]))
    )


def _collects(node: ast.AST) -> bool:
    """Whether it collects ids of messages, or makes them the keys of a dictionary."""
    if isinstance(node, ast.DictComp):
        collected: ast.expr = node.key
    elif isinstance(node, ast.SetComp | ast.ListComp | ast.GeneratorExp):
        collected = node.elt
    else:
        return False
    held = {getattr(one.iter, "attr", "") for one in node.generators}
    return _is_id(collected) and bool(held & HOLDS)


def _makes(node: ast.AST) -> bool:
    """Whether it makes a message otherwise than by ``message``."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Message"


def test_no_module_decides_by_a_message() -> None:
    found = {
        path: wrong
        for file in sorted(SOURCE.rglob("*.py"))
        if (path := str(file.relative_to(SOURCE))) not in STILL
        and (wrong := decisions(file.read_text(), makes=path.startswith(MAKES)))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        'if found.id == "trust.drift": pass',
        'if found.remedy.id != "trust.drift": pass',
        'if "trust.drift" == found.id: pass',
        'if found.id in {"trust.drift", "trust.shift"}: pass',
        'DRIFT = "trust.drift"\nif found.id == DRIFT: pass',
        'SHAPES = ("trust.drift", "trust.shift")\nif found.id not in SHAPES: pass',
        'if getattr(found, "id", None) == "trust.drift": pass',
        'kind = found.id.removeprefix("trust.")',
        'kind = limit.id.rpartition(".")[2]',
        'said = message(f"trusted.why.{reason.id}")',
        "kinds = {reason.id for s in audit.series for reason in s.trust.reasons}",
        "by_kind = {reason.id: reason for reason in trust.reasons}",
        'other = Message("trust.drift", found.args)',
    ],
)
def test_a_decision_by_a_message_is_found(source: str) -> None:
    assert decisions(source)


@pytest.mark.parametrize(
    "source",
    [
        'if reason.kind == "drift": pass',
        "if order.id in self.phases_over: pass",
        'if table.id == "by_host": pass',
        "ids = [phase.id for phase in phases]",
        'said = message("trust.drift" if drifts else "trust.shift")',
    ],
)
def test_what_is_no_decision_by_a_message_is_not(source: str) -> None:
    assert not decisions(source)
