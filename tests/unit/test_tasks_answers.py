"""What task sets say of runs that are known: ends, differences, scores, the page."""

from __future__ import annotations

import dataclasses
import math

import columns
import msgspec
import numpy as np
import pytest
import vega_lite
from said import template

from tare.experiment.task_sets import answers
from tare.experiment.task_sets.answers import configurations
from tare.experiment.task_sets.outcomes import Result, pairs
from tare.experiment.task_sets.ranking import rank_by_design
from tare.features.tasks.caveats import caveats, failed, missing
from tare.features.tasks.configurations import labels, scored
from tare.features.tasks.page import make
from tare.features.tasks.runs import Configuration, Folder, Runs
from tare.features.tasks.specification import TaskSet
from tare.render import html
from tare.render.words import paragraph, text
from tare.results.columns import objects
from tare.results.finding import Finding
from tare.results.message import Message
from tare.workloads.specification import Enforced

Row = tuple[Result, float]


FOLDERS = tuple(
    Folder(
        name=name, experiment="set", question="Who solves most?", asked=TaskSet(files=("*.in",)),
        started="2026-01-02T03:04:05+00:00",
    )
    for name in ("monday", "tuesday")
)  # fmt: skip


def configuration(
    platform: str = "bare", workload: str = "solve", folder: int = 0, timeout_s: float = 20.0
) -> Configuration:
    return Configuration(
        folder=folder,
        workload=workload,
        levels={"platform": platform},
        timeout_s=timeout_s,
        enforce=Enforced(cpu_s=10.0),
    )


def runs(*sides: list[list[Row]], of: list[Configuration] | None = None) -> Runs:
    """Return runs: of each configuration, of each task, of each trial its result and seconds."""
    rows = [
        {
            "configuration": c, "task": t, "trial": k + 1, "result": result,
            "why": None if result in ("correct", "done") else f"<b>{result}</b>",
            "exit_status": math.nan, "cpu_ns": 1e9 * seconds, "wall_ns": 2e9 * seconds,
            "memory_bytes": 1e6, "started_ns": 0.0, "took_ns": 0.0,
            "wait_ns": 1e8 * seconds if result != "wrong" else 0.0, "throttled_ns": math.nan,
        }
        for c, tasks in enumerate(sides)
        for t, trials in enumerate(tasks)
        for k, (result, seconds) in enumerate(trials)
    ]  # fmt: skip
    table = columns.of_records(rows)
    table = table.with_columns(why=objects(table["why"]))
    given = of or [configuration(p) for p in ("bare", "docker", "vm")[: len(sides)]]
    names = tuple(f"<i>{n}.in" for n in range(len(sides[0])))
    return Runs(FOLDERS[: 1 + max(one.folder for one in given)], tuple(given), names, table)


def once(*results: Row) -> list[list[Row]]:
    return [[one] for one in results]


def findings(some: Runs) -> dict[str, Finding]:
    configurations_ = scored(some, "cpu")
    found = answers.findings(configurations_, some.tasks, *rank_by_design(configurations_))
    return {one.name: one for one in found}


def said(some: Runs, name: str) -> str:
    return paragraph(findings(some)[name].answer)


def test_labels_are_what_differs() -> None:
    one = once(("correct", 1))
    assert labels(runs(one, one)) == ["bare", "docker"]
    assert labels(runs(one)) == ["solve"]
    two = [configuration(), configuration(folder=1, workload="other")]
    assert labels(runs(one, one, of=two)) == ["monday · solve", "tuesday · other"]


def compared(*given: Configuration) -> list[tuple[str, str]]:
    some = runs(*[once(("correct", 1)) for _ in given], of=[*given])
    return [(pair.first.label, pair.second.label) for pair in pairs(scored(some, "cpu"))]


