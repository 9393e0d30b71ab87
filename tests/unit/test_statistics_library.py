"""``tare.statistics`` in a notebook: every public name is there, and loads nothing before."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tare import statistics

GUIDE = Path(__file__).parents[2] / "docs" / "reference" / "library.md"


@pytest.mark.parametrize("name", dir(statistics))
def test_every_public_name_can_be_had(name: str) -> None:
    found = getattr(statistics, name)
    assert found.__doc__


def test_no_function_hides_a_file() -> None:
    assert not set(statistics._FUNCTIONS) & statistics._files()


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = statistics.nothing


def test_importing_the_package_loads_no_numbers() -> None:
    code = "import sys, tare.statistics; sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.long
def test_the_guide_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    assert len(blocks) >= 4
    monkeypatch.chdir(tmp_path)
    exec("\n".join(blocks), {"__name__": "guide"})
    assert (tmp_path / "course.html").exists()
