"""One place prints and writes the report of a command, also where an error ends it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import printed
import pytest
from inprocess import invoke
from synthetic import Behaviour, make

from tare.cli import app as cli
from tare.cli import delivery
from tare.errors import IncompleteError, InputError, StoreError
from tare.experiment.findings.judgement import differences
from tare.experiment.specification import Stopping
from tare.features.measure.comparison import report as comparisons
from tare.features.measure.comparison.session import merged
from tare.options import command as commands
from tare.options import shared
from tare.options.command import Command, Group
from tare.options.measuring import DocumentOptions
from tare.render import comment, files, html, junit, markdown
from tare.render.words import shown, text
from tare.results.message import Message
from tare.results.report import Entry, Origin, Report
from tare.wiring import SUPPLIES

HERE = Origin(commands=(), versions=("1",))


def small(**changes: Any) -> Report:
    given: dict[str, Any] = {
        "name": "small", "question": "How long?", "strip": (), "sections": (), "origin": HERE,
        "command": "run", "entries": (Entry("Time", "41 ms", picture=("─┼─",)),),
        "figures": {"trials": [{"wall_s": 0.041}], "summary": {"median_s": 0.041}},
    }  # fmt: skip
    return Report(**(given | changes))


def compared(
    new: float,
    gate: float | None,
    *names: str,
    trials: int = 12,
    gate_on: str = "median",
    spread: float = 0.04,
    failing: float = 0.0,
) -> Report:
    """Report made-up comparisons; ``spread`` and ``failing`` are those of ``new``."""
    slow = {"new": new, "newer": 1.0}

    def behave(levels: dict[str, str]) -> Behaviour:
        name = levels["workload"]
        is_new = name == "new"
        return Behaviour(
            mean_ns=1e8 * slow.get(name, 1.0),
            spread=spread if is_new else 0.04,
            failing=failing if is_new else 0.0,
        )

    results = make(
        behave, workloads=("old", *(names or ("new",))), platforms=("bare",), workers=(1,),
        trials=trials,
        stopping=Stopping(compare="workload", trials=trials, gate=gate, gate_on=gate_on),
    )  # fmt: skip
    found = differences(results)
    assert not isinstance(found, Message)
    return comparisons.make(results, found, ended="finished", gate=gate)


class Documents(DocumentOptions):
    junit: Path | None = shared.JUNIT


class Loaded(commands.Entry):
    def load(self) -> Command:
        return MADE[self.place]


MADE: dict[str, Command] = {}


def command(body: Any) -> Group:
    MADE["measure"] = Command(lambda *_: body(), Documents)
    return Group(help="", commands={"measure": Loaded("measure")})


def test_a_report_is_printed_and_written_and_its_exit_code_is_returned(tmp_path: Path) -> None:
    app, file = command(lambda: small(exit_code=2)), tmp_path / "a.json"
    done = invoke("measure", "--json", str(file), root=app)
    assert done.exit_code == 2
    assert done.stdout.splitlines() == ["Time    41 ms", "        ─┼─"]
    written = json.loads(file.read_text())
    assert (written["format"], written["version"], written["exit_code"]) == ("tare-report", 2, 2)
    assert written["trials"] == [{"wall_s": 0.041}]
    assert "figures" not in written
    (alone,) = invoke("measure", "--json", "-", root=app).stdout.splitlines()[:1]
    assert alone == "{"


def test_an_error_is_delivered_with_what_was_measured_before_it(tmp_path: Path) -> None:
    def fail() -> Report:
        with delivery.reporting(small()):
            raise IncompleteError("3 of 8 trials are good", "again")

    file = tmp_path / "a.json"
    done = invoke("measure", "--json", str(file), root=command(fail))
    assert isinstance(done.exception, IncompleteError)
    assert done.stdout.startswith("Time    41 ms")
    written = json.loads(file.read_text())
    assert (written["exit_code"], written["error"]["type"]) == (18, "IncompleteError")
    assert written["summary"] == {"median_s": 0.041}


WHOLE = {
    "json": '"verdict": "slower"', "junit": "</testsuites>", "markdown": "</details>",
    "report": "</html>",
}  # fmt: skip


@pytest.mark.parametrize("error", [None, IncompleteError("3 of 8 trials are good")])
@pytest.mark.parametrize("full", ["terminal", *WHOLE])
def test_a_destination_without_room_leaves_the_others_whole(
    full: str, error: Exception | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured() -> Report:
        made = compared(1.3, 0.05)
        with delivery.reporting(made):
            if error is not None:
                raise error
        return made

    destinations = {name: tmp_path / name for name in WHOLE if name != "report"}
    destinations["report"] = tmp_path / "page.html"
    if full == "report":
        (tmp_path / "nowhere.html").symlink_to("/dev/full")
        destinations["report"] = tmp_path / "nowhere.html"
    elif full != "terminal":
        destinations[full] = Path("/dev/full")
    words = [word for name, file in destinations.items() for word in (f"--{name}", str(file))]
    monkeypatch.setattr("sys.argv", ["tare", "measure", *words])
    with Path("/dev/full").open("w") as nowhere, monkeypatch.context() as patched:
        if full == "terminal":
            patched.setattr("sys.stdout", nowhere)
        code = cli.enter(command(measured), SUPPLIES)
        # What could not be written would be tried again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), nowhere.fileno())
    assert code == (StoreError.exit_code if error is None else IncompleteError.exit_code)
    for name, end in WHOLE.items():
        if name != full:
            assert end in destinations[name].read_text(), name


def test_of_what_concludes_nothing_people_get_the_error_alone(tmp_path: Path) -> None:
    def fail() -> Report:
        with delivery.reporting(small(entries=())):
            raise IncompleteError("no trial is good")

    files_ = tmp_path / "a.json", tmp_path / "a.md"
    asked = ["measure", "--json", str(files_[0]), "--markdown", str(files_[1])]
    invoke(*asked, root=command(fail))
    assert json.loads(files_[0].read_text())["trials"]
    assert not files_[1].exists()


@pytest.mark.parametrize(
    "made", [small(), compared(1.3, 0.05), compared(1.3, None), compared(1.3, 0.05, "new", "newer")]
)
def test_a_saved_report_says_the_same_in_every_medium(made: Report, tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    file.write_text(files.encode(made))
    again = files.load(file)
    assert printed.lines(again, 100) == printed.lines(made, 100)
    assert html.render(again) == html.render(made)
    assert markdown.render(again, "charts") == markdown.render(made, "charts")
    assert comment.render(again) == comment.render(made)
    assert junit.render(again) == junit.render(made)
    assert files.plain(again) == json.loads(file.read_text())


@pytest.mark.parametrize("names", [("new",), ("new", "newer")])
def test_the_answer_of_a_gate_stands_first_in_every_medium(names: tuple[str, ...]) -> None:
    made = compared(1.3, 0.05, *names)
    assert made.exit_code == 1
    assert printed.lines(made)[0].startswith("Gate")
    assert "5 % fails: new is slower than old by more than 5 %" in printed.lines(made)[0]
    page = html.render(made)
    assert page.index('<span class="badge fail">gate 5 % fails</span>') < page.index("<p><b>")
    assert markdown.render(made, "charts").splitlines()[2].startswith("**Gate 5 % fails")
    assert comment.render(made).startswith("### Gate 5 % ❌ fails")
    assert "| new | old | ❌ fails | slower |" in comment.render(made)
    assert 'message="new is slower than old by more than 5 %' in junit.render(made)


def test_a_gate_that_passes_is_not_next_to_an_inconclusive_verdict() -> None:
    """With an interval wider than the margin of 2 %, and below the gate."""
    for names in (("new",), ("new", "newer")):
        made = compared(1.0, 0.3, *names)
        assert made.gate is not None
        assert (made.gate.answer, made.exit_code) == ("pass", 0)
        assert {one.verdict for one in made.comparisons} == {"inconclusive"}
        assert {one.word for one in made.comparisons} == {"below the gate"}
        verdicts = [line for line in printed.lines(made) if line.startswith(("Verdict", "new"))]
        assert verdicts
        assert all("below the gate" in line for line in verdicts)
        texts = (*verdicts, comment.render(made).partition("<details>")[0], junit.render(made))
        assert not any("inconclusive" in text for text in texts)


def test_a_gate_that_failed_trials_decide_has_no_inconclusive_verdict() -> None:
    made = compared(1.0, 0.03, trials=20, failing=0.2)
    assert made.gate is not None
    assert (made.gate.answer, made.exit_code) == ("fail", 1)
    (one,) = made.comparisons
    assert (one.verdict, one.word, one.failing) == ("inconclusive", "failed", "failed")
    (verdict,) = (line for line in printed.lines(made) if line.startswith("Verdict"))
    assert verdict.endswith("in trials that did not fail")
    for written in (verdict, comment.render(made).partition("<details>")[0], junit.render(made)):
        assert "inconclusive" not in written
    assert "| new | old | ❌ fails | failed |" in comment.render(made)


def test_what_continues_the_verdict_stands_above_the_failed_trials() -> None:
    lines = printed.lines(compared(1.0, 0.03, trials=20, failing=0.2))
    labels = [line.split(" ")[0] for line in lines if not line.startswith(" ")]
    assert labels[:4] == ["Gate", "Verdict", "Failed", "Median"]


def test_the_ratio_that_a_gate_judges_is_in_every_medium() -> None:
    """The p90 is larger by more than the gate, while the medians are alike."""
    made = compared(1.0, 0.05, trials=80, gate_on="p90", spread=0.3)
    assert made.gate is not None
    assert made.gate.answer == "fail"
    (one,) = made.comparisons
    assert one.gated is not None
    assert one.gated.value is not None
    assert one.gated.value > 1.05
    judged = shown(one.gated)
    lines = printed.lines(made)
    assert f"{judged} (p90)" in lines[0]
    (verdict,) = (line for line in lines if line.startswith("Verdict"))
    assert verdict.endswith("(median of pairs; the gate is on the p90)")
    assert "inconclusive" not in verdict
    assert "ratio of the p90 |" in comment.render(made)
    assert f"| ❌ fails | **{judged}** | above the gate | **{shown(one.estimate)}** |" in (
        comment.render(made)
    )
    several = compared(1.0, 0.05, "new", "newer", trials=80, gate_on="p90", spread=0.3)
    assert several.cells is not None
    row, of_new = several.cells.rows[1], several.comparisons[0]
    assert (row["gated"], row["verdict"]) == (of_new.gate_ratio, "above the gate")
    assert "ratio of the p90" in [column.title for column in several.cells.columns]
    assert "at most 5 % slower than old (p90)?" in text(made.question)
    assert files.plain(made)["comparisons"][0]["gate_ratio"] == pytest.approx(one.gated.value)


def test_junit_states_the_gate_that_passes_next_to_a_verdict() -> None:
    made = compared(1.1, 0.2, trials=40)
    assert made.gate is not None
    assert made.gate.answer == "pass"
    (said,) = re.findall("<system-out>(.*)</system-out>\n    </testcase>", junit.render(made))
    assert "below 20 % slower" in said
    assert "new is slower than old" in said


def test_each_comparison_of_several_names_what_would_settle_it() -> None:
    written = comment.render(compared(1.1, 0.1, "new", "newer"))
    (line,) = (line for line in written.splitlines() if line.startswith("new: about "))
    assert "would settle the gate" in line


def test_a_gate_that_fails_says_nothing_of_what_would_settle_others() -> None:
    """One is 30 % slower, of the other it is not known whether it is slower by 0.5 %."""
    made = compared(1.3, 0.005, "new", "newer")
    assert made.gate is not None
    assert [one.gate for one in made.comparisons] == ["fail", "inconclusive"]
    for written in ("\n".join(printed.lines(made)), comment.render(made)):
        assert "settle" not in written


@pytest.mark.parametrize("gate", [None, 0.05])
def test_a_comparison_counts_what_settles_it_and_nothing_else(gate: float | None) -> None:
    """The medians are imprecise as well, which other numbers of trials would change."""
    made = compared(1.0, gate, spread=0.3)
    written = "\n".join(printed.lines(made))
    assert re.search(r"^DOUBT +medians ± [0-9.]+ %;", written, re.MULTILINE)
    assert len(re.findall(r"about [0-9,]+ more", written)) == 1
    assert "more trial" not in junit.render(made)


@pytest.mark.parametrize("gate", [None, 0.05])
def test_a_page_changes_nothing_in_the_terminal_or_a_comment(gate: float | None) -> None:
    made = compared(1.3, gate)
    table = compared(1.3, 0.05, "new", "newer").cells
    page = small(answers=("An answer.",), cells=table, entries=(), notes=("A note.",))
    both = merged(made, page)
    assert both.cells == table
    assert printed.lines(both) == printed.lines(made)
    assert (
        comment.render(both).partition("<details>")[0]
        == comment.render(made).partition("<details>")[0]
    )


def test_the_error_of_a_command_is_no_report(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    failure = delivery.failed(small(), IncompleteError("too few"))
    fields = ("format", "version", "tare", "command", "exit_code", "error")
    envelope = {name: files.plain(failure)[name] for name in fields}
    file.write_text(json.dumps(envelope))
    with pytest.raises(InputError, match="a command that failed: too few"):
        files.load(file)
    # One that measured, and concluded nothing, is refused with the same words.
    file.write_text(files.encode(msgspec.structs.replace(failure, entries=())))
    with pytest.raises(InputError, match="a command that failed: too few"):
        files.load(file)
    # Where something was concluded all the same, the page has the error as well.
    file.write_text(files.encode(failure))
    assert "too few" in html.render(files.load(file))
    assert "**too few**" in markdown.render(files.load(file), "charts")


def test_of_many_commands_the_terminal_has_twelve_rows_and_few_lines_besides() -> None:
    names = [f"c{i}" for i in range(20)]
    made = compared(1.0, None, *names)
    lines = printed.lines(made, 120)
    assert sum(line.split()[0] in names for line in lines) <= 12
    assert len(lines) <= 12 + 15
    assert made.cells is not None
    assert len(made.cells.rows) == 21
    assert msgspec.json.decode(files.encode(made))["cells"]["rows"][20]["workload"] == "c19"