def test_what_is_compared_differs_in_one_thing() -> None:
    four = [configuration(p, w) for w in ("old", "new") for p in ("bare", "docker")]
    assert compared(*four) == [
        ("old · bare", "old · docker"),
        ("old · bare", "new · bare"),
        ("old · docker", "new · docker"),
        ("new · bare", "new · docker"),
    ]
    # Where everything differs, there is but the first.
    apart = [configuration("bare", "old"), configuration("docker", "new")]
    assert compared(*apart) == [("old · bare", "new · docker")]
    assert compared(configuration()) == []


def test_folders_are_compared_by_what_both_have() -> None:
    monday = [configuration("bare", w) for w in ("old", "new")]
    tuesday = [configuration("bare", w, folder=1) for w in ("new", "old", "newest")]
    assert compared(*monday, *tuesday) == [
        ("monday · new", "tuesday · new"), ("monday · old", "tuesday · old"),
    ]  # fmt: skip
    some = runs(*[once(("correct", 1))] * 5, of=[*monday, *tuesday])
    told = [text(one) for one in caveats(some, scored(some, "cpu"))]
    assert any(one.startswith("tuesday · newest: no other folder") for one in told)
    assert compared(configuration(workload="old"), configuration(workload="new", folder=1)) == [
        ("monday · old", "tuesday · new")
    ]


def test_ends_are_counted_as_they_are() -> None:
    some = runs(once(("correct", 1), ("wrong", 1), ("cpu_time", 10), ("correct", 3)))
    assert said(some, "solved").startswith("2 of 4 tasks are solved")
    row = configurations(scored(some, "cpu")).rows[0]
    assert (row["correct"], row["wrong"], row["cpu_time"], row["crashed"]) == (2, 1, 1, 0)
    assert row["median"] == 2e9
    # An unsolved task counts as 2 × 10 s.
    assert row["par2"] == pytest.approx((1 + 20 + 20 + 3) / 4 * 1e9)
    wall = configurations(scored(some, "wall")).rows[0]
    assert wall["par2"] == pytest.approx((2 + 40 + 40 + 6) / 4 * 1e9)


def test_what_says_nothing_of_the_program_is_no_failure_of_it() -> None:
    some = runs(once(("correct", 1), ("lost", math.nan), ("unchecked", 1)))
    assert said(some, "solved").startswith("1 of 1 tasks are solved")
    both = runs(once(("correct", 1), ("lost", 1)), once(("correct", 1), ("correct", 1)))
    assert said(both, "changed") == (
        "None of 1 task ends differently with docker than with bare; 1 ran with one of them only."
    )


def test_differences_stand_first_and_name_the_tasks() -> None:
    some = runs(
        once(("correct", 1), ("correct", 1), ("wrong", 1)),
        once(("correct", 1), ("crashed", 1), ("timeout", 20)),
    )
    assert list(findings(some)) == ["best", "changed", "solved", "faster"]
    changed = findings(some)["changed"]
    assert changed.verdict == "yes"
    assert [row["task"] for row in changed.tables[0].rows] == ["<i>1.in", "<i>2.in"]
    assert "2 of 3 tasks end differently" in said(some, "changed")
    assert "docker solves none more and 1 less (p = 1)" in said(some, "changed")


def test_trials_of_two_folders_are_no_evidence_of_each_task() -> None:
    """All trials of a session share what was so in it: four tasks that differ are four."""
    good, bad = [[("correct", 1.0)] * 5] * 4, [[("wrong", 1.0)] * 5] * 4
    together = said(runs(good, bad), "changed")
    assert "docker solves none more often and 4 less often" in together
    assert "4 of them can be believed to differ" in together
    given = [configuration(), configuration(folder=1)]
    apart = said(runs(good, bad, of=given), "changed")
    # McNemar's exact test of 4 against 0.
    assert "(p = 0.12)" in apart
    assert "believed" not in apart


