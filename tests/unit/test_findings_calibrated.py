"""Other experiments cite the machine's calibration, and say whether their CPU shares fit it."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest
from said import args, template
from situations import CALIBRATION, with_quotas

from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.calibrated import cpu_scaling, find
from tare.experiment.report.backing import machine_tables
from tare.experiment.specification import SizeSpec
from tare.results.message import Amount, Chosen, message
from tare.wiring import SUPPLIES

THREE = {"calibration_verdict": "piecewise", "calibration_linear": "0.1 to 0.5, 0.6 to 2.8"}


def test_nothing_is_asked_where_cpu_is_not_given_in_shares() -> None:
    assert find(with_quotas()) is None


def test_shares_of_one_range_are_comparable() -> None:
    found = find(with_quotas(0.5, 1.0))
    assert found is not None
    assert found.verdict == "yes"
    linear = message(
        "{low}{% if high != low %} to {high}{% endif %} CPU"
        "{% if high.value != 1 or high != low %}s{% endif %}",
        low=Chosen(0.1, "1"),
        high=Chosen(2.0, "1"),
    )
    assert found.answer == (
        message("all CPU shares are in one linear range ({linear})", linear=linear),
        message(
            "CPU scaling of this machine: {% if verdict != 'linear' or not ranges %}"
            "{verdict}{% if ranges %}, {% endif %}{% endif %}{% if ranges %}linear "
            "from {ranges | listing}{% endif %} ({source})",
            verdict="linear",
            ranges=[linear],
            source=message(
                "{date}, {workload} on {platform}{% if r2 is not none %}, R² = "
                "{r2 | r_squared}{% endif %}{% if lost %}, {lost} of the CPU time went "
                "to other work{% endif %}",
                date="2026-05-01 10:00",
                workload="linpack (size 1000)",
                platform="bare",
                r2=0.99951,
                lost=Amount(0.002, "share"),
            ),
        ),
    )
    assert [row["level"] for row in found.tables[0].rows] == ["quota 0.5", "quota 1"]
    assert found.summary is None


def test_what_did_not_tell_whether_the_cpus_were_free_decides_nothing() -> None:
    old = {name: value for name, value in CALIBRATION.items() if name != "calibration_lost_share"}
    found = find(with_quotas(0.5, 1.0, facts=old))
    assert found is not None
    assert found.verdict == "inconclusive"
    [answer] = found.answer
    assert template(answer) == "CPU use by"
    assert answer.args["source"].args["lost"] is None


def test_instances_of_their_own_take_a_quota_each() -> None:
    found = find(with_quotas(1.0, 1.5, own=True))
    assert found is not None
    assert found.verdict == "no"
    assert found.answer[0] == message(
        "{shares | listing} {% if shares | length == 1 and shares[0].value == 1 %}CPU"
        "{% else %}CPUs{% endif %} {% if shares | length == 1 %}is{% else %}are{% endif %} "
        "outside every linear range: speed there does not follow from that of other shares",
        shares=[Chosen(3.0, "1")],
    )
    assert {row["level"] for row in found.tables[0].rows} >= {"quota 1.5", "quota 1.5 × 2"}


def test_shares_of_two_ranges_are_not_comparable() -> None:
    found = find(with_quotas(0.4, 1.0, facts={**CALIBRATION, **THREE}))
    assert found is not None
    assert found.verdict == "no"
    used = args(found.answer, "CPU is not")["ranges"]
    ends = [(one.args["low"].value, one.args["high"].value) for one in used]
    assert ends == [(0.1, 0.5), (0.6, 2.8)]


def test_between_two_ranges_nothing_follows() -> None:
    found = find(with_quotas(0.4, 0.55, facts={**CALIBRATION, **THREE}))
    assert found is not None
    assert found.verdict == "no"
    assert found.answer[0] == message(
        "{shares | listing} {% if shares | length == 1 and shares[0].value == 1 %}CPU"
        "{% else %}CPUs{% endif %} {% if shares | length == 1 %}is{% else %}are{% endif %} "
        "outside every linear range: speed there does not follow from that of other shares",
        shares=[Chosen(0.55, "1")],
    )


def test_ends_of_a_range_are_in_it() -> None:
    found = find(with_quotas(0.1, 2.0))
    assert found is not None
    assert found.verdict == "yes"


def test_sizes_give_shares_too() -> None:
    results = with_quotas()
    trials = results.trial_table.with_columns(size=["half"] * len(results.trial_table))
    sized = msgspec.structs.replace(results.experiment, sizes={"half": SizeSpec(cores=0.5)})
    found = find(dataclasses.replace(results, trial_table=trials, experiment=sized))
    assert found is not None
    assert (found.verdict, found.tables[0].rows[0]["level"]) == ("yes", "half")


def test_a_machine_that_nobody_calibrated_decides_nothing() -> None:
    found = find(with_quotas(0.5, facts={}))
    assert found is not None
    assert found.verdict == "inconclusive"
    assert found.answer == (
        message("CPU scaling was not measured on this machine: tare calibrate"),
    )


def test_a_machine_that_has_changed_decides_nothing() -> None:
    changed = {**CALIBRATION, "calibration_changed": "cpus from 2 to 4"}
    found = find(with_quotas(0.5, facts=changed))
    assert found is not None
    assert found.verdict == "inconclusive"
    [answer] = found.answer
    assert template(answer) == "is out of"
    assert answer.args["changed"] == "cpus from 2 to 4"
    assert answer.args["source"].args["r2"] == 0.99951
    assert answer.args["source"].args["lost"] == Amount(0.002, "share")


def test_what_weakens_it_is_told() -> None:
    kernel = {**CALIBRATION, "calibration_changed_kernel": "kernel from 6.1 to 6.2"}
    found = find(with_quotas(0.5, facts=kernel, platforms=("bare", "docker")))
    assert found is not None
    assert found.caveats[1:] == (
        message(
            "calibrated on {platform}: whether {others | listing} scales alike is unknown",
            platform="bare",
            others=["docker"],
        ),
        message(
            "changed since the calibration: {changed}. Quotas may be enforced differently",
            changed="kernel from 6.1 to 6.2",
        ),
    )


@pytest.mark.parametrize("linear", ["nowhere", "", 5, "0.1 to", "e to -", "x to y"])
def test_ranges_that_are_none_decide_nothing(linear: Any) -> None:
    found = find(with_quotas(0.5, facts={**CALIBRATION, "calibration_linear": linear}))
    assert found is not None
    assert found.verdict == "inconclusive"


def test_other_experiments_have_it_in_one_sentence_beside_the_facts() -> None:
    results = with_quotas()
    assert "calibrated" not in [found.name for found in all_findings(results, SUPPLIES.findings())]
    assert cpu_scaling(results.fact) in (machine_tables(results)[0].note or ())
    assert cpu_scaling({}.get) is None
