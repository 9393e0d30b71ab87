"""Mappings between made-up machines: the truth is known, what cannot be said is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from said import args, unwritten

from tare.errors import ExperimentError
from tare.experiment.sweep import numbers
from tare.experiment.sweep.document import Calibration, Interval, Machine, Point
from tare.features.calibration import mapping as mappings
from tare.features.calibration.mapping import Equal, mapping
from tare.results.message import Chosen, message
from tare.statistics.scaling import scaling

Rate = Callable[[float], float]


@pytest.fixture(autouse=True)
def as_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave answers, reasons and caveats as messages."""
    unwritten(monkeypatch, mappings)


def swept(
    rate: Rate,
    last: float = 2.0,
    *,
    noise: float = 0.01,
    offset: float = 0.0,
    seed: int = 1,
    windows: int = 7,
    **more: Any,
) -> Calibration:
    """Sweep a made-up machine; rates are in GFLOPS."""
    rng = np.random.default_rng(seed)
    steps = [round(0.1 * i, 10) for i in range(1, round(10 * last) + 1)]
    true = np.array([1e9 * rate(x) for x in steps]) * (1 + offset * rng.normal(size=len(steps)))
    values = true[:, None] * (1 + noise * rng.normal(size=(len(steps), windows)))
    given = {
        "measured": "2026-05-01T10:00:00+00:00", "by": "quota", "workload": "linpack (size 1000)",
        "work": "flop", "platform": "bare", "workers": 2, "period_s": 0.1,
    }  # fmt: skip
    return Calibration(
        **{**given, **more},
        points=tuple(
            Point(
                cpus=x, rate=Interval(value=float(some.mean())), delivered=None, n=windows,
                trials=tuple(range(windows)), rates=tuple(map(float, some)), deliveries=(),
            )
            for x, some in zip(steps, values, strict=True)
        ),
        asked=scaling(np.repeat(steps, windows), values.ravel()),
        delivered=None,
        regimes=(),
        machine=Machine(cpu="Made-up CPU", cpus=2),
    )  # fmt: skip


def jumping(x: float) -> float:
    """CALIBRATE's H90: fast, slow, fast."""
    return 12 * x if 0.55 < x < 2.85 else 54 * x


def at(cpus: float, a: Calibration, b: Calibration) -> Equal:
    return mapping(a, b, places=[cpus]).equals[0]


