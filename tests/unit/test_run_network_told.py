"""What ``tare run --network`` tells of the network."""

from __future__ import annotations

import dataclasses

import msgspec
from networked import Program, budgets, make

from tare.cli.summary import Trial
from tare.cli.summary_network import as_json, lines, told
from tare.findings.answers import all_findings
from tare.frames import Results


def trial(number: int, sent: float, dry: float | None = None) -> Trial:
    values = {("network_sent_bytes", "qdisc"): sent}
    if dry is not None:
        values["network_dry_ns", "qdisc"] = dry
    return Trial(number, "ok", values=values)


def test_what_was_sent_and_what_ran_dry_are_told() -> None:
    dry = [trial(0, 1e6, 0.0), trial(1, 1e6, 2e9), trial(2, 2e6, 4e9)]
    assert told(dry) == (
        "8.00 Mbit sent a trial, headers included; a bucket ran dry in 2 of 3, for 3.00 s over all "
        "hosts"
    )


def test_nothing_is_told_of_what_was_not_there() -> None:
    assert told([Trial(0, "ok")]) is None
    assert told([]) is None
    assert told([trial(0, 1e6)]) == "8.00 Mbit sent a trial, headers included"
    assert "dry" not in str(told([trial(0, 1e6, 0.0)]))


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
    first, old, new = lines(results)
    assert first.endswith("budget=2Gbit, 3 hosts; every trial begins with its whole budget.")
    assert old.split() == ["old", "1.00", "Gbit", "sent", "a", "trial,", "headers", "included"]
    assert "new  4.00 Gbit sent a trial, headers included; a bucket ran dry in 6 of 6" in new
    told = as_json(results)
    assert told is not None
    assert told["commands"]["old"] == {
        "trials": 6, "sent_bytes": 125e6, "trials_dry": 0, "dry_ns": 0.0,
    }  # fmt: skip
    assert told["commands"]["new"]["trials_dry"] == 6


def test_nobody_asks_what_the_network_does_where_commands_are_compared_in_one() -> None:
    names = {finding.name for finding in all_findings(compared())}
    assert not names & {"network_slowdown", "network_spread"}
    assert "network_spending" in names
