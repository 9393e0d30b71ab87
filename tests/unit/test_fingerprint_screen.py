"""What a person reads of a fingerprint."""

from __future__ import annotations

import fingerprints
import msgspec
import printed

from tare.experiment.fingerprints.machine.document import Figure, Fingerprint
from tare.features.machine.fingerprint import page
from tare.features.machine.fingerprint.page_groups import LEADING
from tare.features.machine.fingerprint.picture import staircase
from tare.results.report import Report


def report(found: Fingerprint, *, named: bool = False) -> Report:
    return page.make(found, {}, "tare fingerprint", named=named, paged=False)


def rows(found: Fingerprint, *, named: bool = False) -> list[str]:
    made = report(found, named=named)
    return [row["figure"] for table in made.further for row in table.rows]


def test_a_figure_has_its_row_with_unit_interval_and_rounds() -> None:
    lines = printed.lines(report(fingerprints.make()))
    (row,) = [line for line in lines if line.startswith("memory.latency.dram")]
    assert " ns " in row
    assert "[" in row
    assert row.rstrip().endswith("× 1.46")


def test_few_figures_lead_unless_probes_were_asked_for() -> None:
    found = fingerprints.make()
    assert rows(found) == [name for name in LEADING if name in found.metrics]
    assert set(rows(found, named=True)) == set(found.metrics)
    calls = fingerprints.make(only="call")
    assert len(rows(calls)) == len(calls.metrics)
    assert "5 cycles" not in printed.text(report(found, named=True))
    assert "5 cycles" in printed.text(report(calls, named=True))


def test_what_is_missing_is_told_in_words() -> None:
    found = fingerprints.make()
    lines = printed.lines(report(found))
    for problem in found.problems:
        assert f"Missing  {problem.probe}: {problem.why}" in lines
    many = tuple(msgspec.structs.replace(found.problems[0], probe=f"p{n}") for n in range(8))
    lines = printed.lines(report(msgspec.structs.replace(found, problems=many)))
    assert sum(line.startswith("Missing") for line in lines) == 6
    assert "Missing  3 more (--json has all)" in lines


def test_too_few_rounds_have_no_interval() -> None:
    lines = printed.lines(report(fingerprints.make(rounds=5)))
    (row,) = [line for line in lines if line.startswith("memory.latency.l1")]
    assert "[" not in row


def test_a_value_of_nothing_is_shown() -> None:
    nothing = {"steal.share": Figure(value=0.0, ci=(0.0, 0.0), unit="1", n=7, predicted=0.0)}
    found = msgspec.structs.replace(fingerprints.make(), metrics=nothing)
    assert rows(found) == ["steal.share"]


def test_the_staircase_rises_and_marks_what_was_found() -> None:
    lines = staircase(fingerprints.make())
    picture = [line[11:] for line in lines if "│" in line]
    first, last = (next(line for line in some if "•" in line) for some in (picture, picture[::-1]))
    assert first.rindex("•") > last.rindex("•")
    assert all("┊" in line or "•" in line for line in picture)
    assert "caches found: L1 48" in lines[-1]
    assert lines[-1] in printed.text(report(fingerprints.make()))


def test_where_there_is_no_staircase_nothing_is_drawn() -> None:
    found = fingerprints.make()
    assert staircase(msgspec.structs.replace(found, curves={})) == ()
    flat = msgspec.structs.replace(
        found.curves["memory.latency"],
        points=tuple(
            msgspec.structs.replace(point, value=1.0)
            for point in found.curves["memory.latency"].points
        ),
    )
    assert staircase(msgspec.structs.replace(found, curves={"memory.latency": flat})) == ()
