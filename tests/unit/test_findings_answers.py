"""The answers: stability, parallelism, cost, and the headline that sums them up."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import columns
import numpy as np
import pytest
import situations
from said import args, assert_survives_json, headline, template, templates
from scipy import stats
from synthetic import MS, Behaviour, make

from tare import registry
from tare.experiment.file import factors
from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.overview import overview
from tare.experiment.report.backing import stop_table
from tare.experiment.results import Results
from tare.experiment.samples import Key, Samples
from tare.experiment.specification import Stopping, WindowSpec
from tare.render.words import paragraph
from tare.results.columns import Columns
from tare.results.finding import Finding
from tare.results.message import Chosen, Levels, Message, Ratio, Said, each, message
from tare.wiring import SUPPLIES


def ask(name: str, results: Results) -> Finding:
    found = registry.units_of("finding")[name].find(results)
    assert found is not None
    return found


EQUALLY = "equally stable (within 1.5 ×)"


def messages_of(said: Said | tuple[Said, ...] | None) -> list[Message]:
    return [one for one in each(said) if isinstance(one, Message)]


def noisy_docker(levels: dict[str, str]) -> Behaviour:
    return Behaviour(spread=0.04 if levels["platform"] == "docker" else 0.01)


def slow_pairs(levels: dict[str, str]) -> Behaviour:
    return Behaviour(mean_ns=200 * MS * (1.2 if levels["workers"] == "2" else 1))


def test_the_unstable_platform_is_named_with_its_ratio() -> None:
    found = ask("stability", make(noisy_docker, workers=(1,), trials=60))
    assert (found.verdict, found.within, found.word) == ("less stable", None, "less stable")
    asked = {"platforms": ["docker"], "reference": "bare", "margin": Chosen(0.5, "growth")}
    assert args(found.question, "{margin})?") == asked
    assert args(found.answer, "{ratios | listing}")["verdict"] == "less stable"
    (estimate,) = found.estimates
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < 4 < estimate.high
    assert estimate.n == 60
    assert len(estimate.trials) == 120
    assert found.basis == "kernel_cpu_ns (self)"


def test_equal_platforms_are_told_to_be_as_stable() -> None:
    found = ask("stability", make(workers=(1,), trials=300))
    assert (found.verdict, found.within) == ("equally stable", Chosen(0.5, "growth"))
    assert found.word == EQUALLY
    (part,) = args(found.summary, "spread vs. {reference}:")["parts"]
    assert (part.args["platforms"], part.args["verdict"]) == (["docker"], EQUALLY)
    assert args(found.answer, "Smallest detectable change:")["change"].value < 0.5


def test_too_few_trials_for_a_spread_are_told_without_a_number() -> None:
    found = ask("stability", make(workers=(1, 2), trials=12))
    assert found.verdict == "inconclusive"
    assert args(found.answer, "per cell are")["trials"] == 12
    assert "{ratios | listing}" not in templates(found.answer)


def test_what_an_interval_needs_is_not_told_to_decide() -> None:
    names = ("bare", "docker", "runc")
    found = ask("stability", make(platforms=names, workers=(1,), trials=12))
    # Once for all of them.
    few = args(found.summary, "per cell are")
    assert few["platforms"] == ["docker", "runc"]
    assert (few["trials"], few["least"]) == (12, 20)
    assert few["more"].args["trials"] == 8
    assert few["more"].args["few"]
    assert found.settle == few["more"]


def test_what_is_undecided_of_one_cell_is_said_once() -> None:
    found = ask("stability", make(workers=(1,), trials=25))
    assert templates(found.answer).count("{ratios | listing}") == 1
    assert ", by cell:" not in templates(found.answer)


def test_all_cells_together_decide_what_each_alone_does_not() -> None:
    results = make(workloads=("a", "b", "c"), workers=(1, 2), trials=45, seed=2)
    found = ask("stability", results)
    cells = [r["verdict"] for r in found.tables[0].rows]
    assert cells.count("inconclusive") >= 3
    assert found.verdict == "equally stable"
    assert args(found.answer, "{ratios | listing}")["verdict"] == EQUALLY
    overall = found.estimates[0]
    assert overall.levels == {"platform": "docker"}
    assert overall.low is not None
    assert overall.high is not None
    assert 1 / 1.5 < overall.low < 1 < overall.high < 1.5
    assert len(overall.trials) == 2 * 6 * 45

    seen = [r["detectable"] for r in found.tables[0].rows]
    told = args(found.answer, "Smallest detectable change:")["change"].value
    assert told < min(seen)


def test_what_an_undecided_interval_excludes_is_told() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        return Behaviour(spread=0.008 if levels["platform"] == "docker" else 0.01)

    found = ask("stability", make(rule, workloads=("a", "b"), workers=(1,), trials=40, seed=3))
    assert found.verdict == "inconclusive"
    assert found.estimates[0].high is not None
    assert found.estimates[0].high < 1.5
    said = args(found.answer, "{ratios | listing}")
    assert said["verdict"] == message(
        "inconclusive, but at most {margin} as wide", margin=Chosen(0.5, "growth")
    )


def test_a_spread_that_is_larger_by_less_than_matters_is_told_as_larger() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        return Behaviour(spread=0.0125 if levels["platform"] == "docker" else 0.01)

    found = ask("stability", make(rule, workloads=("a", "b"), workers=(1,), trials=400))
    assert (found.verdict, found.word) == ("less stable", "less stable (within 1.5 ×)")
    assert args(found.summary, "{ratios | listing}")["verdict"] == "less stable (within 1.5 ×)"
    words = {row["verdict"] for row in found.tables[0].rows}
    assert words == {"less stable (within 1.5 ×)"}


def test_one_bad_cell_is_not_hidden_by_the_others() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        bad = levels["platform"] == "docker" and levels["workload"] == "c"
        return Behaviour(spread=0.05 if bad else 0.01)

    found = ask("stability", make(rule, workloads=("a", "b", "c"), workers=(1,), trials=45))
    assert found.verdict == "less stable"
    worse = args(found.answer, "{quantity}")
    assert (worse["verdict"], worse["share"].args) == ("less stable", {"some": 1, "total": 3})


def test_few_trials_leave_it_undecided_and_say_how_many_more() -> None:
    found = ask("stability", make(workers=(1,), trials=25))
    assert found.verdict == "inconclusive"
    row = found.tables[0].rows[0]
    assert row["more"] > 50
    assert args(found.settle, "measure on a")["trials"] == row["more"]
    assert row["verdict"] == "inconclusive"


def test_below_twenty_trials_there_is_a_ratio_without_interval() -> None:
    found = ask("stability", make(workers=(1,), trials=5))
    assert found.verdict == "inconclusive"
    assert found.tables[0].rows[0]["low"] is None
    assert found.tables[1].rows[0]["median_low"] is None


def test_only_bare_is_told_as_such_and_what_was_left_out_beside_it() -> None:
    note = "docker was left out: the engine does not answer."
    results = make(platforms=("bare",), notes=[note])
    found = ask("stability", results)
    assert found.verdict == "none"
    assert found.question == message("How much do values vary on {platform}?", platform="bare")
    assert args(found.answer, "p10–p90 range is")["n"] == 40
    assert note not in found.caveats
    assert headline(results, all_findings(results, SUPPLIES.findings()))[-1] == note


def test_no_range_is_told_of_too_few_trials() -> None:
    found = ask("stability", make(platforms=("bare",), workers=(1,), trials=2))
    assert args(found.answer, "were measured at")["most"] == 2
    assert templates(found.answer) == ["were measured at"]


def test_without_a_common_source_nothing_is_compared_and_the_reason_is_told() -> None:
    results = make(without={"docker": ["self"]})
    for name in ("stability", "overhead", "parallelism"):
        found = ask(name, results)
        assert found.verdict == "nothing to compare"
        told = args(found.answer, "compare: no source of")
        assert [one.args for one in told["sources"]] == [{"platform": "bare", "sources": ["self"]}]
        assert told["missing"] == ["docker"]
        assert found.estimates == ()


def test_platforms_are_compared_on_the_source_that_all_have() -> None:
    results = make(without={"docker": ["self", "perf_cpu"]}, metric="wall_ns")
    assert ask("overhead", results).basis == "wall_ns (around)"


def test_three_spreads_stand_apart() -> None:
    behaviour = Behaviour(spread=0.01, within=0.03, worker_difference=0.1)
    results = make(behaviour, platforms=("bare",), workers=(2,), iterations=5, trials=60)
    row = ask("stability", results).tables[0].rows[0]
    assert row["sd_within"] == pytest.approx(200 * MS * 0.03, rel=0.15)
    assert row["sd_workers"] == pytest.approx(200 * MS * 0.1 / 2**0.5, rel=0.1)
    assert row["sd_trials"] == pytest.approx(200 * MS * 0.0138, rel=0.25)


def test_the_largest_undisturbed_number_of_workers_is_found() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        return Behaviour(mean_ns=200 * MS * {"1": 1, "2": 1.01, "4": 1.3}[levels["workers"]])

    results = make(rule, platforms=("bare",), workers=(1, 2, 4), trials=200)
    found = ask("parallelism", results)
    assert found.verdict == "no"
    told = args(found.summary, "at a time.")
    assert (told["workers"], told["more"]) == (2, 4)
    assert templates(tuple(told["disturbance"])) == ["{shift} (limit"]
    assert [r["state"] for r in found.tables[0].rows] == ["undisturbed", "disturbed"]


def test_a_platform_that_allows_more_workers_is_named() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        slow = levels["platform"] == "docker" and levels["workers"] == "2"
        return Behaviour(mean_ns=200 * MS * (1.5 if slow else 1))

    found = ask("parallelism", make(rule, trials=300))
    said = args(found.summary, "at a time.")
    assert (said["workers"], said["more"]) == (1, 2)
    assert args(said["disturbance"][0], "{shift} (limit")["shift"].value > 1.4
    assert said["where"] == Levels({"workload": "exp_float", "platform": "docker"})
    assert said["elsewhere"] == [message("{workers} on {platform}", workers=2, platform="bare")]


def test_a_growing_spread_disturbs_too() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        return Behaviour(spread=0.01 * int(levels["workers"]) ** 2)

    found = ask("parallelism", make(rule, platforms=("bare",), trials=80))
    told = args(found.answer, "spread grows by")
    assert told["growth"].value > 2
    assert told["limit"] == Chosen(0.5, "growth")
    assert "{shift} (limit" not in templates(found.answer)


def test_all_that_was_tried_may_be_undisturbed() -> None:
    found = ask("parallelism", make(platforms=("bare",), trials=300))
    assert found.verdict == "yes"
    assert args(found.summary, "at a time,")["workers"] == 2


def test_thresholds_are_the_experiments() -> None:
    strict = ask("parallelism", make(slow_pairs, platforms=("bare",), trials=80))
    assert strict.verdict == "no"
    lax = make(slow_pairs, platforms=("bare",), trials=80, parallel_shift=0.5, parallel_growth=2.0)
    assert ask("parallelism", lax).verdict == "yes"


def test_undecided_workers_say_how_many_trials_would_do() -> None:
    found = ask("parallelism", make(platforms=("bare",), trials=25))
    assert found.verdict == "inconclusive"
    told = args(found.answer, "workers at a")
    assert (told["workers"], told["more"]) == (1, 2)
    assert args(found.settle, "measure on a")["trials"] >= told["trials"].args["trials"]
    assert told["trials"].args["trials"] == found.tables[0].rows[0]["more"]


def test_the_group_that_is_disturbed_most_is_named() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        slow = {"a": 1.3, "b": 1.4, "c": 2.0, "d": 1.3, "e": 1.0}[levels["workload"]]
        return Behaviour(mean_ns=200 * MS * (slow if levels["workers"] == "2" else 1))

    found = ask("parallelism", make(rule, platforms=("bare",), workloads=tuple("abcde"), trials=80))
    told = args(found.answer, "at a time.")
    assert told["where"] == Levels({"workload": "c"})
    assert told["disturbance"][0].args["shift"].value == pytest.approx(2, rel=0.02)
    assert [r["state"] for r in found.tables[0].rows] == ["disturbed"] * 4 + ["undisturbed"]


def test_further_trials_are_those_of_the_group_that_needs_most() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        return Behaviour(mean_ns=200 * MS, spread=0.2 if levels["workload"] == "b" else 0.01)

    results = make(rule, platforms=("bare",), workloads=("a", "b"), trials=25)
    found = ask("parallelism", results)
    more = {r["workload"]: r["more"] for r in found.tables[0].rows}
    most = max(more, key=lambda w: more[w])
    assert len(set(more.values())) == 2
    assert args(found.settle, "measure on a")["trials"] == more[most]


def test_more_workers_than_cpus_are_remarked() -> None:
    found = ask("parallelism", make(platforms=("bare",), workers=(1, 4), trials=12))
    assert args(found.caveats, "CPU time does") == {"cpus": 2}


def waiting(results: Results, factor: float) -> Results:
    """Make the wall times of two workers longer, and leave their CPU times."""
    two = results.trial_table.where(workers="2")["trial"]

    def longer(samples: Columns) -> Any:
        waits = (samples["metric"] == "kernel_wall_ns") & np.isin(samples["trial"], two)
        return np.where(waits, samples["value"] * factor, samples["value"])

    return columns.with_values(results, longer)


def test_wall_time_is_told_beside_cpu_time() -> None:
    slow = make(slow_pairs, platforms=("bare",), trials=60)
    found = ask("parallelism", waiting(slow, 2.0))
    cpu, wall = messages_of(found.answer)
    assert template(cpu) == "at a time."
    assert (template(wall), wall.args["metric"]) == (
        "by {metric | metric}: {said}",
        "kernel_wall_ns",
    )
    assert template(wall.args["said"]) == "at a time."
    shift = args(wall, "{shift} (limit")["shift"]
    assert shift.value == pytest.approx(2.4, rel=0.02)
    # It allows as many workers, so that the head has it once.
    assert messages_of(found.summary) == [cpu]


def test_waiting_shows_in_wall_time_only() -> None:
    found = ask("parallelism", waiting(make(platforms=("bare",), trials=200), 1.5))
    assert found.verdict == "yes"
    cpu, wall = messages_of(found.summary)
    assert (template(cpu), cpu.args["workers"]) == ("at a time,", 2)
    assert template(wall.args["said"]) == "at a time."
    assert wall.args["said"].args["workers"] == 1


def test_one_number_of_workers_asks_no_such_question() -> None:
    assert registry.units_of("finding")["parallelism"].find(make(workers=(1,))) is None


def test_cost_has_its_interval_and_verdict() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        factor = {"bare": 1.0, "docker": 1.1, "unshare": 1.001}[levels["platform"]]
        return Behaviour(mean_ns=200 * MS * factor)

    results = make(rule, platforms=("bare", "docker", "unshare"), workers=(1,), trials=60)
    found = ask("overhead", results)
    rows = {r["platform"]: r for r in found.tables[0].rows}
    assert rows["docker"]["verdict"] == "slower"
    assert rows["docker"]["low"] < 1.1 < rows["docker"]["high"]
    assert rows["unshare"]["verdict"] == "equivalent (within 2 %)"
    docker, unshare = args(found.summary, "overhead vs.")["parts"]
    row = rows["docker"]
    assert docker.args["ratio"] == Ratio(row["ratio"], row["low"], row["high"])
    assert unshare == message("{platform} < {margin}", platform="unshare", margin=Chosen(0.02))


def rates(**given: Any) -> Results:
    """Results of windows: docker does a tenth less."""

    def rule(levels: dict[str, str]) -> Behaviour:
        return Behaviour(mean_ns=1000 * (0.9 if levels["platform"] == "docker" else 1))

    made = make(rule, workers=(1,), trials=60, window=WindowSpec(), **given)
    times = made.sample_table.of("kernel_cpu_ns", "self")
    samples = Samples({Key("throughput", "self"): times})
    return dataclasses.replace(made, sample_table=samples)


def test_of_a_rate_less_is_slower() -> None:
    found = ask("overhead", rates())
    (row,) = found.tables[0].rows
    assert row["verdict"] == "slower"
    assert row["high"] < 1
    assert args(found.answer, "{quantity}")["verdict"] == "slower"
    assert templates(found.summary)[0] == "throughput vs."
    assert args(found.summary, "cell)")["ratio"].value == pytest.approx(0.9, rel=0.01)
    asked = ask("difference", rates(stopping=Stopping(trials=60, compare="platform")))
    said = args(asked.answer, "{first}{% if margin %}")
    assert (said["second"], said["first"], said["verdict"]) == ("docker", "bare", "slower")
    assert said["ratio"].value == pytest.approx(0.9, rel=0.01)
    assert asked.tables[0].rows[-1]["verdict"] == "slower"


def test_of_a_rate_nothing_is_asked_that_speaks_of_times() -> None:
    asked = {found.name for found in all_findings(rates(), SUPPLIES.findings())}
    assert {"stability", "overhead"} <= asked
    assert not asked & {"parallelism", "pinning", "warmup", "causes", "as_stability_would_say"}


def test_an_undecided_cost_is_told_with_its_estimate_and_interval() -> None:
    found = ask("overhead", make(Behaviour(spread=0.1), workers=(1,), trials=30))
    told = args(found.summary, "{platform} ≤ {bound}")
    assert told["ratio"].low < 1 < told["ratio"].high
    assert told["bound"].value == pytest.approx(told["ratio"].high - 1)
    assert found.settle is not None


@pytest.mark.parametrize("experiments", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_equal_platforms_are_rarely_told_to_differ(experiments: int) -> None:
    """A/A: whole experiments where nothing differs, at most 5 % with any difference."""
    alarms = dict.fromkeys(("stability", "overhead"), 0)
    for seed in range(experiments):
        results = make(workloads=("a", "b"), workers=(1,), trials=25, seed=seed)
        alarms["stability"] += ask("stability", results).verdict in ("less stable", "more stable")
        words = {r["verdict"] for r in ask("overhead", results).tables[0].rows}
        alarms["overhead"] += any(w.startswith(("slower", "faster")) for w in words)
    assert max(alarms.values()) <= stats.binom.ppf(0.99, experiments, 0.05)


#: A few words of each sentence on concurrent workers.
PARALLELISM = [
    "one number of",
    "at a time,",
    "at a time.",
    "workers at a",
    "{workers} on {platform}",
    "by {metric | metric}: {said}",
    "workers: inconclusive in",
    "{shift} (limit",
    "spread grows by",
    "CPU time does",
    "to {workers | counted('worker')},",
    "of the shift",
]


def test_headline_answers_first_and_tells_failures_and_basis() -> None:
    results = make(lambda _: Behaviour(failing=0.1), trials=60)
    told = headline(results, all_findings(results, SUPPLIES.findings()))
    names = [template(one) for one in told if isinstance(one, Message)]
    assert any(name in PARALLELISM for name in names)
    basis = args(tuple(told), "cell; 95 %")
    assert (basis["metric"], basis["source"]) == ("kernel_cpu_ns", "self")
    assert names[-1] == "the other cells"


@functools.cache
def findings_of_noisy_docker() -> tuple[Results, tuple[Finding, ...]]:
    """Return the results of an experiment with all its factors, and all findings."""
    results = make(noisy_docker, pinnings=("none", "spread"), trials=20, inputs=4)
    return results, tuple(all_findings(results, SUPPLIES.findings()))


def test_findings_are_the_same_when_asked_again_and_survive_the_store() -> None:
    results, one = findings_of_noisy_docker()
    again = tuple(all_findings(results, SUPPLIES.findings()))
    assert one == again
    for finding in one:
        assert_survives_json(finding)


@pytest.mark.parametrize("trials", [1, 2, 3, 7])
def test_every_finding_stands_tiny_experiments(trials: int) -> None:
    results = make(
        pinnings=("none", "spread"), loads=("none", "cpu"), trials=trials, inputs=2, iterations=2
    )
    for finding in all_findings(results, SUPPLIES.findings()):
        assert each(finding.answer)
        assert "nan" not in paragraph(finding.answer)


def test_units_say_what_they_are_and_have_one_place() -> None:
    units = registry.units_of("finding").values()
    assert len({unit.order for unit in units}) == len(units)


def test_no_good_trial_concludes_nothing() -> None:
    results = make(Behaviour(failing=1.0), trials=3)
    told = headline(results, all_findings(results, SUPPLIES.findings()))
    assert args(tuple(told[:1]), "compare: no trial ended") == {}


def test_rows_have_what_the_columns_promise() -> None:
    for finding in findings_of_noisy_docker()[1]:
        for table in finding.tables:
            keys = {c.key for c in table.columns}
            assert all(set(row) >= keys for row in table.rows), table.title


def test_rows_are_in_the_order_of_the_experiment_with_the_reference_first() -> None:
    results = make(
        platforms=("unshare", "bare", "bubblewrap"), workers=(10, 2), workloads=("z", "a"),
        trials=8,
    )  # fmt: skip
    cells = overview(results)
    assert cells is not None
    assert [row["platform"] for row in cells.rows] == 2 * ["bare", "unshare", "bubblewrap"]
    assert [row["workload"] for row in cells.rows] == 3 * ["z"] + 3 * ["a"]
    stops = stop_table(results)
    assert [row["workers"] for row in stops.rows] == 6 * ["10", "2"]
    assert [row["platform"] for row in stops.rows][::2] == 2 * ["bare", "unshare", "bubblewrap"]


def test_no_factor_has_the_name_of_a_column() -> None:
    """Its levels would stand in place of the numbers of a row, or the other way round."""
    tables = [overview(situations.results(name)) for name in situations.NAMES]
    rows = [row for table in tables if table is not None for row in table.rows]
    named = {key for row in rows for key in row if factors.NAME.fullmatch(key)}
    own = {factor for name in situations.NAMES for factor in situations.results(name).factors}
    assert {"ratio", "low", "high", "verdict", "spread"} <= named
    assert named - own <= factors.RESERVED
