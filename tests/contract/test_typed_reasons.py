"""Programs decide by kinds and classes, never by a message: a message is for people alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tare"
#: Folders that make and render messages.
MAKES = ("results", "render")
#: Names of what has a template that is no sentence.
OTHERS = {"application"}


def decisions(source: str) -> list[str]:
    """Return each expression that reads a message's template, or makes a message of another."""
    return [ast.unparse(node) for node in ast.walk(ast.parse(source)) if _reads(node)]


def _reads(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=value, attr="template", ctx=ast.Load()):
            return ast.unparse(value) not in OTHERS
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value="template"), *_]):
            return True
        case ast.Call(func=ast.Name(id="Message")):
            return True
    return False


def test_no_module_decides_by_a_message() -> None:
    found = {
        path: wrong
        for file in sorted(SOURCE.rglob("*.py"))
        if not (path := str(file.relative_to(SOURCE))).startswith(MAKES)
        and (wrong := decisions(file.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "if found.template == DRIFT: pass",
        "if found.remedy.template.startswith('the values drift'): pass",
        "if getattr(found, 'template', None) in DRIFTS: pass",
        "kinds = {reason.template for s in audit.series for reason in s.trust.reasons}",
        "other = Message('the values drift', found.args)",
    ],
)
def test_a_decision_by_a_message_is_found(source: str) -> None:
    assert decisions(source)


@pytest.mark.parametrize(
    "source",
    [
        "if reason.kind == 'drift': pass",
        "page = environment.get_template('page.html')",
        "said = message('drifts' if drifts else 'shifts')",
    ],
)
def test_what_is_no_decision_by_a_message_is_not(source: str) -> None:
    assert not decisions(source)
