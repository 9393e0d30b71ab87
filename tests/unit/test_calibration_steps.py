"""The steps of a sweep: exact, within the machine, refused with what would do."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tare.errors import ExperimentError, TareError, UsageError
from tare.features.calibration import steps
from tare.features.calibration.options import SweepOptions
from tare.options.parsing import parse


def asked(*words: str) -> SweepOptions:
    return parse("tare calibrate", SweepOptions, words)


def listed(text: str) -> tuple[float, ...]:
    return steps.listed(asked("--quotas", text).quotas or (), 2)


def test_tenths_are_tenths() -> None:
    found = steps.quotas(2)
    assert found == tuple(round(0.1 * n, 1) for n in range(1, 21))
    # What is left of the range below a step is left out.
    assert steps.quotas(2, Fraction("0.3"))[-1] == 1.8


@pytest.mark.parametrize(
    ("step", "message", "hint"),
    [
        ("3", "3 CPUs are more than this machine has: 2", "--step 0.1"),
        ("0.001", "2000 quotas, more than 1000", "--step 0.1"),
    ],
)
def test_what_gives_no_steps_is_refused(step: str, message: str, hint: str) -> None:
    with pytest.raises(ExperimentError, match=message) as told:
        steps.quotas(2, Fraction(step))
    assert told.value.hint == hint


@pytest.mark.parametrize("step", ["0", "-1", "1/0", "x", ""])
def test_a_step_is_a_number_above_0(step: str) -> None:
    with pytest.raises(UsageError, match=f"--step '{step}' is not possible; expected") as told:
        asked("--step", step)
    assert told.value.hint == "--step 0.5"


@pytest.mark.parametrize("text", ["", ",", "0.1,0.1", "0.1,x", "0.5,0", "0.5,2.5", "0.5;1"])
def test_lists_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(TareError) as told:
        listed(text)
    assert told.value.hint


def test_a_list_is_put_in_order() -> None:
    assert listed(" 1, 0.25,0.5,") == (0.25, 0.5, 1.0)


def test_whole_cpus_need_several() -> None:
    assert steps.whole_cpus(4) == (1, 2, 3, 4)
    with pytest.raises(ExperimentError, match="one CPU"):
        steps.whole_cpus(1)


def test_memory_comes_with_cpus_as_on_lambda() -> None:
    gib = 1 << 30
    assert steps.memory_sizes(2, 64 * gib)[-2:] == (3008, 3538)
    assert steps.memory_sizes(8, 3 * gib)[-1] == 3008


@pytest.mark.parametrize(
    ("cpus", "period_s", "platform", "hint"),
    [
        (0.1, 0.0005, "bare", "--period '100 ms'"),
        (0.1, 2.0, "bare", "--period '100 ms'"),
        (0.005, 0.1, "bare", "--period '200 ms'"),
        (0.0001, 0.1, "bare", "begin with 0.01: --quotas 0.01,…"),
        (0.005, 0.5, "docker", "begin with 0.01: --quotas 0.01,…"),
    ],
)
def test_what_the_kernel_does_not_hand_out_is_refused(
    cpus: float, period_s: float, platform: str, hint: str
) -> None:
    with pytest.raises(ExperimentError) as told:
        steps.check_period((cpus, 1.0), period_s, platform)
    assert told.value.hint == hint
    steps.check_period((0.1, 1.0), 0.1, platform)
