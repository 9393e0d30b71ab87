"""No modules import each other: not inside functions, and not for their types alone."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"


def modules() -> dict[str, Path]:
    """Return the file of each module of the package, by its name."""
    found = {}
    for file in (SOURCE / "tare").rglob("*.py"):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(source: str) -> Iterator[str]:
    """Name all modules that a source may import, and what it takes from them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)


def graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return the modules that each one imports; of a module in a package, not the package too."""
    found = {}
    for name, source in sources.items():
        named = {one for one in imported(source) if one in sources and one != name}
        found[name] = {one for one in named if not any(o.startswith(f"{one}.") for o in named)}
    return found


def test_no_modules_import_each_other() -> None:
    sources = {name: file.read_text() for name, file in modules().items()}
    assert len(sources) > 500
    graphlib.TopologicalSorter(graph(sources)).prepare()


@pytest.mark.parametrize(
    "back",
    ["import a.one", "from a import one", "from a.one import x", "def f():\n    import a.one"],
)
def test_a_circle_is_found(back: str) -> None:
    sources = {"a": "", "a.one": "from a import two", "a.two": back}
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(graph(sources)).prepare()
    graphlib.TopologicalSorter(graph({**sources, "a.two": "import os"})).prepare()
