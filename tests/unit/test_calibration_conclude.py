"""From made-up sweeps, whose truth is known, to what a calibration says of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sweeps
from said import Phrase, args, template, templates, unwritten
from sweeps import Sweep

from tare.experiment.specification import SizeSpec
from tare.experiment.sweep import analysis, causes, messages
from tare.experiment.sweep.numbers import cpus, span, step
from tare.features.calibration import file
from tare.features.calibration.charts.messages import tell_sweep
from tare.features.calibration.charts.one import sweep_chart
from tare.features.calibration.charts.sweep import asked


@pytest.fixture
def as_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave evidence and caveats as messages."""
    unwritten(monkeypatch, causes, analysis)


def test_a_straight_machine_is_linear_and_every_point_has_its_interval():
    found = analysis.calibration(sweeps.make())
    assert found is not None
    assert (found.by, found.platform, found.workers, found.period_s) == ("quota", "bare", 2, 0.1)
    assert found.workload == "linpack (size 1000)"
    assert found.asked.verdict == "linear"
    assert found.delivered is not None
    assert found.delivered.verdict == "linear"
    assert [p.cpus for p in found.points] == list(sweeps.QUOTAS)
    for point in found.points:
        assert point.n == 7
        assert len(point.rates) == len(point.trials) == 7
        assert point.rate.low < point.rate.value < point.rate.high
        assert point.rate.value == pytest.approx(28e9 * point.cpus, rel=0.02)
        assert point.delivered.value == pytest.approx(point.cpus)
        assert point.residual == 0.004
    assert [r.cause for r in found.regimes] == ["none"]
    assert found.machine.cpus == 2
    assert found.caveats == ()


def test_h90_is_three_ranges_and_the_slow_one_is_the_frequencys(as_messages):
    quotas = [round(0.1 * n, 1) for n in range(1, 41)]
    facts = {"cpus": 4, "driver": "intel_pstate", "governor": "powersave"}
    results = sweeps.make(sweeps.h90(), quotas=quotas, workers=4, facts=facts)
    found = analysis.calibration(results)
    assert found.asked.verdict == "piecewise"
    assert [r.cause for r in found.regimes] == ["none", "frequency", "none"]
    slow = found.regimes[1]
    assert (slow.start, slow.end) == (0.6, 2.8)
    assert slow.relative_speed == pytest.approx(0.8 / 4.1, rel=0.02)
    chain = args(slow.evidence, "clock (chains of")
    assert chain["here"].value == pytest.approx(0.8e9, rel=0.01)
    assert chain["there"].value == pytest.approx(4.1e9, rel=0.01)
    assert args(slow.evidence, "{% if modes %}")["name"] == "intel_pstate"
    assert args(slow.evidence, "governor {name}") == {"name": "powersave"}
    governed = args(slow.evidence, ": the frequency")
    assert (governed["by_load"], governed["h90"]) == (True, True)


def test_one_thread_ends_at_one_cpu_and_the_count_is_checked(as_messages):
    found = analysis.calibration(sweeps.make(workers=1))
    assert found.asked.verdict == "saturating"
    assert found.asked.saturates_at == pytest.approx(1, abs=0.05)
    top = found.regimes[-1]
    assert top.cause == "saturated"
    assert (template(top.evidence), top.expected) == (", as expected:", True)
    assert args(top.evidence, "can use") == {"threads": 1, "cpus": cpus(1)}
    assert found.delivered.line.r2 > 0.99 > found.asked.line.r2


def test_a_ceiling_below_what_is_there_is_told(as_messages):
    found = analysis.calibration(sweeps.make(Sweep(efficiency=lambda q: min(1, 1.3 / q))))
    assert found.regimes[-1].cause == "saturated"
    assert template(found.regimes[-1].evidence) == "or the CPUs"
    assert found.regimes[-1].expected is False


