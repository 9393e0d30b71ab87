"""What ``make check`` and ``make check-agent`` select, on small made-up trees."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parents[2]
TOOL = PROJECT / "tools/affected.py"
FILES = {
    "src/made_up/__init__.py": "",
    "src/made_up/base.py": "LIMIT = 3\n",
    "src/made_up/middle.py": "def limit():\n    from made_up.base import LIMIT\n    return LIMIT\n",
    "src/made_up/top.py": "from made_up import middle\n",
    "src/made_up/alone.py": "",
    "src/made_up/registry.py": "",
    "src/made_up/units/__init__.py": "",
    "src/made_up/units/first.py": "UNIT = 1\n",
    "tests/conftest.py": "",
    "tests/unit/support.py": "from made_up.middle import limit\n",
    "tests/unit/test_base.py": "from made_up.base import LIMIT\n",
    "tests/unit/test_middle.py": "from support import limit\n",
    "tests/unit/test_top.py": "import made_up.top\n",
    "tests/unit/test_guide.py": 'PAGES = "docs/guide.md"\n',
    "tests/unit/test_pages.py": 'PAGES = "docs"\n',
    "tests/contract/test_units.py": "from made_up import registry\n",
    "tests/system/test_alone.py": "import made_up.alone\n",
    "docs/guide.md": "",
}
ALL = ("base", "middle", "top", "guide", "pages", "units", "alone")


@pytest.fixture(scope="module")
def affected() -> ModuleType:
    specification = importlib.util.spec_from_file_location("affected", TOOL)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("src/made_up/base.py", {"base": 1, "middle": 3, "top": 3}),
        ("src/made_up/middle.py", {"middle": 1, "top": 2}),
        ("src/made_up/units/first.py", {"units": 2}),
        ("src/made_up/alone.py", {"alone": 1}),
        ("src/made_up/units/deleted.py", {"units": 4}),
        ("src/made_up/units/table.csv", {"units": 4}),
        ("agent/docs/guide.md", {}),
        ("tests/unit/support.py", {"middle": 1}),
        ("tests/unit/test_top.py", {"top": 0}),
        ("docs/guide.md", {"guide": 0, "pages": 1}),
        ("docs/other.md", {"guide": 1, "pages": 1}),
        ("other.md", {}),
        ("pyproject.toml", dict.fromkeys(ALL, 0)),
    ],
)  # fmt: skip
def test_distances_of_the_tests_that_a_changed_file_affects(
    affected: ModuleType,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    changed: str,
    expected: dict[str, int],
) -> None:
    monkeypatch.syspath_prepend(root / "src")
    distances = affected.Graph(root, "made_up").distances([changed])
    assert {Path(file).stem.removeprefix("test_"): d for file, d in distances.items()} == expected


def test_closest_and_cheapest_tests_fill_the_budget_and_system_tests_are_left(
    affected: ModuleType,
) -> None:
    distances = {
        "tests/unit/test_far.py": 3,
        "tests/unit/test_expensive.py": 1,
        "tests/unit/test_near.py": 1,
        "tests/golden/test_golden.py": 2,
        "tests/system/test_real.py": 1,
    }
    costs_s = {"tests/unit/test_far.py": 1.0, "tests/unit/test_expensive.py": 5.0}
    default_s = affected.DEFAULT_COSTS_S["tests/unit"]
    near, expensive, far = (f"tests/unit/test_{n}.py" for n in ("near", "expensive", "far"))
    assert affected.select(distances, costs_s, default_s + 6.0) == [near, expensive, far]
    assert affected.select(distances, costs_s, default_s + 4.0) == [near, far]


def test_changed_files_are_those_that_differ_and_untracked_ones_or_else_the_last_commit(
    affected: ModuleType, tmp_path: Path
) -> None:
    def git(*words: str) -> None:
        name = ("-c", "user.name=made-up", "-c", "user.email=made-up@localhost")
        subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--initial-branch=main")
    for number, name in enumerate(("first", "second", ".gitignore")):
        (tmp_path / name).write_text("ignored\n", encoding="utf-8")
        git("add", name)
        git("commit", "--message", str(number))
    assert affected.changed_files(tmp_path) == {".gitignore"}
    (tmp_path / "untracked").touch()
    (tmp_path / "ignored").touch()
    (tmp_path / "first").unlink()
    assert affected.changed_files(tmp_path) == {"first", "untracked"}
    assert affected.changed_files(tmp_path, "HEAD~2") == {
        "first", "second", ".gitignore", "untracked",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected", "tests"),
    [
        (["agent/core/sys/src/lib.rs"], {"sys", "probes", "program"}, {"tests/sys.py"}),
        (["agent/measure/probes/tests/all.rs"], {"probes", "program"}, {"tests/probes.py"}),
        (["agent/drivers/cql/Cargo.toml"], {"cql"}, set()),
        (["agent/src/main.rs", "src/made_up/base.py"], {"program"}, {"tests/program.py"}),
        (["src/made_up/base.py"], set(), set()),
        (["agent/core/record/src/lib.rs"], None, {"tests/record.py"}),
        (["agent/Cargo.lock", "agent/src/main.rs"], None, {"tests/program.py"}),
    ],
)
def test_changed_crates_those_that_depend_on_them_and_tests_in_python(
    affected: ModuleType, changed: list[str], expected: set[str] | None, tests: set[str]
) -> None:
    needs = {
        "program": ("", ["probes"]), "sys": ("core/sys", []), "cql": ("drivers/cql", []),
        "probes": ("measure/probes", ["sys", "libc"]), "record": ("core/record", []),
    }  # fmt: skip
    packages = [
        {
            "name": name,
            "manifest_path": str(Path("/project/agent", folder, "Cargo.toml")),
            "dependencies": [{"name": needed} for needed in needed_crates],
            "metadata": None if name == "cql" else {"python-tests": [f"tests/{name}.py"]},
        }
        for name, (folder, needed_crates) in needs.items()
    ]
    crates = affected.Crates({"packages": packages})
    assert crates.affected(changed) == expected
    assert crates.tests(changed) == tests


def test_tests_in_python_that_crates_name_exist() -> None:
    named = [
        (file, test)
        for file in (PROJECT / "agent").glob("**/Cargo.toml")
        for test in tomllib.loads(file.read_text())
        .get("package", {})
        .get("metadata", {})
        .get("python-tests", [])
    ]
    assert len({file for file, _ in named}) >= 15
    assert [test for _, test in named if not (PROJECT / test).is_file()] == []


def test_a_module_that_only_system_tests_reach_is_named(
    affected: ModuleType,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(root / "src")
    graph = affected.Graph(root, "made_up")
    monkeypatch.setattr(affected, "ROOT", root)
    monkeypatch.setattr(affected, "Graph", lambda _: graph)
    changed = {"src/made_up/alone.py", "src/made_up/base.py", "agent/src/main.rs"}
    monkeypatch.setattr(affected, "changed_files", lambda *_: changed)
    monkeypatch.setattr(sys, "argv", ["affected.py", "tests"])
    assert affected.main() == 0
    printed = capsys.readouterr()
    assert printed.out.split() == [f"tests/unit/test_{n}.py" for n in ("base", "middle", "top")]
    assert "not covered here: src/made_up/alone.py: make test" in printed.err
    assert "not covered here: agent/src/main.rs: make check-agent" in printed.err
    assert "covered here: src/made_up/base.py" not in printed.err
    assert "reach 4 test files; 3 run here, 1 are left" in printed.err
