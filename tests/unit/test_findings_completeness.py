"""Cells that are short of trials are counted and named; where none is, nothing is said."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import columns
import journals
import pytest
import synthetic
from said import headline, template

from tare.experiment import store
from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.completeness import find, over_budget, short_cells
from tare.experiment.findings.level_names import where
from tare.experiment.results import Results
from tare.experiment.specification import Stopping
from tare.render.words import text
from tare.results.message import message
from tare.wiring import SUPPLIES

FIXED = Stopping(trials=8, budget_s=None)


def stored(folder: Path, results: Results) -> Results:
    return store.load(journals.write(results, folder / "out"))


def failing(levels: dict[str, str]) -> synthetic.Behaviour:
    return synthetic.Behaviour(failing=0.5 if levels["platform"] == "docker" else 0.0)


def test_cells_that_have_their_trials_are_no_finding(tmp_path: Path) -> None:
    results = stored(tmp_path, synthetic.make(trials=8, stopping=FIXED))
    assert len(results.planned) == 4
    assert find(results) is None


def test_each_short_cell_is_counted(tmp_path: Path) -> None:
    results = stored(tmp_path, synthetic.make(failing, trials=8, stopping=FIXED))
    short = short_cells(results)
    assert [cell.levels["platform"] for cell in short] == ["docker", "docker"]
    assert all(cell.good + cell.failed == cell.asked == 8 for cell in short)
    assert {cell.reason for cell in short} == {"exit 1"}
    found = find(results)
    assert found is not None
    assert found.verdict == "no"
    assert [estimate.value for estimate in found.estimates] == [cell.good for cell in short]
    assert [row["good"] for row in found.tables[0].rows] == [cell.good for cell in short]
    assert template(found.answer) == "good trials than"
    assert (found.answer.args["short"], found.answer.args["cells"]) == (2, 4)
    assert [one.args for one in found.answer.args["named"]] == [
        {
            "where": where(cell.levels, ["platform", "workers"]),
            "good": cell.good,
            "asked": 8,
            "failed": cell.failed,
        }
        for cell in short
    ]
    assert found.answer in headline(results, all_findings(results, SUPPLIES.findings()))


def test_trials_that_failed_and_were_repeated_change_no_estimate() -> None:
    """Every third trial was preceded by one of its cell and block that failed."""
    options = {"loads": ("none", "busy"), "workers": (1, 2), "iterations": 3, "inputs": 4}
    whole = synthetic.make(trials=20, **options)
    third = whole.trial_table.rows(range(0, len(whole.trial_table), 3))
    failed = third.with_columns(
        trial=third["trial"] + 10_000,
        status=["failed"] * len(third),
        reason=["the agent is gone"] * len(third),
    )
    samples = whole.sample_table.of_trials(set(third["trial"].tolist())).table()
    samples = samples.with_columns(trial=samples["trial"] + 10_000)
    repeated = dataclasses.replace(
        whole,
        trial_table=columns.stacked(whole.trial_table, failed),
        # As of a trial whose observer was lost at its very end.
        sample_table=columns.samples_of(columns.stacked(whole.sample_table.table(), samples)),
    )
    before, after = (
        all_findings(whole, SUPPLIES.findings()),
        all_findings(repeated, SUPPLIES.findings()),
    )
    assert [f.name for f in after] == [f.name for f in before]
    assert [f.estimates for f in after] == [f.estimates for f in before]
    assert [f.verdict for f in after] == [f.verdict for f in before]


def test_a_cell_that_was_never_begun_is_short(tmp_path: Path) -> None:
    whole = synthetic.make(trials=8, stopping=FIXED)
    folder = journals.write(whole, tmp_path / "out")
    for path in (folder / "journal").iterdir():
        path.unlink()
    short = short_cells(store.load(folder))
    assert [(cell.good, cell.failed, cell.asked, cell.reason) for cell in short] == 4 * [
        (0, 0, 8, None)
    ]


@pytest.mark.parametrize("sessions", [(0,), (0, 1)])
def test_of_single_sessions_nothing_was_asked(tmp_path: Path, sessions: tuple[int, ...]) -> None:
    results = stored(tmp_path, synthetic.make(failing, trials=8, stopping=FIXED))
    assert find(results.of_sessions(sessions)) is None


def test_without_a_number_only_what_was_given_up_is_short(tmp_path: Path) -> None:
    results = stored(tmp_path, synthetic.make(failing, trials=8, stopping=Stopping(precision=0.02)))
    assert find(results) is None
    results.stops["reason"][results.stops["cell"] == 3] = "failed"
    (short,) = short_cells(results)
    assert (short.asked, short.levels["platform"], short.levels["workers"]) == (None, "docker", "2")


def test_what_a_budget_left_out_is_said_first(tmp_path: Path) -> None:
    results = stored(tmp_path, synthetic.make(trials=3, stopping=FIXED))
    first = results.planned[0].cell
    trials = results.trial_table.rows(results.trial_table["cell"] != first)
    sessions = results.sessions.with_columns(reason=["budget"] * len(results.sessions))
    cut = dataclasses.replace(results, trial_table=trials, sessions=sessions)

    told = over_budget(cut)

    assert told == message(
        "the budget ended before all trials: {short} of {cells | counted('cell')} "
        "{% if short == 1 %}has{% else %}have{% endif %} {least}{% if most > least %} "
        "to {most}{% endif %} of {asked}{% if never %}. Never measured: "
        "{never | listing}{% endif %}",
        short=4,
        cells=4,
        least=0,
        most=3,
        asked=8,
        never=[where(results.planned[0].levels(), cut.varied)],
    )
    assert headline(cut, all_findings(cut, SUPPLIES.findings()))[0] == told
    assert over_budget(results) is None
    precise = synthetic.make(trials=3, stopping=Stopping(precision=0.01, budget_s=9.0))
    assert over_budget(precise) is None
    told = over_budget(dataclasses.replace(precise, sessions=sessions))
    assert told is not None
    assert text(told) == "the budget ended before all medians were known to ± 1 %"
