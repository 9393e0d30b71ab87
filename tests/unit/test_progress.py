"""What is shown while it measures."""

from __future__ import annotations

import pytest

from tare.cli import console, progress
from tare.render.words import text
from tare.results.message import Duration, message


def test_a_first_trial_beyond_the_budget_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(progress, "LONG_S", 0.0)
    monkeypatch.setattr(console, "note", told.append)
    bar = progress.Bar(budget_s=0.01)
    bar.begins(serves=True, application=False)
    assert bar._announcement is not None
    bar._announcement.join()
    said = message(
        "the first trial still runs after {after}{% if over_budget %}, longer than the "
        "budget{% endif %}: wait, press Ctrl-C, or limit each trial with {% if file %}"
        'timeout = "TIME" in the [[workload]] of {file}{% else %}--timeout TIME'
        "{% endif %}",
        after=Duration(0.01),
        over_budget=True,
        file=None,
    )
    assert text(said) in told[-1]


def test_a_first_trial_of_services_is_announced_beyond_a_budget_alone() -> None:
    bar = progress.Bar()
    bar.begins(serves=True, application=False)
    assert bar._announcement is None
    bar.begins(serves=False, application=False)
    assert bar._announcement is not None
    bar._announcement.cancel()


@pytest.mark.parametrize(
    ("application", "budget_s", "after_s"),
    [(False, None, 2), (True, None, 60), (True, 30.0, 60), (True, 90.0, 90), (False, 30.0, 30)],
)
def test_a_first_trial_of_an_application_is_announced_later(
    application: bool, budget_s: float | None, after_s: float
) -> None:
    bar = progress.Bar(budget_s=budget_s)
    bar.begins(serves=False, application=application)
    assert bar._announcement is not None
    assert bar._announcement.interval == after_s
    bar._announcement.cancel()


def test_quiet_leaves_out_notes_and_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LOG_EVERY_S", 0.0)
    printed = []
    for is_quiet in (False, True):
        monkeypatch.setattr(console, "is_quiet", is_quiet)
        with progress.Bar() as bar:
            bar.note("a note that is longer than any terminal is wide: " + "x" * 300)
            bar.stage("starting the observer")
        printed.append(capsys.readouterr().err)
    # Not wrapped: it may end with a command.
    assert printed[0].splitlines()[0].endswith("x" * 300)
    assert "starting the observer" in printed[0]
    assert printed[1] == ""
