"""Experiments in which a sandbox, a stand-in for isolate, starts each program itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from quiet import Quiet

import tare
from tare.experiment import pipeline
from tare.experiment.results import Results
from tare.platforms import isolate

pytestmark = pytest.mark.system

DATA = Path(__file__).parents[1] / "data" / "isolate"
FILE = """
[experiment]
name = "judge"
question = "How far off is the judge?"
fresh = "run"
trials = 2
iterations = 3
warmup = 1
tail = "stop"
fingerprint = false
{more}

[[workload]]
{workload}

[factors]
platform = ["bare", "isolate"]
workers = [1, 2]
"""
#: What the stand-in reports of each run.
REPORTED = {"cpu_ns": 250e6, "wall_ns": 1500e6, "memory_bytes": 100 * 1024}


def measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workload: str, more: str = ""
) -> Results:
    for name in ("boxes", "claims", "bin"):
        (tmp_path / name).mkdir()
    stand_in = tmp_path / "bin" / "isolate"
    stand_in.write_text(
        f'#!/bin/sh\nSTUB_BOXES={tmp_path}/boxes STUB_CG=fails exec {DATA}/isolate "$@"\n'
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(isolate, "CLAIMS", tmp_path / "claims")
    file, out = tmp_path / "judge.toml", tmp_path / "out"
    file.write_text(FILE.format(workload=workload, more=more))
    pipeline.execute(pipeline.prepare(file), out, Quiet())
    assert list((tmp_path / "boxes").iterdir()) == []
    return tare.open(out)


def by_source(results: Results, metric: str, platform: str) -> dict[str, list[float]]:
    """Return the values of all iterations by source."""
    trials = results.good.where(platform=platform)
    assert len(trials) == 4
    return {
        source: rows["value"].tolist()
        for source in results.sample_table.sources(metric)
        if len(rows := results.sample_table.of(metric, source).joined(trials, "trial"))
    }


def test_a_kernel_has_its_own_times_and_those_of_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = measured(tmp_path, monkeypatch, 'kernel = "gray2bin"\nrepetitions = 1')
    for metric, reported in REPORTED.items():
        found = by_source(results, metric, "isolate")
        # Two trials of each number of workers, three iterations: 2 × 3 × (1 + 2).
        assert found["isolate"] == [reported] * 18
        assert not {"perf_cpu", "perf_task", "switch", "cgroup"} & found.keys()
    own, around = (by_source(results, "wall_ns", "isolate")[s] for s in ("self", "around"))
    assert len(own) == len(around) == 18
    assert all(0 < a < b for a, b in zip(own, around, strict=True))
    inner = by_source(results, "kernel_cpu_ns", "isolate")["self"]
    assert all(0 < a <= b for a, b in zip(inner, own, strict=True))
    assert results.sources("wall_ns")[0] == "self"
    assert "isolate" not in by_source(results, "wall_ns", "bare")


def test_a_command_has_its_environment_and_directory_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """echo time:0.001; test "$OWN" = "a b" && test "$(pwd)" = /usr/share"""
    workload = (
        f"command = ['sh', '-c', '{script}']\n"
        'environment = { OWN = "a b" }\ndirectory = "/usr/share"'
    )
    results = measured(tmp_path, monkeypatch, workload, 'metric = "wall_ns"')
    assert by_source(results, "cpu_ns", "isolate")["isolate"] == [250e6] * 18
    assert results.sources("wall_ns") == ["around"]
