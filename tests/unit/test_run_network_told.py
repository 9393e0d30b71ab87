"""What ``tare run --network`` tells of the network."""

from __future__ import annotations

import dataclasses

import msgspec
from networked import Program, budgets, make
from said import args

from tare.experiment.findings.answers import all_findings
from tare.experiment.results import Results
from tare.measure.comparison.network_use import as_json, of_commands, of_trials
from tare.measure.comparison.trials import Trial
from tare.render.words import text
from tare.results.message import Amount
from tare.wiring import SUPPLIES


def trial(number: int, sent: float, dry: float | None = None) -> Trial:
    values = {("network_sent_bytes", "qdisc"): sent}
    if dry is not None:
        values["network_dry_ns", "qdisc"] = dry
    return Trial(number, "ok", values=values)


def test_what_was_sent_and_what_was_depleted_are_said() -> None:
    dry = [trial(0, 1e6, 0.0), trial(1, 1e6, 2e9), trial(2, 2e6, 4e9)]
    assert args(of_trials(dry), "run.network.sent") == {
        "sent": Amount(8e6, "bits"),
        "depleted": 2,
        "trials": 3,
        "time": Amount(3e9, "ns"),
    }


def test_nothing_is_said_of_what_was_not_there() -> None:
    assert of_trials([Trial(0, "ok")]) is None
    assert of_trials([]) is None
    for one in (trial(0, 1e6), trial(0, 1e6, 0.0)):
        said = args(of_trials([one]), "run.network.sent")
        assert (said["sent"], said["depleted"]) == (Amount(8e6, "bits"), 0)
        assert "deplete" not in text(of_trials([one]) or "")


def compared() -> Results:
    """Two commands in one network, of which the second empties its bucket."""
    results = make(
        budgets(2)[1:], trials=6,
        workloads={"old": Program(sends={1: 1e9}), "new": Program(sends={1: 4e9})},
    )  # fmt: skip
    use = results.network_use.groupby("trial")[["sent_bytes", "dry_ns"]].sum()
    samples = results.sample_table[results.sample_table["source"] == "around"]
    counted = [
        samples.assign(
            source="qdisc", metric=metric, value=samples["trial"].map(use[column]).astype(float)
        )
        for metric, column in (("network_sent_bytes", "sent_bytes"), ("network_dry_ns", "dry_ns"))
    ]
    table = type(samples)(
        [row for some in (results.sample_table, *counted) for row in some.to_dict("records")]
    )
    stopping = msgspec.structs.replace(results.experiment.stopping, compare="workload")
    experiment = msgspec.structs.replace(results.experiment, stopping=stopping)
    return dataclasses.replace(results, experiment=experiment, sample_table=table)


def test_what_each_of_two_commands_did_to_the_network_is_told() -> None:
    results = compared()
    first, old, new = of_commands(results)
    assert first.args == {
        "level": results.experiment.factors["network"][0],
        "hosts": 3,
        "bucket": True,
    }
    assert (old.args["command"], new.args["command"]) == ("old", "new")
    assert args(old, "run.network.sent")["sent"] == Amount(1e9, "bits")
    sent = args(new, "run.network.sent")
    assert (sent["sent"], sent["depleted"], sent["trials"]) == (Amount(4e9, "bits"), 6, 6)
    told = as_json(results)
    assert told is not None
    assert told["commands"]["old"] == {
        "trials": 6, "sent_bytes": 125e6, "trials_dry": 0, "dry_ns": 0.0,
    }  # fmt: skip
    assert told["commands"]["new"]["trials_dry"] == 6


def test_nobody_asks_what_the_network_does_where_commands_are_compared_in_one() -> None:
    names = {finding.name for finding in all_findings(compared(), SUPPLIES.findings())}
    assert not names & {"network_slowdown", "network_spread"}
    assert "network_spending" in names
