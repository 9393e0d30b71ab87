"""Which rounds are performed, and how they become figures: scripted agents, no clock."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable

import pytest

from tare.agent import record
from tare.errors import ExperimentError
from tare.experiment.session.probing import Round, Turn
from tare.features.machine.fingerprint.choice import choose
from tare.features.machine.fingerprint.figures import gather
from tare.features.machine.fingerprint.rounds import FIRST_LOOK, Rounds, exact
from tare.registry import Axis, Probe, ProbeMetric, Seconds
from tare.statistics import stopping

#: From the probe and the number of the round to its readings, or to a fault.
Script = Callable[[str, int], "dict[tuple[str, tuple[int, ...]], float] | str"]


def metric(name: str, *axes: str, listed: bool = False) -> ProbeMetric:
    return ProbeMetric(
        name=name,
        unit="ns",
        meaning="made up",
        axes=tuple(Axis(name=axis, unit="1", meaning="made up") for axis in axes),
        listed=listed,
        better="lower",
        margin=0.1,
    )


def probe(
    name: str,
    *metrics: ProbeMetric,
    seconds: float = 1.0,
    repeats: bool = True,
    needs: tuple[str, ...] = (),
    whole_only: bool = False,
) -> Probe:
    return Probe(
        name=name,
        title=name,
        question="?",
        source=None,
        metrics=metrics or (metric(name),),
        seconds=Seconds(
            brief=None, quick=None if whole_only else seconds, whole=seconds,
        ),
        repeats=repeats,
        needs=needs,
    )  # fmt: skip


def play(
    schedule: Rounds, script: Script, lasts: Callable[[str], float] = lambda name: 1.0
) -> list[Round]:
    """Perform rounds in made-up time."""
    now, done = 0.0, []
    while (turn := schedule.next(now)) is not None:
        said = script(turn.probe, turn.number)
        one = played(turn, said, lasts(turn.probe))
        now += one.seconds
        schedule.ended(one)
        done.append(one)
        assert len(done) < 100_000
    return done


def played(
    turn: Turn, said: dict[tuple[str, tuple[int, ...]], float] | str, seconds: float
) -> Round:
    if isinstance(said, str):
        fault = record.Fault(id=1, kind="unavailable", message=f"{turn.probe}: {said}")
        return Round(
            probe=turn.probe, number=turn.number, seconds=seconds, readings=(), faults=(fault,)
        )
    readings = tuple(
        record.Reading(id=1, metric=name, at=at, value=value) for (name, at), value in said.items()
    )
    return Round(
        probe=turn.probe, number=turn.number, seconds=seconds, readings=readings, faults=()
    )


def steady(name: str, number: int) -> dict[tuple[str, tuple[int, ...]], float]:
    return {(name, ()): 100 + random.Random(f"{name}{number}").uniform(-1, 1)}


def test_first_look_is_that_of_the_stopping_rule() -> None:
    assert stopping.FIRST_LOOK == FIRST_LOOK


def test_rounds_are_fixed_beforehand_from_what_fits() -> None:
    some = [probe("a"), probe("b"), probe("c")]
    done = play(Rounds(some, "quick", 32.0, seed=1), steady)
    count = Counter(one.probe for one in done)
    # What is left of the time gives one of them one more.
    assert sorted(count.values()) == [10, 10, 11]


def test_where_few_fit_short_probes_still_get_an_interval() -> None:
    some = [probe("short", seconds=0.1), probe("long", seconds=5.0)]
    done = play(
        Rounds(some, "quick", 25.0, seed=1), steady, lambda name: 5.0 if name == "long" else 0.1
    )
    assert Counter(one.probe for one in done) == {"short": 7, "long": 4}


def test_blocks_are_in_random_order_and_the_same_for_the_same_seed() -> None:
    some = [probe(name) for name in "abcdef"]

    def order(seed: int) -> list[str]:
        return [one.probe for one in play(Rounds(some, "quick", 60.0, seed=seed), steady)]

    blocks = list(itertools.batched(order(1), 6)) if hasattr(itertools, "batched") else []
    assert all(sorted(block) == list("abcdef") for block in blocks)
    assert len(set(blocks)) > 1 or not blocks
    assert order(1) == order(1)
    assert order(1) != order(2)


def test_a_probe_leaves_when_its_figures_are_exact() -> None:
    def script(name: str, number: int) -> dict[tuple[str, tuple[int, ...]], float]:
        spread = 0.5 if name == "exact" else 30
        return {(name, ()): 100 + random.Random(f"{name}{number}").uniform(-spread, spread)}

    some = [probe("exact", seconds=0.01), probe("noisy", seconds=0.01)]
    done = play(Rounds(some, "quick", 20.0, seed=1), script, lambda name: 0.01)
    count = Counter(one.probe for one in done)
    assert FIRST_LOOK <= count["exact"] < 2 * FIRST_LOOK
    assert count["noisy"] > 2 * FIRST_LOOK
    values = [one.readings[0].value for one in done if one.probe == "noisy"]
    assert exact(some[1], {("noisy", ()): values}, 0.02)


def test_without_a_precision_time_is_used_up() -> None:
    done = play(
        Rounds([probe("a", seconds=0.01)], "quick", 5.0, seed=1, precision=None),
        steady,
        lambda name: 0.01,
    )
    assert 450 < len(done) <= 500


def test_who_waits_gets_a_fixed_number_at_most() -> None:
    def noisy(name: str, number: int) -> dict[tuple[str, tuple[int, ...]], float]:
        return {(name, ()): 100 + random.Random(f"{name}{number}").uniform(-90, 90)}

    def played_in(seconds: float, script: Script) -> int:
        schedule = Rounds([probe("a", seconds=seconds)], "quick", 50.0, seed=1, soon=True)
        return len(play(schedule, script, lambda name: seconds))

    assert played_in(0.01, noisy) == 100
    assert FIRST_LOOK <= played_in(0.01, steady) < 100
    assert played_in(1.2, noisy) == 20
    assert played_in(5.0, noisy) in (9, 10)


def test_the_time_left_is_that_of_the_rounds_at_most() -> None:
    schedule = Rounds([probe("a", seconds=0.1)], "quick", 50.0, seed=1, soon=True)
    assert schedule.next(0.0) is not None
    assert schedule.seconds_left(0.0) == pytest.approx(9.9)


def test_a_curve_counts_by_its_level() -> None:
    noisy = random.Random(1)
    curve = probe("a", metric("a", "size"))
    values = {("a", (size,)): [noisy.gauss(10, 0.1) for _ in range(200)] for size in range(20)}
    assert exact(curve, values, 0.02)
    assert not exact(curve, {key: some[:40] for key, some in values.items()}, 0.02)


def test_nothing_is_relative_to_nothing() -> None:
    assert exact(probe("a"), {("a", ()): [0.0] * 50}, 0.02)
    assert exact(probe("a"), {}, 0.02)


def test_what_cannot_be_had_is_asked_once_and_told_once() -> None:
    def script(name: str, number: int) -> dict[tuple[str, tuple[int, ...]], float] | str:
        return "no right: sudo" if name == "b" else steady(name, number)

    some = [probe("a"), probe("b")]
    done = play(Rounds(some, "quick", 20.0, seed=1), script)
    assert Counter(one.probe for one in done)["b"] == 1
    assert Counter(one.probe for one in done)["a"] > 15
    found = gather(choose({one.name: one for one in some}, [], "quick", {}), done)
    assert [(p.probe, p.why) for p in found.problems] == [("b", "no right: sudo")]
    assert set(found.metrics) == {"a"}


@pytest.mark.parametrize(("late", "rounds"), [({0}, 1), ({3}, 9), ({3, 4, 5}, 6)])
def test_what_takes_for_ever_is_given_up_unless_it_was_done_before(
    late: set[int], rounds: int
) -> None:
    schedule = Rounds([probe("a"), probe("b")], "quick", 20.0, seed=1)
    done = []
    while (turn := schedule.next(float(len(done)))) is not None:
        one = played(turn, steady(turn.probe, turn.number), 1.0)
        if turn.probe == "b" and turn.number in late:
            fault = record.Fault(id=1, kind="timeout", message="b: not done")
            one = dataclasses.replace(one, readings=(), faults=(fault,))
        schedule.ended(one)
        done.append(one)
    assert Counter(one.probe for one in done)["b"] == rounds


def test_the_budget_outranks_everything_but_a_first_round() -> None:
    some = [probe(name, seconds=5.0) for name in "abc"]
    schedule = Rounds(some, "quick", 8.0, seed=1)
    done = play(schedule, steady, lambda name: 5.0)
    assert len(done) == 2
    (problem,) = schedule.problems
    assert problem.probe not in {one.probe for one in done}
    assert "--budget 13s" in problem.why


def test_a_course_of_time_is_watched_once_at_the_end_and_its_time_is_kept() -> None:
    some = [probe("a"), probe("course", seconds=10.0, repeats=False)]
    done = play(Rounds(some, "quick", 30.0, seed=1), steady, lambda name: 10.0 * (name != "a") or 1)
    assert done[-1].probe == "course"
    assert Counter(one.probe for one in done) == {"a": 19, "course": 1}


def test_a_course_that_does_not_fit_is_told() -> None:
    schedule = Rounds([probe("course", seconds=99.0, repeats=False)], "quick", 30.0, seed=1)
    assert play(schedule, steady) == []
    assert "--budget 129s" in schedule.problems[0].why


def test_probes_are_found_by_name_metric_point_and_beginning() -> None:
    known = {
        one.name: one
        for one in (
            probe("memory.latency", metric("memory.latency", "bytes"), whole_only=True),
            probe("memory.tlb"),
            probe("call", metric("call.int", "arguments", listed=True)),
        )
    }

    def chosen(*words: str) -> list[str]:
        return [one.name for one in choose(known, words, "quick", {}).probes]

    assert chosen("memory") == ["memory.latency", "memory.tlb"]
    assert chosen("memory.latency.l1") == ["memory.latency"]
    assert chosen("memory.cache") == ["memory.latency"]
    assert chosen("call.int.3") == ["call"]
    assert chosen() == ["memory.tlb", "call"]
    with pytest.raises(ExperimentError) as caught:
        choose(known, ["memory.latenzy"], "quick", {})
    assert caught.value.hint == "tare fingerprint memory.latency"


def test_what_is_not_there_is_told_where_it_was_asked_for() -> None:
    known = {"net": probe("net", needs=("remote",)), "file": probe("file", needs=("directory",))}
    lacking = {"remote": "--remote DIR", "directory": "--directory DIR"}

    def told(words: list[str], effort: record.Effort) -> list[str]:
        return [problem.probe for problem in choose(known, words, effort, lacking).problems]

    assert told([], "quick") == ["file"]
    assert told([], "whole") == ["net", "file"]
    assert told(["net"], "quick") == ["net"]


def test_figures_are_medians_with_exact_intervals() -> None:
    one = probe("call", metric("call.int", "arguments", listed=True), metric("call.curve", "size"))
    turns = [Turn("call", k, 1.0) for k in range(7)]
    rounds = [
        played(turn, {("call.int", (3,)): float(k), ("call.curve", (64,)): 2.0 * k}, 1.0)
        for k, turn in enumerate(turns)
    ]
    found = gather(choose({"call": one}, [], "quick", {}), rounds)
    three = found.metrics["call.int.3"]
    assert (three.value, three.ci, three.n, three.unit) == (3.0, (0.0, 6.0), 7, "ns")
    assert three.values == (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    (point,) = found.curves["call.curve"].points
    assert (point.at, point.value, point.ci) == ((64,), 6.0, (0.0, 12.0))
    few = gather(choose({"call": one}, [], "quick", {}), rounds[:5])
    assert few.metrics["call.int.3"].ci is None


def test_readings_that_make_no_sense_are_left_out() -> None:
    one = probe("a")
    strange = {("a", (1,)): 1.0, ("b", ()): 1.0, ("a", ()): math.inf}
    found = gather(choose({"a": one}, [], "quick", {}), [played(Turn("a", 0, 1.0), strange, 1.0)])
    assert not found.metrics
    assert not found.curves


def test_only_what_was_asked_for_is_shown() -> None:
    one = probe("syscall", metric("syscall.getpid"), metric("syscall.read"))
    said = {("syscall.getpid", ()): 1.0, ("syscall.read", ()): 1.0}
    rounds = [played(Turn("syscall", 0, 1.0), said, 1.0)]
    found = gather(choose({"syscall": one}, ["syscall.getpid"], "quick", {}), rounds)
    assert set(found.metrics) == {"syscall.getpid"}
