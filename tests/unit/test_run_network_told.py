"""What ``tare run --network`` tells of the network."""

from __future__ import annotations

import dataclasses

import columns
import msgspec
import numpy as np
import synthetic
from networked import Program, budgets, make
from said import args

from tare.experiment.findings.answers import all_findings
from tare.experiment.results import Results
from tare.experiment.samples import Key
from tare.features.measure.comparison.network_use import as_json, of_commands, of_trials
from tare.render.words import text
from tare.results.columns import Columns
from tare.results.message import Amount
from tare.wiring import SUPPLIES


def trials(*sent: tuple[float, float | None]) -> Results:
    """Trials of which each sent so many bytes, and was so long without tokens."""
    made = synthetic.make(platforms=("bare",), workers=(1,), trials=len(sent) or 1)
    samples = [
        (number, np.nan, np.nan, "measured", metric, "qdisc", value)
        for number, of_trial in enumerate(sent)
        for metric, value in zip(("network_sent_bytes", "network_dry_ns"), of_trial, strict=True)
        if value is not None
    ]
    names = ("trial", "worker", "iteration", "phase", "metric", "source", "value")
    table = columns.samples_of(Columns.of_rows(names, samples))
    return dataclasses.replace(made, sample_table=table)


def test_what_was_sent_and_what_was_depleted_are_said() -> None:
    dry = trials((1e6, 0.0), (1e6, 2e9), (2e6, 4e9))
    assert args(of_trials(dry), "sent per trial,") == {
        "sent": Amount(8e6, "bits"),
        "depleted": 2,
        "trials": 3,
        "time": Amount(3e9, "ns"),
    }


def test_nothing_is_said_of_what_was_not_there() -> None:
    assert of_trials(trials()) is None
    for one in (trials((1e6, None)), trials((1e6, 0.0))):
        said = args(of_trials(one), "sent per trial,")
        assert (said["sent"], said["depleted"]) == (Amount(8e6, "bits"), 0)
        assert "deplete" not in text(of_trials(one) or "")


def compared() -> Results:
    """Two commands in one network, of which the second empties its bucket."""
    results = make(
        budgets(2)[1:], trials=6,
        workloads={"old": Program(sends={1: 1e9}), "new": Program(sends={1: 4e9})},
    )  # fmt: skip
    samples = results.sample_table
    times = samples.of("wall_ns", "around")
    for metric, column in (("network_sent_bytes", "sent_bytes"), ("network_dry_ns", "dry_ns")):
        use = results.network_use.reduced("trial", column, np.sum)
        counted = times.with_columns(value=[float(use[trial]) for trial in times["trial"].tolist()])
        samples = samples.with_part(Key(metric, "qdisc"), counted)
    stopping = msgspec.structs.replace(results.experiment.stopping, compare="workload")
    experiment = msgspec.structs.replace(results.experiment, stopping=stopping)
    return dataclasses.replace(results, experiment=experiment, sample_table=samples)


def test_what_each_of_two_commands_did_to_the_network_is_told() -> None:
    results = compared()
    first, old, new = of_commands(results)
    assert first.args == {
        "level": results.experiment.factors["network"][0],
        "hosts": 3,
        "bucket": True,
    }
    assert (old.args["command"], new.args["command"]) == ("old", "new")
    assert args(old, "sent per trial,")["sent"] == Amount(1e9, "bits")
    sent = args(new, "sent per trial,")
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
