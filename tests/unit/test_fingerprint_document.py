"""What the documentation says of fingerprints is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tare.features.machine.fingerprint import file
from tare.features.machine.fingerprint.command import take
from tare.features.measure.compare.command import compare
from tare.features.measure.run.command import run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "fingerprint.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_example_of_a_file_is_one(tmp_path: Path) -> None:
    (text,) = blocks("json")
    target = tmp_path / "machine.json"
    target.write_text(text)
    found = file.read(target)
    assert set(found.metrics) == {"memory.latency.l1"}
    assert set(found.curves) == {"memory.latency"}


@pytest.mark.parametrize("option", re.findall(r"`(--[a-z-]+)", PAGE.read_text()))
def test_options_that_are_spoken_of_exist(option: str) -> None:
    assert any(option in one.names for one in (take, run, compare))
