"""Which host slows a job: hosts that compute slowly, hosts that others wait for, and neither."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest
from said import template, templates
from tasked import BUCKET, Job, make

from tare.errors import StoreError
from tare.experiment.results import Results
from tare.experiment.specification import NetworkSpec
from tare.features.network.findings.charts import task_timeline
from tare.features.network.findings.task_cells import tasks_seen
from tare.features.network.findings.task_stragglers import find, stragglers
from tare.results.finding import Finding
from tare.results.message import Message, each
from tare.statistics.stragglers import NOBODY, chance, fewest_trials, leaders

SENDS, OWN = True, False


def named(job: Job, **options: object) -> list[tuple[int, bool]]:
    results = make(job, **options)  # type: ignore[arg-type]
    return [(one.host, one.sends) for one in stragglers(tasks_seen(results))]


def ask(results: Results) -> Finding:
    found = find(results)
    assert found is not None
    return found


def answered(finding: Finding, id_: str) -> list[Message]:
    return [m for m in each(finding.answer) if isinstance(m, Message) and template(m) == id_]


@pytest.mark.parametrize("seed", range(4))
def test_no_host_is_named_where_all_are_alike(seed: int) -> None:
    assert named(Job(), seed=seed) == []


@pytest.mark.parametrize("seed", range(2))
def test_no_host_is_named_where_all_are_depleted(seed: int) -> None:
    assert named(Job(sends=6e9), seed=seed) == []


@pytest.mark.parametrize("seed", range(1))
def test_another_host_in_each_trial_is_no_straggler_of_the_cell(seed: int) -> None:
    """More seeds: ``test_chance_names_a_host_in_hardly_any_study``."""
    assert named(Job(hosts=8, begins_by_chance=True), seed=seed) == []
    assert named(Job(hosts=8, slower_by_chance=2.0), seed=seed) == []


@pytest.mark.parametrize("seed", range(2))
def test_a_host_with_few_tokens_is_named_although_its_own_tasks_are_quick(seed: int) -> None:
    """More seeds: ``test_planted_stragglers_are_found``."""
    assert named(Job(begins={3: 0.05}), seed=seed) == [(3, SENDS)]


@pytest.mark.parametrize("seed", range(1))
def test_a_host_that_computes_slowly_is_named(seed: int) -> None:
    """More seeds: ``test_planted_stragglers_are_found``."""
    assert named(Job(slower={2: 1.5}), seed=seed) == [(2, OWN)]


def test_both_ways_are_told_apart_in_one_cell() -> None:
    assert named(Job(hosts=8, begins={3: 0.05}, slower={5: 1.6})) == [(3, SENDS), (5, OWN)]


def test_the_bucket_is_said_to_be_the_reason_or_not_to_be() -> None:
    network = ask(make(Job(begins={3: 0.05})))
    (empty,) = answered(network, "other's in at")
    assert empty.args["empty"].value > 0.5
    assert empty.args["others"].value == 0
    machine = ask(make(Job(slower={2: 1.6})))
    assert answered(machine, "at its CPU")
    assert answered(ask(make(Job(slower={2: 1.6}), levels=("rate 1Gbit",))), "look at the")


def test_each_cell_is_asked_and_the_rest_is_said_to_have_none() -> None:
    found = ask(make(Job(slower={2: 1.6}), levels=(BUCKET, "rate 1Gbit"), trials=12))
    assert len(answered(found, "its tasks take")) == 2
    none = ask(make(Job(), levels=(BUCKET, "rate 1Gbit"), trials=12))
    assert [*templates(none.answer)] == ["in more trials"]
    assert none.verdict == "none"


def test_few_trials_show_nothing() -> None:
    found = ask(make(Job(begins={3: 0.05}), trials=3))
    assert found.verdict == "inconclusive"
    assert isinstance(found.settle, Message)
    assert found.settle.args["trials"] > 3


def test_without_waits_a_host_is_not_accused_of_what_others_wait_for() -> None:
    results = make(Job(begins={3: 0.05}, waits=False))
    assert stragglers(tasks_seen(results)) == []
    assert "so a host" in templates(ask(results).caveats)


def test_a_budget_that_is_carried_is_a_caveat() -> None:
    results = make(Job(begins={3: 0.05}))
    carried = msgspec.structs.replace(results.experiment, network=NetworkSpec(budget="carry"))
    found = ask(dataclasses.replace(results, experiment=carried))
    assert "in the next" in templates(found.caveats)


def test_tasks_that_cannot_be_read_are_left_out_and_said() -> None:
    results = make(Job(begins={3: 0.05}))
    assert results.task_files is not None
    tables = results.task_files._tables  # type: ignore[attr-defined]
    read = results.task_files.read

    def broken(trial: int, counted: object) -> object:
        if trial == min(tables):
            raise StoreError("it is gone")
        return read(trial, counted)  # type: ignore[arg-type]

    results.task_files.read = broken  # type: ignore[method-assign, assignment]
    found = ask(results)
    assert "tasks of {lost}" in templates(found.caveats)
    results = dataclasses.replace(results)
    results.task_files.read = lambda trial, counted: broken(min(tables), counted)  # type: ignore
    assert ask(results).verdict == "nothing to compare"


def test_other_experiments_are_not_asked() -> None:
    assert find(dataclasses.replace(make(), task_files=None)) is None


def test_the_trial_of_median_duration_is_drawn() -> None:
    results = make(Job(begins={3: 0.05}), levels=(BUCKET, "rate 1Gbit"))
    chart = task_timeline.draw(results, ())
    tasks, rate, tokens = chart["vconcat"]
    lanes = tasks["encoding"]["y"]["scale"]["domain"]
    assert lanes == ["host 1", "host 2", "host 3"]
    for panel in (rate, tokens):
        shown = panel["layer"][0]["encoding"]["color"]["scale"]["domain"]
        assert shown == ["host 3", "other hosts"]
    assert templates(task_timeline.alternative(results, ())) == [
        "a lane a", "are not drawn", "of the stages",
    ]  # fmt: skip


def test_without_a_straggler_the_first_cell_is_drawn() -> None:
    results = make(Job(), levels=("rate 1Gbit", BUCKET))
    assert len(task_timeline.draw(results, ())["vconcat"]) in (2, 3)


def test_who_leads_must_be_beyond_the_others() -> None:
    scores = np.array([
        [1.0, 1.2, 1.0], [1.0, 1.3, 1.0], [2.0, 2.0, 1.0], [np.nan, 2.0, 1.0],
        [np.nan, 2.0, np.nan], [0.0, 0.0, 0.0],
    ])  # fmt: skip
    assert leaders(scores, 1.25).tolist() == [NOBODY, 1, NOBODY, 1, NOBODY, NOBODY]
    assert leaders(scores, 1.25, least=1.5).tolist()[1] == NOBODY


def test_chance_is_binomial() -> None:
    assert chance(0, 10, 3) == 1.0
    assert chance(10, 10, 3) == pytest.approx(3.0**-10)
    assert chance(1, 1, 4) == pytest.approx(0.25)
    n = fewest_trials(3, 6)
    assert 6 * 3.0**-n <= 0.05 < 6 * 3.0 ** -(n - 1)


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [3, 8])
def test_chance_names_a_host_in_hardly_any_study(hosts: int) -> None:
    studies, alarms = 60, 0
    for seed in range(studies):
        for job in (
            Job(hosts=hosts, rounds=1, begins_by_chance=True),
            Job(hosts=hosts, rounds=1, slower_by_chance=2.0),
        ):
            alarms += bool(named(job, seed=100 + seed))
    assert alarms / (2 * studies) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [3, 8, 16])
@pytest.mark.parametrize("trials", [6, 20])
def test_planted_stragglers_are_found(hosts: int, trials: int) -> None:
    for seed in range(6):
        assert named(Job(hosts=hosts, begins={3: 0.05}), trials=trials, seed=seed) == [(3, SENDS)]
        assert named(Job(hosts=hosts, slower={2: 1.6}), trials=trials, seed=seed) == [(2, OWN)]
