"""What a self-test answers where little was measured, and where the terminal is narrow."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from said import template
from typer.testing import CliRunner

from tare.cli import console
from tare.errors import StoreError, TareError
from tare.features.machine.selftest import accuracy as measuring
from tare.features.machine.selftest import control, screen
from tare.features.machine.selftest.document import Accuracy, FalseAlarms, document, keep
from tare.features.machine.selftest.lines import Line
from tare.host import state
from tare.render.words import text
from tare.results.columns import Columns
from tare.results.message import Amount, message
from tare.wiring import command_line

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
    assert screen.answer(found) == message(
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
    answer = screen.answer(found)
    assert template(answer) == "here as far"
    assert answer.args | doubt == answer.args
    assert found.verdict == "inconclusive"


def test_the_fact_is_the_verdict_of_the_answer() -> None:
    off = changed(verdict="no", median=9e6)
    unused = changed(verdict="no", source="around", used=False)
    found = accuracy(GOOD, off, unused, changed(verdict="none", source="host_cgroup"))
    assert screen.answer(found) == message(
        "tare measures incorrectly here: {off} of {judged | counted('figure')} that it "
        "uses {% if off == 1 %}is{% else %}are{% endif %} outside the specified error.",
        off=1,
        judged=2,
    )
    (fact,) = [f for f in document(found, None, 1).facts if f.name == "selftest_verdict"]
    assert fact.value == "no"


def test_what_stands_for_nothing_does_not_replace_what_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "folder", lambda: tmp_path)
    keep(document(accuracy(GOOD), None, 1))
    before = state.read(state.SELFTEST)
    with pytest.raises(StoreError):
        keep(document(accuracy(changed(metric="exit_code")), None, 2))
    assert state.read(state.SELFTEST) == before


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Any:
    def show(found: Accuracy, width: int) -> str:
        monkeypatch.setattr(console.out, "_width", width)
        with console.out.capture() as captured:
            screen.show(found)
        return captured.get()

    return show


def test_a_narrow_table_loses_its_intervals_and_no_names(printed: Any) -> None:
    found = accuracy(*(changed(platform=p, metric="tree_wall_ns") for p in PLATFORMS))
    wide, narrow, narrowest = (printed(found, width) for width in (120, 70, 50))
    assert wide.count("+0.10 ± 0.10") == 3
    assert "±" not in narrow.split("figure", 2)[2]
    assert "tree_wall_ns" in narrow
    assert "perf_cpu" in narrowest
    table = narrowest[narrowest.index("source") :].splitlines()
    assert len([row for row in table if "+0.10" in row]) == 1


def test_what_is_off_does_not_hide_behind_what_is_not(printed: Any) -> None:
    low = changed(program="daemon", median=-2e3, verdict="no", why=LESS)
    assert "✕" in printed(accuracy(GOOD, low), 120).split("figure", 2)[2].splitlines()[1]


@pytest.mark.parametrize(
    "words",
    [
        ("--false-alarms", "--workers", "2"), ("--false-alarms", "--trials", "3"),
        ("--false-alarms", "--as-root"), ("--budget", ""),
    ],
)  # fmt: skip
def test_what_would_be_ignored_is_refused_before_anything_is_measured(
    words: tuple[str, ...],
) -> None:
    done = CliRunner().invoke(command_line(), ["selftest", "--no-store", *words])
    assert isinstance(done.exception, TareError)


def test_the_answer_and_the_own_error_are_what_one_sees_first(printed: Any) -> None:
    found = accuracy(GOOD)
    first, second = printed(found, 120).splitlines()[:2]
    assert first == text(screen.answer(found))
    assert second == text(screen.head(found)[0])


def test_the_headline_and_the_facts_are_of_the_program_that_the_table_shows(printed: Any) -> None:
    largest = changed(program="sleep", median=-3e5, low=-4e5, high=-2e5)
    found = accuracy(
        GOOD,
        largest,
        changed(program="threads", median=9e5, workers=2),
        changed(program="threads", median=9e5, platform="docker"),
        changed(program="threads", median=9e5, source="around", used=False),
    )
    (head,) = screen.head(found)
    assert head.args["error"] == largest.error
    assert head.args["place"].args == {"program": "sleep", "platform": "bare"}
    facts = {fact.name: fact.value for fact in document(found, None, 1).facts}
    assert facts["selftest_wall_error_ns"] == -3e5
    assert facts["selftest_wall_error_within_ns"] == 1e5
    row = next(row for row in printed(found, 120).splitlines() if row.startswith("wall_ns"))
    assert "−0.30 ± 0.10" in row


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
    why = {
        one.platforms: one.why
        for one in measuring._unchecked(found, prepared)
        if one.source == "perf_task" and "wall_ns" in one.metrics
    }
    assert why == {
        ("docker",): message("the kernel does not let the agents watch their own children")
    }
