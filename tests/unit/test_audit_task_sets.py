"""Sets of tasks as BenchExec writes them: one run per task, two configurations, failures."""

from __future__ import annotations

import bz2
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from audits import documented, findings_of, shown
from said import template
from scipy import stats

from tare.errors import InputError
from tare.features.audit import report
from tare.features.audit.audit import Audit, audit
from tare.features.audit.comparison_answers import comparison_finding
from tare.features.audit.comparison_answers import name as name_of
from tare.features.audit.messages import headline
from tare.features.audit.question import Question, Sizing
from tare.readers import ColumnOptions, read
from tare.render.words import text
from tare.results.verdict import EQUIVALENT, HIGHER

#: Four programs that test whether 100 numbers are prime, run by BenchExec.
PRIMES = Path(__file__).parents[1] / "data" / "interop" / "benchexec" / "primes"
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


def test_a_single_set_says_what_is_solved_in_few_lines(tmp_path: Path) -> None:
    found = audited(write(tmp_path / "many.xml"))
    assert (found.verdict, found.exit_code) == ("TRUST", 0)
    assert template(headline(found)) == "runs are solved"
    failed = found.files[0].imported.failed
    assert failed.total == 60
    reasons = dict(failed.reasons)
    assert set(reasons) <= {"TIMEOUT", "OUT OF MEMORY", "unknown(reason)"}
    assert sum(reasons.values()) == failed.n > 1
    (tasks,) = found.tasks.sets
    assert (tasks.given, tasks.runs) == (60, 60)
    assert (
        tasks.outcomes.solved.sum() < 60 - failed.n
    )  # wrong answers have times, and solve nothing
    said = shown(found)
    assert len(said.splitlines()) <= 10
    assert "REJECT" not in said
    made, large = report.make(found, "tare audit many.xml"), report.every_row(found)
    assert all(len(t.rows) <= 1 for s in made.sections for t in s.finding.tables)
    assert len(large["runs"].columns[0].values) == 60


