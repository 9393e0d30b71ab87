"""Is it still the same machine? Takes whose truth is known."""

from __future__ import annotations

import math
from pathlib import Path

import fingerprints
import msgspec
import numpy as np
import printed
import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import template

from tare.errors import ExperimentError
from tare.experiment.fingerprints.machine.difference import Rule, compare, differences, rule
from tare.experiment.fingerprints.machine.document import Figure, Fingerprint
from tare.features.machine.fingerprint import diff_command
from tare.registry import Probe, ProbeMetric, Seconds
from tare.results.message import Message, message
from tare.results.report import Entry, Report

LOWER = Rule(unit="ns", better="lower", margin=0.1)


def take(rng: np.random.Generator, **levels: float) -> dict[str, list[float]]:
    return {m: list(level * np.exp(rng.normal(0, 0.01, 8))) for m, level in levels.items()}


def verdicts(before: list, after: list, **rules: Rule) -> dict[str, str]:
    return {c.metric: c.verdict for c in differences(before, after, rules)}


def test_what_changed_by_more_than_matters_is_told() -> None:
    rng = np.random.default_rng(1)
    before, after = take(rng, a=100, b=100, c=100), take(rng, a=130, b=104, c=100)
    found = {c.metric: c for c in differences([before], [after], dict.fromkeys("abc", LOWER))}
    assert {m: c.verdict for m, c in found.items()} == {"a": "changed", "b": "same", "c": "same"}
    assert found["a"].direction == "worse"
    assert found["b"].direction is None
    assert found["a"].ratio == pytest.approx(1.3, rel=0.02)
    assert found["a"].low is not None
    assert 1.1 < found["a"].low < 1.3


def test_a_higher_value_is_better_where_the_metric_says_so() -> None:
    rng = np.random.default_rng(1)
    higher = Rule(unit="B/s", better="higher", margin=0.1)
    neither = Rule(unit="bytes", better="neither", margin=0.1)
    before, after = take(rng, a=100, b=100), take(rng, a=200, b=200)
    found = {c.metric: c for c in differences([before], [after], {"a": higher, "b": neither})}
    assert found["a"].direction == "better"
    assert found["b"].verdict == "changed"
    assert found["b"].direction is None


def test_a_change_must_be_there_in_every_pair_of_takes() -> None:
    rng = np.random.default_rng(2)
    calm, disturbed = take(rng, a=100), take(rng, a=200)
    assert verdicts([calm], [disturbed], a=LOWER) == {"a": "changed"}
    assert verdicts([calm, calm], [disturbed, take(rng, a=100)], a=LOWER) == {"a": "inconclusive"}
    assert verdicts([calm, calm], [disturbed, disturbed], a=LOWER) == {"a": "changed"}


def test_few_rounds_decide_nothing() -> None:
    before, after = {"a": [1.0, 1.0]}, {"a": [2.0, 2.0]}
    assert verdicts([before], [after], a=LOWER) == {"a": "inconclusive"}


def test_holm_counts_the_whole_family() -> None:
    """What is significant alone need not be so among a hundred."""
    values = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
    before = {str(i): values for i in range(100)}
    after = {**before, "0": [1.35 * v for v in values]}
    [alone] = differences([before], [after], {"0": LOWER})
    among = differences([before], [after], dict.fromkeys(before, LOWER))
    assert alone.p < 0.05 < among[0].p


def test_seven_rounds_suffice_to_tell_a_change_among_a_hundred_metrics() -> None:
    rng = np.random.default_rng(3)
    names = [str(i) for i in range(100)]
    before = {m: some[:7] for m, some in take(rng, **dict.fromkeys(names, 100.0)).items()}
    after = {**before, "0": [1.5 * v for v in before["0"]]}
    found = differences([before], [after], dict.fromkeys(names, LOWER))
    assert [c.metric for c in found if c.verdict == "changed"] == ["0"]


def test_what_never_varies_differs_surely_or_not_at_all() -> None:
    before, after = {"a": [2.0] * 7, "b": [2.0] * 7}, {"a": [2.0] * 7, "b": [4.0] * 7}
    assert verdicts([before], [after], a=LOWER, b=LOWER) == {"a": "same", "b": "changed"}


def test_metrics_that_a_take_lacks_and_values_of_zero_are_left_out() -> None:
    before = {"a": [1.0] * 8, "b": [0.0] * 8, "c": []}
    rules = dict.fromkeys(("a", "b", "c", "d"), LOWER)
    assert [c.metric for c in differences([before], [before], rules)] == ["a"]


