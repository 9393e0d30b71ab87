"""An audit in words and as JSON: what is told once, what is left out, what the keys are."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from audits import shown
from said import args, template

from tare.errors import InputError
from tare.experiment.findings import variance
from tare.features.audit import messages as words
from tare.features.audit import report
from tare.features.audit.answers import findings
from tare.features.audit.audit import Audit, FileAudit, Question, audit
from tare.features.audit.figures import figures, plain
from tare.features.audit.messages import shared
from tare.features.audit.raters import agreements
from tare.readers import ColumnOptions, Imported, Specification
from tare.registry import units_of
from tare.render import files
from tare.render.words import text as text_of
from tare.results.message import Amount, Chosen, Deviation, message


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write two platforms at two sizes; one series has a value that is none."""
    rng = np.random.default_rng(3)
    file = tmp_path_factory.mktemp("audit") / "results.csv"
    rows = ["size,platform,run,wall_s"]
    for size in (1, 2):
        for platform, level in (("bare", 0.1), ("docker<b>", 0.12)):
            values = rng.normal(level * size, 0.001, 60)
            rows += [f"{size},{platform},{i},{v:.7f}" for i, v in enumerate(values)]
    rows[5] = "1,bare,4,nan"
    file.write_text("\n".join(rows) + "\n")
    return file


@pytest.fixture(scope="module")
def found(table: Path) -> Audit:
    columns = ColumnOptions("wall_s", ("size",), ("platform",), trial="run")
    return audit([table], Question(columns=columns))


def test_series_doubted_by_chance_are_named_and_decide_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        f"s{i},{run},{value:.6f}"
        for i in range(40)
        for run, value in enumerate(rng.normal(1, 0.04, 20))
    ]
    file = tmp_path / "many.csv"
    file.write_text("\n".join(["name,run,wall_s", *rows]) + "\n")
    found = audit([file], Question(columns=ColumnOptions("wall_s", ("name",), trial="run")))
    doubted = [s.name for s in found.series if s.trust.verdict == "DOUBT"]
    assert 1 <= len(doubted) <= 4
    assert (found.verdict, found.exit_code) == ("TRUST", 0)
    said = words.headline(found)
    assert template(said) == "many as chance"
    assert (said.args["n"], said.args["total"]) == (len(doubted), 40)
    assert "as many as chance gives: s" in text_of(said)
    assert args(said, "numbers can be")["extent"] == Amount(found.trust.extent, "share")
    # No median is known to so little, and the first line says so.
    asked = Question(columns=ColumnOptions("wall_s", ("name",), trial="run"), precision=0.005)
    strict = audit([file], asked)
    assert (strict.verdict, strict.exit_code) == ("DOUBT", 1)
    missed = args(words.headline(strict), "it is too")
    assert (missed["missed"], missed["total"]) == (40, 40)
    assert words.precision(strict) == []


