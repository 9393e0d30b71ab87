"""The first line of ``tare run``: what is known, and why the budget ended before the target."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import synthetic
from said import args, template, templates

from tare.experiment import journal
from tare.experiment.samples import Key, Samples
from tare.experiment.specification import Stopping
from tare.features.measure.run import report
from tare.features.measure.run.next_step import next_step
from tare.features.measure.run.summary import Summary
from tare.render.words import text
from tare.results.columns import Columns
from tare.results.message import Amount, Message
from tare.statistics.intervals import more_trials_for

STEADY = np.random.default_rng(1).normal(1e8, 2e5, 10)
WIDE = np.random.default_rng(2).normal(1e8, 3e7, 80)


def summary(
    values: np.ndarray, reason: journal.StopReason, *, why: Any = None, **changes: Any
) -> Summary:
    """Summarize trials of these times."""
    stopping = Stopping(early=True, budget_s=10.0)
    made = synthetic.make(
        platforms=("bare",), workers=(1,), trials=len(values), stopping=stopping, metric="wall_ns"
    )
    trials = made.trial_table["trial"]
    nothing = np.full(len(trials), np.nan)
    times = {"row": trials, "trial": trials, "worker": nothing, "iteration": nothing}
    stop = {
        "cell": [0], "trials": [len(values)], "reason": [reason], "target": [0.02],
        "reached": [None], "more_trials": [None], "more_seconds": [None], "why": [why],
        "refusal": [None],
    }  # fmt: skip
    results = dataclasses.replace(
        made,
        sample_table=Samples({Key("wall_ns", "switch"): Columns({**times, "value": values})}),
        stops=Columns(stop),
    )
    return Summary(results, "budget", "wall_ns", **changes)


@pytest.mark.parametrize("reason", ["fixed", "budget"])
def test_of_a_fixed_number_as_many_more_trials_are_told_as_an_audit_tells(reason) -> None:
    made = summary(WIDE, reason)
    stop = dict.fromkeys(("cell", "trials", "reason", "target", "reached", "why", "refusal"))
    columns = {name: made.results.stops[name] for name in stop}
    stops = Columns({**columns, "more_trials": [10_169], "more_seconds": [1016.9]})
    of = Summary(dataclasses.replace(made.results, stops=stops), "budget", "wall_ns")
    assert of.trust.imprecision is not None
    told = of.trust.imprecision.args["more"]
    assert told == more_trials_for(of.known("wall_ns", 0.5).interval, 0.02)
    more, seconds = of.more_trials
    assert more == (told if reason == "fixed" else 10_169)
    assert seconds == pytest.approx(more / 10)
    assert figures(of)["stop"]["more_trials"] == more
    assert args(trust_line(of)[1], "{target}{% if time %}")["more"] == more


def first_line(of: Summary) -> Message:
    time = of.known("wall_ns", 0.5)
    assert time is not None
    return report._time(of, time, of.values("wall_ns", "switch"))


def figures(of: Summary) -> dict[str, Any]:
    return report._summary(of)


def trust_line(of: Summary) -> tuple[str, Message]:
    time = of.known("wall_ns", 0.5)
    assert time is not None
    line = report._trust(of, time)
    assert isinstance(line.said, Message)
    return line.label, line.said


def test_an_early_result_is_of_this_session() -> None:
    early = summary(STEADY, "target")
    label, said = trust_line(early)
    assert label == "TRUST"
    assert args(said, "numbers can be")["sessions"] == 1
    assert figures(early)["asked"][0]["early"] is True
    late = summary(np.tile(STEADY, 6), "target")
    assert figures(late)["asked"][0]["early"] is False


def test_trust_is_to_the_precision_that_was_reached_and_no_further() -> None:
    precise = summary(STEADY, "target")
    time = precise.known("wall_ns", 0.5)
    assert time is not None
    _, said = trust_line(precise)
    assert args(said, "numbers can be")["extent"] == Amount(time.interval.half_width, "share")
    told = figures(precise)["trust"]
    assert told == {
        "verdict": "TRUST", "extent": time.interval.half_width, "sessions": 1, "reasons": [],
    }  # fmt: skip
    wide = summary(WIDE, "budget")
    label, said = trust_line(wide)
    assert label == "DOUBT"
    assert ": the steps" in templates(said)
    told = figures(wide)["trust"]
    assert (told["verdict"], told["extent"] > 0.02, len(told["reasons"])) == ("DOUBT", True, 1)


def test_of_too_few_trials_there_is_no_extent() -> None:
    label, said = trust_line(summary(WIDE[:4], "budget"))
    assert label == "Trust"
    assert "no interval of" in templates(said)


@pytest.mark.parametrize(
    ("values", "changes", "why"),
    [
        (WIDE, {"neighbours": 0.39}, "neighbours"),
        (WIDE, {"neighbours": 0.01}, "spread"),
        (WIDE, {}, "spread"),
        (WIDE, {"why": "jumps"}, "jumps"),
        (WIDE, {"why": "drifts", "neighbours": 0.39}, "neighbours"),
        (WIDE, {"why": "remembers"}, "remembers"),
        (WIDE[:20], {}, "few"),
        (WIDE[:4], {"neighbours": 0.39}, "few"),
    ],
)
def test_the_first_line_says_why_the_budget_ended_before_the_target(
    values: np.ndarray, changes: dict[str, Any], why: str
) -> None:
    ended = args(first_line(summary(values, "budget", **changes)), "; budget ended:")["ended"]
    assert (
        template(ended)
        == {
            "drifts": "times drift",
            "few": "fitted",
            "jumps": "times jump",
            "neighbours": "neighbours used",
            "remembers": "trials are autocorrelated",
            "spread": "vary{% if share %}",
        }[why]
    )
    if why == "neighbours":
        assert ended.args["share"] == Amount(0.39, "share")
    if why == "few":
        assert ended.args["n"] == len(values)


@pytest.mark.parametrize("reason", ["target", "fixed", "cap"])
def test_what_ends_otherwise_names_no_budget(reason: journal.StopReason) -> None:
    line = first_line(summary(WIDE, reason, neighbours=0.5))
    assert args(line, "; budget ended:")["ended"] is None


def test_a_budget_that_reached_its_target_needs_no_reason() -> None:
    line = first_line(summary(np.tile(STEADY, 2), "budget", neighbours=0.5))
    assert args(line, "; budget ended:")["ended"] is None


@pytest.mark.parametrize(("n", "level"), [(2, None), (3, 0.75), (4, 0.875), (5, 0.9375), (6, None)])
def test_the_extremes_of_three_to_five_trials_are_an_interval_at_their_own_level(
    n: int, level: float | None
) -> None:
    spread = args(first_line(summary(STEADY[:n], "budget")), "; budget ended:")["spread"]
    found = spread.args["level"]
    assert (None if found is None else found.value) == level


@pytest.mark.parametrize(
    ("values", "why", "command"),
    [
        (np.r_[STEADY * 1.6, np.tile(STEADY, 4)], "jumps", "tare run --steady"),
        (np.r_[np.tile(STEADY, 4), STEADY * 1.6], "jumps", "tare doctor"),
    ],
)
def test_after_a_warm_up_of_the_first_trials_the_steady_part_is_proposed(
    values, why, command, monkeypatch
) -> None:
    monkeypatch.setattr("sys.argv", ["tare", "run"])
    made = summary(values, "fixed", why=why)
    assert next_step(made, None, "bare").command == command


_NOISE = np.convolve(np.random.default_rng(3).normal(0, 1, 460), 0.9 ** np.arange(60), "valid")


@pytest.mark.parametrize(
    ("values", "why", "stated"),
    [
        (np.r_[np.tile(STEADY, 4), STEADY * 1.6], "jumps", "this series jumps"),
        (1e8 + 2e6 * _NOISE, "remembers", "count as about"),
    ],
)
def test_a_target_that_was_not_reached_does_not_repeat_the_reason_of_the_verdict(
    values: np.ndarray, why: str, stated: str
) -> None:
    made = summary(values, "cap", why=why)
    columns = {name: made.results.stops[name] for name in made.results.stops.names}
    stops = Columns({**columns, "refusal": [f"{why}, of fewer trials"]})
    of = Summary(dataclasses.replace(made.results, stops=stops), "budget", "wall_ns")
    time = of.known("wall_ns", 0.5)
    assert time is not None
    assert stated in text(trust_line(of)[1])
    notes = [text(one) for one in report._notes(of, time, None) if one is not None]
    assert not any("of fewer trials" in one for one in notes)
    assert any("for the same reason" in one for one in notes) != of.is_only_dependent
