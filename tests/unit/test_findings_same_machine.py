"""Sessions of the same machine, of one that changed, and of one that others used meanwhile."""

from __future__ import annotations

import dataclasses
import functools
import html
from pathlib import Path

import columns
import folder_report as report
import journals
import msgspec
import numpy as np
import pytest
import sweeps
import synthetic
from said import template
from situations import BUSY, CALM, in_two_sessions, with_takes
from synthetic import MS, Behaviour

from tare.cli.delivery import deliver
from tare.errors import ChangedError, StoreError
from tare.experiment import pipeline
from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.caveats import notes
from tare.experiment.findings.caveats import sentences as above
from tare.experiment.findings.cells import basis_of, cells_of
from tare.experiment.findings.judgement import differences
from tare.experiment.findings.same_machine import UNIT
from tare.experiment.findings.sessions import caveats, changed, comparisons, judged, probed
from tare.experiment.results import Results
from tare.experiment.store.export import export
from tare.features.calibration import session as calibrate_sweep
from tare.features.measure.comparison.execution import Execution
from tare.features.measure.comparison.session import conclude
from tare.features.measure.run import report as run_report
from tare.features.measure.run.summary import summarize
from tare.options.measuring import SessionOptions
from tare.render import data
from tare.render.html import render as render_page
from tare.render.words import sentence, text
from tare.results.columns import Columns
from tare.results.message import message
from tare.wiring import SUPPLIES

HERE = Path("here")


@pytest.fixture
def results() -> Results:
    return in_two_sessions(synthetic.make(trials=20))


def _plain(text: str) -> str:
    """Return a text without what pages and Markdown escape, with single spaces."""
    return " ".join(html.unescape(text).replace("\\", "").split())


def _verdict(results: Results) -> tuple[str, str | None]:
    last = comparisons(results)[-1]
    return last.verdict, last.why


def test_nothing_is_said_where_nothing_was_looked_at(results: Results) -> None:
    assert UNIT.find(results) is None
    assert UNIT.find(with_takes(results, (1, "before", 80.0))) is None
    assert judged(results, (), HERE) is results


def test_a_machine_that_stayed_the_same(results: Results) -> None:
    same = with_takes(results, (1, "before", 80.0), (1, "after", 81.0), (2, "before", 80.0))
    found = UNIT.find(same)
    assert found is not None
    assert found.verdict == "yes"
    [answer] = found.answer
    assert template(answer) == "no significant change:"
    assert [one.args for one in answer.args["comparisons"]] == [
        {
            "sessions": message(
                "session{% if sessions | length > 1 %}s{% endif %} {sessions | listing}",
                sessions=some,
            ),
            "within": len(some) == 1,
            "same": 2,
            "metrics": 2,
        }
        for some in ([1], [1, 2])
    ]
    assert found.caveats == (
        message("the machine was probed before and after the trials, not during them"),
        message(
            "session {session} was not probed {moments | listing('or')} its trials",
            session=2,
            moments=["after"],
        ),
    )
    assert [row["verdict"] for row in found.tables[0].rows] == ["same"] * 4
    assert judged(same, (), HERE) is same
    assert caveats(same) == ()


def test_a_machine_that_changed_within_a_session(results: Results) -> None:
    one = with_takes(
        results, (1, "before", 80.0), (1, "after", 140.0), (1, "after", 141.0, CALM, 2)
    )
    found = UNIT.find(one)
    assert found is not None
    assert found.verdict == "no"
    [differs], hold = found.answer[0].args["comparisons"], found.answer[1]
    assert (template(found.answer[0]), template(hold)) == (
        "changed: {comparisons | join('; ')}",
        "comparisons within blocks hold",
    )
    assert differs.args["sessions"] == message(
        "session{% if sessions | length > 1 %}s{% endif %} {sessions | listing}", sessions=[1]
    )
    [change] = differs.args["changes"].args["changes"]
    assert change.args["metric"] == "syscall.getpid"
    assert change.args["before"].value == pytest.approx(80, rel=0.02)
    assert change.args["after"].value == pytest.approx(140, rel=0.02)
    assert change.args["change"].low > 1.1
    # There is no other session to take levels from: blocks were in it alike.
    assert judged(one, (), HERE) is one
    [caveat] = caveats(one)
    assert (caveat.kind, caveat.sessions) == ("changed", (1,))
    assert [c.metric for c in caveat.changes] == ["syscall.getpid"]
    with pytest.raises(ChangedError):
        pipeline.check_same((caveat,), None, HERE, strict=True)
    pipeline.check_same((caveat,), None, HERE, strict=False)


CHANGED = ((1, "before", 80.0), (1, "after", 80.0), (2, "before", 140.0), (2, "after", 141.0))