def test_what_two_folders_do_not_share_is_said() -> None:
    given = [configuration(), configuration(folder=1, timeout_s=5.0)]
    some = runs(once(("correct", 1)), once(("correct", 1)), of=given)
    two = msgspec.structs.replace(
        FOLDERS[1], replaced=("x.in",), asked=TaskSet(files=("*.in",), cpus=2)
    )
    some = Runs((FOLDERS[0], two), some.configurations, some.tasks, some.table)
    told = paragraph(tuple(caveats(some, scored(some, "cpu"))))
    assert "monday and tuesday differ in the time limit and the CPUs of each run as well" in told
    assert "In tuesday, 1 task with another input or answer than before" in told


def test_what_is_missing_or_lost_is_said() -> None:
    some = runs(once(("correct", 1), ("lost", math.nan), ("unchecked", 1)))
    folder = msgspec.structs.replace(FOLDERS[0], planned=10)
    some = Runs((folder,), some.configurations, some.tasks, some.table)
    (gone,) = missing(some, scored(some, "cpu"))
    assert text(gone).startswith("7 of 10 runs are missing")
    assert [text(one) for one in failed(some)] == [
        "1 run was lost by the platform; the last one: <b>lost</b>",
        "1 run could not be checked; the last one: <b>unchecked</b>",
    ]
    whole = runs(once(("correct", 1)))
    assert not [*missing(whole, scored(whole, "cpu")), *failed(whole)]


def test_a_task_whose_runs_differ_is_mixed() -> None:
    some = runs(
        [[("correct", 1), ("wrong", 1)], [("correct", 1), ("lost", 1)]],
        [[("wrong", 1), ("wrong", 1)], [("correct", 1), ("correct", 1)]],
    )
    report, large = make(some, "cpu", "tare tasks report monday")
    (table,) = large.values()
    assert [list(c.values) for c in table.columns if c.heading == "result"] == [
        ["mixed", "correct"], ["wrong", "correct"],
    ]  # fmt: skip
    assert "1 of 2 tasks ends differently" in said(some, "changed")
    assert report.question == "Who solves most?"


def test_the_ratio_is_the_geometric_mean_of_what_both_solve() -> None:
    seconds = np.linspace(1, 2, 12)
    some = runs(
        once(*(("correct", s) for s in seconds), ("wrong", 1)),
        once(*(("correct", s * (1.1 if i % 2 else 1.3)) for i, s in enumerate(seconds)),
             ("correct", 9)),
    )  # fmt: skip
    faster = findings(some)["faster"]
    row = faster.tables[0].rows[0]
    assert row["ratio"] == pytest.approx(math.sqrt(1.1 * 1.3))
    assert (row["n"], row["left_out"], row["these"]) == (12, 1, None)


def test_results_that_vary_from_trial_to_trial_are_found() -> None:
    some = runs([[("correct", 1), ("wrong", 1)], [("correct", 1), ("correct", 1)]])
    unsteady = findings(some)["unsteady"]
    row = unsteady.tables[0].rows[0]
    assert row["task"] == "<i>0.in"
    assert isinstance(row["results"], Message)
    assert text(row["results"]) == "1 × correct, 1 × wrong"


def test_the_page_escapes_what_programs_and_files_are_called() -> None:
    some = runs(
        once(("correct", 1), ("wrong", 1)),
        once(("correct", 1), ("correct", 1)),
        of=[configuration(), configuration(workload="</script><script>alert(1)</script>")],
    )
    report, large = make(some, "cpu", "tare tasks report set")
    page = html.render(report, large)
    assert "<i>0.in" not in page
    assert "<script>alert" not in page
    assert "<b>wrong" not in page


def test_runs_that_waited_for_a_cpu_are_said() -> None:
    idle = runs(once(("wrong", 1)))
    assert not list(caveats(idle, scored(idle, "cpu")))
    # 0.1 of 2 s.
    busy = runs(once(("correct", 1)))
    waits = busy.table.with_columns(wait_ns=busy.table["wait_ns"] * 2)
    busy = dataclasses.replace(busy, table=waits)
    (said_,) = caveats(busy, scored(busy, "cpu"))
    assert "10.0 %" in text(said_)
    # To the kernel, a throttled run waits as well.
    throttled = busy.table.with_columns(throttled_ns=busy.table["wait_ns"])
    busy = dataclasses.replace(busy, table=throttled)
    assert not list(caveats(busy, scored(busy, "cpu")))


