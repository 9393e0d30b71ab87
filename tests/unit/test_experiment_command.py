"""What ``tare experiment`` prints of a plan and of a folder's answers."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import folder_report as reports
import journals
import msgspec
import pytest
import served
import synthetic
from inprocess import invoke
from said import template

from tare.applications import image
from tare.cli import console
from tare.errors import IncompleteError, UsageError
from tare.experiment import pipeline, plan, plan_file
from tare.experiment.pilot import Forecast
from tare.experiment.placement import Machine
from tare.experiment.specification import Experiment, NetworkSpec, Stopping
from tare.features.experiment import command, plan_report
from tare.options.parsing import parse
from tare.render import screen
from tare.render.words import sentences, text
from tare.results.finding import Column, Table
from tare.results.message import Duration, Message, message
from tare.results.report import Report
from tare.wiring import SUPPLIES
from tare.workloads.specification import WorkloadSpec


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return journals.write(synthetic.make(trials=12), tmp_path_factory.mktemp("answers") / "out")


def report(*words: str) -> str:
    done = invoke("experiment", "report", *words, catch=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.fixture(scope="module")
def reported(folder: Path) -> str:
    return report(str(folder))


@pytest.fixture(scope="module")
def document(folder: Path) -> Report:
    return reports.document(folder, SUPPLIES)


def test_a_report_prints_the_answer_and_where_the_page_is(
    folder: Path, reported: str, document: Report
) -> None:
    said = reported
    one = " ".join(said.split())
    assert text(document.question) in one
    for line in sentences((*document.answers, *document.notes)):
        assert " ".join(line.split()) in one
    assert said.splitlines()[-1] == f"Report: {folder / 'report.html'}"


def test_every_cell_is_in_the_table_and_the_table_fits_the_terminal(
    document: Report,
) -> None:
    overview = document.cells
    assert overview is not None
    assert len(overview.rows) == 2  # of the fewest workers; the others are a column
    for width in (60, 80, 120, 200):
        lines = screen.table(overview, width)
        assert max(map(len, lines)) <= width
        assert all(any(row["platform"] in line for line in lines) for row in overview.rows)
    assert "with 2 workers" in "\n".join(screen.table(overview, 200))


def test_of_many_cells_those_are_shown_that_differ_most_and_least() -> None:
    rows = [{"n": 9, "ratio": None}, *({"n": 9, "ratio": 1 + i / 100} for i in range(30))]
    rows[5] = {"n": 0, "ratio": None}
    kept, rule = screen.most_telling(rows)
    assert len(kept) == screen.MOST_ROWS
    assert rule == "the 9 that differ most, and the 3 that differ least"
    assert {"n": 0, "ratio": None} in kept
    assert [row["ratio"] for row in kept if row["ratio"]] == [
        1.0, 1.01, 1.02, *(1 + i / 100 for i in range(22, 30)),
    ]  # fmt: skip


def test_the_rule_by_which_cells_are_shown_is_said() -> None:
    alone = [{"ratio": None}] * 20
    assert screen.most_telling(alone)[1] == "the first 12"
    compared = [*alone, *[{"ratio": 1.1}] * 10]
    assert screen.most_telling(compared)[1] == "the 10 that are compared, and the first 2 others"
    assert screen.most_telling(alone[:12])[1] is None
    table = Table(title="All", columns=(Column(key="name", title="name"),), rows=(*alone,))
    last = " ".join(screen.table(table, 40)[-2:])
    assert last == "… and 8 more cells on the page. Shown: the first 12"


def test_a_terminal_says_in_fifteen_lines_besides_the_table(reported: str) -> None:
    said = reported.splitlines()
    assert len(said) <= 15 + screen.MOST_ROWS


def test_json_alone_is_what_programs_get(folder: Path) -> None:
    told = json.loads(report(str(folder), "--json", "-"))
    assert told["command"] == "experiment report"
    assert told["levels_of"] is None
    findings = [section["finding"] for section in told["sections"]]
    assert {finding["name"] for finding in findings} >= {"overhead", "stability"}
    assert told["answers"]


def test_a_report_elsewhere_leaves_the_folder_as_it_is(
    folder: Path, reported: str, tmp_path: Path
) -> None:
    assert reported
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    page = tmp_path / "page.html"
    assert f"Report: {page}" in report(str(folder), "--report", str(page))
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_report_of_fewer_trials_than_requested_says_so_and_ends_with_18(tmp_path: Path) -> None:
    made = synthetic.make(trials=8)
    stopping = msgspec.structs.replace(made.experiment.stopping, trials=12)
    asked = msgspec.structs.replace(made.experiment, stopping=stopping)
    folder = journals.write(dataclasses.replace(made, experiment=asked), tmp_path / "out")
    done = invoke("experiment", "report", str(folder))
    # Which ends a process with 18.
    assert isinstance(done.exception, IncompleteError), done.output
    assert done.exception.exit_code == 18
    # What there is is reported all the same.
    assert (folder / "report.html").is_file()
    assert "Report: " in done.output
    assert "--resume" in str(done.exception.hint)


def test_what_is_missing_in_a_folder_is_told_from_its_trials(folder: Path, tmp_path: Path) -> None:
    stored = plan_file.read(folder)
    here = Machine(
        spread=(0, 1), compact=(0, 1), steps=(1, 2), cores=2, packages=1, memory_bytes=8 << 30
    )

    def asked(trials: int) -> pipeline.Prepared:
        stopping = Stopping(trials=trials, budget_s=None)
        experiment = msgspec.structs.replace(stored.experiment, stopping=stopping)
        return pipeline.Prepared(experiment, here, [], stored.cells)

    found = pipeline.remaining(asked(20), folder)
    assert found is not None
    assert found.done == (12,) * len(stored.cells)
    assert found.left(20) == 8 * len(stored.cells)
    assert found.unknown == {}
    alone = [*plan_report.answers(asked(12).experiment, found)]
    assert [template(one) for one in alone] == ["complete: all of"]
    assert pipeline.remaining(asked(20), tmp_path) is None


@pytest.mark.parametrize(
    ("value", "told"), [(0.2, "under 1 s"), (7.2, "about 7 s"), (600.0, "about 10 min")]
)
def test_what_is_estimated_is_said_once(value: float, told: str) -> None:
    assert console.about(value) == told


def planned(trials: int | None, budget_s: float | None, **given: Any) -> list[Message]:
    known = {"block_s": 1.0, "starts_s": 0.0, "once_s": 0.0, "executed": given.get("cells", 4)}
    told = Forecast(**({"cells": 4} | known | given))
    asked = Experiment(
        name="a",
        question="b?",
        workloads=(WorkloadSpec(name="null", kernel="null"),),
        factors={},
        stopping=Stopping(trials=trials, budget_s=budget_s),
    )
    return plan_report.answers(asked, told)


def test_a_plan_answers_how_long_it_takes() -> None:
    takes, block = planned(1, None, block_s=0.3, cells=1)
    assert takes == message(
        "takes ≈ {total}: {% if fewer %}{all | counted('trial')}, at most {trials} "
        "{% else %}{trials | counted('trial')} {% endif %}{% if cells > 1 %}in each of "
        "{cells | counted('cell')}{% else %}of the only cell{% endif %}",
        total=Duration(0.3),
        trials=1,
        cells=1,
        all=1,
        fewer=False,
    )
    assert block == message(
        "one trial{% if cells > 1 %} of each of {cells | counted('cell')}{% endif %} takes "
        "≈ {block}{% if starts %}, starting the platforms once ≈ {starts}{% else %}, "
        "starts included{% endif %}{% if basis %} {basis}{% endif %}",
        cells=1,
        block=Duration(0.3),
        starts=None,
        basis="",
    )
    takes, block = planned(12, 480.0, block_s=6.0, starts_s=3.0)
    assert takes == message(
        "takes ≈ {total}: {% if fewer %}{all | counted('trial')}, at most {trials} "
        "{% else %}{trials | counted('trial')} {% endif %}{% if cells > 1 %}in each of "
        "{cells | counted('cell')}{% else %}of the only cell{% endif %}",
        total=Duration(75.0),
        trials=12,
        cells=4,
        all=48,
        fewer=False,
    )
    assert (block.args["block"], block.args["starts"]) == (Duration(6.0), Duration(3.0))


def test_a_plan_says_what_is_left_of_what_has_begun() -> None:
    given = {"block_s": 4.0, "trials_s": (1.0, 3.0), "cells": 2, "starts_s": 1.0}
    left, block, *_ = planned(3, None, done=(2, 1), **given)
    assert left == message(
        "{% if left %}takes ≈ {total}: {left} of {trials | counted('trial')} are left"
        "{% else %}complete: all of {trials | counted('trial')} are there{% endif %}",
        total=Duration(8.0),
        left=3,
        trials=6,
    )
    assert block.args["basis"] == message("(measured in earlier sessions)")
    (complete,) = planned(3, None, done=(3, 4), **given)
    assert complete.args["left"] == 0


def test_a_plan_says_what_a_budget_leaves() -> None:
    ended, whole, block = planned(12, 40.0, block_s=6.0, executed=2)
    assert (template(ended), template(whole), template(block)) == (
        ": the budget",
        "a budget: ≈",
        ", starting the",
    )
    assert ended.args == {
        "total": Duration(36.0), "budget": Duration(40.0), "room": 6, "trials": 12
    }  # fmt: skip
    assert whole.args["time"] == Duration(72.0)
    assert block.args["basis"] == message(
        "(estimated from {executed} of {cells} cells)", executed=2, cells=4
    )
    assert template(planned(12, 4.0, block_s=6.0)[0]) == "too short for"
    bounded, room, _ = planned(None, 40.0, block_s=6.0)
    assert (template(bounded), room.args) == (": ends when", {"room": 6})
    assert template(planned(None, None, block_s=6.0)[0]) == "; no budget"
    ended, probes, *_ = planned(12, 40.0, block_s=6.0, once_s=11.0, probes_s=10.0)
    assert ended.args["room"] == 5
    assert ended.args["total"] == Duration(41.0)
    assert probes == message(
        "≈ {time} of {% if budget %}the budget{% else %}that{% endif %} are for probing "
        "the machine before and after the trials; on a busy machine up to 4 × as long",
        time=Duration(10.0),
        budget=True,
    )


@pytest.mark.parametrize(("trials_s", "each"), [((1.0, 1.1), Duration(1.05)), ((1.0, 1.3), None)])
def test_cells_that_take_as_long_are_said_once(
    trials_s: tuple[float, ...], each: Duration | None
) -> None:
    *_, last = planned(5, None, trials_s=trials_s, cells=2)
    assert last.args.get("time") == each


SERVING = WorkloadSpec(name="shop", application=served.application())
TWO_CPUS = Machine(
    spread=(0, 1), compact=(0, 1), steps=(1, 2), cores=2, packages=1, memory_bytes=8 << 30
)


def of_sizes(*sizes: str) -> Experiment:
    factors: dict[str, Any] = {"platform": ("bare", "docker"), "size": sizes}
    return Experiment(
        name="a", question="b?", workloads=(SERVING,), factors=factors,
        network=NetworkSpec(hosts=2),
    )  # fmt: skip


def test_a_plan_says_what_it_executes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = of_sizes("1c", "2c")
    cells = plan.cells(experiment, TWO_CPUS)
    monkeypatch.setattr(image, "size_bytes", lambda application: None)
    trials, images, services = plan_report.announcement(experiment, cells)
    assert (trials.args["trials"], trials.args["cells"]) == (2, 4)
    assert trials.args["first"] == 3
    assert (template(images), template(services)) == ("and is kept", "and ends its")
    assert images.args["names"] == services.args["names"] == ["shop"]
    monkeypatch.setattr(image, "size_bytes", lambda application: 1)
    found = plan_report.announcement(experiment, cells)
    assert [template(one) for one in found] == [", mostly far", "and ends its"]
    for line in sentences([trials, images, services]):
        assert len(line.split()) <= 25


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        (("1c",), []),
        (("2c",), ["the services, so"]),
        (("1c", "2c", "all"), ["the services, so", "the services, so", "of which only"]),
    ],
)
def test_a_plan_says_at_which_sizes_drivers_share_cpus(
    sizes: tuple[str, ...], told: list[str]
) -> None:
    experiment = of_sizes(*sizes)
    found = plan_report.shared_cpus(experiment, plan.cells(experiment, TWO_CPUS), TWO_CPUS)
    assert [template(one) for one in found] == told
    shared = [one.args["size"] for one in found if template(one) == "the services, so"]
    assert shared == [size for size in sizes if size != "1c"]
    for line in sentences(found):
        assert len(line.split()) <= 25


@pytest.mark.parametrize(
    ("pinnings", "sizes", "counts", "fractions"),
    [
        (("none", "pinned"), ("0.25c", "0.5c", "1c", "2c"), {"none": 4, "pinned": 2}, True),
        (("none",), ("0.25c", "0.5c", "1c", "2c"), {"none": 4}, False),
        (("none", "pinned"), ("1c", "2c"), {"none": 2, "pinned": 2}, False),
    ],
)
def test_a_plan_says_how_many_sizes_pto_and_pso_need(
    pinnings: tuple[str, ...], sizes: tuple[str, ...], counts: dict[str, int], fractions: bool
) -> None:
    kernel = WorkloadSpec(name="null", kernel="null")
    factors = {"platform": ("bare", "docker"), "size": sizes, "pinning": pinnings}
    experiment = Experiment(name="a", question="b?", workloads=(kernel,), factors=factors)
    cells = plan.cells(experiment, TWO_CPUS)
    (told,) = plan_report.sizes_for_overheads(experiment, cells, TWO_CPUS)
    assert (told.args["needs"], told.args["fractions"]) == (4, fractions)
    cases = [one.args for one in told.args["cases"]]
    assert {one["pinning"]: one["n"] for one in cases} == counts
    assert [one["few"] for one in cases] == [one["n"] < 4 for one in cases]
    one_size = msgspec.structs.replace(experiment, factors={**factors, "size": ("1c",)})
    assert plan_report.sizes_for_overheads(one_size, cells, TWO_CPUS) == []


def test_a_budget_that_is_typed_takes_the_place_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '[experiment]\nname = "a"\nquestion = "b?"\nbudget = "1 h"\n'
        '[[workload]]\nkernel = "null"\n[factors]\nplatform = ["null"]\n'
    )
    asked: list[float | None] = []

    def execute(prepared: pipeline.Prepared, *_: object, **__: object) -> str:
        asked.append(prepared.experiment.stopping.budget_s)
        raise IncompleteError("not measured", None)

    monkeypatch.setattr(pipeline, "execute", execute)
    run = ["experiment", "run", str(file), "--out", str(tmp_path / "out")]
    for more in ([], ["--budget", "10 min"]):
        invoke(*run, *more)
    assert asked == [3600, 600]
    refused = invoke(*run, "--budget", "1s", "--fleet", "local:2")
    assert isinstance(refused.exception, UsageError)


def test_limits_of_a_judge_are_times_and_sizes() -> None:
    words = "out --limit '1 s' --limit 64MiB --limit wall=90s --limit memory=1kB --session 2"
    given = parse("tare experiment report", command.ReportOptions, shlex.split(words))
    found = [(one.of, one.value) for some in given.limit for one in some]
    assert found == [(None, 1e9), ("memory", 64 << 20), ("wall", 90e9), ("memory", 1000)]
    assert given.session == [2]


@pytest.mark.parametrize(
    "words",
    [
        ("--limit", "1"), ("--limit", "memory=1s"), ("--limit", "disk=1MB"), ("--session", "0"),
        ("--charts", "gif"), ("--strict=yes",), ("--report", "a.html", "--report", "b.html"),
    ],
)  # fmt: skip
def test_options_of_a_report_that_are_none_are_refused(words: tuple[str, ...]) -> None:
    refused = invoke("experiment", "report", "out", *words).exception
    assert isinstance(refused, UsageError)
    assert words[0].partition("=")[0] in refused.message


@pytest.mark.parametrize(
    "words",
    [("--out", "d"), ("--charts", "svg", "--report", "a.html"), ("--charts", "svg", "-o", "file")],
)
@pytest.mark.parametrize("of", [("experiment", "report"), ("report",)])
def test_charts_and_a_page_exclude_each_other(
    of: tuple[str, ...], words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert isinstance(invoke(*of, "saved", *words).exception, UsageError)
