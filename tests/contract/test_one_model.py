"""One model of results: the paths that it replaced do not come back."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tare"
#: Modules that computed values of trials besides the results, carried them through a database, or
#: printed and encoded what a report has.
REPLACED = (
    "experiment/store/build.py", "experiment/store/load.py", "experiment/store/journals.py",
    "features/fleet/values.py", "features/fleet/sums.py", "measure/comparison/trials.py",
    "measure", "features/run", "features/compare",
    "experiment/report/compared.py", "features/audit/overhead.py",
    "features/audit/overhead_answers.py", "features/audit/overhead_messages.py",
    "features/audit/contract.py", "features/audit/screen.py",
    "features/machine/doctor/screen.py", "features/machine/fingerprint/screen.py",
    "features/machine/selftest/document.py", "features/machine/selftest/screen.py",
    "features/experiment/plan_screen.py",
)  # fmt: skip
#: Libraries that only a user's own request loads, or tests alone.
ON_REQUEST = frozenset({"pandas", "duckdb", "vl_convert", "altair", "ruptures"})


@pytest.mark.parametrize("path", REPLACED)
def test_what_results_replaced_is_gone(path: str) -> None:
    assert not (SOURCE / path).exists()


def printing(source: str) -> list[str]:
    """Return what a module has that prints to standard output."""
    return [ast.unparse(node) for node in ast.walk(ast.parse(source)) if _prints(node)]


def _prints(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="console"), attr="out" | "show" | "print_text"):
            return True
        case ast.Attribute(value=ast.Name(id="sys"), attr="stdout"):
            return True
        case ast.ImportFrom(module="tare.cli.console" | "sys", names=names):
            return any(one.name in ("out", "show", "print_text", "stdout") for one in names)
        case ast.Call(func=ast.Name(id="print"), keywords=keywords):
            return all(keyword.arg != "file" for keyword in keywords)
    return False


def test_no_feature_prints_its_result() -> None:
    features = sorted((SOURCE / "features").rglob("*.py"))
    found = {
        str(file.relative_to(SOURCE)): prints
        for file in features
        if (prints := printing(file.read_text(encoding="utf-8")))
    }
    assert features
    assert found == {}


@pytest.mark.parametrize(
    ("source", "n"),
    [
        ("console.out.print('41 ms')", 1),
        ("console.show(report)", 1),
        ("from tare.cli.console import out", 1),
        ("print('41 ms')", 1),
        ("sys.stdout.write('41 ms')", 1),
        ("print('a note', file=sys.stderr)", 0),
        ("console.err.print('a note')", 0),
    ],
)
def test_what_prints_is_found(source: str, n: int) -> None:
    assert len(printing(source)) == n


def test_words_stand_where_they_are_said() -> None:
    assert list(SOURCE.rglob("*words.toml")) == []


def test_no_finished_message_is_rewritten() -> None:
    headline = SOURCE / "experiment" / "findings" / "headline.py"
    assert "with_one_total" not in headline.read_text(encoding="utf-8")


def test_no_module_loads_a_library_of_users_when_it_is_imported() -> None:
    loads = {
        str(file.relative_to(SOURCE)): name
        for file in SOURCE.rglob("*.py")
        # What builds an application's image runs there.
        if "applications/library" not in str(file)
        for statement in ast.parse(file.read_text()).body
        for name in _names(statement)
        if name in ON_REQUEST
    }
    assert loads == {}


def _names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name.partition(".")[0] for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return [(statement.module or "").partition(".")[0]]
    return []