def test_folders_of_different_times_are_said() -> None:
    given = [configuration(), configuration(folder=1)]
    some = runs(once(("wrong", 1)), once(("wrong", 1)), of=given)
    (said_,) = caveats(some, scored(some, "cpu"))
    assert "different times" in text(said_)


def test_pictures_are_as_their_schema_says() -> None:
    seconds = [("correct", 1.0), ("wrong", 2.0), ("timeout", 30.0), ("correct", 0.01)]
    some = runs(once(*seconds), once(*seconds[::-1]))
    report, _ = make(some, "wall", "tare tasks report set")
    assert [figure.name for figure in report.charts] == ["quantile", "scatter-1"]
    for figure in report.charts:
        vega_lite.validate(figure.spec)


def crashing(some: Runs, configuration: int, *status: float) -> Runs:
    """Return runs of which those of one configuration ended with these exit codes."""
    statuses = some.table["exit_status"].copy()
    statuses[some.table["configuration"] == configuration] = status
    return dataclasses.replace(some, table=some.table.with_columns(exit_status=statuses))


def test_a_configuration_that_only_crashes_alike_is_broken_and_compared_with_nothing() -> None:
    good, crashed = once(("correct", 1), ("correct", 1)), once(("crashed", 1), ("crashed", 1))
    some = crashing(runs(good, crashed, good), 1, 127, 127)
    assert [one.broken for one in scored(some, "cpu")] == [None, "<b>crashed</b>", None]
    compared = [(p.first.label, p.second.label) for p in pairs(scored(some, "cpu"))]
    assert compared == [("bare", "vm")]
    first, *_ = caveats(some, scored(some, "cpu"))
    assert text(first) == (
        "docker: all 2 runs crashed alike, so it is compared with nothing: <b>crashed</b>. "
        'show = "/FOLDER" under [platforms.docker] in the file shows it more than the system\'s '
        "directories and the files that its command names"
    )
    assert make(some, "cpu", "")[0].caveats[0] == first
    # On the bare machine there is nothing to show.
    first, *_ = caveats(some := crashing(runs(crashed, good), 0, 1, 1), scored(some, "cpu"))
    assert first.args["remedy"] is None


def test_a_sandbox_that_solves_nothing_may_miss_files() -> None:
    good, none = once(("correct", 1), ("correct", 1)), once(("wrong", 1), ("wrong", 1))
    some = runs(good, none)
    first, *_ = caveats(some, scored(some, "cpu"))
    assert template(first) == "be one of"
    assert (first.args["name"], first.args["other"]) == ("docker", "bare")
    for some in (
        runs(none, none),
        runs(none, good),
        runs(good, once(("wrong", 1), ("correct", 1))),
        runs(good, none, of=[configuration(), configuration("docker", workload="other")]),
    ):
        assert "be one of" not in [template(one) for one in caveats(some, scored(some, "cpu"))]


@pytest.mark.parametrize(
    ("results", "status"),
    [
        (("crashed", "crashed"), (1, 2)),
        (("crashed", "wrong"), (1, 1)),
        (("timeout", "timeout"), (-9, -9)),
    ],
)
def test_runs_that_end_otherwise_are_no_broken_configuration(
    results: tuple[Result, ...], status: tuple[float, ...]
) -> None:
    some = crashing(runs(once(*((one, 1.0) for one in results))), 0, *status)
    assert scored(some, "cpu")[0].broken is None
    alone = crashing(runs(once(("crashed", 1))), 0, 1)
    assert scored(alone, "cpu")[0].broken is None