def test_levels_of_unlike_machines_are_not_put_together(results: Results) -> None:
    other = judged(with_takes(results, *CHANGED), (), HERE)
    assert other.levels_of == 2
    assert set(other.trial_table["session"]) == {1, 2}
    levels = other.of_levels
    assert set(levels.trial_table["session"]) == {2}
    assert levels.levels_of is None
    assert set(levels.sample_table.table()["trial"]) == set(levels.trial_table["trial"])
    [caveat] = caveats(other)
    assert (caveat.kind, caveat.of, caveat.sessions) == ("changed", "machine", (1, 2))
    with pytest.raises(ChangedError) as error:
        pipeline.check_same(caveats(other), other.levels_of, HERE, strict=True)
    assert error.value.exit_code == 17
    assert "report here --session 1" in (error.value.hint or "")


def test_sessions_that_were_asked_for_are_judged_alike(results: Results) -> None:
    other = with_takes(results, *CHANGED)
    assert judged(other, (1, 2), HERE).levels_of == 2
    alone = judged(other, (2,), HERE)
    assert alone.levels_of is None
    assert set(alone.trial_table["session"]) == {2}
    assert set(probed(alone)) == {2}
    assert caveats(alone) == ()
    with pytest.raises(StoreError, match="no session 7"):
        judged(other, (7,), HERE)


def test_a_disturbed_moment_is_no_other_machine(results: Results) -> None:
    """Even where it is not known how busy the machine was."""
    disturbed = with_takes(
        results,
        (1, "before", 80.0), (1, "after", 80.0), (2, "before", 140.0), (2, "after", 80.0),
        recorded=False,
    )  # fmt: skip
    assert judged(disturbed, (), HERE) is disturbed


@pytest.mark.parametrize("killed", [1, 2])
def test_a_session_with_one_take_has_no_veto(results: Results, killed: int) -> None:
    other = 3 - killed
    cut = with_takes(
        results, (killed, "before", 128.0), (other, "before", 80.0), (other, "after", 80.0)
    )
    assert _verdict(cut) == ("inconclusive", "one take")
    assert judged(cut, (), HERE) is cut
    assert caveats(cut) == ()
    found = UNIT.find(cut)
    assert found is not None
    assert found.verdict == "inconclusive"
    [answer] = found.answer
    assert template(answer) == "inconclusive: {comparisons | join('; ')}"
    assert [template(one) for one in answer.args["comparisons"]][-1] == "only in a"


@pytest.mark.parametrize("busy", range(4))
def test_what_others_disturbed_is_busy_and_not_changed(results: Results, busy: int) -> None:
    """One take beside an upgrade of packages, of four that all show a difference."""
    levels = [(*some, BUSY if number == busy else CALM) for number, some in enumerate(CHANGED)]
    disturbed = with_takes(results, *levels)
    assert _verdict(disturbed) == ("inconclusive", "busy")
    assert judged(disturbed, (), HERE) is disturbed
    [caveat] = caveats(disturbed)
    assert (caveat.kind, caveat.sessions) == ("busy", (1, 2))
    assert caveat.activity is not None
    assert caveat.activity.other_cpus == BUSY
    assert not changed([caveat])
    pipeline.check_same([caveat], None, HERE, strict=True)
    [note] = notes([caveat])
    assert template(note) == "whether the machine"
    assert note.args["activity"] == message(
        "others used {used}{% if cpus %} of {cpus}{% endif %} CPUs", used=BUSY, cpus=2
    )
    assert above([caveat], None) == []


def test_of_takes_that_were_repeated_the_calm_one_counts(results: Results) -> None:
    repeated = with_takes(
        results,
        (1, "before", 80.0), (1, "after", 80.0),
        (2, "before", 200.0, BUSY, 1), (2, "before", 80.0, CALM, 2), (2, "after", 80.0),
    )  # fmt: skip
    assert _verdict(repeated) == ("same", None)
    real = with_takes(
        results,
        *CHANGED[:2],
        (2, "before", 200.0, BUSY, 1), (2, "before", 140.0, CALM, 2), (2, "after", 140.0),
    )  # fmt: skip
    assert _verdict(real) == ("changed", None)


def test_a_change_within_a_session_is_there_when_it_is_looked_at_again(results: Results) -> None:
    seen_once = with_takes(results, (1, "before", 80.0), (1, "after", 140.0))
    assert _verdict(seen_once) == ("inconclusive", "one take")
    assert caveats(seen_once) == ()
    once = with_takes(
        results, (1, "before", 80.0), (1, "after", 140.0), (1, "after", 80.0, CALM, 2)
    )
    assert caveats(once) == ()
    twice = with_takes(
        results, (1, "before", 80.0), (1, "after", 140.0), (1, "after", 141.0, CALM, 2)
    )
    assert [c.kind for c in caveats(twice)] == ["changed"]


