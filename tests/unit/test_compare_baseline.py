"""Stored sessions: when a new one may be compared with them, and what the comparison says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from journals import write
from said import template
from synthetic import Behaviour, make

from tare.errors import StoreError
from tare.experiment.fingerprints.machine.difference import Rule
from tare.experiment.specification import Experiment, NetworkSpec, WindowSpec
from tare.features.measure import baseline
from tare.features.measure.baseline import agreement
from tare.render.words import text
from tare.results.message import message
from tare.results.verdict import EQUIVALENT, HIGHER, INCONCLUSIVE
from tare.statistics.sessions import FEWEST_SESSIONS, compare_with_sessions

FACTS: dict[str, Any] = {"cpu": "this one", "cpus": 2, "memory_bytes": 10_000_000}


def session(level: float = 1.0, trials: int = 20, **changes: Any) -> baseline.Session:
    rng = np.random.default_rng(int(level * 1e6) + trials)
    values = 1e7 * level * np.exp(0.01 * rng.standard_normal(trials))
    given: dict[str, Any] = {
        "started": f"at {level}",
        "tare": "0.1.0",
        "agent": "0" * 64,
        "facts": FACTS,
        "values": {
            "around": tuple(values.tolist()),
            "perf_cpu": tuple((values * 0.9).tolist()),
        },
    }
    return baseline.Session(**(given | changes))


def stored(*sessions: baseline.Session, **changes: Any) -> baseline.Baseline:
    given: dict[str, Any] = {
        "workload": "prog",
        "metric": "wall_ns",
        "settings": {"platform": "bare", "warmup": "0"},
        "sessions": sessions,
    }
    return baseline.Baseline(**(given | changes))


LEVELS = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002)
BASE = stored(*(session(level) for level in LEVELS))


# The interval


def draws(levels: list[float], trials: int = 30) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [1e7 * x * np.exp(0.005 * rng.standard_normal(trials)) for x in levels]


def test_the_interval_is_as_wide_as_sessions_differ() -> None:
    near = draws([1.0, 1.001, 0.999, 1.002, 0.998])
    far = draws([1.0, 1.02, 0.98, 1.04, 0.96])
    new = draws([1.0])[0]
    narrow, wide = compare_with_sessions(near, new), compare_with_sessions(far, new)
    assert narrow.low is not None
    assert narrow.high is not None
    assert wide.low is not None
    assert wide.high is not None
    assert np.log(wide.high / wide.low) > 5 * np.log(narrow.high / narrow.low)
    assert narrow.verdict == EQUIVALENT
    assert wide.verdict == INCONCLUSIVE


def test_the_interval_is_students_of_one_more_draw() -> None:
    from scipy import stats

    sessions = [np.full(9, x) for x in (100.0, 101.0, 99.0, 102.0, 98.0)]
    found = compare_with_sessions(sessions, np.full(9, 110.0))
    logs = np.log([100.0, 101, 99, 102, 98])
    half = stats.t.ppf(0.975, 4) * logs.std(ddof=1) * np.sqrt(1 + 1 / 5)
    assert found.ratio == pytest.approx(110 / np.exp(logs.mean()))
    assert found.low == pytest.approx(found.ratio * np.exp(-half))
    assert found.high == pytest.approx(found.ratio * np.exp(half))
    assert found.verdict == HIGHER
    assert found.p < 0.05


def test_p_and_interval_agree() -> None:
    for shift in np.linspace(0.9, 1.1, 41):
        c = compare_with_sessions(draws([1.0, 1.01, 0.99, 1.02, 0.98]), draws([shift])[0])
        assert c.low is not None
        assert c.high is not None
        assert (c.p < 0.05) == (c.low > 1 or c.high < 1)


def killed_at(one: baseline.Session, limit: float) -> baseline.Session:
    """Give a session a time limit: values above it are only known to exceed it."""
    above = sum(value > limit for value in one.values["perf_cpu"])
    ended = {
        source: tuple(v for v, known in zip(values, one.values["perf_cpu"], strict=True)
                      if known <= limit)
        for source, values in one.values.items()
    }  # fmt: skip
    return msgspec.structs.replace(one, values=ended, above=(limit,) * above)


def test_medians_below_the_limit_compare_as_all_values_do() -> None:
    limit = 0.9e7 * 1.015
    base = stored(*(killed_at(one, limit) for one in BASE.sessions))
    new = stored(session(1.0))
    limited = stored(killed_at(new.sessions[0], limit))
    whole = baseline.compare(BASE, new, 0.02, 1.0)
    found = baseline.compare(base, limited, 0.02, 1.0)
    assert any(one.above for one in base.sessions)
    assert found.comparison.low == pytest.approx(whole.comparison.low)
    assert found.comparison.high == pytest.approx(whole.comparison.high)
    assert base.trials == BASE.trials


def test_a_new_median_above_the_limit_is_slower_by_at_least_what_the_limit_says() -> None:
    new = session(2.0, values={"perf_cpu": (), "around": ()}, above=(1.2e7,) * 20)
    found = baseline.compare(BASE, stored(new), 0.02, 1.0)
    c = found.comparison
    assert c.verdict == HIGHER
    assert c.low is not None
    assert c.low > 1.3
    assert np.isinf(c.high)
    assert np.isnan(c.ratio)
    assert found.gate(0.1) == "fail"
    assert found.medians[1].above == 1.2e7


def test_a_stored_median_above_the_limit_has_no_interval() -> None:
    lost = msgspec.structs.replace(
        BASE.sessions[0], values={"perf_cpu": (), "around": ()}, above=(1e7,) * 20
    )
    found = baseline.compare(stored(lost, *BASE.sessions[1:]), stored(session()), 0.02, 1.0)
    assert found.comparison.low is None
    assert found.gate(0.1) == "inconclusive"
    assert found.settle(0.1) == message("more pairs do not settle it, a longer --timeout would")


def test_few_sessions_have_no_interval() -> None:
    found = compare_with_sessions(draws([1.0] * (FEWEST_SESSIONS - 1)), draws([2.0])[0])
    assert found.low is None
    assert found.verdict == INCONCLUSIVE


def test_a_shorter_session_knows_less() -> None:
    sessions = draws([1.0, 1.001, 0.999, 1.0005, 0.9995], trials=100)
    new = draws([1.0], trials=100)[0]
    whole, part = compare_with_sessions(sessions, new), compare_with_sessions(sessions, new[:8])
    assert whole.low is not None
    assert whole.high is not None
    assert part.low is not None
    assert part.high is not None
    assert part.high / part.low > whole.high / whole.low
    assert compare_with_sessions(sessions, new[:3]).low is None


def test_the_unit_of_the_values_does_not_matter() -> None:
    sessions, new = draws([1.0, 1.01, 0.99, 1.02, 0.98]), draws([1.05])[0]
    a = compare_with_sessions(sessions, new)
    b = compare_with_sessions([s / 1e9 for s in sessions], new / 1e9)
    assert (a.low, a.high) == pytest.approx((b.low, b.high))


# What may be compared


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"facts": FACTS | {"cpu": "another"}}, "cpu was this one and is another"),
        ({"facts": {"cpus": 2, "memory_bytes": 10_000_000}}, "cpu was this one and is unknown"),
        ({"facts": FACTS | {"governor": "powersave"}}, "governor was unknown and is powersave"),
        ({"facts": FACTS | {"memory_bytes": 11_000_000}}, "memory_bytes"),
        ({"tare": "0.2.0"}, "tare was 0.1.0 and is 0.2.0"),
        ({"agent": "1" * 64}, "agent was 0000"),
    ],
)
def test_facts_that_differ_are_told_and_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(StoreError) as raised:
        baseline.check(Path("b.json"), BASE, session(**change), BASE.settings)
    assert told in raised.value.message
    assert "interleaved" in (raised.value.hint or "")


def test_facts_that_agree_are_not_refused() -> None:
    near = FACTS | {"memory_bytes": 10_050_000}
    baseline.check(Path("b.json"), BASE, session(facts=near), BASE.settings)


def test_one_stored_session_that_was_elsewhere_is_enough_to_refuse() -> None:
    odd = stored(*BASE.sessions, session(facts=FACTS | {"kernel": "old"}))
    here = session(facts=FACTS)
    with pytest.raises(StoreError, match="kernel was old and is unknown"):
        baseline.check(Path("b.json"), odd, here, odd.settings)


def test_settings_that_differ_are_refused() -> None:
    with pytest.raises(StoreError, match="warmup was 0 and is 3"):
        baseline.check(Path("b.json"), BASE, session(), {"platform": "bare", "warmup": "3"})


def test_what_is_measured_anew_is_no_fact_that_must_agree() -> None:
    told = [("cpu", None, "a"), ("load_average", None, 3.0), ("launch_overhead_ns", "bare", 5),
            ("perf", "bare", "cpu")]  # fmt: skip
    assert baseline.lasting(told) == {"cpu": "a", "perf (bare)": "cpu"}


def test_before_a_session_the_facts_of_platforms_are_not_asked_for() -> None:
    with_platform = stored(session(facts=FACTS | {"perf (bare)": "cpu"}))
    assert baseline.disagreements(with_platform, session()) == []
    other = session(facts=FACTS | {"perf (bare)": "task"})
    assert baseline.disagreements(with_platform, other) == [
        message("{name} was {was} and is {now}", name="perf (bare)", was="cpu", now="task")
    ]


# The comparison


def test_a_new_session_is_told_with_what_it_rests_on() -> None:
    d = baseline.compare(BASE, stored(session(1.2), workload="new"), 0.02, 0.01)
    assert d.comparison.verdict == HIGHER
    assert template(d.answer) == "{first}{% if margin %}"
    assert (d.first, d.second, d.answer.args["verdict"]) == ("the baseline", "new", "slower")
    assert d.answer.args["ratio"].value == pytest.approx(1.2, rel=0.02)
    assert d.counted == message(
        "{sessions | counted('session')} of the baseline, {trials | counted('new trial')}",
        sessions=6,
        trials=20,
    )
    assert d.basis.source == "perf_cpu"
    assert d.gate(0.03) == "fail"


def test_with_few_sessions_the_gate_is_undecided_and_says_what_to_do() -> None:
    few = stored(*BASE.sessions[:4])
    d = baseline.compare(few, stored(session(2.0)), 0.02, 0.01)
    assert d.gate(0.03) == "inconclusive"
    assert d.further is not None
    assert template(d.further) == ", and how"
    assert d.further.args["sessions"] == 4


def test_a_source_must_be_common() -> None:
    only = session(values={"isolate": (1.0, 2.0)})
    with pytest.raises(StoreError, match="no source of wall_ns is common"):
        baseline.compare(BASE, stored(only), 0.02, 0.01)


# Files


def test_a_file_grows_session_by_session(tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    for number, level in enumerate(LEVELS, 1):
        whole = baseline.save(file, stored(session(level)))
        assert len(whole.sessions) == number
    # The same session again, as of a folder that was gone on with, is not counted twice.
    assert len(baseline.save(file, BASE).sessions) == len(LEVELS)
    assert baseline.read(file, "wall_ns") == BASE


def test_a_file_of_another_machine_or_setting_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    baseline.save(file, stored(session()))
    before = file.read_bytes()
    for other in (
        stored(session(1.1, facts=FACTS | {"cpu": "another"})),
        stored(session(1.1), settings={"platform": "docker", "warmup": "0"}),
    ):
        with pytest.raises(StoreError, match="other conditions"):
            baseline.save(file, other)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no baseline"),
        (b"{", "no baseline"),
        (b"\xff\xfe", "no baseline"),
        (b'{"version": 1}', "no baseline"),
        (b'{"version": 9, "workload": "a", "metric": "wall_ns", "settings": {}, "sessions": []}',
         "another tare"),
        (b'{"version": 1, "workload": "a", "metric": "wall_ns", "settings": {}, "sessions": []}',
         "without trials"),
    ],
)  # fmt: skip
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "base.json"
    file.write_bytes(content)
    with pytest.raises(StoreError, match=words) as raised:
        baseline.read(file, "wall_ns")
    assert raised.value.hint


@pytest.mark.parametrize("value", [0, -1.0, 1e999])
def test_values_that_no_trial_can_have_are_refused(tmp_path: Path, value: float) -> None:
    text = json.loads(msgspec.json.encode(BASE))
    text["sessions"][0]["values"]["around"][0] = value
    file = tmp_path / "base.json"
    file.write_text(json.dumps(text))
    with pytest.raises(StoreError):
        baseline.read(file, "wall_ns")


def test_another_metric_is_named(tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    baseline.save(file, BASE)
    with pytest.raises(StoreError, match="wall_ns, not cpu_ns"):
        baseline.read(file, "cpu_ns")


# Folders


def folder(tmp_path: Path, **changes: Any) -> Path:
    given: dict[str, Any] = {"platforms": ("bare",), "workers": (1,), "trials": 12}
    return write(make(Behaviour(), **(given | changes)), tmp_path / "results")


def test_a_folder_of_one_cell_is_a_baseline(tmp_path: Path) -> None:
    found = baseline.read(folder(tmp_path), "wall_ns")
    assert found.workload == "exp_float"
    assert found.trials == 12
    assert set(found.sessions[0].values) == {"self", "perf_cpu", "around"}
    assert found.sessions[0].facts["kernel"] == "6.1.0"
    assert not any("launch_overhead" in name for name in found.sessions[0].facts)


def test_of_several_cells_one_must_be_meant(tmp_path: Path) -> None:
    path = folder(tmp_path, workloads=("old", "new"), platforms=("bare", "docker"))
    like = {"platform": "bare", "workers": "1", "pinning": "none", "load": "none", "size": "all"}
    with pytest.raises(StoreError, match="2 cells"):
        baseline.read(path, "wall_ns", None, like)
    assert baseline.read(path, "wall_ns", "new", like).workload == "new"
    with pytest.raises(StoreError, match="no cell like this"):
        baseline.read(path, "wall_ns", "newer", like)
    with pytest.raises(StoreError, match="no cell like this"):
        baseline.read(path, "wall_ns", "new", like | {"platform": "unshare"})


# What probes found of the machine


def probed(getpid: float, seed: int) -> dict[str, baseline.Probed]:
    rng = np.random.default_rng(seed)
    rule = Rule(unit="ns", better="lower", margin=0.1)
    takes = tuple(tuple(getpid * np.exp(0.01 * rng.standard_normal(8))) for _ in range(2))
    return {"syscall.getpid": baseline.Probed(rule=rule, takes=takes)}


def test_a_machine_that_changed_under_a_baseline_is_refused() -> None:
    base = stored(*(session(level, machine=probed(80, i)) for i, level in enumerate(LEVELS)))
    asked = dict(base.settings)
    baseline.check(Path("b"), base, session(machine=probed(81, 9)), asked)
    with pytest.raises(StoreError, match=r"the machine changed: syscall\.getpid [78]"):
        baseline.check(Path("b"), base, session(machine=probed(140, 9)), asked)


def test_a_baseline_without_probes_says_nothing_of_the_machine() -> None:
    baseline.check(Path("b"), BASE, session(machine=probed(140, 9)), dict(BASE.settings))


def test_a_machine_as_it_was_in_one_of_the_sessions_is_accepted() -> None:
    """Stored sessions that differ show how much such machines do."""
    levels = (80, 140, 80, 80, 80, 80)
    base = stored(*(session(1 + i / 1000, machine=probed(g, i)) for i, g in enumerate(levels)))
    baseline.check(Path("b"), base, session(machine=probed(140, 9)), dict(base.settings))


def test_trials_in_another_network_are_not_compared() -> None:
    asked = Experiment(name="a", question="b?", workloads=(), factors={})
    own = baseline.settings(asked, {"platform": "bare"})
    slow, fast = (
        baseline.settings(asked, {"platform": "bare", "network": f"rate {rate}"})
        for rate in ("100Mbit", "1Gbit")
    )
    larger = baseline.settings(
        msgspec.structs.replace(asked, network=NetworkSpec(hosts=3, serve=(("iperf3", "-s"),))),
        {"platform": "bare", "network": "rate 1Gbit"},
    )
    assert agreement.unlike_settings(own, slow) == [
        message(
            "{name} was {was} and is {now}",
            name="network",
            was="not set",
            now="rate 100Mbit, 2 hosts",
        )
    ]
    assert len(agreement.unlike_settings(slow, fast)) == 1
    [unlike] = agreement.unlike_settings(fast, larger)
    assert unlike.args["was"] == "rate 1Gbit, 2 hosts"
    assert unlike.args["now"].startswith("rate 1Gbit, 3 hosts")
    assert unlike.args["now"].endswith("iperf3 -s")
    assert agreement.unlike_settings(fast, dict(fast)) == []


def test_a_quota_and_a_window_are_conditions() -> None:
    asked = Experiment(name="a", question="b?", workloads=(), factors={})
    free = baseline.settings(asked, {"platform": "bare"})
    held = baseline.settings(
        msgspec.structs.replace(asked, window=WindowSpec()), {"platform": "bare", "quota": "0.5"}
    )
    told = ["quota was not set and is 0.5", "window was not set and is 20 × 0.1 s"]
    assert [*map(text, agreement.unlike_settings(free, held))] == told
    assert len(agreement.unlike_settings(held, free)) == 2