def test_a_set_without_runs_is_none_that_is_solved() -> None:
    empty = runs(once(("correct", 1)))
    none = Runs(empty.folders, empty.configurations, empty.tasks, empty.table.rows([]))
    report, _ = make(none, "cpu", "tare tasks report set")
    assert "0 of 0 tasks are solved." in paragraph(report.answers)


def test_runs_without_cpu_time_have_no_ratio() -> None:
    """Where a platform counts CPU time in steps, short runs have none."""
    first = once(*[("correct", 1.0 + 0.1 * n) for n in range(8)])
    second = once(*[("correct", 0.0 if n < 2 else 2.0 + 0.2 * n) for n in range(8)])
    given = runs(first, second)
    [_, one] = scored(given, "cpu")
    assert np.isnan(one.outcomes.time[:2]).all()
    answers = " ".join(said(given, name) for name in findings(given))
    assert "× 2.0" in answers
    assert "over 6 tasks that both solve, of 8" in answers
    assert html.render(make(given, "cpu", "tare tasks report monday")[0])


def of_times(*factors: float, tasks: int = 12) -> list[list[list[Row]]]:
    """Return configurations that solve all tasks; a factor each of the times of the first."""
    rng = np.random.default_rng(7)
    base = rng.lognormal(0, 1, tasks)
    return [
        once(*(("correct", float(t)) for t in base * factor * rng.lognormal(0, 0.01, tasks)))
        for factor in factors
    ]


def test_the_best_solves_more() -> None:
    good = once(*[("correct", 1.0 + 0.1 * i) for i in range(20)])
    bad = once(*[("correct" if i < 12 else "wrong", 2.0 + 0.3 * i) for i in range(20)])
    # McNemar's exact test of 8 against 0.
    told = said(runs(bad, good), "best")
    assert told.startswith(
        "docker solves 8 more of 20 tasks than bare (p = 0.0078); CPU time × 0.4"
    )
    assert told.endswith(" on the 12 that both solve.")
    assert said(runs(good, bad), "best").startswith("bare solves 8 more of 20 tasks than docker")
    assert findings(runs(bad, good))["best"].verdict == "yes"


def test_the_best_is_faster_where_both_solve_alike() -> None:
    told = said(runs(*of_times(1.0, 0.7)), "best")
    assert told.startswith("docker is faster than bare: CPU time −")
    assert told.endswith("on the 12 of 12 tasks that both solve; it solves as many.")
    # The ratio is that of the better one, whichever stands first.
    assert said(runs(*of_times(0.7, 1.0)), "best").startswith("bare is faster than docker: CPU")


def test_what_is_not_distinguished_is_inconclusive() -> None:
    some = runs(*of_times(1.0, 1.0))
    assert said(some, "best").startswith("docker and bare cannot be distinguished: docker solves")
    best = findings(some)["best"]
    assert (best.verdict, best.settle is not None) == ("inconclusive", True)


def test_several_are_ranked_and_those_alike_named_together() -> None:
    told = said(runs(*of_times(1.0, 0.7, 1.0)), "best")
    assert told.startswith("docker is the best of 3: it is faster than ")
    assert told.endswith("Then bare (12 solved) and vm (12 solved) (not distinguished).")
    alike = said(runs(*of_times(1.0, 1.5, 1.0)), "best")
    assert alike.startswith("Which is best is inconclusive over 12 tasks: ")
    assert "docker" not in alike.partition(".")[0]
    assert alike.endswith("Then docker (12 solved).")


def test_folders_are_compared_pair_by_pair_in_the_first_sentence() -> None:
    given = [configuration(p, folder=f) for f in (0, 1) for p in ("bare", "docker")]
    first, slow = of_times(1.0, 1.3)
    told = said(runs(first, first, slow, first, of=given), "best")
    assert told.startswith("monday · bare is faster than tuesday · bare: CPU time")
    assert "tuesday · docker and monday · docker cannot be distinguished" in told