def test_an_interval_that_excludes_0_is_explained_where_the_family_is_inconclusive(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(5)
    rows = [
        f"v{i},{run},{value:.6f}"
        for i in range(6)
        for run, value in enumerate(rng.normal(1 + i / 5, 0.01, 6))
    ]
    file = tmp_path / "versions.csv"
    file.write_text("\n".join(["version,run,wall_s", *rows]) + "\n")
    columns = ColumnOptions("wall_s", compare=("version",), trial="run")
    found = audit([file], Question(columns=columns)).comparisons
    assert all(c.location.low > 1 and not c.verdict.conclusive for c in found)
    (said,) = words.chance_of_family(found)
    assert said.args == {"n": 15, "total": 15}
    assert not [*words.chance_of_family(found[:0])]


def test_quantiles_that_were_asked_for_are_on_the_screen(
    found: Audit, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ColumnOptions("wall_s", ("size", "platform"), trial="run")
    asked = audit([table], Question(columns=columns, quantiles=(0.75,)))
    print(shown(asked))
    lines = capsys.readouterr().out.splitlines()
    (head,) = (line.split("  ") for line in lines if line.startswith("series"))
    assert "p75" in [cell.strip() for cell in head]
    print(shown(found))
    assert "p99" not in capsys.readouterr().out
    compared = replace(found, question=replace(found.question, quantiles=(0.75,)))
    print(shown(compared, "a.json"))
    assert any("p75" in line and "a.json" in line for line in capsys.readouterr().out.splitlines())


def test_the_worst_series_decides(found: Audit) -> None:
    assert [s.trust.verdict for s in found.series] == ["REJECT", "TRUST", "TRUST", "TRUST"]
    assert found.verdict == "REJECT"
    assert found.exit_code == 2
    said = words.headline(found)
    assert template(said) == "no conclusions"
    assert (said.args["verdict"], said.args["worst"], said.args["total"]) == ("REJECT", 1, 4)
    counts = {one["verdict"]: one["n"] for one in map(attrgetter("args"), said.args["counts"])}
    assert counts == {"TRUST": 3, "REJECT": 1}


def test_the_contract_has_its_keys(found: Audit) -> None:
    told = json.loads(json.dumps(figures(found), allow_nan=False))
    series = told["series"][1]
    assert series["key"] == {"size": "1", "platform": "docker<b>"}
    assert {"n", "median", "median_ci", "mean", "mean_ci", "sd", "sd_ci", "repetitions",
            "assumptions", "verdict", "reasons"} <= set(series)  # fmt: skip
    assert {"precision", "n", "n_assured"} <= set(series["repetitions"])
    assert series["median_ci"][0] < series["median"] < series["median_ci"][1]
    assert series["mean_ci"][0] < series["mean"] < series["mean_ci"][1]
    assert series["sd_ci"][0] < series["sd"] < series["sd_ci"][1]
    assert set(series["assumptions"]) >= {"normality", "independence", "stationarity", "modes"}
    assert series["assumptions"]["independence"]["sentence"]
    refused = next(q for q in series["quantiles"] if q["q"] == 0.99)
    assert refused["ci"] is None
    assert "needs" in refused["refusal"]
    corrupt, compared = told["pairs"]
    assert (corrupt["ratio"], corrupt["ratio_ci"]) == (None, None)
    assert "corrupt" in corrupt["refusal"]
    assert compared["key"] == {"size": "2"}
    assert (compared["a"], compared["b"]) == ("bare", "docker<b>")
    assert (compared["mean"], compared["verdict"]) == ("lesser", "slower")
    assert compared["ratio"] == pytest.approx(1.2, abs=0.01)
    assert compared["ratio_ci"][0] < compared["ratio"] < compared["ratio_ci"][1]
    assert compared["cliffs_delta"] == 1
    assert compared["p_adjusted"] < 0.001
    assert told["files"][0]["specification"]["missing"] == ["environment"]


def test_every_field_of_the_json_and_every_format_is_documented(found: Audit) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "reference" / "audit.md").read_text()
    told = figures(found)
    parts = [told, *(told[p][0] for p in ("files", "series", "pairs"))]
    parts += [told["series"][0]["quantiles"][0], told["series"][0]["repetitions"]]
    parts += [told["pairs"][1]["spread"]]
    missing = {k for part in parts for k in part if f"`{k}`" not in guide and f"{k}[" not in guide}
    missing = {k for k in missing if f".{k}`" not in guide}
    assert missing == set()
    assert {name for name in units_of("format") if f"`{name}`" not in guide} == set()
    assert set(told["series"][0]["assumptions"]) - {"n", "constant"} <= {
        word.strip("`") for word in re.findall(r"`\w+`", guide)
    }


def test_a_missed_precision_is_said_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    series = {"wide": rng.lognormal(0, 0.6, 20), "narrow": rng.normal(1, 0.002, 50)}
    for name, values in series.items():
        rows = [f"{i},{v:.6f}" for i, v in enumerate(values)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["run,wall_s", *rows]) + "\n")
    files = [tmp_path / f"{name}.csv" for name in series]
    question = Question(columns=ColumnOptions("wall_s", trial="run"))
    both, narrow = audit(files, question), audit(files[1:], question)
    wide = both.series[0]
    assert (both.verdict, both.exit_code, narrow.exit_code) == ("DOUBT", 1, 0)
    assert both.trust.extent == wide.median.half_width
    assert (wide.reached, both.series[1].reached) == (False, True)
    assert wide.runs_needed == pytest.approx(20 * (wide.median.half_width / 0.05) ** 2, rel=0.05)
    assert words.missed(narrow.series) is None
    missed = words.missed(both.series)
    assert missed is not None
    assert (missed.args["missed"], missed.args["total"]) == (1, 2)
    assert missed.args["runs"] == wide.runs_needed
    # The one of the two series that is too wide is named.
    assert re.fullmatch(
        rf"precision: .*wide.* ± \d+ % \(≈ {wide.runs_needed:,} runs for ± 5 %\) in 1 of 2 series",
        text_of(missed),
    )
    headline = words.headline(both)
    assert (template(headline), headline.args["verdict"]) == ("no conclusions", "DOUBT")
    assert args(headline, "it is too")["target"] == Chosen(0.05)
    assert args(headline, "{% else %}to")["least"] == Amount(wide.median.half_width, "share")
    assert words.precision(both) == []
    assert text_of(words.runs(wide)) == f"≈ {wide.runs_needed:,}"
    assert figures(both)["extent"] == wide.median.half_width
    # Alone, the reason is the headline, and is not repeated.
    alone = audit(files[:1], question)
    (imprecise,) = alone.series[0].trust.reasons
    assert words.headline(alone).args["imprecise"] == imprecise
    assert words.reasons(alone) == []
    print(shown(alone))
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("DOUBT   ± ")
    assert f"{imprecise.args['more']:,} more runs for ± 5 %" in first
    assert figures(both)["series"][0]["runs_needed"] == wide.runs_needed
    needed = next(f for f in findings(both) if f.name == "repetitions").tables[0].rows
    assert [row["needed"] for row in needed] == [s.runs_needed for s in both.series]