def test_folders_that_do_not_know_how_busy_it_was_are_judged_by_their_takes(
    results: Results,
) -> None:
    old = with_takes(results, *CHANGED, recorded=False)
    assert _verdict(old) == ("changed", None)
    found = UNIT.find(old)
    assert found is not None
    assert len(found.tables) == 1


def test_levels_are_those_of_the_newest_session_with_the_most_cells() -> None:
    made = with_takes(
        in_two_sessions(synthetic.make(platforms=("bare", "docker"), trials=20), 18), *CHANGED
    )
    assert judged(made, (), HERE).levels_of == 2
    trials = made.trial_table
    short = trials.rows((trials["session"] == 1) | (trials["cell"] == 0))
    assert judged(dataclasses.replace(made, trial_table=short), (), HERE).levels_of == 1


@functools.cache
def _slower_machine() -> Results:
    """Two platforms, 20 % apart, on a machine that doubles its times in the second session."""
    made = synthetic.make(
        lambda levels: Behaviour(mean_ns=(240 if levels["platform"] == "docker" else 200) * MS),
        platforms=("bare", "docker"),
        workers=(1,),
        trials=24,
    )
    made = in_two_sessions(made, 12)
    late = made.trial_table.where(session=2)["trial"]
    doubled = columns.with_values(
        made, lambda samples: samples["value"] * np.where(np.isin(samples["trial"], late), 2, 1)
    )
    return with_takes(doubled, *CHANGED)


def test_comparisons_hold_over_all_sessions_and_levels_are_of_one() -> None:
    made = judged(_slower_machine(), (), HERE)
    found = {f.name: f for f in all_findings(made, SUPPLIES.findings())}
    [ratio] = found["overhead"].estimates
    assert ratio.n == 24
    assert ratio.value == pytest.approx(1.2, rel=0.02)
    assert found["overhead"].session is None
    assert found["warmup"].session == 2
    by_session = {
        (row["session"], row["platform"]): row["median"]
        for row in found["levels_by_session"].tables[0].rows
    }
    assert by_session == pytest.approx(
        {("1", "bare"): 2e8, ("1", "docker"): 2.4e8, ("2", "bare"): 4e8, ("2", "docker"): 4.8e8},
        rel=0.02,
    )
    # The spread is that within sessions: what doubled is the machine's.
    [spread] = [e for e in found["stability"].estimates if e.n == 24]
    assert spread.value == pytest.approx(1.2, rel=0.5)
    medians = {row["platform"]: row for row in found["stability"].tables[-1].rows}
    assert medians["bare"]["n"] == 12
    assert medians["bare"]["median"] == pytest.approx(4e8, rel=0.02)
    assert medians["bare"]["relative_spread"] < 0.1


def test_a_spread_over_sessions_is_that_within_them() -> None:
    made = judged(_slower_machine(), (), HERE)
    basis = basis_of(made)
    assert not isinstance(basis, str)
    [pair] = cells_of(made, basis).pairs("platform")
    first, second = pair.within_sessions
    assert np.median(first) == pytest.approx(4e8, rel=0.02)
    assert first.std() / first.mean() < 0.02
    # The ratio of a pair is that of its block, but for what the sessions' medians are off.
    np.testing.assert_allclose(second / first, pair.second / pair.first, rtol=0.02)
    together = dataclasses.replace(pair, levels_of=None)
    assert together.within_sessions == (together.first, together.second)


def test_a_comparison_s_medians_are_of_one_session() -> None:
    found = differences(judged(_compared(), (), HERE))
    assert not isinstance(found, str)
    [d] = found
    assert d.comparison.n == 24
    assert d.comparison.ratio == pytest.approx(1.2, rel=0.02)
    assert [m.n for m in d.medians] == [12, 12]
    assert d.medians[0].estimate == pytest.approx(4e8, rel=0.02)
    assert d.comparison.median_ratio == pytest.approx(1.2, rel=0.02)


def test_everything_is_written_with_the_caveat_on_top(tmp_path: Path) -> None:
    made = _slower_machine()
    folder = _folder(made, tmp_path / "out")
    results = pipeline.results_of(folder)
    assert results.levels_of == 2
    answers = pipeline.answers(results, SUPPLIES.findings())
    assert {f.name for f in answers.findings} >= {"overhead", "stability", "levels_by_session"}
    page = _plain(
        report.write(folder, SUPPLIES, None, answers.findings, results=results)[0].read_text()
    )
    [changed_between, levels] = above(caveats(results), results.levels_of)
    assert levels == message(
        "levels are those of session {session} only; comparisons within blocks use all sessions",
        session=2,
    )
    caveat = page.index(sentence(changed_between))
    assert caveat < page.index('class="lead"')
    both, *_ = report.write(folder, SUPPLIES, tmp_path / "both.md", findings=(), sessions=(1, 2))
    text = both.read_text()
    assert f"> {sentence(changed_between)}" in _plain(text.split("\n##")[0])
    alone = report.write(folder, SUPPLIES, tmp_path / "one.md", sessions=(1,))[0].read_text()
    assert "machine changed" not in alone
    export(folder, "takes", "csv", tmp_path / "takes.csv", lambda results: ())
    assert len((tmp_path / "takes.csv").read_text().splitlines()) == 5


