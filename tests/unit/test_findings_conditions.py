"""What the page, the terminal and the JSON say of what applications were run with."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import served
import synthetic
from said import template
from served import Served

from tare.experiment.findings import conditions
from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.headline import summarize
from tare.experiment.results import Results
from tare.render.words import text
from tare.results.message import Message
from tare.wiring import SUPPLIES


def rows(results: Results) -> dict[str, Any]:
    return {row["name"]: row["value"] for row in conditions.rows(results)}


def test_parameters_question_and_generator_are_rows() -> None:
    found = rows(served.make(None, Served(), arguments={"rate": 20}).results)
    assert found["application"] == "shop"
    assert found["question"] == "How long does a page take?"
    assert (found["rate"], found["users"]) == ("20", "4")
    assert found["load generator"].args["cpus"] == 1


def test_a_factor_sets_a_parameter() -> None:
    results = served.make(None, Served()).results
    trials = results.trial_table
    trials = trials.with_columns(rate=["50", "70"] * (len(trials) // 2))
    results = dataclasses.replace(results, trial_table=trials)
    assert set(rows(results)["rate"].split(", ")) == {"50", "70"}


def test_a_parameter_that_says_nothing_there_is_no_row() -> None:
    results = served.make(None, Served()).results
    (spec,) = results.experiment.workloads
    assert spec.application is not None
    own = tuple(
        msgspec.structs.replace(one, of={"users": ("5",)}) if one.name == "rate" else one
        for one in spec.application.parameters
    )
    application = msgspec.structs.replace(spec.application, parameters=own)
    spec = msgspec.structs.replace(spec, application=application)
    asked = msgspec.structs.replace(results.experiment, workloads=(spec,))
    levels = [*results.trial_table.records()]
    assert "rate" not in {row["name"] for row in conditions.conditions(asked, levels, {})}
    for row in levels[:1]:
        row["users"] = "5"
    assert "rate" in {row["name"] for row in conditions.conditions(asked, levels, {})}


def test_where_the_generator_ran_is_said_of_all_cells() -> None:
    def how(trial: dict[str, str]) -> Served:
        return Served(own_cpus=0 if trial["platform"] == "docker" else 1)

    shared = rows(served.make(None, Served(own_cpus=0)).results)["load generator"]
    assert template(shared) == "on the CPUs"
    both = rows(served.make(None, how).results)["load generator"]
    assert template(both) == "on CPUs of"


def test_the_network_is_described() -> None:
    results = served.make(None, Served()).results
    asked = results.experiment
    factors = {**asked.factors, "network": ("rate 10Mbit",)}
    shaped = msgspec.structs.replace(asked, factors=factors)
    levels = [row | {"network": "rate 10Mbit"} for row in results.trial_table.records()]
    found = {row["name"]: row for row in conditions.conditions(shaped, levels, {})}
    assert found["network"]["levels"] == ["rate 10Mbit"]
    assert template(found["network"]["value"]) == ", constant"


def test_they_stand_in_the_head_of_every_report() -> None:
    results = served.make(None, Served()).results
    told = summarize(results, all_findings(results, SUPPLIES.findings()))
    said = next(
        one
        for one in told.basis
        if isinstance(one, Message) and template(one) == "{workload}: {parts | join(', ')}"
    )
    assert "rate 100" in text(said)


def test_commands_have_none() -> None:
    assert conditions.UNIT.find(synthetic.make(trials=2)) is None