def test_a_clock_too_coarse_is_said_instead_of_a_number_of_runs(tmp_path: Path) -> None:
    values = np.round(np.random.default_rng(3).normal(10.3, 0.5, 60))
    rows = "\n".join(f"{i},{v:.0f}" for i, v in enumerate(values))
    (tmp_path / "a.csv").write_text(f"run,wall_ms\n{rows}\n")
    asked = Question(columns=ColumnOptions("wall_ms", trial="run"), precision=0.01)
    found = audit([tmp_path / "a.csv"], asked)
    (s,) = found.series
    assert text_of(words.runs(s)) == "none: clock"
    assert args(words.headline(found), "values exceed the")["coarse"]
    missed = words.missed(found.series)
    assert missed is not None
    assert (missed.args["runs"], missed.args["coarse"]) == (None, 1)
    assert missed.args["target"] == Chosen(0.01)
    assert figures(found)["series"][0]["tick"] == pytest.approx(0.001)


def test_absent_is_null_and_never_nan() -> None:
    assert plain({"a": float("nan"), "b": np.float64(np.inf), "c": np.arange(2)}) == {
        "a": None,
        "b": None,
        "c": [0, 1],
    }


def test_variance_is_told_with_its_shares(found: Audit) -> None:
    (explained,) = found.variance
    explains, *others = variance.sentences(explained)
    assert (template(explains), explains.args["effect"]) == ("variance, {effect}", "size")
    assert any(one.args["effect"] == "platform" for one in explains.args["others"])
    ids = [template(one) for one in others]
    assert ids[-2:] == ["{share} is", "of the ranks,"]


def test_sentences_that_differ_in_numbers_only_are_told_once() -> None:
    drifts = [
        message(
            "no steady state: the values drift by {size} until the end. Measure longer, or "
            "find what changes",
            size=Deviation(by, "share"),
        )
        for by in (0.031, -0.12)
    ]
    flat = message("no warm-up is shown: the first trials are like the last ones")
    some = [("a", drifts[0]), ("b", drifts[1]), ("c", flat)]
    first, second = shared(some, lambda s: (s[1],), lambda s: s[0])
    together = {
        "n": 2,
        "total": 3,
        "noun": "series",
        "name": "a",
        "varies": True,
        "said": drifts[0],
    }
    assert args(first.of("series", 3), "%}both") == together
    alone = {"n": 1, "total": 3, "noun": "series", "name": "c", "varies": False, "said": flat}
    assert args(second.of("series", 3), "%}both") == alone
    assert shared(some[:1], lambda s: (s[1],), str)[0].of("series", 1) == drifts[0]


