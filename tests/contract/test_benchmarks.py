"""Benchmarks: a page quotes the figures of each, and names it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.[cp]*"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMED = re.compile(r"benchmarks/(\w+\.(?:py|c))\b")


def needed(file: Path, quoted: set[str]) -> bool:
    """Whether a page names a benchmark, or one that a page names imports or compiles it."""
    users = [other.read_text() for other in BENCHMARKS if other.name in quoted and other != file]
    used = rf"^(?:from|import) {file.stem}\b" if file.suffix == ".py" else rf'"{file.name}"'
    return file.name in quoted or any(re.search(used, text, re.MULTILINE) for text in users)


def test_each_benchmark_is_named_by_the_page_that_quotes_it() -> None:
    quoted = {name for page in PAGES for name in NAMED.findall(page.read_text())}
    assert quoted <= {file.name for file in BENCHMARKS}
    assert [file.name for file in BENCHMARKS if not needed(file, quoted)] == []
    assert not needed(ROOT / "benchmarks/coverage.py", {"bootstrap.py"})
    assert needed(ROOT / "benchmarks/made_traces.py", {"identification.py"})
