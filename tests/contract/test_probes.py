"""What holds for every probe that the agent has."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path

import pytest

from tare.agent.client import Agent, ProcessChannel, binary
from tare.experiment.catalogue import catalogue
from tare.experiment.session.probing import Given, Turn, perform_round
from tare.registry import Probe

PROBES = catalogue().probes
#: Bytes, time, their rates, and what has no unit.
UNITS = {"ns", "bytes", "B/s", "Hz", "1"}
EFFORTS = ("brief", "quick", "whole")


def of(probes: list[Probe]) -> list[object]:
    return [pytest.param(probe, id=probe.name) for probe in probes]


@pytest.mark.parametrize("probe", of(list(PROBES.values())))
def test_a_probe_says_what_its_figures_are(probe: Probe) -> None:
    assert probe.title
    assert probe.question.endswith("?")
    assert any(getattr(probe.seconds, effort) for effort in EFFORTS)
    names = [metric.name for metric in probe.metrics]
    assert names
    assert len(names) == len(set(names))
    for metric in probe.metrics:
        assert metric.unit in UNITS
        assert metric.meaning
        assert 0 < metric.margin <= 1
        for axis in metric.axes:
            assert axis.unit in UNITS | {"s"}
            assert axis.meaning


@pytest.mark.system
@pytest.mark.timeout(180)
@pytest.mark.parametrize("probe", of([p for p in PROBES.values() if p.repeats]))
def test_a_probe_reads_its_metrics_or_says_why_not(probe: Probe, tmp_path: Path) -> None:
    with closing(Agent(ProcessChannel([str(binary()), "serve"]))) as agent:
        effort = next(effort for effort in EFFORTS if getattr(probe.seconds, effort) is not None)
        found = perform_round(
            agent,
            Turn(probe.name, 0, 120),
            Given(effort=effort, directory=str(tmp_path), file_bytes=16 << 20),
        )
    metrics = {metric.name: metric for metric in probe.metrics}
    for reading in found.readings:
        metric = metrics[reading.metric]
        assert len(reading.at) == len(metric.axes)
        assert math.isfinite(reading.value)
    places = [(reading.metric, tuple(reading.at)) for reading in found.readings]
    assert len(places) == len(set(places))
    assert found.readings or found.faults
    assert {fault.kind for fault in found.faults} <= {"unavailable"}
    assert all(fault.message.strip() for fault in found.faults)
