"""Whether this user may give CPU time in steps is tried before anything is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from said import templates

from tare import platforms
from tare.errors import PlatformError
from tare.experiment.specification import Experiment
from tare.features.calibration import rights, sweep
from tare.platforms import Place, groups, scope
from tare.registry import Availability
from tare.workloads.specification import WorkloadSpec


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    works = Availability(name="bare", works=True)
    monkeypatch.setattr(platforms, "availability", lambda *words: works)
    monkeypatch.setattr(scope, "works", lambda: False)


def asked(**other: Any) -> Experiment:
    workload = WorkloadSpec(name="linpack", kernel="linpack")
    given = {"by": "quota", "workloads": (workload,), "cpus": (0.5, 1, 1.5, 2), **other}
    return sweep.experiment(**given)


def test_who_has_no_group_is_told_what_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(place: Place) -> list[Path]:
        assert place.cores == 0.5
        raise PlatformError("cores cannot be limited here: Permission denied")

    monkeypatch.setattr(groups, "limited", limited)
    with pytest.raises(PlatformError, match="Permission denied") as told:
        rights.check(asked())
    assert told.value.hint.startswith("sudo ")
    assert "--platform docker" in told.value.hint


def test_a_platform_that_is_not_there_is_told_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = Availability(name="docker", works=False, why="no Docker", fix="start it")
    monkeypatch.setattr(platforms, "availability", lambda *words: gone)
    with pytest.raises(PlatformError, match="no Docker") as told:
        rights.check(asked(platform="docker"))
    assert told.value.hint == "start it"


def test_what_gives_the_steps_is_said() -> None:
    for options, limits, means in (
        ({"platform": "docker"}, "quota", "docker"),
        ({"platform": "vm"}, "quota", "vm"),
        ({"by": "cpuset"}, "cpuset", "affinity"),
    ):
        assert templates(rights.check(asked(**options))) == [
            "{limits} by {means}",
            {
                "affinity": "affinity",
                "by": "{limits} by {means}",
                "cpuset": "sets of CPUs",
                "docker": "docker",
                "quota": "CPU quotas",
                "vm": "virtual machines",
            }[limits],
            {
                "affinity": "affinity",
                "by": "{limits} by {means}",
                "cpuset": "sets of CPUs",
                "docker": "docker",
                "quota": "CPU quotas",
                "vm": "virtual machines",
            }[means],
        ]
