"""A saved audit is rendered again, also as Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest
from imported import DATA
from inprocess import invoke

from tare.errors import InputError


@pytest.fixture
def saved(tmp_path: Path) -> str:
    file = tmp_path / "a.json"
    invoke("audit", str(DATA / "hyperfine" / "runs.json"), "--json", str(file))
    return str(file)


def test_its_markdown_has_the_verdict_and_the_table(saved: str) -> None:
    found = invoke("report", saved, "--markdown", "-")
    assert found.exit_code == 0, found.output
    heading, *others = found.stdout.splitlines()
    assert heading == "### TRUST to ± 3.2 % in this session (both series)."
    row = next(line for line in others if line.startswith("| sleep 0.01 "))
    assert row.split(" | ")[1:] == ["12", "11.81 ms \\[11.77, 12.05\\]", "3.2 %", "9", "TRUST |"]


def test_it_has_no_verdicts_for_a_ci(saved: str, tmp_path: Path) -> None:
    found = invoke("report", saved, "--junit", str(tmp_path / "a.xml"))
    assert isinstance(found.exception, InputError)
    assert found.exception.hint == f"tare report {saved} --report a.html"
