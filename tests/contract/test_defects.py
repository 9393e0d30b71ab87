"""Defects and claims of security have their tests, where their lists say that they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| ([A-Z]\d+[a-z]?) \| (.+) \| (.+) \| ([0-9a-f]{7}(?:, [0-9a-f]{7})*) \|$")
ROWS = [
    line
    for line in (ROOT / "docs" / "explanation" / "defects.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| id ", "| --- "))
]

_SECURITY = (ROOT / "SECURITY.md").read_text().partition("| claim | tests |")[2]
CLAIMS = [line for line in _SECURITY.splitlines() if line.startswith("| ") and "---" not in line]


def _tests(cell: str) -> list[tuple[Path, str | None]]:
    """Read a cell: files, and functions in the file named last."""
    found: list[tuple[Path, str | None]] = []
    for named in re.findall(r"`([^`]+)`", cell):
        file, _, function = named.partition("::")
        if file:
            path = ROOT / file if file.startswith("agent/") else ROOT / "tests" / file
        else:
            path = found[-1][0]
        found.append((path, function or None))
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split(" | ")[0].strip("| "))
def test_the_tests_of_a_defect_are_there(row: str) -> None:
    found = ROW.match(row)
    assert found is not None, row
    check(_tests(found[3]))


def check(tests: list[tuple[Path, str | None]]) -> None:
    assert tests
    for path, function in tests:
        assert path.is_file(), path
        assert function is None or re.search(rf"(def|fn) {function}\(", path.read_text()), function


@pytest.mark.parametrize("row", CLAIMS, ids=lambda row: row.split(" | ")[0].strip("| ")[:40])
def test_the_tests_of_a_claim_of_security_are_there(row: str) -> None:
    check(_tests(row.strip("| ").rpartition(" | ")[2]))


def test_no_defect_is_listed_twice() -> None:
    names = [row.split(" | ")[0] for row in ROWS]
    assert len(names) == len(set(names)) > 0