def test_the_specification_is_scored_by_what_the_file_says() -> None:
    said = Specification(repetitions="10 runs", spread="SD")
    scored = FileAudit(Imported(Path("a.csv"), (), said))
    assert scored.points == 2
    assert scored.missing == ("statistic", "environment")


def test_the_page_answers_in_reading_order_and_escapes_names(found: Audit, tmp_path: Path) -> None:
    names = [f.name for f in findings(found)]
    assert names == ["trust", "overhead", "platform_size", "platform_factor", "repetitions",
                     "assumptions", "difference", "variance of wall", "specification"]  # fmt: skip
    target = tmp_path / "page.html"
    assert files.write(report.make(found, "tare audit x"), target) == [target]
    text = target.read_text()
    assert "docker<b>" not in text
    assert "docker&lt;b&gt;" in text
    assert "tare audit x" in text


def test_a_page_takes_a_command_that_is_no_text(found: Audit, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    files.write(report.make(found, "tare audit --report u\udcff.html"), target)
    assert "u\\udcff.html" in target.read_text()


def test_the_page_is_a_document_as_well(found: Audit, tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    written = files.write(report.make(found, "tare audit x"), target)
    assert written[0] == target
    charts = {p.name for p in written[1:]}
    assert {"medians-0.svg", "convergence.svg", "comparisons.svg", "shares-0.svg"} <= charts
    assert target.read_text().startswith(f"# {text_of(findings(found)[0].question)}")


def ratings(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_raters_are_compared_by_item_and_column(tmp_path: Path) -> None:
    first = ratings(tmp_path, "a.csv", "item,mean,spread\na,y,n\nb,n,n\nc,y,y\nd,y,n\n")
    second = ratings(tmp_path, "b.csv", "item,spread,mean\nd,n,n\nc,y,y\nb,n,n\na,n,y\ne,y,y\n")
    mean, spread = agreements(first, second)
    assert (mean.column, mean.left_out) == ("mean", 1)
    assert mean.kappa.kappa == pytest.approx(0.5)
    assert spread.kappa.kappa == pytest.approx(1)
    assert template(mean.said) == "it would be"
    assert mean.said.args["left_out"] == 1


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ("item,other\na,y\n", "no column"),
        ("item,mean\nz,y\n", "no item"),
        ("item,mean\na,y\na,n\n", "twice"),
        ("item,mean\na\n", "row 2"),
        ("item,mean\n", "no ratings"),
    ],
)
def test_ratings_that_do_not_fit_are_refused(tmp_path: Path, second: str, why: str) -> None:
    first = ratings(tmp_path, "a.csv", "item,mean\na,y\nb,n\n")
    with pytest.raises(InputError, match=why):
        agreements(first, ratings(tmp_path, "b.csv", second))


def test_values_are_trusted_in_the_session_they_are_of(tmp_path: Path) -> None:
    values = np.random.default_rng(4).normal(1, 0.002, 40)
    rows = [f"{i},{i // 10},{i % 4},{1.7e9 + i * 7200},{v:.9f}" for i, v in enumerate(values)]
    (tmp_path / "a.csv").write_text("\n".join(["run,lap,item,at,wall_s", *rows]) + "\n")

    def sessions(**columns: str) -> int:
        named = ColumnOptions("wall_s", trial="run", **columns)
        (s,) = audit([tmp_path / "a.csv"], Question(columns=named)).series
        assert s.trust.verdict == "TRUST"
        return s.trust.sessions

    assert sessions() == 1
    # Four blocks of ten trials, each at another time; items and pairs show no other times.
    assert sessions(block="lap") == 4
    assert sessions(block="item") == 1
    assert sessions(block="run") == 1
    assert sessions(order="at") == 5  # dates of 80 hours