@given(st.floats(1e-6, 1e6), st.integers(0, 1000))
def test_the_unit_does_not_matter(scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, after = take(rng, a=1.0), take(rng, a=1.1)
    scaled = [{"a": [scale * v for v in some["a"]]} for some in (before, after)]
    [one] = differences([before], [after], {"a": LOWER})
    [other] = differences(scaled[:1], scaled[1:], {"a": LOWER})
    assert one.verdict == other.verdict
    assert one.ratio == pytest.approx(other.ratio)


def test_the_order_of_the_two_turns_the_ratio_round() -> None:
    rng = np.random.default_rng(5)
    before, after = take(rng, a=100), take(rng, a=150)
    [there] = differences([before], [after], {"a": LOWER})
    [back] = differences([after], [before], {"a": LOWER})
    assert there.low is not None
    assert back.high is not None
    assert there.low == pytest.approx(1 / back.high)
    assert (there.direction, back.direction) == ("worse", "better")


@pytest.mark.parametrize("machines", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_two_takes_of_one_machine_rarely_differ(machines: int) -> None:
    """Rounds that vary by 1 %, takes by 2 %: what is called a change is beyond 10 %."""
    rng = np.random.default_rng(6)
    rules = {str(i): LOWER for i in range(15)}
    alarms = 0
    for _ in range(machines):
        levels = [{m: math.exp(rng.normal(0, 0.02)) for m in rules} for _ in range(2)]
        some = [take(rng, **level) for level in levels]
        alarms += any(c.verdict == "changed" for c in differences(some[:1], some[1:], rules))
    assert alarms <= machines / 20


def _probe() -> Probe:
    metric = ProbeMetric(
        name="memory.latency", unit="ns", meaning="", axes=(), listed=False, better="lower",
        margin=0.2,
    )  # fmt: skip
    return Probe(
        name="memory.latency", title="", question="", source=None, metrics=(metric,),
        seconds=Seconds(brief=None, quick=1.0, whole=1.0), repeats=True, needs=(),
    )  # fmt: skip


def test_a_figure_of_a_curve_has_the_rule_of_the_curve() -> None:
    probes = {"memory.latency": _probe()}
    assert rule("memory.latency.l1", "ns", probes) == Rule(unit="ns", better="lower", margin=0.2)
    assert rule("memory.latency.l1", "bytes", probes).better == "neither"
    assert rule("memory.latencies", "ns", probes).margin == 0.1


def _fingerprint(metrics: dict[str, float], **facts: str) -> Fingerprint:
    rng = np.random.default_rng(len(metrics))
    figures = {
        name: Figure(
            value=value, ci=None, unit="ns", n=8,
            values=tuple(value * np.exp(rng.normal(0, 0.01, 8))),
        )
        for name, value in metrics.items()
    }  # fmt: skip
    return Fingerprint(
        tare="1", agent="a", started="", seconds=1, effort="quick", platform="bare",
        metrics=figures, curves={}, facts=dict(facts),
    )  # fmt: skip


def test_fingerprints_are_compared_with_their_facts() -> None:
    before = _fingerprint({"a": 1.0, "b": 1.0, "gone": 1.0}, kernel="6.1", cpu="x")
    after = _fingerprint({"a": 1.0, "b": 2.0, "new": 1.0}, kernel="6.2", cpu="x")
    found = compare(before, after, {})
    assert [c.metric for c in found.changes] == ["b", "a"]
    assert [c.metric for c in found.changed] == ["b"]
    assert found.facts == {"kernel": ("6.1", "6.2")}
    assert (found.only_before, found.only_after) == (("gone",), ("new",))


def made(values: dict[str, list[float]], **facts: bool | int | float | str) -> Fingerprint:
    figures = {
        name: Figure(
            value=float(np.median(some)),
            ci=None,
            unit="ns",
            n=len(some),
            values=tuple(map(float, some)),
        )
        for name, some in values.items()
    }
    return Fingerprint(
        tare="1", agent="a", started="", seconds=1, effort="quick", platform="bare",
        metrics=figures, curves={}, facts=dict(facts),
    )  # fmt: skip


def beside(before: Fingerprint, after: Fingerprint, tmp_path: Path) -> Report:
    for name, one in (("before", before), ("after", after)):
        fingerprints.write(one, tmp_path / name)
    return diff_command.diff(tmp_path / "before", tmp_path / "after")


def assert_only(found: Report, what: str, name: str) -> None:
    """Assert that one entry names what could not be compared."""
    names = message(
        "{names | join(', ')}{% if more %} and {more} more{% endif %}", names=[name], more=0
    )
    assert (
        Entry(
            "Note",
            Message(
                {
                    "changed": (
                        "changed: {changed} of {metrics | counted('metric')}"
                        "{% if worse and better %} ({worse} worse, {better} better)"
                        "{% elif worse %} ({worse} worse){% elif better %} ({better} better)"
                        "{% endif %}{rest}"
                    ),
                    "facts_of_one": "in one of the two only, facts: {names}",
                    "inconclusive": (
                        "no significant change. Inconclusive: {inconclusive} of "
                        "{metrics | counted('metric')}{rest}"
                    ),
                    "names": "{names | join(', ')}{% if more %} and {more} more{% endif %}",
                    "same": (
                        "no significant change. Equivalent: {same} of "
                        "{metrics | counted('metric')}{rest}"
                    ),
                    "without_ratio": "not compared, because a value is 0: {names}",
                }[what],
                {"names": names},
            ),
        )
        in found.entries
    )


def test_how_it_was_measured_is_no_fact_of_the_machine(tmp_path: Path) -> None:
    before = made({"a": [1.0] * 7}, cpus=2, seed=1, load_average=0.1)
    after = msgspec.structs.replace(
        made({"a": [1.0] * 7}, cpus=4, seed=2, load_average=3.0), platform="docker"
    )
    found = compare(before, after, {})
    assert found.facts == {"cpus": (2, 4)}
    assert found.settings == {"platform": ("bare", "docker"), "seed": (1, 2)}
    shown = printed.lines(beside(before, after, tmp_path))
    assert [line.split() for line in shown[-3:]] == [
        ["Fact", "cpus:", "2", "→", "4"],
        ["Setting", "platform:", "bare", "→", "docker"],
        ["Setting", "seed:", "1", "→", "2"],
    ]


def test_what_only_one_of_the_two_tells_is_no_change(tmp_path: Path) -> None:
    before, after = made({"a": [1.0] * 7}), made({"a": [1.0] * 7}, seed=1, kernel="6.1")
    found = compare(before, after, {})
    assert (found.facts, found.settings, found.facts_of_one) == ({}, {}, ("kernel",))
    told = beside(before, after, tmp_path)
    assert "→" not in printed.text(told)
    assert_only(told, "facts_of_one", "kernel")


def test_nothing_but_undecided_metrics_is_inconclusive(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    some = {f"m{i}": list(np.exp(rng.normal(0, 0.5, 7))) for i in range(30)}
    other = {f"m{i}": list(np.exp(rng.normal(0, 0.5, 7))) for i in range(30)}
    found = compare(made(some), made(other), {})
    assert {c.verdict for c in found.changes} == {"inconclusive"}
    assert beside(made(some), made(other), tmp_path).exit_code == 2


def test_what_has_no_ratio_is_told(tmp_path: Path) -> None:
    some = made({"a": [1.0] * 7, "steal": [0.0] * 7})
    assert compare(some, some, {}).without_ratio == ("steal",)
    told = beside(some, some, tmp_path)
    assert told.exit_code == 0
    assert_only(told, "without_ratio", "steal")


def test_that_nothing_can_be_compared_is_no_sameness(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError) as caught:
        beside(made({"a": [1.0] * 7}), made({"b": [1.0] * 7}), tmp_path)
    assert caught.value.exit_code == 11


def test_undecided_is_not_called_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    names = [f"m{k:02}" for k in range(20)]
    noisy = [made({m: list(100 * np.exp(rng.normal(0, 0.3, 7))) for m in names}) for _ in range(2)]
    found = compare(*noisy, {})
    assert found.verdict == "inconclusive"
    headline = diff_command.headline(found)
    assert template(headline) == "significant change. Inconclusive:"
    assert (headline.args["inconclusive"], headline.args["metrics"]) == (20, 20)
    told = beside(*noisy, tmp_path)
    assert told.exit_code == 2
    said = [one.said for one in told.entries]
    assert said == [
        headline,
        message(
            "… and {n} more {% if changed %}changed{% else %}inconclusive{% endif %} "
            "(--json has all)",
            n=8,
            changed=False,
        ),
        message(
            "in pairs: the median ratio over all pairs of rounds{% if marked %}. *: it "
            "differs from the ratio of the two medians by more than the margin, as where "
            "rounds vary widely or are of two kinds{% endif %}",
            marked=True,
        ),
    ]
    assert "tare fingerprint --budget" in printed.lines(told)[-1]
    assert len(told.further[0].rows) == 12


def test_a_few_that_are_not_known_leave_the_machine_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    some = {m: list(100 * np.exp(rng.normal(0, 0.01, 8))) for m in "abc"}
    noise = [list(100 * np.exp(rng.normal(0, 0.3, 7))) for _ in range(2)]
    before, after = (made({**some, "noisy": one}) for one in noise)
    assert beside(before, after, tmp_path).exit_code == 0
    changed = made({**some, "a": [2 * v for v in some["a"]]})
    assert beside(before, changed, tmp_path).exit_code == 1


def test_a_stranger_s_text_stays_in_its_line(tmp_path: Path) -> None:
    before, after = made({"a": [1.0] * 7}, cpu="x"), made({"a": [1.0] * 7}, cpu="y\nFact b: 1")
    lines = printed.lines(beside(before, after, tmp_path))
    [fact] = [line for line in lines if line.startswith("Fact")]
    assert fact.split()[1:] == ["cpu:", "x", "→", "y", "Fact", "b:", "1"]


def test_comparisons_that_are_made_together_share_the_error() -> None:
    values = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
    before, after = {"a": values}, {"a": [1.35 * v for v in values]}
    [alone] = differences([before], [after], {"a": LOWER})
    [among] = differences([before], [after], {"a": LOWER}, 10)
    assert among.p == pytest.approx(10 * alone.p)
