"""Lines that are printed: whole in files and pipes, and as wide as a terminal or COLUMNS."""

from __future__ import annotations

from io import StringIO

import msgspec
import pytest

from tare.cli import console
from tare.results.finding import Column, Table
from tare.results.message import message
from tare.results.report import Entry, NextStep, Report

WORDS = " ".join(["+3.86 % [+3.21, +4.16] and"] * 20)
TITLES = [f"column {number} of a table" for number in range(20)]
REPORT = Report(
    command="run", exit_code=0, name="a", question="q",
    entries=(Entry("Note", message("{words}", words=WORDS)),),
    next_steps=(NextStep(WORDS),),
    cells=Table(
        title=message("a table"),
        columns=tuple(Column(key=f"k{i}", title=title) for i, title in enumerate(TITLES)),
        rows=2 * ({f"k{i}": i for i in range(20)},),
    ),
    shows_cells=True,
)  # fmt: skip


def printed(*, terminal: bool) -> str:
    file = StringIO()
    to = type(console.out)(file=file, force_terminal=terminal, width=None, highlight=False)
    console.show(REPORT, to=to)
    to.print(WORDS)
    return file.getvalue()


def test_no_line_is_broken_and_no_column_left_out_in_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    found = printed(terminal=False).splitlines()
    assert sum(line.endswith(WORDS) for line in found) == 3
    assert any(all(title in line for title in TITLES) for line in found)


def test_a_terminal_and_columns_limit_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for terminal in (True, False):
        found = printed(terminal=terminal)
        assert "column 1 of a table" in found
        assert not any(all(title in line for title in TITLES) for line in found.splitlines())
        # What is to be copied is never broken.
        assert f"Next    {WORDS}" in found


def test_quiet_leaves_out_the_notes_of_a_report_that_are_not_emphasised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes = (Entry("Note", "a hint"), Entry("Note", "a warning", "strong"), Entry("Trust", "high"))
    noted = msgspec.structs.replace(REPORT, entries=notes)
    shown = {}
    for is_quiet in (False, True):
        monkeypatch.setattr(console, "is_quiet", is_quiet)
        file = StringIO()
        console.show(noted, to=type(console.out)(file=file, width=None, highlight=False))
        shown[is_quiet] = [one in file.getvalue() for one in ("a hint", "a warning", "high")]
    assert shown == {False: [True, True, True], True: [False, True, True]}
