#!/usr/bin/env python3
"""Print what a change can affect: test files for ``make check``, crates for ``make check-agent``.

    tools/affected.py tests [--base COMMIT] [--budget SECONDS]
    tools/affected.py crates [--base COMMIT]
    tools/affected.py crates-tests [--base COMMIT]

Changed files are those that differ from the base and untracked ones; without any, those of the last
commit. A test file is affected if it imports a changed module, directly or through others. Those
with the fewest imports between come first, until the budget of CPU time is spent. Imports do not
show everything:

- test files named after a changed module count as direct importers;
- units are found by name, so their package and the registry count as importers, and contract tests
  run for units and modules that make messages;
- data of a package, and modules that are not there any more, change the modules of their folder;
- files outside of packages affect tests that name them or a folder above them;
- files of ``SHARED`` affect all tests.

``crates-tests`` prints the test files in Python that changed crates name in their ``Cargo.toml``.
"""

from __future__ import annotations

import argparse
import ast
import heapq
import json
import math
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import grimp

ROOT = Path(__file__).parents[1]
#: CPU seconds by test file, of the last ``make test`` and of checks since, if there were any.
COSTS = (".costs/tests.json", ".costs/check.json")
#: CPU seconds of a test file that has not run yet, by folder.
DEFAULT_COSTS_S = {"tests/unit": 1.5, "tests/contract": 6.0, "tests/golden": 30.0}
#: Shared by all tests.
SHARED = ("tests/conftest.py", "pyproject.toml", "uv.lock", "Makefile")
#: Folders whose names, in a test, do not show that it reads their files.
UNSPECIFIC = ("src", "tare", "tests", "unit")
#: A change of these affects all crates.
SHARED_CRATES = ("agent/Cargo.toml", "agent/Cargo.lock", "agent/core/record/")
_UNIT = re.compile(r"^UNIT\b", re.MULTILINE)
_CHECKED_BY_CONTRACTS = re.compile(r"^UNIT\b|\bmessage\(", re.MULTILINE)


def changed_files(root: Path, base: str = "HEAD") -> set[str]:
    """Return files that differ from a commit, or else those of the last commit."""

    def git(*words: str) -> set[str]:
        command = ["git", "-c", "core.quotePath=off", "-C", str(root), *words]
        return set(subprocess.check_output(command, text=True).splitlines())

    changed = git("diff", "--name-only", "--no-renames", base)
    changed |= git("ls-files", "--others", "--exclude-standard")
    return changed or git("show", "--name-only", "--no-renames", "--format=", "HEAD")


class Graph:
    """Imports of the package and of its tests.

    Attributes
    ----------
    importers : dict
        Direct importers of a file. Files are relative to the root.
    tests : dict
        Content of each Python file in ``tests``.
    """

    def __init__(self, root: Path, package: str = "tare") -> None:
        self.root = root
        self.importers: dict[str, set[str]] = defaultdict(set)
        self._package = f"src/{package}/"
        self._registry = f"{self._package}registry.py"
        # Without a cache: lint-imports writes to its own at the same time.
        imports = grimp.build_graph(package, cache_dir=None)
        self._modules = {
            name: file
            for file in self._python_files(self._package)
            if (name := _module_name(file)) in imports.modules
        }
        for name, file in self._modules.items():
            for imported in imports.find_modules_directly_imported_by(name):
                self.importers[self._modules[imported]].add(file)
            if file != self._registry and _UNIT.search(self._text(file)):
                folder = self._modules.get(name.rpartition(".")[0], self._registry)
                self.importers[file] |= {folder, self._registry}
        self.tests = {file: self._text(file) for file in self._python_files("tests")}
        for test, text in self.tests.items():
            for imported in _imported_names(ast.parse(text)):
                if found := self._find(imported, test):
                    self.importers[found].add(test)

    def _python_files(self, folder: str) -> list[str]:
        return [str(path.relative_to(self.root)) for path in (self.root / folder).rglob("*.py")]

    def _text(self, file: str) -> str:
        return (self.root / file).read_text(encoding="utf-8")

    def _find(self, imported: str, test: str) -> str | None:
        """Return the file that an imported name is, or is in."""
        names = (imported, imported.rpartition(".")[0])
        folders = (str(Path(test).parent), "tests/unit")
        support = (f"{folder}/{name}.py" for name in names for folder in folders)
        modules = (self._modules[name] for name in names if name in self._modules)
        return next(modules, None) or next((file for file in support if file in self.tests), None)

    def _seeds(self, changed: str) -> Iterator[tuple[int, str]]:
        """Yield Python files that a changed file affects without imports, with a distance."""
        path, modules = Path(changed), set(self._modules.values())
        if changed in SHARED:
            yield from ((0, test) for test in self.tests)
        elif changed in modules or changed in self.tests:
            yield 0, changed
            yield from ((1, test) for test in self.tests if test.endswith(f"_{path.name}"))
        elif changed.startswith(self._package):
            folder = next(f for f in path.parents if str(f / "__init__.py") in modules)
            yield from ((1, file) for file in modules if Path(file).parent == folder)
        if changed in modules and _CHECKED_BY_CONTRACTS.search(self._text(changed)):
            yield from ((2, test) for test in self.tests if test.startswith("tests/contract/"))
        if changed not in modules and path.parts[0] != "agent":
            for distance, name in enumerate(reversed(path.parts)):
                named = re.compile(rf"[\"'/]{re.escape(name)}[\"'/]")
                tests = self.tests if name not in UNSPECIFIC else {}
                yield from ((distance, test) for test, t in tests.items() if named.search(t))

    def distances(self, changed: Iterable[str]) -> dict[str, int]:
        """Return the number of imports between each affected test file and the changed files."""
        found: dict[str, int] = {}
        waiting = [seed for file in changed for seed in self._seeds(file)]
        heapq.heapify(waiting)
        while waiting:
            distance, file = heapq.heappop(waiting)
            if file not in found:
                found[file] = distance
                for importer in self.importers.get(file, ()):
                    # What uses the package of a unit concerns it more than what uses any unit.
                    step = 2 if importer == self._registry else 1
                    heapq.heappush(waiting, (distance + step, importer))
        return {
            file: distance
            for file, distance in found.items()
            if file in self.tests and Path(file).name.startswith("test_")
        }