def rows(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the rows of the first table of a finding."""
    return list(findings_of(document)[name]["tables"][0]["rows"])


@pytest.mark.parametrize("by", [(), ("options",), ("file",)])
def test_two_sets_of_the_same_tasks_are_compared_over_tasks(
    by: tuple[str, ...], tmp_path: Path
) -> None:
    """One of the definitions has no options at all; nothing needs to be named."""
    files = write(tmp_path / "lex.xml"), write(tmp_path / "num1.xml", "-n", 1.3)
    found = audited(*files, compare=by)
    assert found.comparisons == ()
    (versus,) = found.tasks.ranking.versus
    assert [one.measure.key for one in versus.ratios] == ["cputime", "walltime", "memory"]
    assert [one.measure.title for one in versus.ratios] == ["CPU time", "wall time", "memory"]
    for one in versus.ratios:
        ratio = one.found.ratio.like_these
        assert 40 < ratio.n < 60  # tasks that both solve
        truth = 1.0 if one.measure.key == "memory" else 1.3
        assert ratio.low < truth < ratio.high
        assert one.verdict(0.02) == (EQUIVALENT if one.measure.key == "memory" else HIGHER)
    assert (versus.tasks, versus.gained + versus.lost > 0) == (60, True)
    assert versus.better is versus.pair.first
    document = documented(found)
    ratios = rows(document, "faster")
    assert [row["measure"] for row in ratios] == ["CPU time", "wall time", "memory"]
    assert [row["ratio"] for row in ratios] == [
        one.found.ratio.like_these.estimate for one in versus.ratios
    ]
    (best,) = findings_of(document)["best"]["answer"]
    assert best["text"] == text(headline(found))
    assert len(text(headline(found)).split()) <= 30


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
    pairs = [(one.pair.first.levels, one.pair.second.levels) for one in found.tasks.ranking.versus]
    assert [(a["tool"], b["tool"], a["options"], b["options"]) for a, b in pairs] == [
        ("T 1", "T 1", "no options", "-n"),
        ("U 1", "U 1", "no options", "-n"),
    ]
    assert len(audited(*files).tasks.ranking.versus) == 6
    with pytest.raises(InputError, match="there are: no options, -n"):
        audit(files, replace(found.question, sizing=Sizing(reference="-m")))


def test_real_files_agree_with_an_independent_computation() -> None:
    """Counts, PAR2, ratios and p of four programs that BenchExec 3.35 ran on 100 tasks."""
    files = sorted(PRIMES.glob("*.xml.bz2"))
    runs = {file.name.partition(".")[0]: runs_of(file) for file in files}
    found = audit(files, Question())
    document = documented(found)
    assert len(document["cells"]["rows"]) == 4
    for one in document["cells"]["rows"]:
        own = runs[one["name"]].values()
        solved = [run["category"] == "correct" for run in own]
        assert (one["tasks"], one["count"]) == (100, sum(solved))
        # The limit is 1 s.
        par2 = np.mean(
            [float(r["cputime"][:-1]) if s else 2.0 for r, s in zip(own, solved, strict=True)]
        )
        assert one["par2"] == pytest.approx(par2)
        exact = stats.binomtest(sum(solved), 100).proportion_ci(method="exact")
        assert [one["solved_low"], one["solved_high"]] == pytest.approx(list(exact))
        assert one["score"] == sum(points(run) for run in own)
    assert len(found.tasks.ranking.versus) == 6
    for pair in found.tasks.ranking.versus:
        first, second = runs[pair.pair.first.label], runs[pair.pair.second.label]
        both = [
            (first[t]["category"] == "correct", second[t]["category"] == "correct") for t in first
        ]
        lost, gained = both.count((True, False)), both.count((False, True))
        assert (pair.solved.only_first, pair.solved.only_second) == (lost, gained)
        p = stats.binomtest(gained, gained + lost).pvalue
        assert pair.solved.like_these.p == pytest.approx(p)
    metrics = {"CPU time": "cputime", "wall time": "walltime"}
    ratios = rows(document, "faster")
    assert ratios
    for one in ratios:
        first, second = runs[one["to"]], runs[one["name"]]
        metric = metrics.get(one["measure"], one["measure"])
        solved = [t for t in first if first[t]["category"] == second[t]["category"] == "correct"]
        a, b = ([number(r[t][metric]) for t in solved] for r in (first, second))
        logs = np.log(np.divide(b, a))
        assert one["n"] == len(solved)
        assert one["ratio"] == pytest.approx(np.exp(logs.mean()))
        low, high = np.exp(stats.t.interval(0.95, len(logs) - 1, logs.mean(), stats.sem(logs)))
        # Hall's bounds are added where they lie further out.
        bounds = [one["ratio_low"], one["ratio_high"]]
        assert bounds[0] <= low + 1e-9
        assert bounds[1] >= high - 1e-9
        assert bounds == pytest.approx([low, high], rel=0.05)
    tiers = [[one.label for one in tier] for tier in found.tasks.ranking.tiers]
    assert tiers == [["odd"], ["all", "fermat"], ["half"]]
    assert (document["verdict"], document["exit_code"]) == ("TRUST", 0)


def test_scores_are_compared_by_the_signs_of_their_differences() -> None:
    """The exact distribution of the sum of differences, each of either sign, by enumeration."""
    files = [PRIMES / f"{name}.results.xml.bz2" for name in ("fermat", "odd")]
    (pair,) = audit(files, Question()).tasks.ranking.versus
    first, second = (runs_of(file) for file in files)
    differences = [points(second[t]) - points(first[t]) for t in first]
    chances = {0: 1.0}
    for size in (abs(d) for d in differences if d):
        grown: dict[int, float] = {}
        for total, chance in chances.items():
            for end in (total - size, total + size):
                grown[end] = grown.get(end, 0.0) + chance / 2
        chances = grown
    upper = sum(chance for total, chance in chances.items() if total >= sum(differences))
    assert sum(differences) == 143 + 67
    # Two tests of one pair.
    assert pair.p_solved == pytest.approx(2 * 2 * upper)
    assert pair.better.label == "odd"


def scored(file: Path, times: list[float], wrong: int = 0, first: int = 0) -> Path:
    """Write correct answers that score 1 each, but the first ones wrong, which score -16."""
    rows = []
    for i, time in enumerate(times):
        bad = i < wrong
        category, status = ("wrong", "false") if bad else ("correct", "false")
        expected = "true" if bad else "false"
        cells = {"status": status, "category": category, "cputime": f"{time}s"}
        columns = "".join(f'<column title="{t}" value="{v}"/>' for t, v in cells.items())
        rows.append(
            f'<run name="t{first + i}.yml" properties="p" expectedVerdict="{expected}">'
            f"{columns}</run>"
        )
    tool = file.name.partition(".")[0]
    file.write_text(f'<result benchmarkname="b" tool="{tool}" version="">{"".join(rows)}</result>')
    return file


def test_time_never_stands_against_a_difference_in_score(tmp_path: Path) -> None:
    """Five wrong answers have p = 1/16: they do not show a difference, nor that there is none."""
    rng = np.random.default_rng(4)
    base = rng.lognormal(1, 1, 60)
    slow = scored(tmp_path / "sound.xml", [*base])
    quick = scored(tmp_path / "hasty.xml", [*(base * rng.lognormal(-1, 0.05, 60))], wrong=5)
    found = audited(slow, quick)
    (versus,) = found.tasks.ranking.versus
    assert (versus.lead, versus.better) == (-5 * (16 + 1), None)
    assert versus.ratios[0].p < 1e-6
    assert "cannot be distinguished: sound scores" in text(headline(found))
    slower = scored(tmp_path / "same.xml", [*(base * 1.1 * rng.lognormal(0, 0.01, 60))])
    found = audited(slow, quick, slower)
    ranking = found.tasks.ranking
    assert [one.label for one in ranking.order] == ["sound", "same", "hasty"]
    # That hasty is worse than sound is not shown, so it is not in a tier below.
    assert [len(tier) for tier in ranking.tiers] == [3]
    (table,) = (
        table
        for part in report.make(found, "tare audit").sections
        for table in part.finding.tables
        if table.id == "pairs"
    )
    # Every pair, with the exact p of the scores: 2 / 2^5.
    assert [row["p"] for row in table.rows] == pytest.approx([1 / 16, None, 1 / 16])


def test_sets_without_a_common_task_are_not_compared(tmp_path: Path) -> None:
    times = [*np.random.default_rng(4).lognormal(1, 1, 20)]
    found = audited(scored(tmp_path / "a.xml", times), scored(tmp_path / "b.xml", times, first=20))
    assert text(headline(found)) == "a and b have no task in common: nothing can be compared"
    assert (found.verdict, found.exit_code) == ("DOUBT", 1)
    assert found.tasks.ranking.versus[0].better is None


def runs_of(file: Path) -> dict[str, dict[str, str]]:
    """Return the columns of each run by task, as written, with its expected verdict."""
    root = ElementTree.fromstring(bz2.decompress(file.read_bytes()))
    return {
        run.attrib["name"]: {
            "expected": run.attrib["expectedVerdict"],
            **{c.attrib["title"]: c.attrib["value"] for c in run.iter("column")},
        }
        for run in root.iter("run")
    }


def points(run: dict[str, str]) -> int:
    rules = {
        ("correct", "true"): 2, ("correct", "false"): 1, ("wrong", "false"): -32,
        ("wrong", "true"): -16,
    }  # fmt: skip
    return rules.get((run["category"], run["expected"]), 0)


def number(cell: str) -> float:
    return float(cell.rstrip("sB"))


def test_a_table_of_solvers_and_instances_is_a_set(tmp_path: Path) -> None:
    """Both orders of the columns; the slower one fails every tenth instance."""
    rng = np.random.default_rng(5)
    rows = [
        f"{solver},i{i}.cnf,{time:.4f},{'timeout' if solver == 'slow' and i % 10 == 0 else 'ok'}"
        for i in range(40)
        for base in [rng.lognormal(0, 1)]
        for solver, time in (("fast", base), ("slow", 1.5 * base * rng.lognormal(0, 0.05)))
    ]
    file = tmp_path / "solvers.csv"
    file.write_text("solver,instance,time_s,status\n" + "\n".join(rows) + "\n")
    found = audit([file], Question())
    assert (found.verdict, found.is_of_tasks) == ("TRUST", True)
    (versus,) = found.tasks.ranking.versus
    assert versus.better.label == "fast"
    assert (versus.gained, versus.lost, versus.ratio.ratio.like_these.n) == (0, 4, 36)
    assert versus.ratio.ratio.estimate == pytest.approx(1.5, rel=0.03)
    assert "fast is faster than slow" in text(headline(found))


def test_a_table_of_tasks_of_which_few_are_common_is_a_set(tmp_path: Path) -> None:
    """Of 40 tasks each, 20 ran in both: most names of tasks stand in one row."""
    rng = np.random.default_rng(5)
    base = rng.lognormal(0, 1, 60)
    rows = [f"i{i}.cnf,quick,{base[i]:.4f}" for i in range(40)]
    rows += [f"i{i}.cnf,slow,{1.5 * base[i] * rng.lognormal(0, 0.05):.4f}" for i in range(20, 60)]
    file = tmp_path / "partial.csv"
    file.write_text("task,tool,time_s\n" + "\n".join(rows) + "\n")
    found = audit([file], Question())
    (versus,) = found.tasks.ranking.versus
    assert (versus.tasks, versus.alone, versus.better.label) == (20, 40, "quick")
    assert versus.ratio.ratio.estimate == pytest.approx(1.5, rel=0.03)


def test_limits_that_differ_make_a_set_doubtful(tmp_path: Path) -> None:
    files = write(tmp_path / "long.xml"), write(tmp_path / "short.xml", "-n")
    for file, limit in zip(files, (900, 15), strict=True):
        file.write_text(file.read_text().replace("<result ", f'<result timelimit="{limit}s" ', 1))
    found = audited(*files)
    assert (found.verdict, found.exit_code) == ("DOUBT", 1)
    assert audited(files[0]).verdict == "TRUST"


def test_a_configuration_that_only_crashes_alike_is_compared_with_nothing(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good.xml"), write(tmp_path / "bad1.xml", "-x")
    broken = re.sub(
        r'title="category" value="\w+"', 'title="category" value="error"', bad.read_text()
    )
    broken = re.sub(r'title="status" value="[^"]+"', 'title="status" value="ERROR (127)"', broken)
    bad.write_text(re.sub(r'<column title="terminationreason"[^>]*>', "", broken))
    found = audited(good, bad)
    assert (found.verdict, found.tasks.ranking) == ("DOUBT", None)
    said = findings_of(documented(found))["trust"]["answer"][0]["text"]
    assert said == ("-x: all 60 runs crashed alike, so it is compared with nothing: ERROR (127)")


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


def test_too_few_tasks_are_no_set(tmp_path: Path) -> None:
    files = write(tmp_path / "a.xml", tasks=3), write(tmp_path / "b1.xml", "-n", tasks=3)
    found = audited(*files, compare=("file",))
    assert (found.verdict, found.is_of_tasks) == ("REJECT", False)
    assert len(found.comparisons) == 9
    with pytest.raises(InputError, match="differ in tool alone"):
        audited(*files, compare=("tool",))