def _folder(made: Results, path: Path) -> Path:
    """Write results whose sessions count from 1, as journals do."""
    names = ("figures", "takes", "sessions", "trial_table")
    # What writes journals counts sessions from 0.
    less = {
        name: getattr(made, name).with_columns(session=getattr(made, name)["session"] - 1)
        for name in names
    }
    return journals.write(dataclasses.replace(made, **less), path)


def _compared() -> Results:
    made = _slower_machine()
    stopping = msgspec.structs.replace(made.experiment.stopping, compare="platform", trials=24)
    asked = msgspec.structs.replace(made.experiment, stopping=stopping)
    return dataclasses.replace(made, experiment=asked)


def _told(made: Results, folder: Path, gate: float | None, *, strict: bool = False) -> int:
    found = differences(made)
    assert not isinstance(found, str)
    wanted = Execution(SUPPLIES, SessionOptions(strict=strict), gate=gate)
    report = conclude(found, made, "finished", folder, wanted, lambda code: None)
    files = {"json": str(folder / "a.json"), "junit": folder / "a.xml"}
    return deliver(report, {**files, "markdown": str(folder / "a.md")})


def test_a_comparison_is_told_everywhere_with_its_caveat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = judged(_compared(), (), tmp_path)
    with pytest.raises(ChangedError):
        _told(made, tmp_path, None, strict=True)
    capsys.readouterr()
    assert _told(made, tmp_path, None) == 0
    said = [sentence(one) for one in above(caveats(made), 2)]
    assert _plain(capsys.readouterr().out).startswith(f"Caveat {text(above(caveats(made), 2)[0])}")
    told = msgspec.json.decode((tmp_path / "a.json").read_bytes())
    assert told["levels_of"] == 2
    assert [(c["kind"], c["of"], c["sessions"]) for c in told["session_changes"]] == [
        ("changed", "machine", [1, 2])
    ]
    assert [m["n"] for m in told["comparisons"][0]["medians"]] == [12, 12]
    for name in ("a.xml", "a.md"):
        assert said[0] in _plain((tmp_path / name).read_text())


@pytest.mark.parametrize(("gate", "code"), [(0.5, 0), (0.03, 1)])
def test_a_gate_judges_what_blocks_protect(tmp_path: Path, gate: float, code: int) -> None:
    made = judged(_compared(), (), tmp_path)
    assert _told(made, tmp_path, gate) == code
    with pytest.raises(ChangedError):
        _told(made, tmp_path, gate, strict=True)


def test_a_run_that_went_on_is_told_of_one_session(tmp_path: Path) -> None:
    made = _slower_machine()
    bare = made.trial_table.where(platform="bare")
    stops = made.stops.where(cell=set(bare["cell"].tolist()))
    kept = dataclasses.replace(made, trial_table=bare, stops=stops)
    folder = _folder(kept, tmp_path / "out")
    found = summarize(pipeline.results_of(folder), "finished")
    assert found.levels_of == 2
    assert (len(found.good), len(found.of_levels.good)) == (24, 12)
    told = data.builtins(run_report.make(found, "a", None, "bare").figures)
    assert told["summary"]["levels_of"] == 2
    assert told["summary"]["n"] == 12
    assert [c["kind"] for c in told["session_changes"]] == ["changed"]
    assert len(told["trials"]) == 24


def test_a_calibration_is_of_one_session(tmp_path: Path) -> None:
    made = sweeps.make(sweeps.Sweep(sessions={1: 1.0, 2: 0.5}), trials=14)
    trials = made.trial_table
    assert set(trials["session"]) == {1, 2}
    sessions = Columns.of_rows(
        ["session", "started", "ended", "boot_id", "nonce"],
        [(n, "2030-01-01", "2030-01-01", "", n) for n in (1, 2)],
    )
    made = with_takes(dataclasses.replace(made, sessions=sessions), *CHANGED)
    told = calibrate_sweep.conclusion(_folder(made, tmp_path / "out"), "finished", SUPPLIES)
    assert told.levels_of == 2
    assert {p.n for p in told.calibration.points} == {7}
    [caveat] = told.caveats
    assert caveat.kind == "changed"
    [said, _] = above(told.caveats, told.levels_of)
    assert sentence(said) in _plain(render_page(told.report))
