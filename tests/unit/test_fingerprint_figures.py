"""Figures from the values of rounds."""

from __future__ import annotations

import pytest

from tare.experiment.fingerprints.machine.document import Axis, Curve, Point
from tare.features.machine.fingerprint import cycles
from tare.features.machine.fingerprint.figures import figure


def test_what_most_rounds_see_nothing_of_has_a_mean() -> None:
    rare = figure([0.0] * 6 + [0.02, 0.04], "1")
    assert rare.value == pytest.approx(0.0075)
    assert rare.ci is not None
    assert rare.ci[0] == 0
    assert rare.ci[1] > rare.value
    assert rare.why is not None
    assert figure([0.0] * 8, "1").value == 0
    assert figure([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0], "1").value == 1
    assert figure([0.0, 0.0, 1.0], "1").ci is None


def test_the_deviation_is_that_of_a_sample() -> None:
    assert figure([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], "ns").sd == pytest.approx(2.13809)
    assert figure([3.0], "ns").sd is None
    assert figure([3.0, 3.0], "ns").sd == 0


def test_times_have_cycles_by_the_frequency_measured() -> None:
    metrics = {
        "loop.effective_frequency": figure([3.4e9, 3.5e9, 3.6e9], "Hz"),
        "syscall.getpid": figure([100.0], "ns"),
        "memory.cache.l1": figure([32768.0], "bytes"),
    }
    point = Point(at=(4096,), value=2.0, ci=None, n=1)
    curves = {
        name: Curve(unit=unit, axes=(Axis(name="size_bytes", unit="bytes"),), points=(point,))
        for name, unit in (("latency", "ns"), ("bandwidth", "B/s"))
    }
    cycles.count(metrics, curves)
    assert metrics["syscall.getpid"].cycles == pytest.approx(350)
    assert curves["latency"].points[0].cycles == pytest.approx(7)
    assert metrics["memory.cache.l1"].cycles is None
    assert metrics["loop.effective_frequency"].cycles is None
    assert curves["bandwidth"].points[0].cycles is None


def test_without_a_frequency_there_are_no_cycles() -> None:
    metrics = {"syscall.getpid": figure([100.0], "ns")}
    cycles.count(metrics, {})
    assert metrics["syscall.getpid"].cycles is None