@pytest.mark.parametrize(
    ("machine", "facts", "cause", "known"),
    [
        (Sweep(steal=lambda q: 0.3 if q > 1.75 else 0.0), {}, "steal", {"here": 0.3, "there": 0.0}),
        (
            Sweep(withheld=lambda q: 0.3 if q > 1 else 0.0, waited=False),
            {},
            "quota",
            {"here": 0.7, "there": 1.0, "unstopped": True},
        ),
        (
            Sweep(clock_hz=lambda q: 2e9 if q > 1 else 4e9, heat=lambda q: 3.0 if q > 1 else 0.0),
            {},
            "heat",
            {"times": 3.0, Phrase("clock (chains of"): {"here": 2e9, "there": 4e9}},
        ),
        (
            Sweep(
                clock_hz=None,
                frequency_hz=lambda q: 2e9 if q > 1 else 4e9,
                efficiency=lambda q: 0.5 if q > 1 else 1.0,
            ),
            {"driver": "acpi-cpufreq", "governor": "ondemand"},
            "slow_clock",
            {
                Phrase("the frequency (cpufreq)"): {"here": 2e9, "there": 4e9},
                Phrase("{% if modes %}"): {"name": "acpi-cpufreq"},
                Phrase("governor {name}"): {"name": "ondemand"},
                Phrase(": the frequency"): {"by_load": True, "h90": False},
            },
        ),
        (
            Sweep(efficiency=lambda q: 0.6 if q > 1 else 1.0),
            {"hypervisor": "yes (QEMU)"},
            "unseen",
            {
                "virtual": True,
                Phrase("clock {here}, there {there}"): {"here": 4.1e9, "there": 4.1e9},
                Phrase(", or other"): {"virtual": True},
            },
        ),
        (
            Sweep(efficiency=lambda q: 0.6 if q > 1 else 1.0, clock_hz=None),
            {},
            "unseen",
            {"virtual": False, "left": None, Phrase("machine reports no"): {"no_frequency": True}},
        ),
    ],
)
def test_what_happened_in_the_slow_range_is_its_cause(as_messages, machine, facts, cause, known):
    found = analysis.calibration(sweeps.make(machine, facts=facts))
    assert found.asked.verdict == "piecewise"
    slow = found.regimes[-1]
    assert slow.cause == {"slow_clock": "frequency"}.get(cause, cause), slow.evidence
    assert (
        template(slow.evidence)
        == {
            "driver": "{% if modes %}",
            "frequency": "frequency {hertz}",
            "governor": "governor {name}",
            "heat": "; the processor",
            "left": ", or other",
            "quota": "the requested CPU time was delivered,",
            "slow_clock": "{slower}: {clock}{governed}",
            "slower": "less than from",
            "steal": "time to others,",
            "unseen": "in this virtual",
        }[cause]
    )
    for name, value in known.items():
        inner = isinstance(value, dict)
        values = args(slow.evidence, name) if inner else slow.evidence.args
        for key, wanted in value.items() if inner else [(name, value)]:
            shown = getattr(values[key], "value", values[key])
            near = isinstance(wanted, float)
            assert shown == (pytest.approx(wanted, rel=0.02, abs=0.001) if near else wanted), key


def test_each_platform_and_each_period_has_its_calibration():
    results = sweeps.make(
        {
            ("bare", "0.1"): Sweep(),
            ("bare", "0.005"): Sweep(withheld=lambda q: 0.07, waited=False),
            ("docker", "0.1"): Sweep(),
            ("docker", "0.005"): Sweep(),
        },
        platforms=("bare", "docker"),
        extra={"period": ("0.1", "0.005")},
    )
    found = analysis.calibrations(results)
    assert [(c.platform, c.period_s) for c in found] == [
        ("bare", 0.1), ("bare", 0.005), ("docker", 0.1), ("docker", 0.005),
    ]  # fmt: skip
    assert found[1].points[0].delivered.value == pytest.approx(0.093)


@pytest.mark.parametrize("off", [-0.02, 0.02])
def test_a_line_that_misses_zero_is_said_to(off):
    found = analysis.calibration(sweeps.make(Sweep(efficiency=lambda quota: 1 + off / quota)))
    assert found.asked.verdict == "linear"
    said = messages.comparability(found)
    assert (template(said), said.args["offset"]) == (". Values at", True)


def test_two_whole_cpus_are_told_and_decide_nothing():
    cpus = {f"{n}": SizeSpec(cpuset=n) for n in (1, 2)}
    found = analysis.calibration(sweeps.make(sizes=cpus))
    assert found.asked.verdict == "inconclusive"
    assert found.asked.reason == "few steps"
    assert messages.comparability(found).args["pairs"] == 1


def test_steps_that_others_disturbed_say_nothing_of_half_the_cpu():
    """Few steps need no line, but the CPU time that was due."""
    cpus = {f"{n}": SizeSpec(cpuset=n) for n in (1, 2)}
    found = analysis.calibration(sweeps.make(sizes=cpus))
    assert messages.comparability(msgspec.structs.replace(found, lost_share=0.04)) is not None
    assert messages.comparability(msgspec.structs.replace(found, lost_share=0.27)) is None


def test_whole_cpus_and_memory_sizes_are_steps_too():
    cpus = {f"{n}": SizeSpec(cpuset=n) for n in range(1, 5)}
    found = analysis.calibration(sweeps.make(Sweep(usable=4), sizes=cpus, workers=4))
    assert (found.by, [p.cpus for p in found.points]) == ("cpuset", [1, 2, 3, 4])
    memory = {
        f"{mb} MB": SizeSpec(cores=mb / 1769, memory_bytes=mb << 20)
        for mb in (128, 256, 512, 1024, 1769)
    }
    found = analysis.calibration(sweeps.make(sizes=memory))
    assert found.by == "memory"
    assert found.points[-1].cpus == 1
    assert found.points[-1].memory_bytes == 1769 << 20