def _module_name(file: str) -> str:
    return ".".join(Path(file).with_suffix("").parts[1:]).removesuffix(".__init__")


def _imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def select(distances: dict[str, int], costs_s: dict[str, float], budget_s: float) -> list[str]:
    """Return fast test files that fit into a budget, those closest to the change first."""
    chosen: list[str] = []
    for _, cost_s, file in sorted(
        (distance, costs_s.get(file, DEFAULT_COSTS_S[folder]), file)
        for file, distance in distances.items()
        if (folder := "/".join(file.split("/")[:2])) in DEFAULT_COSTS_S
    ):
        if cost_s <= budget_s:
            chosen.append(file)
            budget_s -= cost_s
    return chosen


class Crates:
    """Crates of the agent.

    Parameters
    ----------
    metadata : dict
        Printed by ``cargo metadata --no-deps``.
    """

    def __init__(self, metadata: dict[str, Any]) -> None:
        packages = metadata["packages"]
        self._folders = {str(Path(p["manifest_path"]).parent): p["name"] for p in packages}
        self._needs = {p["name"]: {d["name"] for d in p["dependencies"]} for p in packages}
        self._tests = {p["name"]: (p["metadata"] or {}).get("python-tests", []) for p in packages}

    def changed(self, files: Iterable[str]) -> set[str]:
        """Return crates that have a changed file, which is relative to the project's folder."""
        root, folders = Path(min(self._folders, key=len)).parent, self._folders
        return {
            next(folders[str(root / f)] for f in Path(file).parents if str(root / f) in folders)
            for file in files
            if file.startswith("agent/")
        }

    def affected(self, files: Iterable[str]) -> set[str] | None:
        """Return changed crates and those that depend on them; None for all."""
        files = list(files)
        if any(file.startswith(SHARED_CRATES) for file in files):
            return None
        found = self.changed(files)
        while more := {name for name, needed in self._needs.items() if needed & found} - found:
            found |= more
        return found

    def tests(self, files: Iterable[str]) -> set[str]:
        """Return the test files in Python that changed crates name."""
        return {test for name in self.changed(files) for test in self._tests[name]}


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("tests", "crates", "crates-tests"))
    parser.add_argument("--base", default="HEAD", help="commit that files are compared with")
    parser.add_argument("--budget", type=float, default=math.inf, help="CPU seconds of tests")
    given = parser.parse_args()
    changed = changed_files(ROOT, given.base)
    if given.what != "tests":
        command = ["cargo", "metadata", "--no-deps", "--format-version=1", "--manifest-path"]
        metadata = json.loads(subprocess.check_output([*command, str(ROOT / "agent/Cargo.toml")]))
        crates = Crates(metadata)
        if given.what == "crates-tests":
            print("\n".join(sorted(crates.tests(changed))))
            return 0
        names = crates.affected(changed)
        print("--workspace" if names is None else " ".join(f"--package {n}" for n in sorted(names)))
        return 0
    graph = Graph(ROOT)
    distances = graph.distances(changed)
    recorded = [json.loads(p.read_text("utf-8")) for c in COSTS if (p := ROOT / c).exists()]
    costs_s = {file: cost["cpu_s"] for costs in recorded for file, cost in costs.items()}
    chosen = select(distances, costs_s, given.budget)
    print("\n".join(chosen))
    left = len(distances) - len(chosen)
    print(
        f"affected: {len(changed)} changed files reach {len(distances)} test files; "
        f"{len(chosen)} run here, {left} are left to make test",
        *(f"  {file}" for file in chosen),
        sep="\n",
        file=sys.stderr,
    )
    for file in sorted(changed):
        if file.startswith("agent/"):
            print(f"not covered here: {file}: make check-agent", file=sys.stderr)
        elif not set(chosen) & set(graph.distances([file])):
            print(f"not covered here: {file}: make test", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
