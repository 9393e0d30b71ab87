"""What ``tare compare`` reads, prints and writes for other programs, from made-up comparisons."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import msgspec
import numpy as np
import printed
import pytest
from inprocess import invoke
from msgspec.structs import replace
from said import args, template, templates
from synthetic import Behaviour, make

from tare.cli.command_line import split
from tare.cli.lines import Around, names_of, typed
from tare.errors import ExperimentError, IncompleteError, InputError
from tare.experiment import file
from tare.experiment.catalogue import catalogue
from tare.experiment.file.table import CommandLine, File, Table
from tare.experiment.findings import judgement
from tare.experiment.findings.cells import Basis
from tare.experiment.findings.charts import difference as chart
from tare.experiment.findings.difference import find
from tare.experiment.findings.failures import failing_often
from tare.experiment.findings.judgement import Difference, differences
from tare.experiment.findings.overview import of_metric
from tare.experiment.specification import Cell, Stopping
from tare.features.measure.compare.options import CompareOptions
from tare.features.measure.comparison import next_steps, report
from tare.features.measure.comparison.execution import Execution
from tare.features.measure.comparison.picture import picture
from tare.features.measure.comparison.session import check_complete
from tare.render import comment, files, junit, screen
from tare.render.words import text
from tare.results.message import Amount, Change, Chosen, Message, Ratio, each, message
from tare.results.report import Report
from tare.results.verdict import (
    EQUIVALENT,
    HIGHER,
    HIGHER_WITHIN,
    INCONCLUSIVE,
    LOWER,
    Verdict,
    worst,
)
from tare.statistics.comparison import Comparison
from tare.statistics.intervals import quantile_interval
from tare.statistics.pair_ratios import pair_ratio
from tare.wiring import SUPPLIES


def comparison(
    low: float | None, high: float | None, verdict: Verdict = INCONCLUSIVE, **changes: Any
) -> Comparison:
    given: dict[str, Any] = {
        "ratio": math.sqrt(low * high) if low and high else 1.0,
        "low": low,
        "high": high,
        "confidence": 0.95,
        "p": 0.5,
        "p_adjusted": 0.5,
        "n": 20,
        "verdict": verdict,
        "more_pairs": 100 if verdict == INCONCLUSIVE else None,
        "detectable": None,
        "cliffs_delta": 0.2,
        "median_ratio": 1.0,
    }
    return Comparison(**(given | changes))


def difference(c: Comparison, **changes: Any) -> Difference:
    values = np.linspace(1e7, 1.1e7, 20)
    given: dict[str, Any] = {
        "first": "old",
        "second": "new",
        "factor": "workload",
        "levels": {"workload": "new"},
        "comparison": c,
        "looks": (),
        "spread": None,
        "first_values": values,
        "second_values": values,
        "trials": (1, 2),
        "seconds": 0.02,
        "basis": Basis("wall_ns", "perf_cpu"),
        "margin": 0.02,
        "method": "a method",
        "counted": message(
            "{pairs | counted('pair')}{% if analyses %} after {analyses} interim "
            "{% if analyses == 1 %}analysis{% else %}analyses{% endif %}{% endif %}",
            pairs=20,
            analyses=3,
        ),
        "level_values": (values, values),
        "medians": (quantile_interval(values), quantile_interval(values)),
    }
    return Difference(**(given | changes))


SLOWER = difference(comparison(1.03, 1.05, HIGHER))
SAME = difference(comparison(0.99, 1.01, EQUIVALENT))
OPEN = difference(comparison(0.97, 1.06))


@pytest.mark.parametrize(
    ("c", "unit", "said", "verdict", "margin"),
    [
        (comparison(1.03, 1.05, HIGHER), "wall_ns", "differs", "slower", None),
        (comparison(0.95, 0.97, LOWER), "wall_ns", "differs", "faster", None),
        (comparison(0.99, 1.01, EQUIVALENT), "wall_ns", "equivalent", None, 0.02),
        (comparison(1.001, 1.01, HIGHER_WITHIN), "wall_ns", "differs", "slower", 0.02),
        (comparison(0.97, 1.06), "wall_ns", "inconclusive", None, None),
        (comparison(1.03, 1.05, HIGHER), "memory_bytes", "differs", "higher", None),
        (comparison(None, None), "wall_ns", "inconclusive", None, None),
    ],
)
def test_every_verdict_has_its_sentence(
    c: Comparison, unit: str, said: str, verdict: str | None, margin: float | None
) -> None:
    answer = difference(c, basis=Basis(unit, "x")).answer
    assert (
        template(answer)
        == {
            "differs": "{first}{% if margin %}",
            "equivalent": "is equivalent to",
            "inconclusive": "{first} {ratio}{% if exceeded is defined %}",
            "medians": "or a skew",
            "more": "it{% if time %}",
            "pairs": "{analyses}",
            "sessions": "of the baseline,",
            "spread": ": p10–p90 range",
            "written": "longer on a",
        }[said]
    )
    assert (answer.args["first"], answer.args["second"]) == ("old", "new")
    assert answer.args["ratio"] == Ratio(c.ratio, c.low, c.high)
    assert answer.args.get("verdict") == verdict
    assert answer.args.get("margin") == (None if margin is None else Chosen(margin))


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.99, 1.029, "pass"),
        (0.5, 0.6, "pass"),
        (1.031, 1.2, "fail"),
        (1.02, 1.04, "inconclusive"),
        (0.9, 1.03, "inconclusive"),
        (1.03, 1.2, "inconclusive"),
        (None, None, "inconclusive"),
    ],
)
def test_a_gate_asks_where_the_whole_interval_is(
    low: float | None, high: float | None, answer: str
) -> None:
    assert difference(comparison(low, high)).gate(0.03) == answer


def test_a_gate_on_a_mean_that_few_slow_runs_carry_is_inconclusive_with_a_remedy() -> None:
    first, second = (np.random.default_rng(seed).normal(1e7, 1e5, 100) for seed in (1, 2))
    second[[5, 50]] *= 10
    stopping = Stopping(compare="workload", gate=0.03, gate_on="mean")
    gated = pair_ratio(first, second)
    d = difference(
        comparison(0.99, 1.01),
        first_values=first,
        second_values=second,
        gate_on="mean",
        gated=gated,
        remedy=judgement._more_for_gate(gated, first, second, 0.02, stopping),
    )
    assert d.gate(0.03) == "inconclusive"
    reason = args(d.gate_answer(0.03), "the means are")["why"]
    assert reason == message(
        "{few} of {n} values {% if few == 1 %}carries{% else %}carry{% endif %} the mean's error",
        few=2,
        n=100,
    )
    assert d.further is not None
    assert text(d.further).startswith("use --gate-on median or --gate-on p90; on the mean it takes")
    # The document counts the pairs that the text counts, not those that the median needs.
    assert d.more_pairs(0.03) == args(d.further, "or --gate-on p90")["pairs"]
    assert next_steps._missing_pairs(d, 0.03) == d.more_pairs(0.03)
    assert not next_steps._needs_median(d, 0.03)
    assert text(d.gate_answer(0.03)) == (
        "new vs. old: the means are not compared, 2 of 100 values carry the mean's error"
    )
    # Without the slow runs there is nothing to refuse.
    assert pair_ratio(first, first[::-1].copy()).low is not None


def test_of_several_comparisons_the_worst_answers_the_gate() -> None:
    assert worst(["pass", "inconclusive", "fail"]) == "fail"
    assert worst(["pass", "inconclusive"]) == "inconclusive"
    assert worst(["pass", "pass"]) == "pass"


def test_the_gate_is_told_in_one_line() -> None:
    gate = judgement.gate_of([SAME, SLOWER], (), 0.02)
    assert (gate.margin, gate.of, gate.answer) == (0.02, 2, "fail")
    line = gate.said
    assert line.args["margin"] == Chosen(0.02)
    assert gate.evidence.args["of"] == 2
    answer = args(line, "{margin}:")
    assert text(answer["where"]) == "median of pairs"
    assert (answer["second"], answer["more"], answer["first"]) == ("new", "slower", "old")
    assert (answer["margin"], answer["ratio"]) == (Chosen(0.02), SLOWER.estimate)
    for d, decision in ((SAME, "pass"), (OPEN, "inconclusive")):
        gate = judgement.gate_of([d], (), 0.03)
        assert gate.answer == decision
        assert {
            "fail": "{margin}:",
            "inconclusive": ", not yet",
            "mean": "mean",
            "pass": "{failed or 'none'}",
        }[decision] in templates(gate.said)


def test_the_worst_of_several_that_fail_is_the_slowest() -> None:
    slowest = difference(comparison(1.4, 1.6, HIGHER))
    for order in ([SLOWER, slowest], [slowest, SLOWER]):
        gate = judgement.gate_of(order, (), 0.02)
        assert gate.reason == slowest.gate_answer(0.02)


def test_the_picture_has_the_interval_where_it_is() -> None:
    _, axis, bar = picture(SLOWER)
    assert axis.count("┼") == 1
    assert axis.index("├") < axis.index("┼") < axis.index("┤")
    # Beyond the margin, to the right.
    assert bar.index("┣") > axis.index("┤")
    assert bar.index("┣") < bar.index("●") < bar.index("┫")
    _, axis, bar = picture(SAME)
    assert axis.index("├") < bar.index("┣") < axis.index("┼") < bar.index("┫") < axis.index("┤")
    assert picture(difference(comparison(None, None))) == ()


def test_a_picture_of_a_wide_interval_keeps_to_its_width() -> None:
    rows = picture(difference(comparison(0.01, 90.0)), width=40)
    assert all(len(row) <= 40 + 8 for row in rows)


@pytest.mark.parametrize(
    ("written", "apart"),
    [
        ((None, 9e6), False),
        ((0.0, 1e6), False),
        ((0.0, 2e6), True),
        ((9e6, 0.0), True),
        ((1e9, 1.05e9), False),
        ((1e9, 1.2e9), True),
    ],
)
def test_megabytes_of_output_on_one_side_are_a_caveat(
    written: tuple[float | None, float | None], apart: bool
) -> None:
    found = difference(comparison(0.99, 1.01, EQUIVALENT), written_bytes=written)
    assert (found.written_apart is not None) == apart
    if found.written_apart is not None:
        assert found.written_apart.args["less"] == Amount(written[0], "bytes")


@pytest.mark.parametrize(
    ("others", "said"),
    [
        # 5 comparisons at 99 %: seven pairs have no interval, eight have one.
        (
            [comparison(None, None, n=7, more_pairs=None, confidence=0.99)] * 5,
            "5 of 6 comparisons are inconclusive: an interval needs 1 more pair (100 ms)",
        ),
        (
            [comparison(0.97, 1.06, more_pairs=n) for n in (4211, 1, 90, 500)],
            "4 of 5 comparisons are inconclusive: about 1 more pair would settle new1 (100 ms), "
            "and 4,211 all of them (7 min 1 s)",
        ),
    ],
)
def test_of_many_comparisons_the_easiest_and_all_are_settled(
    others: list[Comparison], said: str
) -> None:
    """A block takes 20 ms for the pair, and 80 ms for other commands."""
    open_ones = [difference(c, second=f"new{i}", others_seconds=0.08) for i, c in enumerate(others)]
    lines = printed.lines(
        told([difference(SLOWER.comparison, others_seconds=0.08), *open_ones], None)
    )
    assert f"Note    {said}" in lines


@pytest.mark.parametrize(
    ("low", "high", "n", "gate", "id", "pairs"),
    [
        # A half-width of 1 %, and 0.51 % to the gate: (1 / 0.51)² times 20 pairs.
        (math.exp(0.03), math.exp(0.05), 20, math.expm1(0.0451), "settle the gate", 57),
        (math.exp(0.03), math.exp(0.05), 20, math.expm1(0.0349), "settle the gate", 57),
        # 3 %, wider than the gate of 4 %: (3 / 2)² times the pairs, wherever the estimate is.
        (math.exp(0.005), math.exp(0.065), 20, math.expm1(0.0399), "settle the gate", 26),
        (math.exp(0.03), math.exp(0.05), 20, math.expm1(0.0401), "to settle it", None),
        (math.exp(0.03), math.exp(0.05), 20, 0.02, None, None),
        (None, None, 3, 0.05, "to judge the", 4),
    ],
)
def test_an_inconclusive_gate_states_how_many_more_pairs_would_settle_it(
    low: float | None, high: float | None, n: int, gate: float, id: str | None, pairs: int | None
) -> None:
    found = difference(comparison(low, high, HIGHER if low else INCONCLUSIVE, n=n, more_pairs=None))
    said = found.settle(gate)
    assert (None if said is None else template(said)) == id
    assert found.more_pairs(gate) == pairs
    if said is not None and pairs is not None:
        assert said.args["pairs"] == pairs
        assert said.args["time"].seconds == pytest.approx(pairs * 0.02)


def test_medians_that_tell_something_else_are_told() -> None:
    apart = difference(comparison(0.99, 1.01, EQUIVALENT, median_ratio=1.4))
    assert apart.medians_apart == message(
        "ratio of medians {ratio}: the values have separated modes or a skew that the "
        "typical pair does not show",
        ratio=Change(pytest.approx(1.4)),
    )
    assert SAME.medians_apart is None


# Commands


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("./prog --size 3", ["./prog", "--size", "3"]),
        ("grep '|' 'a file'", ["grep", "|", "a file"]),
        (r"echo \$HOME a\;b", ["echo", "$HOME", "a;b"]),
        ("awk '{print $1}' \"a<b\"", ["awk", "{print $1}", "a<b"]),
    ],
)
def test_a_command_is_divided_into_words(command: str, words: list[str]) -> None:
    assert split(command) == words


@pytest.mark.parametrize(
    ("command", "words", "hint"),
    [
        ("cat x | sort", "shell, for |", "--shell sh"),
        ("cd /tmp && ls", "shell, for &", "--shell sh"),
        ("sort < x", "shell, for <", "--shell sh"),
        ('echo "$HOME"', "shell, for $", "--shell sh"),
        ("echo `date`", "shell, for `", "--shell sh"),
        ("A=1 ./prog", "variable", "write env before"),
        ("echo 'a", "cannot divide", "quote"),
        ("", "empty", "write what"),
        ("   ", "empty", "write what"),
    ],
)
def test_what_needs_a_shell_is_refused_with_the_line_to_type(
    command: str, words: str, hint: str
) -> None:
    with pytest.raises(ExperimentError) as raised:
        split(command)
    assert words in raised.value.message
    assert hint in (raised.value.hint or "")


def test_a_shell_gets_the_very_line_that_was_typed() -> None:
    (line,) = typed(["cat 'a b' | sort"], Around(shell="sh"), (), (), several=True)
    assert line.words == ["sh", "-c", "cat 'a b' | sort"]


@pytest.mark.parametrize(
    ("commands", "names"),
    [
        (["./old -x", "/usr/bin/new -x"], ["old", "new"]),
        (["./prog --old", "./prog  --new"], ["./prog --old", "./prog --new"]),
        (["./prog", "./prog"], ["prog (1)", "prog (2)"]),
        (["./prog " + "a" * 90, "./prog b"], ["prog (1)", "prog (2)"]),
    ],
)
def test_commands_are_called_as_briefly_as_tells_them_apart(
    commands: list[str], names: list[str]
) -> None:
    assert names_of([split(c) for c in commands], commands) == names


@pytest.mark.parametrize(
    ("path", "key", "told"),
    [
        ("workload[2]", "command", "command 2: 'x'"),
        ("workload[1]", "timeout", "--timeout: 'x'"),
        ("workload[1]", "setup", "--setup: 'x'"),
        ("experiment", "warmup", "--warmup: 'x'"),
        ("experiment", "gate", "--gate: 'x'"),
        ("experiment", "order", "the command line: experiment.order: 'x'"),
    ],
)
def test_errors_name_the_command_or_the_option(path: str, key: str, told: str) -> None:
    assert Table(CommandLine(CompareOptions), path, {}).error(key, "'x'").message == told


def test_hints_name_the_option() -> None:
    values = {
        "experiment": {"name": "x", "question": "?"},
        "workload": [{"command": ["true"]}],
        "factors": {"network": ["none"]},
        "network": {"serve": [["true"]], "hosts": 1},
    }
    hints = []
    for source in (CommandLine(CompareOptions), File("a.toml")):
        with pytest.raises(ExperimentError) as found:
            file.from_table(values, source, catalogue())
        hints.append(found.value.hint)
    assert hints == ["--hosts 2", "hosts = 2 in [network]"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["true"], 11, "only one command"),
        (["true", "true", "--name", "a"], 11, "1 names for 2 commands"),
        (["true", "true", "--name", "a", "--name", "a"], 11, "same --name"),
        (["true", "true", "--metric", "wal"], 11, "there is no metric 'wal'"),
        (["true", "true", "--margin", "2"], 10, "--margin"),
        (["true", "true", "--gate", "x"], 10, "--gate"),
        (["true", "true", "--budget", "3"], 10, "--budget"),
        (["true", "true | cat"], 11, "needs a shell"),
        (["true", "true {x}", "--inputs", "3"], 11, "command 2"),
        (["true", "true", "--resume"], 11, "what a folder holds"),
        (["true", "true", "--baseline", "x"], 11, "one is compared with a baseline"),
        (["true", "--baseline", "/nowhere"], 14, "/nowhere"),
        (["true", "true", "--resume", "--out", "/proc"], 14, "/proc"),
        (["true", "true", "--input", "/nowhere"], 11, "/nowhere"),
        (["true", "true", "--platform", "bar"], 11, "bar"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_measured(
    words: list[str], code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tare.errors import TareError

    def measure(*_: Any, **__: Any) -> None:
        pytest.fail("something was measured")

    monkeypatch.setattr("tare.experiment.pipeline.execute", measure)
    done = invoke("compare", *words)
    assert isinstance(done.exception, TareError), done.exception
    assert done.exception.exit_code == code
    assert told in done.exception.message


# For other programs


def told(found: list[Difference], gate: float | None) -> Report:
    """Return the report of comparisons as another machine reads it."""
    document = report.make(make(trials=5), found, ended="finished", gate=gate)
    return msgspec.json.decode(files.encode(document), type=Report)


def test_junit_has_a_case_a_comparison_and_counts_them() -> None:
    root = Xml.fromstring(junit.render(told([SAME, SLOWER, OPEN], 0.02)))
    assert root.tag == "testsuites"
    (suite,) = root
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    failure, skipped = suite.find("testcase/failure"), suite.find("testcase/skipped")
    assert failure is not None
    assert "by more than 2 %" in (failure.get("message") or "")
    assert skipped is not None
    assert "about 380 more pairs would settle the gate" in (skipped.get("message") or "")
    assert all(case.get("name") == "new vs. old" for case in suite.iter("testcase"))


def test_junit_without_a_gate_fails_nothing() -> None:
    root = Xml.fromstring(junit.render(told([SLOWER, OPEN], None)))
    assert root.get("failures") == "0"
    assert root.get("skipped") == "1"


def test_a_saved_report_writes_the_same_for_a_ci(tmp_path: Path) -> None:
    document = told([SAME, SLOWER, OPEN], 0.02)
    saved, suite, table = (tmp_path / name for name in ("a.json", "a.xml", "a.md"))
    saved.write_text(files.encode(document))
    asked = ["report", str(saved), "--junit", str(suite), "--markdown", str(table)]
    assert invoke(*asked).exit_code == 0
    assert suite.read_text() == junit.render(document)
    assert table.read_text() == comment.render(document)
    impossible = replace(document.comparisons[0], ratio=-1.0)
    for some in ((), (impossible,)):
        saved.write_text(files.encode(replace(document, comparisons=some)))
        assert isinstance(invoke(*asked).exception, InputError)


def test_a_comment_counts_what_was_compared() -> None:
    for paired, of in ((True, "pairs"), (False, "sessions")):
        written = comment.render(told([difference(SAME.comparison, paired=paired)], None))
        (head,) = [line for line in written.splitlines() if line.startswith("| compared")]
        assert head.endswith(f"| {of} |")


@pytest.mark.parametrize("count", [1, 100, 2000])
def test_a_comment_fits_its_limit_and_counts_what_it_leaves_out(count: int) -> None:
    written = comment.render(told([SLOWER] * count, 0.02))
    assert len(written) <= 65_536
    assert written.startswith("### Gate 2 %")
    assert written.count("<details>") == written.count("</details>")
    shown = sum(line.startswith("| new |") for line in written.splitlines())
    assert ("… and " in written) == (count > 100)
    if count == 2000:
        assert 100 < shown < count


def test_a_session_that_ended_with_its_budget_says_what_to_do() -> None:
    results = make(trials=5)
    asked = replace(results.experiment.stopping, trials=8)
    results = dataclasses.replace(
        results,
        experiment=replace(results.experiment, stopping=asked),
        planned=(Cell(cell=0, workload=results.experiment.workloads[0]),),
    )
    execution = Execution(SUPPLIES)
    with pytest.raises(IncompleteError) as told:
        check_complete(results, execution, "budget", 0)
    assert told.value.hint == "a longer --budget"
    # Of a baseline nobody asked for as many trials as its sessions have.
    check_complete(results, execution, "budget", 0, is_number_asked=False)


def test_what_failed_before_it_was_repaired_is_no_failure() -> None:
    good, failed = (1, "ok"), (1, "failed")
    assert failing_often([good] * 6) is None
    assert failing_often([good] * 4 + [failed]) is None
    assert failing_often([good] * 3 + [failed]) == (1, 4)
    assert failing_often([failed] * 12 + [(2, "ok")] * 6 + [(2, "unfinished")]) is None
    assert failing_often([good] * 12 + [(2, "failed"), (2, "ok")]) == (1, 2)
    # A session that measured nothing changes nothing.
    assert failing_often([failed] * 6 + [good] * 6 + [(2, "unfinished")]) == (6, 12)


HOSTILE = 'a|b <script>@all</script> [x](http://e) `c` & "q" \x1b\x00'


def test_what_people_typed_is_text_in_every_format() -> None:
    d = difference(comparison(1.03, 1.05, HIGHER), second=HOSTILE)
    case = Xml.fromstring(junit.render(told([d], 0.02))).find("testsuite/testcase")
    assert case is not None
    assert "<script>@all" in (case.get("name") or "")
    written = comment.render(told([d], 0.02))
    assert "<script" not in written.replace("\\<script", "")
    assert "@all" not in written
    rows = [line for line in written.splitlines() if line.startswith("| ")]
    cells = [line.replace("\\|", "").count("|") for line in rows]
    assert len(set(cells)) == 1
    assert "](http" not in written.replace("\\]", "")


def test_what_a_saved_report_says_is_text_too() -> None:
    """Its file may come from anybody: every text in it may be markup."""
    document = told([SLOWER], 0.02)
    hostile = replace(
        document.comparisons[0],
        verdict=HOSTILE, metric=HOSTILE, source=HOSTILE, failing=HOSTILE, counted=HOSTILE,
    )  # fmt: skip
    document = replace(
        document,
        comparisons=(hostile,),
        strip=((HOSTILE, HOSTILE),),
        failed=(HOSTILE,),
        origin=replace(document.origin, versions=(HOSTILE,)),
    )
    Xml.fromstring(junit.render(document))
    written = comment.render(document)
    assert "<script" not in written.replace("\\<script", "")
    assert "@all" not in written
    assert "](http" not in written.replace("\\]", "")


def test_a_comment_begins_with_the_answer() -> None:
    assert comment.render(told([SLOWER], 0.02)).startswith("### Gate 2 % ❌ fails")
    assert comment.render(told([OPEN], 0.02)).startswith("### Gate 2 % ❔ inconclusive")
    verdict_alone = text(SAME.answer).partition(" (")[0]
    assert comment.render(told([SAME], None)).startswith(f"### {verdict_alone}")
    assert "<details>" in comment.render(told([SAME], None))


# From results to page


def comparing(**changes: Any) -> Any:
    slow = {"new": 1.1, "newer": 1.0}

    def behave(levels: dict[str, str]) -> Behaviour:
        return Behaviour(mean_ns=1e8 * slow.get(levels["workload"], 1.0), spread=0.01)

    given: dict[str, Any] = {
        "workloads": ("old", "new", "newer"),
        "platforms": ("bare",),
        "workers": (1,),
        "stopping": Stopping(compare="workload", **changes.pop("stopping", {})),
    }
    return make(behave, **(given | changes))


def test_the_finding_has_verdict_estimates_tables_and_chart() -> None:
    finding = find(comparing())
    assert finding is not None
    assert finding.question == message(
        "Is {levels | listing('or')} different from {reference}?",
        levels=["new", "newer"],
        reference="old",
    )
    assert (finding.verdict, finding.within, finding.word) == ("slower", None, "slower")
    slower = args(finding.summary, "{first}{% if margin %}")
    assert (slower["second"], slower["first"], slower["verdict"]) == ("new", "old", "slower")
    assert slower["ratio"].value == pytest.approx(1.1, rel=0.01)
    equivalent = args(finding.summary, "is equivalent to")
    assert (equivalent["second"], equivalent["margin"]) == ("newer", Chosen(0.02))
    # The verdict, what it rests on, and the spreads, of each.
    assert [template(m) for m in each(finding.answer) if isinstance(m, Message)] == [
        "{second} is {verdict} than {first}", "{second} vs. {first}: {of}", ": {spread}",
        "is equivalent to {first}", "{second} vs. {first}: {of}", ": {spread}",
    ]  # fmt: skip
    assert [e.levels["workload"] for e in finding.estimates] == ["new", "newer"]
    assert all(e.low is not None and e.low < (e.value or 0) < (e.high or 0)
               for e in finding.estimates)  # fmt: skip
    assert finding.charts == ("difference",)


def test_a_gate_asks_its_question_and_says_what_would_settle_it() -> None:
    finding = find(comparing(stopping={"gate": 0.005, "trials": 8}))
    assert finding is not None
    assert finding.question == message(
        "{% if levels | length > 1 %}Do{% else %}Does{% endif %} {levels | listing} "
        "pass the gate: at most {gate} {more} than {reference}"
        "{% if on != 'median' %} ({on}){% endif %}?",
        levels=["new", "newer"],
        more="slower",
        reference="old",
        gate=Chosen(0.005),
        on="median",
    )
    assert finding.verdict == "no"
    first, *_ = [m for m in each(finding.summary) if isinstance(m, Message)]
    # It fails, so nothing is left to settle.
    assert template(first) == "{margin}:"


def test_without_compare_there_is_no_such_finding() -> None:
    assert find(make(trials=5)) is None


def test_the_chart_shows_the_pairs_of_every_comparison() -> None:
    results = comparing(stopping={"gate": 0.05})
    drawn = chart.draw(results, [])
    assert drawn is not None
    panels = drawn["vconcat"]
    found = differences(results)
    assert len(panels) == len(found)
    described = chart.alternative(results, [])
    assert args(described, "is the gate") == {"gate": Chosen(0.05)}
    assert chart.draw(make(trials=5), []) is None


def test_failed_trials_are_told_to_a_ci() -> None:
    failed = "6 of 21 trials of new: exit code 1"
    document = replace(told([SAME], 0.02), failed=(failed,))
    suite = Xml.fromstring(junit.render(document)).find("testsuite")
    assert suite is not None
    assert failed in (suite.findtext("system-err") or "")


def few_pairs(*ratios: float, **changes: Any) -> Difference:
    first = np.full(len(ratios), 1e7) + np.arange(len(ratios)) * 1e5
    second = first * np.array(ratios)
    c = comparison(
        None, None, ratio=float(np.median(ratios)), n=len(ratios), more_pairs=None, tick=0.0
    )
    given = {"first_values": first, "second_values": second, "level_values": (first, second)}
    return difference(c, **(given | changes))


@pytest.mark.parametrize(
    ("ratios", "level", "word"),
    [
        ((1.24, 1.31, 1.27), 0.75, "slower"),
        ((0.9, 0.8, 0.95, 0.7), 0.875, "faster"),
        ((1.24, 1.31, 0.99, 1.3, 1.2), 0.9375, None),
    ],
)
def test_few_pairs_have_the_exact_interval_between_their_extremes_and_no_verdict(
    ratios: tuple[float, ...], level: float, word: str | None
) -> None:
    d = few_pairs(*ratios)
    said = d.answer.args
    assert template(d.answer) == "{level})"
    assert (said["level"], said["word"], said["n"]) == (Chosen(level), word, len(ratios))
    assert said["ratio"].low == pytest.approx(min(ratios))
    assert said["ratio"].high == pytest.approx(max(ratios))
    assert d.each_pair is not None
    assert [one.value for one in d.each_pair.args["ratios"]] == pytest.approx(list(ratios))
    assert d.further is not None
    assert (template(d.further), d.further.args["pairs"]) == ("needed for a", 7 - len(ratios))
    # Neither a verdict nor a gate is decided by it.
    assert d.comparison.verdict == INCONCLUSIVE
    assert [d.gate(x) for x in (0.0, 0.1, 0.5)] == ["inconclusive"] * 3


def test_other_numbers_of_pairs_have_no_such_interval() -> None:
    assert few_pairs(1.1, 1.2).extremes is None
    assert few_pairs(*[1.1] * 6).extremes is None
    assert few_pairs(1.1, 1.2, 1.3, paired=False).extremes is None
    # One that was killed at its limit has no ratio.
    assert few_pairs(1.1, math.inf, 1.3).extremes is None
    coarse = few_pairs(1.1, 1.2, 1.3)
    unknown = dataclasses.replace(coarse.comparison, tick=None)
    assert dataclasses.replace(coarse, comparison=unknown).extremes is None
    ticking = dataclasses.replace(coarse.comparison, tick=0.1)
    wider = dataclasses.replace(coarse, comparison=ticking).extremes
    assert wider is not None
    assert wider.low == pytest.approx(1.0)
    assert wider.high == pytest.approx(1.43)


def test_further_metrics_have_columns_and_decide_nothing() -> None:
    """The gate judges the first metric alone; of the others the change is reported."""
    results = comparing(stopping={"gate": 0.05, "also": ("kernel_wall_ns",)})
    found = differences(results)
    assert not isinstance(found, Message)
    made = report.make(results, found, ended="finished", gate=0.05)
    assert {one.metric for one in made.comparisons} == {"kernel_cpu_ns"}
    assert made.gate is not None
    assert made.gate.of == len(found) == 2
    others = made.figures["other_metrics"]
    assert [(one.b, one.metric, one.gate) for one in others] == [
        ("new", "kernel_wall_ns", None), ("newer", "kernel_wall_ns", None),
    ]  # fmt: skip
    assert made.cells is not None
    reference, new, _ = made.cells.rows
    assert reference["median_kernel_wall_ns"] > 0
    assert "ratio_kernel_wall_ns" not in reference
    assert new["ratio_kernel_wall_ns"] == others[0].ratio
    # Its intervals are those of the metric alone.
    (alone, *_) = differences(of_metric(results, "kernel_cpu_ns"))
    assert (new["low"], new["high"]) == (alone.comparison.low, alone.comparison.high)
    head = printed.lines(made, 500)[2]
    assert "change" in head
    assert head.split()[0] == "command"
    for width in (60, 90, 120, 160):
        table = screen.table(made.cells, width, intervals=True)
        assert max(map(len, table)) <= width
