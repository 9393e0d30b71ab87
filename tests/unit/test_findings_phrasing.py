"""Levels and lists as a person writes them."""

from __future__ import annotations

from tare.findings.phrasing import at_levels
from tare.render.words import listing


def test_lists() -> None:
    assert listing([]) == ""
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"


def test_levels_are_named_where_they_vary() -> None:
    levels = {"workload": "qsort", "platform": "docker", "workers": "2", "load": "memcpy"}
    levels |= {"pinning": "none", "threads": "8"}
    varied = ["platform", "workers", "load", "pinning", "threads"]
    assert at_levels(levels, varied) == ("qsort on docker with 2 workers under memcpy at threads 8")
    assert at_levels(levels, []) == "qsort"
