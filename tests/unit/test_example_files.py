"""Every experiment among the examples can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.experiment import file as experiment_file
from tare.experiment.catalogue import catalogue

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = [path for path in sorted(EXAMPLES.rglob("*.toml")) if "\n[experiment]" in path.read_text()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_an_experiment(path: Path) -> None:
    found = experiment_file.parse(path.read_text(), str(path), catalogue())
    assert found.workloads


def test_there_are_some() -> None:
    assert len(FILES) > 10
