"""The findings that check the measuring: each finds what was planted, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import columns
import msgspec
import numpy as np
import pandas as pd
import pytest
from said import args, template, templates
from synthetic import MS, Behaviour, _sample_table, make

from tare import registry
from tare.experiment.findings import causes
from tare.experiment.findings.parallelism_check import parallel_ratios
from tare.experiment.results import Results
from tare.experiment.samples import Key, Samples
from tare.experiment.specification import Experiment, Stopping
from tare.results.columns import Columns, is_in
from tare.results.finding import Finding
from tare.results.message import Amount, Message, each, message
from tare.workloads.specification import WorkloadSpec

DATA = Path(__file__).parents[1] / "data" / "stability_2020"


def ask(name: str, results: Results) -> Finding:
    found = registry.units_of("finding")[name].find(results)
    assert found is not None
    return found


def said(found: Finding, id_: str) -> Message:
    """Return the only part of an answer that has this id."""
    (one,) = [m for m in each(found.answer) if isinstance(m, Message) and template(m) == id_]
    return one


def test_harness_error_is_outside_minus_self() -> None:
    behaviour = Behaviour(harness_cpu_ns=2 * MS, harness_cpu_sd_ns=0.5 * MS)
    found = ask("harness_error", make(behaviour, trials=100, workers=(1,), seed=2))
    cpu, wall = found.tables
    row = next(r for r in cpu.rows if r["source"] == "rusage")
    assert row["mean"] == pytest.approx(2 * MS, rel=0.1)
    assert row["sd"] == pytest.approx(0.5 * MS, rel=0.2)
    assert row["relative_sd"] == pytest.approx(row["sd"] / (202 * MS), rel=0.02)
    assert row["low"] < 2 * MS < row["high"]
    relative = [r["relative_sd"] for r in cpu.rows]
    assert relative == sorted(relative, reverse=True)
    assert {r["source"] for r in wall.rows} == {"perf_cpu", "around"}
    of_cpu, sd, of_wall, *_ = each(found.answer)
    mean = args(of_cpu, ": mean error")
    assert mean["metric"] == "cpu_ns"
    assert isinstance(sd, Message)
    assert isinstance(of_wall, Message)
    assert (template(sd), template(of_wall)) == ("the error at", ": mean error")
    # tare's own sources are not a harness.
    assert found.summary is None
    worst = next(r for r in cpu.rows if r["source"] == "cgroup")
    assert sd.args["relative"] == Amount(worst["relative_sd"], "share")
    assert sd.args["sd"] == Amount(worst["sd"], "ns")
    assert of_wall.args["metric"] == "wall_ns"


def test_harness_error_needs_a_program_that_times_itself() -> None:
    results = make()
    commands = Samples({key: part for key, part in results.sample_table if key.source != "self"})
    only = replace(results, sample_table=commands)
    assert registry.units_of("finding")["harness_error"].find(only) is None


def with_source(
    results: Results, key: Key, error_ns: Callable[[Columns], Any], reference: Key
) -> Results:
    """Add a source whose values are those of a reference and an error."""
    rows = results.sample_table.of(*reference).joined(results.trial_table, "trial")
    part = rows.only("row", "trial", "worker", "iteration").with_columns(
        value=rows["value"] + error_ns(rows)
    )
    return replace(results, sample_table=results.sample_table.with_part(key, part))


@pytest.mark.parametrize(("growth", "direction"), [(5.0, "higher"), (1.0, "inconclusive")])
def test_the_error_of_isolate_is_judged_and_whether_it_grows_with_workers(
    growth: float, direction: str
) -> None:
    rng = np.random.default_rng(3)

    def error_ns(rows: Columns) -> Any:
        sd = np.where(rows["workers"] == "1", MS, growth * MS)
        return 3 * MS + sd * rng.standard_normal(len(rows))

    results = make(platforms=("isolate",), workers=(1, 4), trials=40)
    results = with_source(results, Key("wall_ns", "isolate"), error_ns, Key("wall_ns", "self"))
    found = ask("harness_error", results)
    wall, growing = found.tables[1:]
    rows = {r["workers"]: r for r in wall.rows if r["source"] == "isolate"}
    assert rows["1"]["mean"] == pytest.approx(3 * MS, rel=0.2)
    assert rows["1"]["sd"] == pytest.approx(MS, rel=0.3)
    assert rows["4"]["sd"] == pytest.approx(growth * MS, rel=0.3)
    (row,) = growing.rows
    assert (row["source"], row["n"], row["direction"]) == ("isolate", 40, direction)
    assert row["low"] < growth < row["high"]
    grown = said(found, "change of its").args
    assert (grown["few"], grown["many"], grown["total"]) == ("1", "4", 1)
    assert grown["less_stable"] == (direction == "higher")
    means = [
        m for m in each(found.answer) if isinstance(m, Message) and template(m) == ": mean error"
    ]
    assert [(m.args["metric"], m.args["source"]) for m in means] == [
        ("cpu_ns", "cgroup"), ("wall_ns", "perf_cpu"), ("wall_ns", "isolate"),
    ]  # fmt: skip
    # The terminal and the head of the page have what is isolate's own.
    lines = [m for m in each(found.summary) if isinstance(m, Message)]
    assert [(template(m), m.args["source"]) for m in lines] == [
        (": mean error", "isolate"), ("change of its", "isolate"),
    ]  # fmt: skip


def test_a_time_that_a_harness_prints_is_judged_by_tares_best_source() -> None:
    results = make(platforms=("bare",), workers=(1,), trials=30, metric="judge_time_ns")
    around = Key("wall_ns", "perf_cpu")
    printed = Key("judge_time_ns", "output")
    results = with_source(results, printed, lambda rows: np.full(len(rows), 7.0 * MS), around)
    commands = {key: part for key, part in results.sample_table if key.source != "self"}
    found = ask("harness_error", replace(results, sample_table=Samples(commands)))
    assert registry.units_of("finding")["harness_error"].find(
        replace(results, experiment=replace_metric(results, None), sample_table=Samples(commands))
    ) is None  # fmt: skip
    rows = {r["source"]: r for r in found.tables[0].rows}
    assert rows["judge_time_ns"]["mean"] == pytest.approx(7 * MS)
    assert rows["judge_time_ns"]["sd"] == pytest.approx(0, abs=1)
    assert set(rows) == {"judge_time_ns", "around"}


def test_isolates_times_of_commands_have_nothing_to_be_compared_with() -> None:
    results = make(platforms=("isolate",), workers=(1,), trials=10)
    isolates = Key("wall_ns", "isolate")
    results = with_source(
        results, isolates, lambda rows: 0.0 * rows["value"], Key("wall_ns", "self")
    )
    commands = {key: part for key, part in results.sample_table if key.source != "self"}
    found = ask("harness_error", replace(results, sample_table=Samples(commands)))
    assert found.verdict == "nothing to compare"
    assert templates(found.answer) == ["and a command"]


def replace_metric(results: Results, metric: str | None) -> Experiment:
    return msgspec.structs.replace(results.experiment, metric=metric)


def test_stability_ratio_is_its_formula() -> None:
    stamps = Columns(
        {
            "trial": [1, 1],
            "worker": [0, 1],
            "first_start": [0.0, 10.0],
            "last_start": [90.0, 110.0],
            "last_end": [100.0, 120.0],
        }
    )
    ratio, overlap = parallel_ratios(stamps, loaded=False)
    assert ratio == pytest.approx([(90 - 10) / (110 - 0)])
    assert overlap == pytest.approx([(100 - 10) / 120])
    assert parallel_ratios(stamps, loaded=True)[1] == pytest.approx([110 / 120])


def test_one_iteration_has_no_ratio_but_an_overlap() -> None:
    found = ask("parallelism_check", make(trials=10))
    row = found.tables[0].rows[0]
    assert row["ratio"] is None
    assert row["overlap"] > 0.99
    assert found.verdict == "yes"
    assert (
        message(
            "drift at the end of a trial cannot be checked: that needs at least {least} "
            "iterations per trial",
            least=3,
        )
        in found.answer
    )


def test_workers_that_do_not_overlap_are_found() -> None:
    results = make(workers=(2,), iterations=8, trials=10, tail="stop")

    def moved(samples: Columns) -> Any:
        late = is_in(samples["metric"], {"start_ns", "end_ns"}) & (samples["worker"] == 1)
        return samples["value"] + 2e8 * late

    found = ask("parallelism_check", columns.with_values(results, moved))
    assert found.verdict == "no"
    apart = each(found.answer)[0]
    assert isinstance(apart, Message)
    assert template(apart) == "all were busy"
    least = min(r["overlap"] for r in found.tables[0].rows)
    assert apart.args["share"] == Amount(least, "share")
    assert least < 0.9


def test_workers_that_differ_are_found() -> None:
    behaviour = Behaviour(worker_difference=0.03)
    found = ask("parallelism_check", make(behaviour, workers=(1, 2, 4), trials=30))
    differ = said(found, "than the fastest")
    assert differ.args["share"] == message(
        "{% if some < total %}{some} of {total | counted('cell')}{% elif total == 1 %}the "
        "only cell{% elif total == 2 %}both cells{% else %}all {total} cells{% endif %}",
        some=4,
        total=4,
    )
    largest = max(r["workers_differ"] for r in found.tables[0].rows)
    assert differ.args["most"] == Amount(largest, "share")
    assert all(r["workers_differ"] == pytest.approx(0.03, abs=0.005) for r in found.tables[0].rows)
    alike = ask("parallelism_check", make(workers=(1, 2), trials=30))
    assert message("no difference between workers is shown") in alike.answer


def test_faster_last_iterations_are_found() -> None:
    results = make(workers=(2,), iterations=8, trials=30, tail="stop")

    def sped(samples: Columns) -> Any:
        last = (samples["metric"] == "kernel_cpu_ns") & (samples["iteration"] == 7)
        return np.where(last, samples["value"] * 0.9, samples["value"])

    found = ask("parallelism_check", columns.with_values(results, sped))
    assert found.verdict == "no"
    row = found.tables[0].rows[0]
    assert row["end_low"] < 0.9 < row["end_high"]
    drifts = said(found, "those before in")
    assert drifts.args["share"] == message(
        "{% if some < total %}{some} of {total | counted('cell')}{% elif total == 1 %}the "
        "only cell{% elif total == 2 %}both cells{% else %}all {total} cells{% endif %}",
        some=2,
        total=2,
    )


def test_dependence_on_the_input_is_found_with_its_share() -> None:
    results = make(Behaviour(inputs=0.02, spread=0.005), workers=(1,), inputs=10, trials=80)
    found = ask("input_dependence", results)
    assert found.verdict == "yes"
    row = found.tables[0].rows[0]
    assert row["range"] > row["chance"]
    assert row["share"] > 0.8
    assert row["inputs"] == 10
    assert said(found, "means depend on")
    spans = said(found, "over at most")
    clearest = max(found.tables[0].rows, key=lambda r: r["share"])
    assert spans.args["variance"] == Amount(clearest["share"], "share")
    assert spans.args["width"] == Amount(clearest["range"], "ns")


def test_inputs_without_effect_are_within_chance() -> None:
    found = ask("input_dependence", make(workers=(1,), inputs=10, trials=80))
    assert found.verdict == "no"
    assert said(found, "(smallest p =").args["p"] > 0.05
    assert said(found, "over at most").args["variance"] is None


def test_one_trial_an_input_is_too_few() -> None:
    found = ask("input_dependence", make(trials=5, inputs=5))
    assert found.verdict == "nothing to compare"
    assert found.answer == message(
        "nothing to compare: with {inputs} inputs, no cell has two inputs with two trials "
        "each. Run more trials, or use fewer inputs",
        inputs=5,
    )
    assert registry.units_of("finding")["input_dependence"].find(make(trials=5)) is None


def test_warm_up_of_iterations_is_found() -> None:
    behaviour = Behaviour(warmup=0.1, spread=0.001, within=0.002)
    found = ask("warmup", make(behaviour, iterations=40, trials=5, platforms=("bare",)))
    assert found.verdict == "yes"
    row = found.tables[0].rows[0]
    assert row["shape"] == "warm-up"
    assert row["largest_window"] > 3 * row["sd"] or row["first_window"] > row["sd"]


def test_steady_trials_need_no_warm_up() -> None:
    found = ask("warmup", make(trials=60))
    assert found.verdict == "no"
    (shapes,) = each(found.answer)
    assert templates(shapes)[:2] == ["{shapes | listing}", "trials"]
    assert found.caveats == (
        message(
            "with {iterations | counted('iteration')} per trial, a warm-up inside a trial "
            "cannot be seen. The series are those of trials",
            iterations=1,
        ),
    )
    short = ask("warmup", make(trials=8))
    assert short.verdict == "nothing to compare"
    assert isinstance(short.answer, Message)
    assert template(short.answer) == "a series of"
    assert short.answer.args["most"] == 8


@pytest.mark.parametrize(("warming", "verdict"), [(1, "inconclusive"), (12, "yes")])
def test_a_warm_up_is_found_where_more_series_have_one_than_chance_explains(
    warming: int, verdict: str
) -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        warms = levels["workload"] in names[:warming]
        return Behaviour(warmup=0.1 if warms else 0.0, spread=0.001, within=0.002)

    names = tuple("abcdefghijkl")
    found = ask(
        "warmup",
        make(
            rule,
            iterations=40,
            trials=5,
            platforms=("bare",),
            workers=(1,),
            workloads=names,
            seed=2,
        ),
    )
    shapes = [r["shape"] for r in found.tables[0].rows]
    assert 1 <= shapes.count("warm-up") <= warming
    assert found.verdict == verdict
    chance = said(found, "explains. Up to")
    shifted = len(shapes) - shapes.count("flat")
    assert chance.args["shifted"] == message(
        "{% if some < total %}{some} of {total | counted('cell')}{% elif total == 1 %}the "
        "only cell{% elif total == 2 %}both cells{% else %}all {total} cells{% endif %}",
        some=shifted,
        total=12,
    )
    assert chance.args["more"] == (warming != 1)
    assert said(found, "the last, which").args["above"]


def test_pinning_that_helps_is_found() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        return Behaviour(spread=0.01 if levels["pinning"] == "spread" else 0.04)

    found = ask("pinning", make(rule, pinnings=("none", "spread"), trials=60))
    assert (found.verdict, found.word) == ("more stable", "more stable")
    (clause,) = said(found, "not pinned, spread:").args["clauses"]
    assert clause.args["verdict"] == "more stable"
    assert clause.args["share"] == message(
        "{% if some < total %}{some} of {total | counted('cell')}{% elif total == 1 %}the "
        "only cell{% elif total == 2 %}both cells{% else %}all {total} cells{% endif %}",
        some=4,
        total=4,
    )


def test_the_cause_of_a_spread_is_named() -> None:
    def rule(levels: dict[str, str]) -> Behaviour:
        loud = levels["platform"] == "docker"
        return Behaviour(spread=0.05 if loud else 0.005, waiting=0.95 if loud else 0.0)

    found = ask("causes", make(rule, workers=(1,), trials=80))
    assert found.summary is not None
    assert isinstance(found.summary, Message)
    assert found.summary.args["name"] == "run-queue wait"
    assert found.summary.args["where"].levels == {"workload": "exp_float", "platform": "docker"}
    row = found.tables[0].rows[0]
    assert row["why"].startswith("less stable")
    assert row["run-queue wait"] > 0.5


@pytest.mark.parametrize(
    ("metric", "workers", "loads", "cure"),
    [
        ("wall_ns", 1, ("none",), "cpu_ns"),
        ("kernel_wall_ns", 1, ("none",), "kernel_cpu_ns"),
        ("kernel_cpu_ns", 1, ("none",), None),
        ("wall_ns", 64, ("none",), None),
        ("wall_ns", 1, ("cpu",), None),
    ],
)
def test_cpu_time_is_advised_where_others_take_the_cpu(
    metric: str, workers: int, loads: tuple[str, ...], cure: str | None
) -> None:
    behaviour = Behaviour(spread=0.2, waiting=0.95)
    results = make(
        behaviour, workers=(workers,), loads=loads, trials=60, platforms=("bare",), metric=metric,
        stopping=Stopping(trials=60),
    )  # fmt: skip
    assert causes.cpu_metric(results) is None

    def steady(samples: Columns) -> Any:
        return np.where(
            is_in(samples["metric"], {"cpu_ns", "kernel_cpu_ns"}), 200 * MS, samples["value"]
        )

    results = columns.with_values(results, steady)
    found = ask("causes", results)
    assert causes.cpu_metric(results) == cure
    if found.summary is not None:
        assert args(found.summary, ". CPU time")["metric"] == cure


def test_a_spread_that_nothing_explains_is_told_as_such() -> None:
    behaviour = Behaviour(spread=0.05)
    found = ask("causes", make(behaviour, platforms=("bare",), workers=(1,), trials=60, seed=3))
    assert templates(found.answer) == ["explains the spread"]
    assert found.summary is None


def test_stable_cells_need_no_cause() -> None:
    answer = ask("causes", make(workers=(1,), trials=40)).answer
    assert isinstance(answer, Message)
    assert template(answer) == "no cell is"


@pytest.mark.parametrize(("mean_ns", "used"), [(200 * MS, True), (50 * MS, False)])
def test_no_cause_is_derived_from_steal_in_short_samples(mean_ns: float, used: bool) -> None:
    results = make(Behaviour(spread=0.05, mean_ns=mean_ns), workers=(1,), trials=40)

    def stolen(samples: Columns) -> Any:
        steal = samples["metric"] == "steal_ns"
        return np.where(steal, 1e7 * (np.cumsum(steal) - 1), samples["value"])

    found = ask("causes", columns.with_values(results, stolen))
    assert ("steal" in found.tables[0].rows[0]) == used
    short = "is 10 ms"
    assert (short in [template(c) for c in found.caveats if isinstance(c, Message)]) != used


def published_as_results() -> Results:
    """STABILITY's later data as if tare had measured it: trial i holds each worker's i-th."""
    data = pd.read_csv(DATA / "exp_float.csv")
    trials, samples = [], []
    for cell, ((workers, platform), rows) in enumerate(data.groupby(["workers", "platform"])):
        for i, values in enumerate(rows["cpu_s"].to_numpy().reshape(100, -1)):
            number = len(trials)
            levels = {"workload": "exp_float", "platform": platform, "workers": str(workers)}
            trials.append(
                {"trial": number, "session": 0, "block": i, "position": cell, "cell": cell}
                | {"status": "ok", "reason": None, "seed": 0, **levels}
            )
            samples += [
                (number, w, 0, "measured", "kernel_cpu_ns", "self", 1e9 * v)
                for w, v in enumerate(values)
            ]
    empty = make(trials=1)
    return Results(
        **{
            **vars(empty),
            "experiment": Experiment(
                name="stability",
                question="?",
                workloads=(WorkloadSpec(name="exp_float", kernel="exp_float"),),
                factors={},
            ),
            "trial_table": columns.of_records(trials),
            "sample_table": _sample_table(samples),
        }
    )


def test_stabilitys_published_tables_come_out() -> None:
    found = ask("as_stability_would_say", published_as_results())
    mean, _, sd = found.tables
    rows = {("mean", r["workers"]): r for r in mean.rows}
    rows |= {("sd", r["workers"]): r for r in sd.rows}
    published = pd.read_csv(DATA / "published.csv")
    wrong = [
        row.to_dict()
        for _, row in published.iterrows()
        if rows[row["statistic"], str(row["workers"])][f"{row['first']} {row['second']}"]
        != row["word"]
    ]
    assert wrong == []
    pairs = said(found, "means of pooled").args["pairs"]
    counted = [word.args["n"] for pair in pairs for word in pair.args["words"]]
    assert sum(counted) == sum(
        row[column.key] is not None
        for row in mean.rows
        for column in mean.columns
        if " " in column.key
    )
    assert mean.columns[1].title == "bare vs. docker"


def test_pinned_is_compared_with_unpinned_in_stabilitys_words() -> None:
    def behave(levels: dict[str, str]) -> Behaviour:
        pinned = levels["pinning"] == "spread"
        return Behaviour(mean_ns=(190 if pinned else 200) * MS, within=0.001 if pinned else 0.02)

    results = make(
        behave, platforms=("bare",), workers=(1,), pinnings=("none", "spread"), iterations=5
    )
    found = ask("as_stability_would_say", results)
    mean, sd = found.tables
    assert [row["none spread"] for row in mean.rows] == ["higher"]
    assert [row["none spread"] for row in sd.rows] == ["higher"]
    assert [
        m.args["factor"] for m in each(found.answer) if template(m) == "of pooled iterations by"
    ] == ["pinning"] * 2


def planted_variance(levels: dict[str, str]) -> Behaviour:
    """Docker is slower by 10 %, two workers by 5 %, at a spread of 1 %."""
    slower = (1.1 if levels["platform"] == "docker" else 1) * (
        1.05 if levels["workers"] == "2" else 1
    )
    workload = 10 if levels["workload"] == "exp_int" else 1
    return Behaviour(mean_ns=workload * slower * 200 * MS, spread=0.01, worker_difference=0)


def test_variance_is_explained_by_the_factors_that_were_planted() -> None:
    found = ask("variance", make(planted_variance, trials=30))
    (table,) = found.tables
    shares = {row["effect"]: row["ranks"] for row in table.rows[:-1]}
    # Variances between levels: 5 % squared and 2.6 % squared, against 1 % squared within.
    assert [row["effect"] for row in table.rows][:2] == ["platform", "workers"]
    total = 5.1**2 + 2.6**2 + 1
    assert table.rows[0]["share"] == pytest.approx(100 * 5.1**2 / total, abs=5)
    assert table.rows[1]["share"] == pytest.approx(100 * 2.6**2 / total, abs=5)
    assert shares["platform"] > shares["workers"] > shares["platform × workers"]
    assert table.rows[0]["p_ranks"] < 0.01
    assert templates(found.answer)[0] == "variance, {effect}"


def test_how_long_a_workload_takes_hides_no_factor() -> None:
    found = ask("variance", make(planted_variance, workloads=("exp_float", "exp_int"), trials=30))
    rows = {row["effect"]: row["share"] for row in found.tables[0].rows}
    assert "workload" not in rows
    assert rows["platform"] > 60
    assert templates(found.caveats) == ["has no share"]


def test_one_factor_alone_is_what_comparisons_report() -> None:
    results = make(planted_variance, workers=(1,), trials=10)
    assert registry.units_of("finding")["variance"].find(results) is None
