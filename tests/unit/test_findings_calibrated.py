"""Other experiments cite the machine's calibration, and say whether their CPU shares fit it."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pandas as pd
import pytest
from said import args
from synthetic import make

from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.calibrated import cpu_scaling, find
from tare.experiment.report.backing import machine_tables
from tare.experiment.results import Results
from tare.experiment.specification import SizeSpec
from tare.results.message import Amount, Chosen, message
from tare.wiring import SUPPLIES

FACTS = {
    "calibration_date": "2026-05-01 10:00",
    "calibration_workload": "linpack (size 1000)",
    "calibration_platform": "bare",
    "calibration_verdict": "linear",
    "calibration_linear": "0.1 to 2",
    "calibration_lost_share": 0.002,
    "calibration_r_squared": 0.99951,
}
THREE = {"calibration_verdict": "piecewise", "calibration_linear": "0.1 to 0.5, 0.6 to 2.8"}


def shared(
    *quotas: float, facts: dict[str, Any] | None = None, own: bool = False, **more: Any
) -> Results:
    """Cells of bare with one or two workers; the trials of each are spread over some quotas."""
    found = make(**{"platforms": ("bare",), "workers": (1, 2), "trials": 10, **more})
    trials = found.trial_table
    levels = [f"{quotas[i % len(quotas)]:g}" for i in range(len(trials))] if quotas else None
    if levels:
        trials = trials.assign(quota=levels)
    known = [
        {"session": 0, "instance": None, "platform": None, "name": name, "value": value,
         "unit": None, "source": "tare calibrate"}
        for name, value in (FACTS if facts is None else facts).items()
    ]  # fmt: skip
    return dataclasses.replace(
        found,
        experiment=msgspec.structs.replace(
            found.experiment, instances="own" if own else "shared"
        ),
        trial_table=trials,
        facts=pd.concat([found.facts, pd.DataFrame(known)], ignore_index=True),
    )  # fmt: skip


def test_nothing_is_asked_where_cpu_is_not_given_in_shares() -> None:
    assert find(shared()) is None


def test_shares_of_one_range_are_comparable() -> None:
    found = find(shared(0.5, 1.0))
    assert found is not None
    assert found.verdict == "yes"
    linear = message("calibrated.range", low=Chosen(0.1, "1"), high=Chosen(2.0, "1"))
    assert found.answer == (
        message("calibrated.one", linear=linear),
        message(
            "calibrated.scaling",
            verdict="linear",
            ranges=[linear],
            source=message(
                "calibrated.source",
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
    old = {name: value for name, value in FACTS.items() if name != "calibration_lost_share"}
    found = find(shared(0.5, 1.0, facts=old))
    assert found is not None
    assert found.verdict == "inconclusive"
    [answer] = found.answer
    assert answer.id == "calibrated.unrecorded"
    assert answer.args["source"].args["lost"] is None


def test_instances_of_their_own_take_a_quota_each() -> None:
    found = find(shared(1.0, 1.5, own=True))
    assert found is not None
    assert found.verdict == "no"
    assert found.answer[0] == message("calibrated.outside", shares=[Chosen(3.0, "1")])
    assert {row["level"] for row in found.tables[0].rows} >= {"quota 1.5", "quota 1.5 × 2"}


def test_shares_of_two_ranges_are_not_comparable() -> None:
    found = find(shared(0.4, 1.0, facts={**FACTS, **THREE}))
    assert found is not None
    assert found.verdict == "no"
    used = args(found.answer, "calibrated.several")["ranges"]
    ends = [(one.args["low"].value, one.args["high"].value) for one in used]
    assert ends == [(0.1, 0.5), (0.6, 2.8)]


def test_between_two_ranges_nothing_follows() -> None:
    found = find(shared(0.4, 0.55, facts={**FACTS, **THREE}))
    assert found is not None
    assert found.verdict == "no"
    assert found.answer[0] == message("calibrated.outside", shares=[Chosen(0.55, "1")])


def test_ends_of_a_range_are_in_it() -> None:
    found = find(shared(0.1, 2.0))
    assert found is not None
    assert found.verdict == "yes"


def test_sizes_give_shares_too() -> None:
    results = shared()
    results.trial_table["size"] = "half"
    sized = msgspec.structs.replace(results.experiment, sizes={"half": SizeSpec(cores=0.5)})
    found = find(dataclasses.replace(results, experiment=sized))
    assert found is not None
    assert (found.verdict, found.tables[0].rows[0]["level"]) == ("yes", "half")


def test_a_machine_that_nobody_calibrated_decides_nothing() -> None:
    found = find(shared(0.5, facts={}))
    assert found is not None
    assert found.verdict == "inconclusive"
    assert found.answer == (message("calibrated.unknown"),)


def test_a_machine_that_has_changed_decides_nothing() -> None:
    changed = {**FACTS, "calibration_changed": "cpus from 2 to 4"}
    found = find(shared(0.5, facts=changed))
    assert found is not None
    assert found.verdict == "inconclusive"
    [answer] = found.answer
    assert answer.id == "calibrated.changed"
    assert answer.args["changed"] == "cpus from 2 to 4"
    assert answer.args["source"].args["r2"] == 0.99951
    assert answer.args["source"].args["lost"] == Amount(0.002, "share")


def test_what_weakens_it_is_told() -> None:
    kernel = {**FACTS, "calibration_changed_kernel": "kernel from 6.1 to 6.2"}
    found = find(shared(0.5, facts=kernel, platforms=("bare", "docker")))
    assert found is not None
    assert found.caveats[1:] == (
        message("calibrated.caveat.platform", platform="bare", others=["docker"]),
        message("calibrated.caveat.kernel", changed="kernel from 6.1 to 6.2"),
    )


@pytest.mark.parametrize("linear", ["nowhere", "", 5, "0.1 to", "e to -", "x to y"])
def test_ranges_that_are_none_decide_nothing(linear: Any) -> None:
    found = find(shared(0.5, facts={**FACTS, "calibration_linear": linear}))
    assert found is not None
    assert found.verdict == "inconclusive"


def test_other_experiments_have_it_in_one_sentence_beside_the_facts() -> None:
    results = shared()
    assert "calibrated" not in [found.name for found in all_findings(results, SUPPLIES.findings())]
    assert cpu_scaling(results.fact) in (machine_tables(results)[0].note or ())
    assert cpu_scaling({}.get) is None
