"""Platforms whose memory is not this machine's: left out where that may be, otherwise refused."""

from __future__ import annotations

import pytest

from tare.errors import ExperimentError
from tare.experiment import Experiment, WorkloadSpec
from tare.fitting import _meeting


def asked(**factors: tuple[object, ...]) -> Experiment:
    workload = WorkloadSpec(name="null", kernel="null")
    return Experiment(name="x", question="?", workloads=(workload,), factors=dict(factors))


def test_what_cannot_meet_is_left_out_and_said() -> None:
    found, notes = _meeting(asked(platform=("bare", "gvisor"), workers=(1, 2)), skip=True)
    assert found.factors["platform"] == ("bare",)
    (note,) = notes
    assert "gvisor was left out" in note.message
    assert 'instances = "shared"' in note.message


@pytest.mark.parametrize(("platforms", "skip"), [(("bare", "gvisor"), False), (("gvisor",), True)])
def test_it_is_refused_where_nothing_would_be_left(platforms: tuple[str, ...], skip: bool) -> None:
    with pytest.raises(ExperimentError, match="no memory to meet in"):
        _meeting(asked(platform=platforms, workers=(2,)), skip=skip)


def test_workers_alone_need_no_memory() -> None:
    experiment = asked(platform=("bare", "gvisor"), workers=(1,))
    assert _meeting(experiment, skip=False) == (experiment, [])
