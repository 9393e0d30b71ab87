"""``tare audit --finding overhead`` as people call it, on a small table of PINNING's shape."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import chromium
import numpy as np
import pytest

from tare.wiring import enter

ASKED = ("--value", "time_s", "--group", "cores,mode", "--compare", "platform", "--block", "item")
COSTS: dict[tuple[str, str], Callable[[int], float]] = {
    ("vanilla", "BM"): lambda size: 1.0,
    ("vanilla", "CN"): lambda size: 1 + 60 / size**2,
    ("pinned", "CN"): lambda size: 1.05,
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 12 items of each cell, the first of a cell cold."""
    rng = np.random.default_rng(3)
    items = rng.uniform(0.8, 1.6, 12)
    rows = ["cores,mode,platform,item,time_s"]
    for size in (2, 4, 8, 16):
        for (mode, platform), cost in COSTS.items():
            for k, item in enumerate(rng.permutation(12)):
                value = items[item] * cost(size) * rng.lognormal(0, 0.02) * (1 if k else 9)
                rows.append(f"{size},{mode},{platform},picture-{item}.jpg,{value:.6f}")
    file = tmp_path_factory.mktemp("study") / "study.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


def tare(*words: str | Path) -> tuple[int, str, str]:
    """Call the command line without starting Python anew."""
    out, err = io.StringIO(), io.StringIO()
    asked = ["tare", "audit", *map(str, words)]
    with mock.patch.object(sys, "argv", asked), redirect_stdout(out), redirect_stderr(err):
        code = enter()
    return code, out.getvalue(), err.getvalue()


def test_the_answer_comes_first_then_every_size(study: Path) -> None:
    code, out, err = tare(study, *ASKED, "--finding", "overhead")
    assert code == 1, err
    first, *further = out.splitlines()
    assert first.startswith("Overhead vs. BM: CN × ")
    assert "Question: What does each platform cost?" in further
    rows = [line.split() for line in out.splitlines()]
    assert [row[0] for row in rows if row[1:3] == ["none", "CN"]] == ["2", "4", "8", "16"]
    assert "DOUBT these numbers are doubtful" in out


def test_the_whole_audit_tells_it_too_and_what_to_type(study: Path) -> None:
    _, out, _ = tare(study, *ASKED)
    assert "Overhead vs. BM: CN × " in out
    assert "--trial row" in out.splitlines()[-1]
    _, out, _ = tare(study, *ASKED, "--trial", "row")
    assert "--finding overhead" in out.splitlines()[-1]


def test_the_page_draws_its_charts(study: Path, tmp_path: Path) -> None:
    page = tmp_path / "study.html"
    code, out, err = tare(study, *ASKED, "--finding", "overhead", "--report", page, "--json", "-")
    assert code == 1, err
    first = json.loads(out)["sections"][0]["finding"]
    assert first["tables"][0]["title"]["text"].startswith("Overhead vs. BM")
    if chromium.binary() is None:
        pytest.skip("no Chromium here")
    with chromium.Browser() as browser:
        browser.show(page)
        assert browser.complaints == []
        assert browser.ask("document.querySelectorAll('.chart svg, .chart canvas').length") >= 4


def test_what_cannot_be_told_is_an_error_with_what_to_type(study: Path) -> None:
    code, _, err = tare(study, *ASKED, "--finding", "overhead", "--reference", "iron")
    assert code == 16
    assert "--reference BM" in err or "--reference CN" in err