def covers(found: Interval, truth: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    return found.low <= truth <= found.high


def test_a_slower_machine_needs_more() -> None:
    found = mapping(swept(lambda x: 28 * x), swept(lambda x: 17 * x, seed=2))
    told = args(found.sentence, ", where the")
    assert (told["place"], told["also"]) == (numbers.cpus(1), [])
    assert (told["first"], told["second"]) == ("A", "B")
    assert told["workload"] == "linpack (size 1000)"
    equal = told["equal"].args["cpus"]
    assert (equal.value, equal.unit) == (pytest.approx(28 / 17, rel=0.01), "CPUs")
    assert equal.low < 28 / 17 < equal.high
    assert len(found.equals) == 20
    assert all(one.on for one in found.equals[:12])
    assert found.pieces[0].slope == pytest.approx(28 / 17, rel=0.01)


def test_what_is_asked_for_lies_between_the_steps() -> None:
    one = at(0.73, swept(lambda x: 28 * x), swept(lambda x: 17 * x, seed=2))
    assert covers(one.on[0], 0.73 * 28 / 17)


def test_b_has_a_maximum() -> None:
    one = at(1.8, swept(lambda x: 28 * x), swept(lambda x: 17 * x, seed=2))
    assert not one.on
    told = args(one.why, "is slower at")
    assert (told["name"], told["place"]) == ("B", numbers.cpus(2))
    assert told["most"].value == pytest.approx(34e9, rel=0.02)


def test_the_end_of_the_same_machine_is_not_lost_to_noise() -> None:
    found = mapping(swept(lambda x: 28 * x), swept(lambda x: 28 * x, seed=5))
    assert sum(bool(one.on) for one in found.equals) >= 18


def test_beyond_what_was_measured_nothing_is_said() -> None:
    one = at(2.5, swept(lambda x: 28 * x), swept(lambda x: 17 * x, seed=2))
    assert (one.rate, one.on) == (None, ())
    assert one.why == message(
        "outside the range of {name}, {span}", name="A", span=numbers.span(0.1, 2)
    )


def test_where_a_jumps_nothing_is_said() -> None:
    one = at(0.55, swept(jumping, 4.0), swept(lambda x: 28 * x, seed=2))
    assert one.why == message(
        "where the speed of {name} changes (from {span})", name="A", span=numbers.span(0.5, 0.6)
    )


def test_where_b_is_as_fast_with_less_both_are_told() -> None:
    """12 CPUs' worth of the slow range is what the fast one does with 0.44."""
    one = at(2.0, swept(lambda x: 12 * x), swept(jumping, 4.0, seed=2))
    assert [covers(found, y) for found, y in zip(one.on, (24 / 54, 2.0), strict=True)] == [
        True, True,
    ]  # fmt: skip


def test_where_b_jumps_past_a_speed_there_is_none() -> None:
    """Between what 2.8 and 2.9 CPUs do there is no quota."""
    one = at(1.0, swept(lambda x: 70 * x), swept(jumping, 4.0, seed=2))
    assert one.why == message("the speed on {name} jumps past that", name="B")


def test_above_the_ceiling_it_is_said_so() -> None:
    flat = swept(lambda x: 28 * min(x, 1.0))
    top = flat.asked.saturates_at
    assert mapping(flat, flat, places=[1.6]).sentence == message(
        "{place}: {why}",
        place=numbers.cpus(1.6),
        why=message(
            "above the ceiling of {name} ({ceiling}): more {resource} gives no more speed",
            name="A",
            ceiling=numbers.cpus(top),
            resource="CPU",
        ),
    )
    beyond = mapping(flat, flat, places=[2.5]).sentence
    assert args(beyond, "the range of")["name"] == "A"


@pytest.mark.parametrize("seed", range(5))
def test_a_file_with_itself_maps_each_share_onto_itself(seed: int) -> None:
    for rate in (lambda x: 28 * min(x, 1.0), lambda x: 28 * x, jumping):
        one = swept(rate, 4.0 if rate is jumping else 2.0, seed=seed)
        below = [p.cpus for p in one.points if p.cpus < (one.asked.saturates_at or math.inf)]
        for equal in mapping(one, one, places=below).equals:
            assert any(found.value == pytest.approx(equal.at) for found in equal.on), equal


def test_a_ceiling_is_no_line() -> None:
    flat = swept(lambda x: 28 * min(x, 1.0))
    line = swept(lambda x: 17 * x, seed=2)
    assert at(1.8, flat, line).why == message(
        "above the ceiling of {name} ({ceiling}): more {resource} gives no more speed",
        name="A",
        ceiling=numbers.cpus(1),
        resource="CPU",
    )
    back = mapping(line, flat)
    assert all(one.on[0].value < 1.1 for one in back.equals if one.on)
    assert len(back.b.linear) == 1


@pytest.mark.parametrize(
    ("samples", "least"), [(40, 34), pytest.param(200, 181, marks=pytest.mark.slow)]
)
def test_error_of_the_quotas_is_in_the_interval(samples: int, least: int) -> None:
    """Windows of one quota agree with each other, but all are off."""
    held = [
        covers(
            at(
                0.7,
                swept(lambda x: 28 * x, noise=0.001, offset=0.01, seed=seed),
                swept(lambda x: 17 * x, noise=0.001, offset=0.01, seed=1000 + seed),
            ).on[0],
            0.7 * 28 / 17,
        )
        for seed in range(samples)
    ]
    # 99 % of samples of 200 with a true share of 95 % have at least 181; of 40, at least 34.
    assert least <= sum(held) < samples


def test_what_is_not_comparable_is_refused() -> None:
    a = swept(lambda x: 28 * x)
    with pytest.raises(ExperimentError, match="workload is linpack"):
        mapping(a, msgspec.structs.replace(a, workload="triad"))
    with pytest.raises(ExperimentError, match="work is flop"):
        mapping(a, msgspec.structs.replace(a, work="byte"))
    noisy = msgspec.structs.replace(
        a, asked=msgspec.structs.replace(a.asked, verdict="inconclusive")
    )
    with pytest.raises(ExperimentError, match="B has no line to compare by"):
        mapping(a, noisy)


def test_what_weakens_it_is_said() -> None:
    a = swept(lambda x: 28 * x)
    assert mapping(a, a).caveats == (
        message(
            "intervals hold for these two sweeps. How much each machine differs between "
            "sessions is not included"
        ),
    )
    found = mapping(a, msgspec.structs.replace(a, period_s=0.02, by="cpuset", workers=8))
    periods, by, workers = (one.args for one in found.caveats[1:])
    assert (periods["first_period"], periods["second_period"]) == (
        Chosen(0.1, "s"),
        Chosen(0.02, "s"),
    )
    assert (by["first_by"], by["second_by"]) == ("quota", "cpuset")
    assert (workers["first_workers"], workers["second_workers"]) == (2, 8)


def test_two_steps_have_no_interval() -> None:
    a = swept(lambda x: 28 * x)
    few = msgspec.structs.replace(a, points=a.points[:2])
    assert at(0.15, few, a).on[0].low is None