def test_what_is_missing_is_absent_and_told(as_messages):
    found = analysis.calibration(
        sweeps.make(Sweep(delivered=False, clock_hz=None), kernel=None, trials=1)
    )
    assert found.delivered is None
    assert all(p.delivered is None and p.clock_hz is None for p in found.points)
    assert all(p.residual is None and p.rate.low is None for p in found.points)
    assert found.work == "execution"
    steps = args(found.caveats, "more steps of")
    assert (steps["steps"][0], len(steps["steps"]), steps["others"]) == (step(0.1), 5, 15)
    assert [template(one) for one in found.caveats] == [
        ": only one",
        "quota and a",
    ]


def test_failed_trials_are_left_out_and_told(as_messages):
    found = analysis.calibration(sweeps.make(Sweep(failing=0.2)))
    good = sum(p.n for p in found.points)
    assert good < 140
    assert args(found.caveats, "failed and {% if trials == 1 %}") == {"trials": 140 - good}


def test_sessions_that_differ_are_told(as_messages):
    same = analysis.calibration(sweeps.make(Sweep(sessions={1: 1.0, 2: 1.0})))
    assert args(same.caveats, "over all of") == {"sessions": 2}
    apart = analysis.calibration(sweeps.make(Sweep(sessions={1: 1.0, 2: 0.9})))
    told = args(apart.caveats, "and too narrow")
    assert (told["slow"], told["fast"], told["sessions"]) == (2, 1, 2)
    assert told["slower"].value == pytest.approx(0.1, abs=0.01)


def test_more_than_was_asked_for_is_told(as_messages):
    found = analysis.calibration(sweeps.make(Sweep(withheld=lambda q: -0.1 if q < 0.5 else 0)))
    steps = args(found.caveats, "or a quota")["steps"]
    assert steps.args["steps"] == [step(q) for q in (0.1, 0.2, 0.3, 0.4)]


@pytest.mark.parametrize(
    ("results", "why"),
    [
        (lambda: sweeps.make(quotas=(0.5, 1, 2)), "of CPU with"),
        (lambda: sweeps.make(Sweep(failing=1.1)), "no trial ended well"),
        (lambda: sweeps.make(quotas=(1.0,)), "CPU: add a"),
    ],
)
def test_what_is_no_calibration_says_why(results, why):
    made = results()
    assert analysis.calibration(made) is None
    assert template(analysis.refusal(made)) == why


def test_an_experiment_without_windows_is_no_calibration():
    import synthetic

    made = synthetic.make()
    assert analysis.calibrations(made) == ()
    assert template(analysis.refusal(made)) == "table to the"


def test_a_busy_machine_is_no_ceiling_of_its_own(as_messages):
    busy = Sweep(withheld=lambda q: max(0.0, 1 - 0.4 / min(q, 2)))
    found = analysis.calibration(sweeps.make(busy))
    assert (found.asked.verdict, found.asked.reason) == ("inconclusive", "disturbed")
    assert found.lost_share == pytest.approx(0.5, abs=0.01)
    assert (found.regimes, found.asked.saturates_at) == ((), None)
    # Nobody waited: who had it is not known.
    found = analysis.calibration(sweeps.make(dataclasses.replace(busy, waited=False)))
    assert found.lost_share == 0
    top = found.regimes[-1]
    assert top.cause == "quota"
    assert top.expected is False
    assert "{arrived}, although" in templates(top.evidence)
    assert args(top.evidence, "CPUs were delivered")["could"].value == 1.25
    missing = args(found.caveats, "usable CPU time")
    assert missing["missing"].value == pytest.approx(0.5, abs=0.01)


def test_what_others_had_is_told_from_what_the_quota_withheld():
    """At short periods less arrives than was asked for, which is no disturbance."""

    def lost(**how: Any) -> float | None:
        return analysis.calibration(sweeps.make(Sweep(**how))).lost_share

    assert lost() == 0
    assert lost(withheld=lambda q: 0.07) == pytest.approx(0.07)
    assert lost(withheld=lambda q: 0.07, waited=False) == 0
    assert lost(steal=lambda q: 0.07) == pytest.approx(0.07)
    assert lost(delivered=False) is None


def test_a_first_step_apart_has_its_range_and_page(tmp_path: Path) -> None:
    found = analysis.calibration(sweeps.make(Sweep(efficiency=lambda q: 0.5 if q < 0.15 else 1.0)))
    assert messages.answer(found) == "no"
    said = messages.verdict(found)
    assert (template(said), said.args["span"]) == ("one line from", span(0.2, 2.0))
    assert said.args["apart"] == [cpus(0.1)]
    first, rest = found.regimes
    assert (first.start, first.end, rest.start, rest.end) == (0.1, 0.1, 0.2, 2.0)
    assert first.relative_speed == pytest.approx(0.5, abs=0.02)
    file.write((found,), tmp_path / "calibration.json")
    assert file.read(tmp_path / "calibration.json") == (found,)
    drawn = asked(found)
    assert sweep_chart(drawn)
    assert tell_sweep(drawn)


def test_a_ceiling_is_no_loss():
    """Two threads on two CPUs, or one: what cannot be used is not due."""
    assert analysis.calibration(sweeps.make(Sweep(usable=1.0), workers=1)).lost_share == 0
