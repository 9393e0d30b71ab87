"""``tare.statistics`` in a notebook."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "reference" / "library.md"


@pytest.mark.system
def test_the_guide_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    assert len(blocks) >= 4
    monkeypatch.chdir(tmp_path)
    exec("\n".join(blocks), {"__name__": "guide"})
    assert (tmp_path / "timeline.vl.json").exists()
