"""Levels and lists as a person writes them."""

from __future__ import annotations

from tare.experiment.findings.level_names import at_levels, where
from tare.render.words import listing
from tare.results.message import Levels


def test_lists() -> None:
    assert listing([]) == ""
    assert listing(["1"]) == "1"
    assert listing(["1", "2", "3"]) == "1, 2 and 3"


def test_levels_are_named_where_they_vary() -> None:
    levels = {"workload": "qsort", "platform": "docker", "workers": "2", "load": "memcpy"}
    levels |= {"pinning": "none", "threads": "8"}
    varied = ["platform", "workers", "load", "pinning", "threads"]
    # What goes without saying is left out.
    assert where(levels, varied) == Levels({k: v for k, v in levels.items() if k != "pinning"})
    assert at_levels(levels, ["platform"]) == "qsort on docker"
    assert at_levels(levels, []) == "qsort"
