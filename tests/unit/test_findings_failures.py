"""A failure comes with what its command wrote, and what was given up stands first."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import columns
import journals
import pytest
import synthetic
from said import args, headline

from tare.applications.refusal import Refusal
from tare.errors import TareError
from tare.experiment import store
from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.completeness import given_up
from tare.experiment.findings.failures import (
    MOST_KINDS,
    WIDTH,
    Failed,
    by_level,
    failures,
    last_lines,
    together,
)
from tare.experiment.findings.headline import summarize
from tare.experiment.report import page
from tare.experiment.report.origin import Origin
from tare.experiment.results import Results
from tare.experiment.session.failing import Why
from tare.experiment.specification import Stopping
from tare.render import html, markdown
from tare.render.escaping import ORDERS
from tare.render.words import sentence, sentences, text
from tare.results.message import Amount, Levels, message
from tare.wiring import SUPPLIES

ORIGIN = Origin(title="By hand", commands=(), versions=("0",), seed=1, digests=(), file=None)


def test_the_last_lines_are_shown() -> None:
    assert last_lines("1\n\ntwo  \nthree\r\nfour\n") == ["two", "three", "four"]
    assert last_lines("10 %\r50 %\r100 %\rno room") == ["50 %", "100 %", "no room"]
    assert last_lines(" \n\n") == []


def test_rubbish_is_harmless_and_short() -> None:
    said = "\x00\ufffd\x07" * 500 + "\n\x1b]0;owned\x07\x1b[2J\u202egnp.exe\n" + "x" * 10_000_000
    lines = last_lines(said)
    assert len(lines) == 3
    assert all(len(line) <= WIDTH and not ORDERS.search(line) for line in lines)
    assert lines[1].startswith(r"\x1b]0;owned\x07\x1b[2J\u202e")


def test_the_reason_has_what_the_last_that_spoke_wrote() -> None:
    reason = "a ended with exit code 2"
    (found,) = together(
        [
            Failed(reason, "exit"),
            Failed(reason, "exit", "no lock\ngiving up\n", captured=True),
            Failed(reason, "exit"),
        ]
    )
    assert found.trials == 3
    said = {
        "reason": reason, "lines": ["no lock", "giving up"], "silent": False, "differ": False,
    }  # fmt: skip
    assert args(found.line, "; nothing on") == said
    assert text(found.block).splitlines()[1:] == ["    no lock", "    giving up"]


def test_reasons_of_one_kind_are_one_with_an_example() -> None:
    def late(reached: float) -> Why:
        amounts = {"reached": Amount(reached, "1"), "rate": Amount(10.0, "1")}
        return Why.of(
            Refusal(
                "late",
                message(
                    "the load was not reached: {reached} of {rate} requests a second; use a lower "
                    "rate{% if setting %}, --set {setting}=…,{% endif %} or a larger --size",
                    setting="rate",
                    **amounts,
                ),
            )
        )

    def ended(service: str, line: str) -> Why:
        said = message(
            "{% if service %}service {service} {what}{% else %}reset: {what}{% endif %}"
            '{% if log %}; its last lines: {log | join(" | ")}{% endif %}',
            service=service,
            what="has ended",
            log=[line],
        )
        return Why.of(Refusal(f"ended {service}", said))

    whys = [
        *(late(reached) for reached in (8.1, 8.4, 9.2)),
        ended("web", "12:00:01 no socket"), ended("web", "12:00:09 no socket"),
        ended("database", "12:00:01 no socket"),
    ]  # fmt: skip
    found = together(Failed(why.reason, like=why.kind) for why in whys)
    assert [one.trials for one in found] == [3, 2, 1]
    assert [one.differ for one in found] == [True, True, False]
    assert text(found[0].line) == f"e.g. {whys[0].reason}"


def test_the_kind_of_a_failure_survives_in_an_error() -> None:
    why = Why.of(
        Refusal(
            "missing", message("the load generator left no plain file {file}", file="/tmp/r.csv")
        )
    )
    assert Why.of_error(why.error) == why
    assert Why.of_error(TareError("no room", "free some")) == Why("no room (hint: free some)")


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        (Failed("a ended", "exit"), "a ended"),
        (Failed("a ended", "exit", captured=True), "a ended; nothing on standard error"),
        (Failed("a: not found", "launch", captured=True), "a: not found"),
        (Failed("the agent is gone"), "the agent is gone"),
    ],
)
def test_silence_is_told_only_where_it_was_listened_to(failed: Failed, words: str) -> None:
    assert text(together([failed])[0].line) == words


def results(folder: Path, *, failing: float, stopped: bool) -> Results:
    """Results of two commands on two platforms, of which one fails on docker."""
    made = synthetic.make(
        lambda levels: synthetic.Behaviour(
            failing=failing if levels["platform"] == "docker" else 0.0
        ),
        trials=12,
        workers=(1,),
        workloads=("sort", "wc"),
        stopping=Stopping(trials=12, budget_s=None),
    )
    made.stops["reason"][made.stops["cell"] % 2 == 1] = "failed" if stopped else "fixed"
    failed = made.trial_table.where(status="failed")
    loaded = store.load(journals.write(made, folder / "out"))
    evidence = "no <lock>\nanother one holds it"
    outlived = (None, None, None)
    faults = columns.of_table(
        "faults",
        [(t, 0, 0, "exit", "exit 1", evidence, *outlived) for t in failed["trial"].tolist()],
    )
    return dataclasses.replace(loaded, faults=faults)


SAID = 'exit 1; standard error ends with "no <lock>" / "another one holds it"'


def test_what_was_given_up_is_the_first_line_everywhere(tmp_path: Path) -> None:
    found = results(tmp_path, failing=1.0, stopped=True)
    [missing] = given_up(found)
    said = args(missing, "good)")
    assert said["names"] == [message("platform “{level}”", level="docker")]
    assert (said["failed"], said["good"], said["asked"]) == (24, 0, 24)
    assert text(said["why"]) == SAID
    answers = all_findings(found, SUPPLIES.findings())
    told = headline(found, answers)
    assert told[0] == missing
    assert len(told) > 1
    assert not any("exit 1" in line for line in sentences(told[1:])), "nothing is said twice"
    laid = page.make(found, answers, ORIGIN, SUPPLIES.charts())
    assert laid.lead != "completeness"
    written = html.render(laid)
    assert written.index("was given up") < written.index('class="lead"')
    assert "no &lt;lock&gt;" in written
    assert markdown.render(laid, "charts").index("was given up") < 400


def test_cells_that_are_no_whole_level_are_named(tmp_path: Path) -> None:
    found = results(tmp_path, failing=1.0, stopped=True)
    found.stops["reason"][found.stops["cell"] == 3] = "fixed"
    [missing] = given_up(found)
    said = args(missing, "good)")
    assert said["names"] == [Levels({"workload": "sort", "platform": "docker"})]
    assert (said["failed"], said["good"], said["asked"]) == (12, 0, 12)
    assert text(said["why"]) == SAID
    (rest,) = summarize(found, []).failed
    others = args(rest, "the other cells")
    assert (others["failed"], others["trials"], others["others"]) == (12, 36, True)
    where = message(
        "{failed} of {workload} on {platform}", failed=12, workload="wc", platform="docker"
    )
    assert others["where"] == [where]
    assert text(others["reasons"]) == SAID


def test_what_failed_now_and_then_is_told_below_the_answer(tmp_path: Path) -> None:
    found = results(tmp_path, failing=0.3, stopped=False)
    assert given_up(found) == []
    answers = all_findings(found, SUPPLIES.findings())
    assert SAID in sentence(summarize(found, answers).failed[0])
    written = html.render(page.make(found, answers, ORIGIN, SUPPLIES.charts()))
    place = written.index("another one holds it")
    assert written.index('class="lead"') < place < written.index("<figure")
    failed = by_level(found)
    assert {one.args["level"] for one in failed} == {"sort", "wc"}
    assert all(text(one.args["reasons"]) == SAID for one in failed)


def test_without_failures_nothing_is_told(tmp_path: Path) -> None:
    found = results(tmp_path, failing=0.0, stopped=False)
    assert (failures(found), by_level(found), given_up(found)) == ([], [], [])
    assert summarize(found, []).failed == ()


def test_of_many_reasons_the_most_frequent_are_told() -> None:
    from tare.experiment.findings.failures import reasons

    found = together(Failed(f"reason {n}") for n in range(6) for _ in range(n + 1))
    assert [one.trials for one in found] == [6, 5, 4, 3, 2, 1]
    why = reasons(found)
    assert why is not None
    said = args(why, "{others | counted('other reason')}")
    assert [one.args["reason"] for one in said["failures"]] == [f"reason {n}" for n in (5, 4, 3)]
    assert said["others"] == 3
    assert MOST_KINDS == 3
