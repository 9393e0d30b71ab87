"""What a self-test answers where little was measured, and where the terminal is narrow."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import printed
import pytest
from inprocess import invoke
from said import template

from tare.errors import StoreError, TareError
from tare.features.machine.selftest import accuracy as measuring
from tare.features.machine.selftest import control, report
from tare.features.machine.selftest.accuracy import Accuracy
from tare.features.machine.selftest.control import FalseAlarms
from tare.features.machine.selftest.lines import Line
from tare.host import state
from tare.results.columns import Columns
from tare.results.message import Amount, message

GOOD = Line(
    platform="bare", workers=1, program="spin", metric="wall_ns", source="perf_cpu", unit="ns",
    n=12, processes=12, true=3e7, median=1e5, low=5e4, high=2e5, worst=3e5,
    promised=(-6e5, 1.5e6), used=True, verdict="yes",
)  # fmt: skip
LESS = message(
    "{times} of {of} times less than the program itself measured, by up to {most}",
    times=1,
    of=12,
    most=Amount(2e3, "ns"),
)
PLATFORMS = ("bare", "docker", "unshare")


def accuracy(*lines: Line, **given: Any) -> Accuracy:
    return Accuracy(
        date="2026-01-01 00:00", boot_id=None, platforms=PLATFORMS, workers=(1,), trials=6,
        seconds=1.0, ended="finished", lines=lines, cells=9, **given,
    )  # fmt: skip


def changed(**given: Any) -> Line:
    return msgspec.structs.replace(GOOD, **given)


def test_what_is_sure_is_said_without_reserve() -> None:
    exact = changed(metric="exit_code", promised=(0.0, 0.0), n=3, low=None, high=None)
    found = accuracy(GOOD, exact)
    assert found.verdict == "yes"
    assert report.answer(found) == message(
        "tare measures correctly here: {% if judged == 1 %}the only figure that it uses is"
        "{% else %}all {judged} figures that it uses are{% endif %} within the specified "
        "error.",
        judged=2,
    )


@pytest.mark.parametrize(
    ("found", "doubt"),
    [
        (accuracy(GOOD, changed(verdict="inconclusive")), {"open": 1, "kept": 1}),
        (accuracy(GOOD, changed(n=2, low=None, high=None)), {"few": 2, "kept": 2}),
        (accuracy(GOOD, unmeasured=7), {"unmeasured": 7, "cells": 9}),
    ],
)
def test_too_little_is_not_called_all(found: Accuracy, doubt: dict[str, int]) -> None:
    answer = report.answer(found)
    assert template(answer) == "here as far"
    assert answer.args | doubt == answer.args
    assert found.verdict == "inconclusive"


def test_the_fact_is_the_verdict_of_the_answer() -> None:
    off = changed(verdict="no", median=9e6)
    unused = changed(verdict="no", source="around", used=False)
    found = accuracy(GOOD, off, unused, changed(verdict="none", source="host_cgroup"))
    assert report.answer(found) == message(
        "tare measures incorrectly here: {off} of {judged | counted('figure')} that it "
        "uses {% if off == 1 %}is{% else %}are{% endif %} outside the specified error.",
        off=1,
        judged=2,
    )
    (fact,) = [f for f in found.facts() if f.name == "selftest_verdict"]
    assert fact.value == "no"


def test_what_stands_for_nothing_does_not_replace_what_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "folder", lambda: tmp_path)
    report.keep(accuracy(GOOD))
    before = state.read(state.SELFTEST)
    with pytest.raises(StoreError):
        report.keep(accuracy(changed(metric="exit_code")))
    assert state.read(state.SELFTEST) == before


def rows(found: Accuracy) -> list[str]:
    """Lines of the table, heads first."""
    lines = printed.lines(report.make(found, 1))
    first, end = (i for i, line in enumerate(lines) if line.startswith(("figure ", "Table")))
    return lines[first:end]


def test_a_row_has_the_error_on_each_platform() -> None:
    found = accuracy(*(changed(platform=p, metric="tree_wall_ns") for p in PLATFORMS))
    heads, row = rows(found)
    assert heads.split() == ["figure", "source", "workers", *PLATFORMS]
    assert row.count("+0.10 ± 0.10 ms") == 3
    assert row.startswith("tree_wall_ns  perf_cpu")


def test_what_is_off_does_not_hide_behind_what_is_not() -> None:
    low = changed(program="daemon", median=-2e3, verdict="no", why=LESS)
    assert "✕" in rows(accuracy(GOOD, low))[1]


@pytest.mark.parametrize(
    "words",
    [
        ("--false-alarms", "--workers", "2"), ("--false-alarms", "--trials", "3"),
        ("--false-alarms", "--as-root"), ("--budget", ""),
        ("--workers", "1,0"), ("--workers", "2000"), ("--workers", "1;2"),
    ],
)  # fmt: skip
def test_what_would_be_ignored_is_refused_before_anything_is_measured(
    words: tuple[str, ...],
) -> None:
    done = invoke("selftest", "--no-store", *words)
    assert isinstance(done.exception, TareError)


def test_the_answer_and_the_own_error_come_first() -> None:
    found = accuracy(GOOD)
    first, second, *_ = report.make(found, 1).entries
    assert (first.said, second.said) == (report.answer(found), report.head(found)[0])


def test_the_headline_and_the_facts_are_of_the_program_that_the_table_shows() -> None:
    largest = changed(program="sleep", median=-3e5, low=-4e5, high=-2e5)
    found = accuracy(
        GOOD,
        largest,
        changed(program="threads", median=9e5, workers=2),
        changed(program="threads", median=9e5, platform="docker"),
        changed(program="threads", median=9e5, source="around", used=False),
    )
    (head,) = report.head(found)
    assert head.args["error"] == largest.error
    assert head.args["place"].levels == {"workload": "sleep", "platform": "bare"}
    facts = {fact.name: fact.value for fact in found.facts()}
    assert facts["selftest_wall_error_ns"] == -3e5
    assert facts["selftest_wall_error_within_ns"] == 1e5
    assert "−0.30 ± 0.10" in rows(found)[1]


@pytest.mark.parametrize(
    ("alarms", "comparisons", "consistent", "close"),
    [
        (0, 4, True, False), (2, 40, True, True), (20, 200, False, True), (3, 4, False, False),
        (0, 1, True, False),
    ],
)  # fmt: skip
def test_alarms_are_judged_by_their_number_and_bound(
    alarms: int, comparisons: int, consistent: bool, close: bool
) -> None:
    found = FalseAlarms(
        date="2026-01-01 00:00", boot_id=None, platform="bare", comparisons=comparisons,
        alarms=alarms, limit=control.limit(comparisons),
        rate_below=control.rate_below(alarms, comparisons), verdicts={"same": comparisons},
        pairs=9, seconds=1.0,
    )  # fmt: skip
    assert (found.consistent, found.close) == (consistent, close)


def test_a_source_that_another_replaces_is_not_missed() -> None:
    have = (("bare", "perf_cpu"), ("docker", "around"))
    rows = [(platform, "wall_ns", source, "sleep") for platform, source in have]
    found = Columns.of_rows(["platform", "metric", "source", "program"], rows)
    factors = {"platform": ["bare", "docker"]}
    prepared: Any = SimpleNamespace(experiment=SimpleNamespace(factors=factors))
    told = [
        one.args
        for one in measuring._unchecked(found, prepared)
        if one.args["source"] == "perf_task" and "wall_ns" in one.args["metrics"]
    ]
    assert [one["platforms"] for one in told] == [["docker"]]
    assert told[0]["why"] == message("the kernel does not let the agents watch their own children")
