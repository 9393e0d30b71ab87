"""Sets of tasks as BenchExec writes them: one run per task, two configurations, failures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tare.errors import InputError
from tare.features.audit import page
from tare.features.audit.audit import Audit, audit
from tare.features.audit.comparison_answers import comparison_finding
from tare.features.audit.comparison_answers import name as name_of
from tare.features.audit.contract import as_json
from tare.features.audit.messages import headline, verdicts
from tare.features.audit.question import Question
from tare.features.audit.screen import show
from tare.readers import ColumnOptions, read
from tare.results.verdict import EQUIVALENT, HIGHER

#: How a run may end: status, category and reason, with the share of runs that do.
ENDS = (
    ("TIMEOUT", "error", "cputime", 0.05),
    ("OUT OF MEMORY", "error", "memory", 0.03),
    ("unknown(reason)", "error", "", 0.03),
    ("false(unreach-call)", "wrong", "", 0.03),
    ("true", "missing", "", 0.03),
)


def write(
    file: Path, options: str = "", factor: float = 1.0, tasks: int = 60, runs: int = 1
) -> Path:
    """Write a set whose times are those of the tasks times a factor, within 2 %."""
    rng, base = (
        np.random.default_rng(len(file.name)),
        np.random.default_rng(1).lognormal(1, 1, tasks),
    )
    rows = []
    for task in range(tasks):
        for _ in range(runs):
            time = base[task] * factor * rng.lognormal(0, 0.02)
            status, category, reason = "true", "correct", ""
            at = rng.random() if runs == 1 else 1.0
            for one, kind, why, share in ENDS:
                if 0 <= at < share:
                    status, category, reason = one, kind, why
                at -= share
            columns = {
                "status": status,
                "category": category,
                "cputime": f"{time:.9f}s",
                "walltime": f"{time / 3:.9f}s",
                "memory": f"{200_000_000 * rng.lognormal(0, 0.002):.0f}B",
                "Loops": "nan",
                **({"terminationreason": reason} if reason else {}),
            }
            cells = "".join(f'<column title="{t}" value="{v}"/>' for t, v in columns.items())
            rows.append(f'<run name="t{task}.yml">{cells}</run>')
    given = f' options="{options}"' if options else ""
    file.write_text(
        f'<result benchmarkname="b" tool="T" version="1"{given}>{"".join(rows)}</result>'
    )
    return file


def audited(*files: Path, **columns: object) -> Audit:
    return audit(files, Question(columns=ColumnOptions(**columns)))


def test_one_run_per_task_is_rejected_in_few_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = audited(write(tmp_path / "many.xml"))
    assert (found.verdict, found.exit_code) == ("REJECT", 2)
    assert headline(found).id == "audit.headline.tasks"
    (failed,) = found.files[0].imported.notes
    assert failed.args["total"] == 60
    reasons = {str(one.args["why"]): one.args["n"] for one in failed.args["why"]}
    assert set(reasons) <= {"TIMEOUT", "OUT OF MEMORY", "unknown(reason)"}
    assert sum(reasons.values()) == failed.args["n"] > 1
    (tasks,) = found.task_sets
    assert (len(tasks.tasks), tasks.runs) == (60, 60)
    assert tasks.solved < 60 - failed.args["n"]  # wrong answers have times, and solve nothing
    show(found)
    assert len(capsys.readouterr().out.splitlines()) <= 10
    made = page.make(found, "tare audit many.xml")
    assert all(len(t.rows) <= 1 for s in made.sections for t in s.finding.tables)


@pytest.mark.parametrize("by", ["options", "file"])
def test_two_sets_of_the_same_tasks_are_compared_over_tasks(by: str, tmp_path: Path) -> None:
    """One of the definitions has no options at all."""
    files = write(tmp_path / "lex.xml"), write(tmp_path / "num1.xml", "-n", 1.3)
    found = audited(*files, compare=(by,))
    assert [c.metric for c in found.comparisons] == ["cputime", "memory", "walltime"]
    for c in found.comparisons:
        assert (c.matched.how, c.location.n) == ("by block", len(c.matched.first))
        assert 40 < c.location.n < 60  # tasks with a successful run in both
        truth = 1.0 if c.metric == "memory" else 1.3
        assert c.location.low < truth < c.location.high
        assert c.location.verdict == (EQUIVALENT if c.metric == "memory" else HIGHER)
        assert c.metric in name_of(c)
    (solved,) = found.solved
    assert (solved.tasks, solved.found.only_first + solved.found.only_second > 0) == (60, True)
    assert headline(found).args["compared"]
    document = as_json(found)
    assert [c["metric"] for c in document["comparisons"]] == ["cputime", "memory", "walltime"]
    assert document["solved"][0]["tasks"] == 60


def test_tasks_with_several_runs_are_compared_one_by_one(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "predicate.xml", "-pred", tasks=3, runs=10),
        write(tmp_path / "value.xml", "-value", 1.3, tasks=3, runs=10),
    ]
    found = audited(*files, compare=("options",))
    assert found.verdict == "TRUST"
    names = [name_of(c) for c in found.comparisons]
    assert len(set(names)) == len(names) == 9
    for c in found.comparisons:
        truth = 1.0 if c.metric == "memory" else 1.3
        assert c.location.ratio == pytest.approx(truth, rel=0.03)
    rows = comparison_finding(found).tables[0].rows
    assert {row["metric"] for row in rows} == {"cputime", "memory", "walltime"}


def test_four_files_are_compared_within_their_tool(tmp_path: Path) -> None:
    files = []
    for tool in ("T", "U"):
        for options, factor in (("", 1.0), ("-n", 1.3)):
            file = write(tmp_path / f"{tool}{options}.xml", options, factor)
            file.write_text(file.read_text().replace('tool="T"', f'tool="{tool}"'))
            files.append(file)
    found = audited(*files, compare=("options",), value="cputime")
    assert [(c.key["tool"], c.a, c.b) for c in found.comparisons] == [
        ("T 1", "no options", "-n"),
        ("U 1", "no options", "-n"),
    ]
    assert [s.levels for s in found.solved] == ["T 1", "U 1"]


def test_a_single_comparison_names_its_metric(tmp_path: Path) -> None:
    files = write(tmp_path / "a.xml"), write(tmp_path / "b1.xml", "-n")
    found = audited(*files, compare=("file",), value="walltime")
    assert verdicts(found.comparisons).args["metric"] == "walltime"


def test_columns_that_are_no_numbers_do_no_harm(tmp_path: Path) -> None:
    found = audited(write(tmp_path / "nan.xml", tasks=3, runs=10))
    assert found.verdict == "TRUST"
    assert len(found.series) == 9


def test_unknown_with_a_reason_is_no_answer(tmp_path: Path) -> None:
    time = '<column title="cputime" value="1s"/>'
    run = f'<run name="t">{time}<column title="status" value="{{}}"/></run>'
    rows = "".join(
        run.format(s) for s in ("unknown", "unknown(reason)", "true", "false(no-overflow)")
    )
    file = tmp_path / "r.xml"
    file.write_text(f'<result benchmarkname="b">{rows}</result>')
    (series,) = read(file).series
    assert len(series.values) == 3
    assert (series.task.runs, series.task.solved) == (4, 2)


def test_too_few_common_tasks_are_not_compared_as_a_set(tmp_path: Path) -> None:
    files = write(tmp_path / "a.xml", tasks=3), write(tmp_path / "b1.xml", "-n", tasks=3)
    assert not any(c.first.is_over_tasks for c in audited(*files, compare=("file",)).comparisons)
    with pytest.raises(InputError, match="differ in tool alone"):
        audited(*files, compare=("tool",))
